#include "runtime/cluster/supervision.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/text.h"
#include "runtime/cluster/refusals.h"
#include "runtime/cluster/sockets.h"

namespace cgraph::cluster {
namespace {

// Of the message in which rank 0 says where it listens.
constexpr uint32_t kAddressTag = 1;
// What a rank says when it ends. Rank 0 ends in order when it is "over"; when it "ends" otherwise
// it has said why.
constexpr std::string_view kEnds = "ends", kOver = "over";
// What rank 0 sends rank 1 every so often, and for how many times that nothing may come.
constexpr std::string_view kLives = "\n";
constexpr int kLivesMilliseconds = 1000, kSilences = 5;
constexpr size_t kLongestLine = 512;
// Connections to rank 0 that have not said who they are, beside one for each rank.
constexpr size_t kStrangers = 64;
// How often a rank connects that rank 0 turns away, and how long it waits for an answer.
constexpr int kMostTries = 10;
constexpr std::chrono::seconds kAnswerPatience(2);
// How long rank 0 waits for the others to tell their build, and one of another build for rank 0 to
// end all.
constexpr std::chrono::seconds kBuildPatience(10), kOtherBuildPatience(5);

std::string Random() {
  uint64_t numbers[2];
  if (getrandom(numbers, sizeof(numbers), 0) != sizeof(numbers)) return "";
  return fmt::format("{:016x}{:016x}", numbers[0], numbers[1]);
}

// Takes the first word off a text.
std::string_view Word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

// Texts: takes one text of each other rank, whatever its length.
class Texts final : public Listener {
 public:
  explicit Texts(uint32_t ranks) : texts_(ranks) {}
  std::span<std::byte> BufferFor(uint32_t from, uint64_t bytes) override {
    texts_[from].resize(bytes);
    return std::as_writable_bytes(std::span(texts_[from]));
  }
  bool OnMessage(uint32_t, std::span<const std::byte>) override {
    ++come_;
    return true;
  }
  size_t come() const { return come_; }
  // Returns the text of a rank, without what fills the message unit.
  std::string_view Of(uint32_t rank) const { return texts_[rank].c_str(); }

 private:
  std::vector<std::string> texts_;  // by rank
  size_t come_ = 0;
};

// Returns the error of the ranks that are of another build than rank 0. `told`: what each of them
// tells of itself, "BUILD\nPROCESS".
Status DifferingBuilds(const Texts& told, uint32_t ranks) {
  std::vector<Refusal> refusals;
  for (uint32_t rank = 1; rank < ranks; ++rank) {
    const std::string text(told.Of(rank));
    const size_t end = text.find('\n');
    const std::string build = text.substr(0, end);
    if (end == std::string::npos || build == BuildText()) continue;
    refusals.push_back(
        {rank, text.substr(end + 1),
         Status(StatusCode::kInvalid,
                fmt::format("the build is {}, and that of rank 0 is {}; install one build on all "
                            "machines",
                            build, BuildText()))});
  }
  return JoinRefusals(refusals, "rank ", "");
}

// Returns a socket that is connected to the first of these addresses that can be reached; or -1.
int ConnectToAny(std::string_view addresses, uint16_t port) {
  int made = -1;
  while (made < 0 && !addresses.empty() && port != 0) {
    made = ConnectTo(std::string(Word(addresses)), port);
  }
  return made;
}

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

bool Process::IsStopped() const {
  std::ifstream file(fmt::format("/proc/{}/stat", number));
  std::string stat;
  std::getline(file, stat);
  // The state stands behind the name, which may contain anything.
  const size_t name = stat.rfind(") ");
  return name != std::string::npos && name + 2 < stat.size() && (stat[name + 2] | 0x20) == 't';
}

std::string Process::Text() const {
  if (number == 0) return "a process";
  return fmt::format("process {}{}", number, host.empty() ? "" : " on " + host);
}

TcpSupervision::TcpSupervision(Messenger& messenger, bool one_machine)
    : messenger_(messenger), processes_(messenger.count()), sockets_(messenger.count(), -1) {
  messenger_.UseTagsBelow(kAddressTag + 1);
  if (messenger_.rank() == 0) {
    Listen(one_machine);
    return;
  }
  Texts address(messenger_.count());
  messenger_.Listen(kAddressTag, &address);
  while (address.come() == 0) {
    if (!messenger_.Poll()) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  messenger_.Listen(kAddressTag, nullptr);
  const std::string_view text = address.Of(0);
  const size_t end = std::min(text.find('\n'), text.size());
  CheckBuild(text.substr(0, end));
  Connect(text.substr(std::min(end + 1, text.size())));
}

TcpSupervision::~TcpSupervision() {
  SayToAll(kOver);
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
void TcpSupervision::Listen(bool one_machine) {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(one_machine ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t size = sizeof(any);
  token_ = Random();
  listening_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto* const address = reinterpret_cast<sockaddr*>(&any);
  const bool well = !token_.empty() && listening_ >= 0 && bind(listening_, address, size) == 0 &&
                    listen(listening_, SOMAXCONN) == 0 &&
                    getsockname(listening_, address, &size) == 0 && pipe2(wake_, O_CLOEXEC) == 0;
  std::string text = fmt::format("{}\n", BuildText());
  const Process own = Process::This();
  if (well) {
    text += fmt::format("{} {} {} {} {}", token_, ntohs(any.sin_port), own.number, own.host,
                        one_machine ? "127.0.0.1" : Addresses());
  }
  Texts builds(messenger_.count());
  messenger_.Listen(kAddressTag, &builds);
  for (uint32_t rank = 1; rank < messenger_.count(); ++rank) {
    messenger_.SendCopy(rank, kAddressTag, std::as_bytes(std::span(text.c_str(), text.size() + 1)));
  }
  PollFor(messenger_, kBuildPatience, [&] { return builds.come() + 1 == messenger_.count(); });
  messenger_.Listen(kAddressTag, nullptr);
  const Status differing = DifferingBuilds(builds, messenger_.count());
  if (!differing.ok()) {
    Say(fmt::format("cgrun: error: {}\n", differing.message()));
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
  for (;;) {
    std::vector<pollfd> waiting = {{wake_[0], POLLIN, 0}};
    waiting.push_back({listening_, POLLIN, 0});
    for (const Connection& connection : connections) {
      waiting.push_back({connection.socket, POLLIN, 0});
    }
    const int ready = poll(waiting.data(), waiting.size(), kLivesMilliseconds);
    if (ready < 0 && errno != EINTR) break;
    if (waiting[0].revents != 0) break;
    SayLives();
    for (size_t i = 0; i < connections.size(); ++i) {
      if (waiting[i + 2].revents != 0) ReadFrom(connections[i]);
    }
    std::erase_if(connections, [](const Connection& at) { return at.socket < 0; });
    if (Unconnected().empty()) {
      StopListening(connections);
    } else if (waiting[1].revents != 0) {
      Accept(connections);
    }
  }
  std::lock_guard lock(mutex_);
  for (const Connection& connection : connections) {
    sockets_[connection.rank] = -1;
    close(connection.socket);
  }
}

// Accepts a connection. A rank says who it is at once, so of those that have not, and are too many,
// the one that is silent for longest is a stranger's.
void TcpSupervision::Accept(std::vector<Connection>& connections) {
  const int accepted = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
  if (accepted < 0) {  // as where there are too many; not in a circle
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return;
  }
  const auto is_silent = [](const Connection& at) { return at.rank == 0; };
  const auto silent = std::count_if(connections.begin(), connections.end(), is_silent);
  if (static_cast<size_t>(silent) >= messenger_.count() + kStrangers) {
    const auto oldest = std::find_if(connections.begin(), connections.end(), is_silent);
    close(oldest->socket);
    connections.erase(oldest);
  }
  KeepAlive(accepted);
  connections.push_back({.socket = accepted});
}

// Closes the port, and what is connected that is no rank.
void TcpSupervision::StopListening(std::vector<Connection>& connections) {
  if (listening_ < 0) return;
  close(listening_);
  listening_ = -1;
  std::erase_if(connections, [](const Connection& at) {
    if (at.rank == 0) close(at.socket);
    return at.rank == 0;
  });
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
  {
    std::lock_guard lock(mutex_);
    sockets_[connection.rank] = -1;
    if (connection.socket >= 0) close(connection.socket);
  }
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
  sockets_[number] = connection.socket;
  Write(connection.socket, kLives);
}

void TcpSupervision::SayEnds() { SayToAll(kEnds); }

void TcpSupervision::SayToAll(std::string_view word) {
  std::lock_guard lock(mutex_);
  for (const int socket : sockets_) {
    if (socket >= 0) Write(socket, fmt::format("{}\n", word));
  }
}

// Tells rank 1 that this process is not stopped, not more often than it has to hear of it.
void TcpSupervision::SayLives() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_lives_ < std::chrono::milliseconds(kLivesMilliseconds)) return;
  last_lives_ = now;
  std::lock_guard lock(mutex_);
  if (sockets_[1] >= 0) Write(sockets_[1], kLives);
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
  const std::string text = fmt::format("{}\n{}", BuildText(), Process::This().Text());
  messenger_.SendCopy(0, kAddressTag, std::as_bytes(std::span(text.c_str(), text.size() + 1)));
  // What ranks send each other has one layout in one build only.
  if (of_rank_zero == BuildText()) return;
  PollFor(messenger_, kOtherBuildPatience, [] { return false; });
  Say(fmt::format("cgrun: error: rank {} ({}) is {}, and rank 0 is {}; install one build on all "
                  "machines\n",
                  messenger_.rank(), Process::This().Text(), BuildText(), of_rank_zero));
  messenger_.EndAll(EXIT_FAILURE);
}

void TcpSupervision::Connect(std::string_view addresses) {
  const std::string token(Word(addresses));
  const std::string_view port_text = Word(addresses);
  uint16_t port = 0;
  std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  const std::string_view number = Word(addresses);
  std::from_chars(number.data(), number.data() + number.size(), processes_[0].number);
  processes_[0].host = Word(addresses);
  own_ = ConnectToAny(addresses, port);
  if (own_ < 0) return;
  const Process own = Process::This();
  for (int tries = 1;; ++tries) {
    Write(own_, fmt::format("{} {} {} {}\n", token, messenger_.rank(), own.number, own.host));
    if (tries == kMostTries || !IsTurnedAway()) break;
    const int again = ConnectToAny(addresses, port);
    if (again < 0) break;  // rank 0 is gone, which AwaitEnd() finds
    close(std::exchange(own_, again));
  }
  try {
    thread_ = std::thread([this] { AwaitEnd(); });
  } catch (const std::system_error&) {  // the launcher is left
  }
}

// Returns whether rank 0 closes the connection before it has answered, as it may among those of
// many strangers. Without an answer in time it has not yet begun to look.
bool TcpSupervision::IsTurnedAway() {
  ssize_t count = -1;
  bool over = false;
  PollFor(messenger_, kAnswerPatience, [&] {
    char first;
    count = recv(own_, &first, 1, MSG_DONTWAIT | MSG_PEEK);
    over = count >= 0 || (errno != EAGAIN && errno != EINTR);
    return over;
  });
  return over && count <= 0;
}

// Ends the process when rank 0 is gone, unless this rank ends first or rank 0 has ended in order.
// Where rank 0 has not said that it ends, no other rank may know what has happened.
void TcpSupervision::AwaitEnd() {
  const bool speaks = messenger_.rank() == 1;
  bool said = false;  // by rank 0, that it ends
  ssize_t count = 0;
  for (int silences = 0;;) {
    pollfd waiting{own_, POLLIN, 0};
    const int ready = poll(&waiting, 1, speaks ? kLivesMilliseconds : -1);
    if (ready == 0 && ++silences == kSilences) {
      SayOfRankZero(
          fmt::format("has told nothing for {} s: it is stopped, or has no time; `kill "
                      "-CONT {}` there lets it go on",
                      kSilences * kLivesMilliseconds / 1000, processes_[0].number));
    }
    if (ready <= 0) continue;
    silences = 0;
    char text[64];
    count = recv(own_, text, sizeof(text), MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) break;
    const std::string_view says(text, static_cast<size_t>(count));
    if (says.find(kOver[0]) != std::string_view::npos) return;
    said |= says.find(kEnds[0]) != std::string_view::npos;
  }
  if (ends_.load(std::memory_order_acquire)) return;
  const bool silent = count < 0 && (errno == ETIMEDOUT || errno == EHOSTUNREACH);
  if (speaks && !said) {
    SayOfRankZero(fmt::format("{}; all executions in flight end with it, and no output is written",
                              silent ? "cannot be reached any more" : "has ended"));
  }
  _exit(EXIT_FAILURE);
}

void TcpSupervision::SayOfRankZero(std::string_view line) {
  Say(fmt::format("cgrun: error: rank 0 ({}) {}\n", processes_[0].Text(), line));
}

}  // namespace cgraph::cluster
