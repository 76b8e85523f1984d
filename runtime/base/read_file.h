// Reading a file that may be anything: a device that never ends, a folder, 10 GB, a pipe that
// nobody writes to. It is read in pieces, since a size that the file system reports may be a lie
// (a pipe, /proc).
#ifndef CGRAPH_RUNTIME_BASE_READ_FILE_H_
#define CGRAPH_RUNTIME_BASE_READ_FILE_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <system_error>

namespace cgraph {

// Patience: how long the next byte may take; then reading fails with ETIMEDOUT.
using Patience = std::chrono::nanoseconds;
constexpr Patience kForever = Patience::max();

// open() for reading that never waits, not even for the writer of a pipe.
int OpenToRead(const std::string& path);
// read(), repeated after an interruption.
ssize_t ReadSome(int descriptor, std::span<uint8_t> out, Patience patience);
// Says by errno why a file cannot be read: "nothing has come for 1 s" for ETIMEDOUT.
std::string ReadErrorText(int error, Patience patience);

// Hands over the file piece by piece, until the file ends or `take` has enough and returns false.
std::error_code ReadPieces(const std::string& path,
                           const std::function<bool(std::span<const char>)>& take,
                           Patience patience = kForever);

// Reads all of the file, or its first `most` + 1 bytes when it has more: the caller refuses such a
// file.
std::error_code ReadFile(const std::string& path, int64_t most, std::string& text);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_READ_FILE_H_
