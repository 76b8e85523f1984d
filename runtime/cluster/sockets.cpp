#include "runtime/cluster/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

namespace cgraph::cluster {
namespace {

// How soon a machine that cannot be reached is noticed: 1 s of silence, then 4 questions.
constexpr int kQuiet = 1, kEvery = 1, kQuestions = 4;
// The others try each address of rank 0 for so long.
constexpr int kConnectMilliseconds = 2000;

}  // namespace

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
  (void)!send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace cgraph::cluster
