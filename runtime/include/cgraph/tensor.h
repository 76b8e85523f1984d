// Tensors as a program gives them to an engine and gets them: element types, and memory of a type.
#ifndef CGRAPH_TENSOR_H_
#define CGRAPH_TENSOR_H_

#include <cstddef>
#include <cstdint>

namespace cgraph {

namespace wire {

// The element types, by their numbers in plans.
enum class DType : uint8_t { bool_, i8, u8, i32, i64, f16, bf16, f32, f64, MIN = bool_, MAX = f64 };

}  // namespace wire

namespace plan {

using wire::DType;

// Returns the bytes of an element: 1 of a boolean; 0 of a number that is no dtype.
constexpr int64_t DTypeBytes(DType dtype) {
  constexpr int64_t kBytes[] = {1, 1, 1, 4, 8, 2, 2, 4, 8};
  return dtype <= DType::MAX ? kBytes[static_cast<size_t>(dtype)] : 0;
}

}  // namespace plan

namespace device {

// A dense row-major tensor in memory. `dims` are the extents of this execution.
struct Tensor {
  static constexpr int kMostDims = 8;

  void* data = nullptr;
  plan::DType dtype = plan::DType::f32;
  uint8_t rank = 0;
  int64_t dims[kMostDims] = {};

  int64_t elements() const {
    int64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= dims[i];
    return count;
  }
  uint64_t bytes() const { return static_cast<uint64_t>(elements() * plan::DTypeBytes(dtype)); }
  template <typename T>
  T* as() const { return static_cast<T*>(data); }
};

}  // namespace device
}  // namespace cgraph

#endif  // CGRAPH_TENSOR_H_
