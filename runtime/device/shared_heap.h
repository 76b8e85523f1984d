// SharedHeap: small objects in host memory that all lanes of an engine share, whichever thread,
// process or device drives them: slots of channels, counters, event counts.
//
// Objects are made at load and go with the heap. They contain no pointers to other memory of one
// process. Their memory comes from the device of the caller in chunks, since that device gives
// whole pages. What one call makes begins on cache lines of its own, so the objects of two calls
// never share one.
//
// Where several processes share the heap, each makes the same objects in the same order, so an
// object has one address in all of them.
#ifndef CGRAPH_RUNTIME_DEVICE_SHARED_HEAP_H_
#define CGRAPH_RUNTIME_DEVICE_SHARED_HEAP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/device/memory.h"

namespace cgraph::device {

class SharedHeap {
 public:
  explicit SharedHeap(Device& host) : host_(host) {}

  // Makes `count` objects, value-initialised. kInvalid, with `what`, when there is no memory.
  template <typename T>
  Result<std::span<T>> Make(size_t count, const std::string& what) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= kLineAlign);
    if (count == 0) return std::span<T>();
    if (count > UINT64_MAX / 2 / sizeof(T)) {
      return Status(StatusCode::kInvalid, "no memory for " + what);
    }
    auto data = Take(count * sizeof(T), what);
    if (!data.ok()) return data.status();
    T* const objects = reinterpret_cast<T*>(*data);
    std::uninitialized_value_construct_n(objects, count);
    return std::span<T>(objects, count);
  }
  // Makes `count` objects whose bytes are zero, without writing them: another process may have
  // written its own by now.
  template <typename T>
  Result<std::span<T>> MakeZeroed(size_t count, const std::string& what) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kLineAlign);
    if (count == 0) return std::span<T>();
    if (count > UINT64_MAX / 2 / sizeof(T)) {
      return Status(StatusCode::kInvalid, "no memory for " + what);
    }
    auto data = Take(count * sizeof(T), what);
    if (!data.ok()) return data.status();
    return std::span<T>(reinterpret_cast<T*>(*data), count);
  }

 private:
  static constexpr uint64_t kChunk = 64 << 10;

  Result<std::byte*> Take(uint64_t bytes, const std::string& what) {
    bytes = AlignUp(bytes, kLineAlign);
    if (left_.size() < bytes) {
      auto memory = host_.Allocate(std::max(bytes, kChunk), MemoryKind::pinned, what);
      if (!memory.ok()) return memory.status();
      std::span<std::byte> chunk(memory->data(), memory->size());
      chunks_.push_back(std::move(*memory));
      if (bytes >= kChunk) return chunk.data();  // what is left of the other chunk is kept
      left_ = chunk;
    }
    std::byte* const data = left_.data();
    left_ = left_.subspan(bytes);
    return data;
  }

  Device& host_;
  std::vector<Memory> chunks_;
  std::span<std::byte> left_;  // of the last small chunk
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_SHARED_HEAP_H_
