// SharedArray: objects in host memory that the devices of a plan reach as well: semaphores, poison
// flags.
#ifndef CGRAPH_RUNTIME_DEVICE_SHARED_ARRAY_H_
#define CGRAPH_RUNTIME_DEVICE_SHARED_ARRAY_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "runtime/device/device.h"
#include "runtime/device/memory.h"

namespace cgraph::device {

template <typename T>
class SharedArray {
 public:
  SharedArray() = default;
  SharedArray(SharedArray&& other) noexcept { *this = std::move(other); }
  SharedArray& operator=(SharedArray&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~SharedArray() { std::destroy_n(data(), size_); }

  // Makes `size` objects, value-initialised, in pinned memory of `host`, the device of the caller.
  // kInvalid, with `what`, when there is no memory for them.
  static Result<SharedArray> Make(Device& host, size_t size, const std::string& what) {
    SharedArray made;
    if (size == 0) return made;
    auto memory = host.Allocate(size * sizeof(T), MemoryKind::pinned, what);
    if (!memory.ok()) return memory.status();
    made.memory_ = std::move(*memory);
    std::uninitialized_value_construct_n(made.data(), size);
    made.size_ = size;
    return made;
  }

  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  size_t size() const { return size_; }
  T& operator[](size_t i) const { return data()[i]; }
  T* begin() const { return data(); }
  T* end() const { return data() + size_; }

 private:
  Memory memory_;
  size_t size_ = 0;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_SHARED_ARRAY_H_
