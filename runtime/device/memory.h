// Memory of a device's arenas: zeroed, aligned to a page, and touched when it is allocated, so that
// no execution pays for a page fault. The sizes come from plans, which are not trusted: more than
// the machine has is refused before the system is asked for it.
#ifndef CGRAPH_RUNTIME_DEVICE_MEMORY_H_
#define CGRAPH_RUNTIME_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "runtime/status/status.h"

namespace cgraph::device {

inline constexpr uint64_t kBlockAlign = 4096;  // of a Memory
inline constexpr uint64_t kLineAlign = 128;    // of what is laid out in it: two cache lines

class Memory {
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Memory();

  // `what` is named when there is not so much: "the arenas of gpu[0]".
  static Result<Memory> Allocate(uint64_t bytes, const std::string& what);

  std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

// kInvalid where `bytes` for `what` are more than is free on this machine now. For what a plan
// makes the engine allocate elsewhere than in a Memory.
Status CheckFree(uint64_t bytes, const std::string& what);

// Adds up sizes of an untrusted plan; saturates instead of wrapping.
class BumpLayout {
 public:
  // The offset of `bytes` more, aligned to `align` (a power of two).
  uint64_t Add(uint64_t bytes, uint64_t align = kLineAlign);
  uint64_t size() const { return size_; }

 private:
  uint64_t size_ = 0;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_MEMORY_H_
