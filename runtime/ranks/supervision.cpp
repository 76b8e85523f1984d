#include "runtime/ranks/supervision.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "runtime/device/cuda_library/interface.h"
#include "runtime/ranks/refusals.h"

namespace cgraph::ranks {
namespace {

// Of the message in which rank 0 says where it listens.
constexpr uint32_t kAddressTag = 1;
constexpr std::string_view kEnds = "ends";
// How soon a machine that cannot be reached is noticed: 1 s of silence, then 4 questions.
constexpr int kQuiet = 1, kEvery = 1, kQuestions = 4;
// The others try each address of rank 0 for so long.
constexpr int kConnectMilliseconds = 2000;
constexpr size_t kLongestLine = 512;
// How long rank 0 waits for the others to tell their build, and one of another build for rank 0 to
// end all.
constexpr std::chrono::seconds kBuildPatience(10), kOtherBuildPatience(5);

void KeepAlive(int socket) {
  const auto set = [&](int level, int option, int value) {
    setsockopt(socket, level, option, &value, sizeof(value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kQuiet);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kEvery);
  set(IPPROTO_TCP, TCP_KEEPCNT, kQuestions);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 1000 * (kQuiet + kEvery * kQuestions));
}

std::string Random() {
  uint64_t numbers[2];
  if (getrandom(numbers, sizeof(numbers), 0) != sizeof(numbers)) return "";
  return fmt::format("{:016x}{:016x}", numbers[0], numbers[1]);
}

// Returns this machine's addresses, "10.0.0.1 192.168.0.7 127.0.0.1".
std::string Addresses() {
  std::string far, near;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return "127.0.0.1";
  for (const ifaddrs* at = all; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN];
    const auto* address = reinterpret_cast<const sockaddr_in*>(at->ifa_addr);
    if (inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text)) == nullptr) continue;
    ((at->ifa_flags & IFF_LOOPBACK) != 0 ? near : far) += fmt::format("{} ", text);
  }
  freeifaddrs(all);
  return far + near;
}

// Returns a socket that is connected to the address; -1: it cannot be in time.
int ConnectTo(const std::string& address, uint16_t port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  if (inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1) return -1;
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return -1;
  int error = 0;
  if (connect(made, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) error = errno;
  if (error == EINPROGRESS) {
    pollfd waiting{made, POLLOUT, 0};
    socklen_t size = sizeof(error);
    const bool over = poll(&waiting, 1, kConnectMilliseconds) == 1;
    if (!over || getsockopt(made, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = ETIMEDOUT;
  }
  if (error != 0) {
    close(made);
    return -1;
  }
  fcntl(made, F_SETFL, fcntl(made, F_GETFL) & ~O_NONBLOCK);
  KeepAlive(made);
  return made;
}

void Write(int socket, std::string_view text) {
  (void)!send(socket, text.data(), text.size(), MSG_NOSIGNAL);
}

// Takes the first word off a text.
std::string_view Word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

// Takes one message, whatever its length.
class OneMessage final : public Listener {
 public:
  std::span<std::byte> BufferFor(uint32_t, uint64_t bytes) override {
    text_.resize(bytes);
    return std::as_writable_bytes(std::span(text_));
  }
  void OnMessage(uint32_t, std::span<const std::byte>) override { come_ = true; }
  bool come() const { return come_; }
  std::string_view text() const { return text_.c_str(); }  // without what fills the grain

 private:
  std::string text_;
  bool come_ = false;
};

// Builds: takes what each other rank tells of itself, "BUILD\nPROCESS".
class Builds final : public Listener {
 public:
  explicit Builds(uint32_t count) : texts_(count) {}
  std::span<std::byte> BufferFor(uint32_t from, uint64_t bytes) override {
    texts_[from].resize(bytes);
    return std::as_writable_bytes(std::span(texts_[from]));
  }
  void OnMessage(uint32_t, std::span<const std::byte>) override { ++come_; }
  size_t come() const { return come_; }

  // Returns the error of those that are of another build than rank 0.
  Status Differing() const {
    std::vector<Refusal> refusals;
    for (uint32_t rank = 1; rank < texts_.size(); ++rank) {
      const std::string text = texts_[rank].c_str();
      const size_t end = text.find('\n');
      const std::string build = text.substr(0, end);
      if (end == std::string::npos || build == device::InterfaceText()) continue;
      refusals.push_back(
          {rank, text.substr(end + 1),
           Status(StatusCode::kInvalid,
                  fmt::format("the build is {}, and that of rank 0 is {}; install one build on all "
                              "machines",
                              build, device::InterfaceText()))});
    }
    return JoinRefusals(refusals, "rank ", "");
  }

 private:
  std::vector<std::string> texts_;  // by rank
  size_t come_ = 0;
};

// Goes on with messages until `until()`, at most for so long.
template <typename Until>
void PollFor(Messenger& messenger, std::chrono::seconds patience, Until&& until) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!until() && std::chrono::steady_clock::now() < end) {
    if (!messenger.Poll()) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

}  // namespace

Process Process::This() {
  char host[HOST_NAME_MAX + 1] = "";
  gethostname(host, sizeof(host) - 1);
  return {getpid(), host};
}

std::string Process::Text() const {
  return number == 0 ? "a process" : fmt::format("process {} on {}", number, host);
}

TcpSupervision::TcpSupervision(Messenger& messenger)
    : messenger_(messenger), processes_(messenger.count()) {
  messenger_.UseTagsBelow(kAddressTag + 1);
  if (messenger_.rank() == 0) {
    Listen();
    return;
  }
  OneMessage address;
  messenger_.Listen(kAddressTag, &address);
  while (!address.come()) {
    if (!messenger_.Poll()) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  messenger_.Listen(kAddressTag, nullptr);
  const std::string_view text = address.text();
  const size_t end = std::min(text.find('\n'), text.size());
  CheckBuild(text.substr(0, end));
  Connect(text.substr(std::min(end + 1, text.size())));
}

TcpSupervision::~TcpSupervision() {
  if (wake_[1] >= 0) close(wake_[1]);
  if (own_ >= 0) {
    ends_.store(true, std::memory_order_release);
    Write(own_, fmt::format("{}\n", kEnds));
    shutdown(own_, SHUT_RD);  // ends the thread
  }
  if (thread_.joinable()) thread_.join();
  for (const int descriptor : {listening_, own_, wake_[0]}) {
    if (descriptor >= 0) close(descriptor);
  }
}

// ---- rank 0 -------------------------------------------------------------------------------------

// The others are told which build this is, and an empty address where there is none.
void TcpSupervision::Listen() {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t size = sizeof(any);
  token_ = Random();
  listening_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto* const address = reinterpret_cast<sockaddr*>(&any);
  const bool well = !token_.empty() && listening_ >= 0 && bind(listening_, address, size) == 0 &&
                    listen(listening_, static_cast<int>(messenger_.count())) == 0 &&
                    getsockname(listening_, address, &size) == 0 && pipe2(wake_, O_CLOEXEC) == 0;
  std::string text = fmt::format("{}\n", device::InterfaceText());
  if (well) text += fmt::format("{} {} {}", token_, ntohs(any.sin_port), Addresses());
  Builds builds(messenger_.count());
  messenger_.Listen(kAddressTag, &builds);
  for (uint32_t rank = 1; rank < messenger_.count(); ++rank) {
    messenger_.SendCopy(rank, kAddressTag, std::as_bytes(std::span(text.c_str(), text.size() + 1)));
  }
  PollFor(messenger_, kBuildPatience, [&] { return builds.come() + 1 == messenger_.count(); });
  messenger_.Listen(kAddressTag, nullptr);
  if (const Status differing = builds.Differing(); !differing.ok()) {
    fmt::print(stderr, "cgrun: error: {}\n", differing.message());
    messenger_.EndAll(EXIT_FAILURE);
  }
  if (!well) return;
  try {
    thread_ = std::thread([this] { Watch(); });
  } catch (const std::system_error&) {  // the launcher is left
  }
}

void TcpSupervision::Watch() {
  std::vector<Connection> connections;
  uint32_t known = 0;
  for (;;) {
    std::vector<pollfd> waiting = {{wake_[0], POLLIN, 0}};
    const bool listens = known + 1 < messenger_.count();
    waiting.push_back({listens ? listening_ : -1, POLLIN, 0});
    for (const Connection& connection : connections) {
      waiting.push_back({connection.socket, POLLIN, 0});
    }
    if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    if (waiting[0].revents != 0) break;
    for (size_t i = 0; i < connections.size(); ++i) {
      if (waiting[i + 2].revents != 0) ReadFrom(connections[i]);
    }
    std::erase_if(connections, [](const Connection& at) { return at.socket < 0; });
    known = static_cast<uint32_t>(std::count_if(
        connections.begin(), connections.end(), [](const auto& at) { return at.rank != 0; }));
    if (waiting[1].revents == 0) continue;
    const int accepted = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (accepted < 0) {  // as where there are too many; not in a circle
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    if (connections.size() >= 2 * messenger_.count()) {  // of strangers
      close(accepted);
      continue;
    }
    KeepAlive(accepted);
    connections.push_back({.socket = accepted});
  }
  for (const Connection& connection : connections) close(connection.socket);
}

// Reads what a rank says, or finds that it is gone.
void TcpSupervision::ReadFrom(Connection& connection) {
  char text[256];
  const ssize_t count = recv(connection.socket, text, sizeof(text), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const int error = errno;
  if (count > 0) {
    connection.text.append(text, static_cast<size_t>(count));
    for (size_t end; connection.socket >= 0 &&
                     (end = connection.text.find('\n')) != std::string::npos;) {
      HandleLine(connection, std::string_view(connection.text).substr(0, end));
      connection.text.erase(0, end + 1);
    }
    if (connection.text.size() < kLongestLine && connection.socket >= 0) return;
  }
  if (connection.socket >= 0) close(connection.socket);
  connection.socket = -1;
  if (connection.rank == 0 || connection.ends) return;
  const bool silent = count < 0 && (error == ETIMEDOUT || error == EHOSTUNREACH);
  const Lost lost{connection.rank, connection.process,
                  silent ? "cannot be reached any more" : "has ended"};
  std::lock_guard call(call_mutex_);
  {
    std::lock_guard lock(mutex_);
    if (!found_) found_ = lost;
  }
  if (lost_) lost_(lost);
}

// "TOKEN RANK PROCESS HOST", or that the rank ends.
void TcpSupervision::HandleLine(Connection& connection, std::string_view line) {
  if (connection.rank != 0) {
    connection.ends |= line == kEnds;
    return;
  }
  const std::string_view token = Word(line), rank = Word(line), process = Word(line);
  uint32_t number = 0;
  std::from_chars(rank.data(), rank.data() + rank.size(), number);
  if (token != token_ || number == 0 || number >= messenger_.count()) {
    close(connection.socket);  // a stranger
    connection.socket = -1;
    return;
  }
  connection.rank = number;
  std::from_chars(process.data(), process.data() + process.size(), connection.process.number);
  connection.process.host = line;
  std::lock_guard lock(mutex_);
  processes_[number] = connection.process;
}

void TcpSupervision::OnLost(std::function<void(const Lost&)> lost) {
  std::lock_guard call(call_mutex_);
  lost_ = std::move(lost);
  const std::optional<Lost> found = FirstLost();
  if (found && lost_) lost_(*found);
}

std::optional<Supervision::Lost> TcpSupervision::FirstLost() const {
  std::lock_guard lock(mutex_);
  return found_;
}

std::vector<uint32_t> TcpSupervision::Unconnected() const {
  std::lock_guard lock(mutex_);
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 1; rank < processes_.size(); ++rank) {
    if (processes_[rank].number == 0) ranks.push_back(rank);
  }
  return ranks;
}

Process TcpSupervision::ProcessOf(uint32_t rank) const {
  std::lock_guard lock(mutex_);
  return processes_[rank];
}

// ---- the others ---------------------------------------------------------------------------------

// Tells rank 0 which build this is. Rank 0 names all that differ in one message and ends them;
// where its build does not know that, this rank does.
void TcpSupervision::CheckBuild(std::string_view of_rank_zero) {
  const std::string text =
      fmt::format("{}\n{}", device::InterfaceText(), Process::This().Text());
  messenger_.SendCopy(0, kAddressTag, std::as_bytes(std::span(text.c_str(), text.size() + 1)));
  // What ranks send each other has one layout in one build only.
  if (of_rank_zero == device::InterfaceText()) return;
  PollFor(messenger_, kOtherBuildPatience, [] { return false; });
  fmt::print(stderr,
             "cgrun: error: rank {} ({}) is {}, and rank 0 is {}; install one build on all "
             "machines\n",
             messenger_.rank(), Process::This().Text(), device::InterfaceText(), of_rank_zero);
  messenger_.EndAll(EXIT_FAILURE);
}

void TcpSupervision::Connect(std::string_view addresses) {
  const std::string token(Word(addresses));
  const std::string_view port_text = Word(addresses);
  uint16_t port = 0;
  std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  while (own_ < 0 && !addresses.empty() && port != 0) {
    own_ = ConnectTo(std::string(Word(addresses)), port);
  }
  if (own_ < 0) return;
  const Process own = Process::This();
  Write(own_, fmt::format("{} {} {} {}\n", token, messenger_.rank(), own.number, own.host));
  try {
    thread_ = std::thread([this] { AwaitEnd(); });
  } catch (const std::system_error&) {  // the launcher is left
  }
}

// Ends the process when rank 0 is gone, which never says anything; unless this rank ends first.
void TcpSupervision::AwaitEnd() const {
  char byte;
  ssize_t count = 0;
  while ((count = recv(own_, &byte, 1, 0)) < 0 && errno == EINTR) {
  }
  if (!ends_.load(std::memory_order_acquire)) _exit(EXIT_FAILURE);
}

}  // namespace cgraph::ranks
