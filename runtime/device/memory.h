// Memory: a handle on a block of a device's memory, of one kind; the block goes back to its owner
// when the handle dies. Addresses in it are the device's: the host copies into it and out of it
// through the device (device.h), unless the block says that the host sees it, too.
//
// A block is zeroed and aligned to a page. A block of the host's own memory is touched when it is
// allocated, so that no execution pays for a page fault. Sizes come from plans, which are not
// trusted: a size greater than the machine's memory is refused before the system is asked for it.
#ifndef CGRAPH_RUNTIME_DEVICE_MEMORY_H_
#define CGRAPH_RUNTIME_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace cgraph::device {

inline constexpr uint64_t kBlockAlign = 4096;  // of a Memory
inline constexpr uint64_t kLineAlign = 128;    // of what is laid out in it: two cache lines

using MemoryKind = plan::Memory;

// The owner of a block of memory: made it, and takes it back. Lives as long as any of its blocks.
class MemoryOwner {
 public:
  virtual ~MemoryOwner() = default;
  virtual void Free(std::byte* data, uint64_t size) = 0;
};

class Memory {
 public:
  Memory() = default;
  // A handle on a block of `owner`'s; null: mapped memory of the host.
  Memory(std::byte* data, uint64_t size, MemoryKind kind, bool host_visible,
         std::shared_ptr<MemoryOwner> owner)
      : data_(data), size_(size), kind_(kind), host_visible_(host_visible),
        owner_(std::move(owner)) {}
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(kind_, other.kind_);
    std::swap(host_visible_, other.host_visible_);
    std::swap(owner_, other.owner_);
    return *this;
  }
  ~Memory();

  // Allocates memory of the host. `what` is named when there is not enough: "the arenas of gpu[0]".
  static Result<Memory> Allocate(uint64_t bytes, const std::string& what,
                                 MemoryKind kind = MemoryKind::plain);

  std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }
  MemoryKind kind() const { return kind_; }
  bool host_visible() const { return host_visible_; }
  const MemoryOwner* owner() const { return owner_.get(); }  // null: the host

 private:
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
  MemoryKind kind_ = MemoryKind::plain;
  bool host_visible_ = true;
  std::shared_ptr<MemoryOwner> owner_;
};

// Where devices of the host take their memory from, if not from their own process: then several
// processes share what is taken. Lives as long as any of its blocks.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // As Memory::Allocate.
  virtual Result<Memory> Allocate(uint64_t bytes, MemoryKind kind, const std::string& what) = 0;
  // Returns whether memory of the caller's is this source's.
  virtual bool Contains(const void* data) const = 0;
};

// Copies memory of the host. A copy of no bytes, whose addresses may be null, and a copy onto
// itself do nothing: memcpy allows neither.
inline void CopyBytes(void* to, const void* from, uint64_t bytes) {
  if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
}

// Returns kInvalid where `bytes` for `what` are more than is free on this machine now. For memory
// that the engine allocates for a plan elsewhere than in a Memory.
Status CheckFree(uint64_t bytes, const std::string& what);

// Returns a block of memory of the host that has addresses from the start, is zero, and takes room
// on the machine where it is first touched: for inputs that callers mostly lend, which are read
// where the callers have them. kInvalid, with `what`, where the system refuses.
Result<Memory> ReserveMemory(uint64_t bytes, const std::string& what);
// Takes room for a part of such a block, before it is written to. kInvalid, with `what`, when it is
// more than is free.
Status TakeReserved(void* data, uint64_t bytes, const std::string& what);

// Returns the least multiple of `align`, a power of two, that is not less than `bytes`, which must
// be a size that memory can have.
constexpr uint64_t AlignUp(uint64_t bytes, uint64_t align) {
  return (bytes + align - 1) & ~(align - 1);
}

// BumpLayout: adds up sizes of an untrusted plan; saturates instead of wrapping.
class BumpLayout {
 public:
  // Returns the offset of `bytes` more, aligned to `align` (a power of two).
  uint64_t Add(uint64_t bytes, uint64_t align = kLineAlign);
  uint64_t size() const { return size_; }

 private:
  uint64_t size_ = 0;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_MEMORY_H_
