// Supervision at rank 0: who connects, who is gone, who is a stranger. The other ranks are sockets
// of the test.
#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <sstream>
#include <thread>

#include "runtime/ranks/supervision.h"
#include "tests/unit/runtime/messages/wires.h"

namespace cgraph::testing {
namespace {

using ranks::Supervision;

constexpr uint32_t kAddressTag = 1;

// Address: takes what rank 0 tells the others: a line with its build, then the number that they
// have to know, the port, and addresses.
class Address final : public ranks::Listener {
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
  Supervised() : network_(3, 1), first_(network_.wire(0)), second_(network_.wire(1)) {
    supervision = std::make_unique<ranks::TcpSupervision>(first_);
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
  ranks::Messenger first_, second_;

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

}  // namespace
}  // namespace cgraph::testing
