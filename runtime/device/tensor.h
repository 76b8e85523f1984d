// Tensors: what kernels read and write, and their types as they are known before anything runs.
#ifndef CGRAPH_RUNTIME_DEVICE_TENSOR_H_
#define CGRAPH_RUNTIME_DEVICE_TENSOR_H_

#include <cgraph/tensor.h>

#include <cstdint>
#include <string>

#include "runtime/plan/check.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/plan.h"

namespace cgraph::device {

static_assert(Tensor::kMostDims == kMaxRank);

// The type of an operand as it is known at load: dims are bounds where `dynamic` says so.
struct OperandType {
  plan::DType dtype = plan::DType::f32;
  uint8_t rank = 0;
  int64_t dims[kMaxRank] = {};
  bool dynamic[kMaxRank] = {};
  bool in_state = false;  // of a result: a call that is poisoned must not write it
};

// ---- as text for people: for `probe` and for results that are printed

// Returns the type as text: "f32[5, 10]".
std::string TensorTypeText(const Tensor& tensor);

// Returns the elements in brackets as NumPy prints them: up to eight digits behind the point,
// columns aligned, long rows wrapped. Of more than a thousand elements only the first and last
// three of a dimension are shown. No newline at the end.
std::string FormatTensor(const Tensor& tensor);

// Returns an element of a tensor of a float dtype.
double ElementAsDouble(const Tensor& tensor, int64_t i);

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_TENSOR_H_
