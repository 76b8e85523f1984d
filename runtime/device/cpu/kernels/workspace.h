// Workspace: memory that a kernel takes when it is made and works in. It begins with a cache line,
// since a vector that lies across two lines is read and written as two.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_WORKSPACE_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_WORKSPACE_H_

#include <cstddef>
#include <new>
#include <vector>

namespace cgraph::device {

template <typename T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <typename Other>
  LineAllocator(const LineAllocator<Other>&) {}

  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* memory, size_t) { ::operator delete(memory, kLine); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};

template <typename T>
using Workspace = std::vector<T, LineAllocator<T>>;

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_WORKSPACE_H_
