// Supervision at rank 0: who connects, who is gone, who is a stranger. The other ranks are sockets
// of the test.
#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <span>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "runtime/cluster/supervision.h"
#include "tests/unit/runtime/messages/wires.h"

namespace cgraph::testing {
namespace {

using cluster::Supervision;

constexpr uint32_t kAddressTag = 1;

// Address: takes what rank 0 tells the others: a line with its build, then the number that they
// have to know, the port, and addresses.
class Address final : public cluster::Listener {
 public:
  std::span<std::byte> BufferFor(uint32_t, uint64_t bytes) override {
    text_.resize(bytes);
    return std::as_writable_bytes(std::span(text_));
  }
  bool OnMessage(uint32_t, std::span<const std::byte>) override {
    std::istringstream words(text_.substr(text_.find('\n') + 1));
    words >> token >> port;
    return true;
  }
  std::string token;
  uint16_t port = 0;

 private:
  std::string text_;
};

// Three ranks, of which rank 0 supervises.
class Supervised {
 public:
  explicit Supervised(bool one_machine = true)
      : network_(3, 1), first_(network_.wire(0)), second_(network_.wire(1)) {
    supervision = std::make_unique<cluster::TcpSupervision>(first_, one_machine);
    supervision->OnLost([this](const Supervision::Lost& lost) {
      lost_rank = lost.rank;
      text = lost.process.Text() + " " + lost.how;
      ++losses;
    });
    second_.Listen(kAddressTag, &address);
    while (address.port == 0) {
      first_.Poll();
      second_.Poll();
    }
    second_.Listen(kAddressTag, nullptr);
  }

  // Returns a socket that is connected to rank 0 and has said this.
  int Connect(const std::string& says) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(address.port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(connect(made, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0);
    REQUIRE(send(made, says.data(), says.size(), MSG_NOSIGNAL) == static_cast<long>(says.size()));
    return made;
  }

 private:
  Network network_;
  cluster::Messenger first_, second_;

 public:
  Address address;
  std::atomic<int> losses{0};
  uint32_t lost_rank = 0;
  std::string text;
  std::unique_ptr<Supervision> supervision;  // goes first
};

template <typename Condition>
bool Soon(Condition&& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

// Whether the other side has closed a connection.
bool Closed(int connection) {
  char byte;
  return recv(connection, &byte, 1, 0) <= 0;
}

// Returns the address that this port is listened on, as the system writes it; empty: it is not.
std::string Listening(uint16_t port) {
  std::ifstream file("/proc/net/tcp");
  const std::string wanted = fmt::format(":{:04X}", port);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string number, own, other, state;
    words >> number >> own >> other >> state;
    if (state == "0A" && own.ends_with(wanted)) return own.substr(0, own.size() - wanted.size());
  }
  return "";
}

TEST_CASE("ranks that have not connected are known") {
  Supervised ranks;
  CHECK(ranks.supervision->Unconnected() == std::vector<uint32_t>{1, 2});
  const int second = ranks.Connect(ranks.address.token + " 2 77 far away\n");
  REQUIRE(Soon([&] { return ranks.supervision->Unconnected() == std::vector<uint32_t>{1}; }));
  CHECK(ranks.supervision->ProcessOf(2).Text() == "process 77 on far away");
  // What comes in pieces is put together.
  const int first = ranks.Connect(ranks.address.token + " 1 ");
  REQUIRE(send(first, "5 near\n", 7, MSG_NOSIGNAL) == 7);
  REQUIRE(Soon([&] { return ranks.supervision->Unconnected().empty(); }));
  CHECK(ranks.losses == 0);
  close(first);
  close(second);
}

TEST_CASE("a rank whose connection ends is lost, unless it has said that it ends") {
  Supervised ranks;
  const int first = ranks.Connect(ranks.address.token + " 1 5 near\n");
  const int second = ranks.Connect(ranks.address.token + " 2 77 far\n");
  REQUIRE(Soon([&] { return ranks.supervision->Unconnected().empty(); }));
  REQUIRE(send(first, "ends\n", 5, MSG_NOSIGNAL) == 5);
  close(first);
  close(second);
  REQUIRE(Soon([&] { return ranks.losses != 0; }));
  CHECK(ranks.losses == 1);
  CHECK(ranks.lost_rank == 2);
  CHECK(ranks.text == "process 77 on far has ended");
  CHECK(ranks.supervision->FirstLost()->rank == 2);
  // Who asks later hears of it at once.
  int told = 0;
  ranks.supervision->OnLost([&](const Supervision::Lost& lost) { told += lost.rank == 2; });
  CHECK(told == 1);
  ranks.supervision->OnLost(nullptr);
}

TEST_CASE("strangers are turned away and nothing comes of them") {
  Supervised ranks;
  const std::string& token = ranks.address.token;
  for (const std::string& says :
       {std::string("hello\n"), token + "0 1 5 near\n", token + " 0 5 near\n", token + " 3 5 x\n",
        token + " -1 5 x\n", token + "\n", std::string(5000, 'x')}) {
    CAPTURE(says);
    const int stranger = ranks.Connect(says);
    CHECK(Closed(stranger));
    close(stranger);
  }
  const int silent = ranks.Connect("");
  const int first = ranks.Connect(token + " 1 5 near\n");
  REQUIRE(Soon([&] { return ranks.supervision->Unconnected() == std::vector<uint32_t>{2}; }));
  close(silent);
  CHECK(ranks.losses == 0);
  close(first);
  REQUIRE(Soon([&] { return ranks.losses == 1; }));
}

TEST_CASE("connections of strangers that say nothing take no rank's place") {
  Supervised ranks;
  std::vector<int> strangers;
  for (int i = 0; i < 200; ++i) strangers.push_back(ranks.Connect(""));
  const int first = ranks.Connect(ranks.address.token + " 1 5 near\n");
  REQUIRE(Soon([&] { return ranks.supervision->Unconnected() == std::vector<uint32_t>{2}; }));
  for (int i = 0; i < 200; ++i) strangers.push_back(ranks.Connect(""));
  const int second = ranks.Connect(ranks.address.token + " 2 77 far\n");
  REQUIRE(Soon([&] { return ranks.supervision->Unconnected().empty(); }));
  // Once all are there, strangers are closed and nothing listens any more.
  for (const int stranger : strangers) {
    CHECK(Closed(stranger));
    close(stranger);
  }
  CHECK(Listening(ranks.address.port) == "");
  CHECK(ranks.losses == 0);
  close(first);
  close(second);
}

TEST_CASE("ranks of one machine are listened for on its loopback interface alone") {
  CHECK(Listening(Supervised(true).address.port) == "0100007F");
  CHECK(Listening(Supervised(false).address.port) == "00000000");
}

TEST_CASE("a rank that is turned away connects again") {
  Network network(2, 1);
  cluster::Messenger first(network.wire(0)), second(network.wire(1));
  first.UseTagsBelow(kAddressTag + 1);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(at);
  const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(bind(listening, reinterpret_cast<const sockaddr*>(&at), size) == 0);
  REQUIRE(listen(listening, 4) == 0);
  REQUIRE(getsockname(listening, reinterpret_cast<sockaddr*>(&at), &size) == 0);
  const std::string text = fmt::format("{}\nsecret {} 7 here 127.0.0.1", cluster::BuildText(),
                                       ntohs(at.sin_port));
  first.SendCopy(1, kAddressTag, std::as_bytes(std::span(text.c_str(), text.size() + 1)));
  std::thread rank([&] { cluster::TcpSupervision supervision(second); });
  for (const bool turns_away : {true, true, false}) {
    const int accepted = accept(listening, nullptr, nullptr);
    char says[64] = {};
    CHECK(recv(accepted, says, sizeof(says) - 1, 0) > 0);
    CHECK(std::string_view(says).starts_with("secret 1 "));
    if (!turns_away) {
      REQUIRE(send(accepted, "\n", 1, MSG_NOSIGNAL) == 1);
      rank.join();
    }
    close(accepted);
  }
  close(listening);
}

// The process of a rank ends when rank 0 is gone in any other way.
TEST_CASE("a rank lives on when rank 0 has ended in order") {
  Network network(2, 1);
  cluster::Messenger first(network.wire(0)), second(network.wire(1));
  std::unique_ptr<Supervision> own;
  std::thread rank([&] { own = std::make_unique<cluster::TcpSupervision>(second); });
  auto supervision = std::make_unique<cluster::TcpSupervision>(first, true);
  std::atomic<int> losses{0};
  supervision->OnLost([&](const Supervision::Lost&) { ++losses; });
  rank.join();
  REQUIRE(Soon([&] { return supervision->Unconnected().empty(); }));
  supervision.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  own.reset();
  CHECK(losses == 0);
}

}  // namespace
}  // namespace cgraph::testing
