#include "runtime/base/read_file.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace cgraph {
namespace {

// Waits until there is something to read, or the end: returns 0, or an errno.
int AwaitBytes(int descriptor, Patience patience) {
  constexpr auto kLongest = std::chrono::hours(1);  // of one poll()
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const Patience left = patience == kForever
                              ? Patience(kLongest)
                              : patience - (std::chrono::steady_clock::now() - start);
    if (left <= Patience::zero()) return ETIMEDOUT;
    const auto wait =
        std::chrono::ceil<std::chrono::milliseconds>(std::min<Patience>(left, kLongest));
    pollfd look = {descriptor, POLLIN, 0};
    const int ready = poll(&look, 1, static_cast<int>(wait.count()));
    if (ready > 0) return 0;
    if (ready < 0 && errno != EINTR) return errno;
  }
}

}  // namespace

int OpenToRead(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

ssize_t ReadSome(int descriptor, std::span<uint8_t> out, Patience patience) {
  for (;;) {
    if (const int error = AwaitBytes(descriptor, patience); error != 0) {
      errno = error;
      return -1;
    }
    const ssize_t count = read(descriptor, out.data(), out.size());
    if (count >= 0 || (errno != EINTR && errno != EAGAIN)) return count;
  }
}

std::string ReadErrorText(int error, Patience patience) {
  if (error != ETIMEDOUT) return std::strerror(error);
  return fmt::format("nothing has come for {} s", std::chrono::duration<double>(patience).count());
}

std::error_code ReadPieces(const std::string& path,
                           const std::function<bool(std::span<const char>)>& take,
                           Patience patience) {
  const int descriptor = OpenToRead(path);
  if (descriptor < 0) return {errno, std::generic_category()};
  std::array<uint8_t, 1 << 16> piece;
  int error = 0;
  for (;;) {
    const ssize_t got = ReadSome(descriptor, piece, patience);
    if (got < 0) error = errno;
    if (got <= 0) break;
    const char* bytes = reinterpret_cast<const char*>(piece.data());
    if (!take({bytes, static_cast<size_t>(got)})) break;
  }
  close(descriptor);
  return {error, std::generic_category()};
}

std::error_code ReadFile(const std::string& path, int64_t most, std::string& text) {
  text.clear();
  const auto limit = static_cast<size_t>(most) + 1;
  return ReadPieces(path, [&](std::span<const char> piece) {
    text.append(piece.data(), std::min(piece.size(), limit - text.size()));
    return text.size() < limit;
  });
}

}  // namespace cgraph
