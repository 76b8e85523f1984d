// Tensors as text for people: for `probe` and for results that are printed.
#ifndef CGRAPH_RUNTIME_DEVICE_FORMAT_TENSOR_H_
#define CGRAPH_RUNTIME_DEVICE_FORMAT_TENSOR_H_

#include <string>

#include "runtime/device/tensor.h"

namespace cgraph::device {

// Returns the type as text: "f32[5, 10]".
std::string TensorTypeText(const Tensor& tensor);

// Returns the elements in brackets as NumPy prints them: up to eight digits behind the point,
// columns aligned, long rows wrapped. Of more than a thousand elements only the first and last
// three of a dimension are shown. No newline at the end.
std::string FormatTensor(const Tensor& tensor);

// Returns an element of a tensor of a float dtype.
double ElementAsDouble(const Tensor& tensor, int64_t i);

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_FORMAT_TENSOR_H_
