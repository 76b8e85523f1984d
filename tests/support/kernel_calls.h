// Calls of single CPU kernels: tensors with memory of their own, and a kernel that is made for them
// and run once.
#ifndef CGRAPH_TESTS_SUPPORT_KERNEL_CALLS_H_
#define CGRAPH_TESTS_SUPPORT_KERNEL_CALLS_H_

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/device/kernel.h"
#include "runtime/plan/kinds.h"

namespace cgraph::device::testing {

using plan::DType;
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

template <typename T> constexpr DType kDTypeOf = DType::f64;
template <> constexpr DType kDTypeOf<bool> = DType::bool_;
template <> constexpr DType kDTypeOf<int8_t> = DType::i8;
template <> constexpr DType kDTypeOf<uint8_t> = DType::u8;
template <> constexpr DType kDTypeOf<int32_t> = DType::i32;
template <> constexpr DType kDTypeOf<int64_t> = DType::i64;
template <> constexpr DType kDTypeOf<float> = DType::f32;

// Value: a tensor with memory of its own, filled with a pattern first so that elements that are not
// written show.
struct Value {
  Tensor tensor;
  std::vector<uint64_t> memory;

  Value(DType dtype, std::vector<int64_t> dims) {
    tensor.dtype = dtype;
    tensor.rank = static_cast<uint8_t>(dims.size());
    std::copy(dims.begin(), dims.end(), tensor.dims);
    memory.assign(static_cast<size_t>(tensor.elements()) + 1, 0xa5a5a5a5a5a5a5a5u);
    tensor.data = memory.data();
  }
  template <typename T>
  std::vector<T> Elements() const {
    REQUIRE(tensor.dtype == kDTypeOf<T>);
    return std::vector<T>(tensor.as<T>(), tensor.as<T>() + tensor.elements());
  }
};
template <typename T>
Value Make(std::vector<int64_t> dims, const std::vector<T>& elements) {
  Value value(kDTypeOf<T>, std::move(dims));
  REQUIRE(value.tensor.elements() == static_cast<int64_t>(elements.size()));
  for (size_t i = 0; i < elements.size(); ++i) value.tensor.as<T>()[i] = elements[i];
  return value;
}

inline OperandType TypeOf(const Tensor& tensor) {
  OperandType type;
  type.dtype = tensor.dtype;
  type.rank = tensor.rank;
  std::copy(tensor.dims, tensor.dims + tensor.rank, type.dims);
  return type;
}

struct Attributes {
  std::vector<std::pair<std::string, int64_t>> ints;
  std::vector<std::pair<std::string, double>> floats;
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<std::pair<std::string, std::vector<int64_t>>> lists;
};
inline plan::Kernel Named(const std::string& name, const Attributes& attributes) {
  plan::Kernel kernel;
  kernel.name = name;
  auto primitive = std::make_unique<plan::Primitive>();
  primitive->op = name;
  const auto add = [&](const std::string& attribute) {
    primitive->attributes.push_back(std::make_unique<plan::Attribute>());
    primitive->attributes.back()->name = attribute;
    return primitive->attributes.back().get();
  };
  for (const auto& [key, value] : attributes.ints) add(key)->ints = {value};
  for (const auto& [key, value] : attributes.floats)
    add(key)->bits = {std::bit_cast<uint64_t>(value)};
  for (const auto& [key, value] : attributes.texts) add(key)->text = value;
  for (const auto& [key, value] : attributes.lists) add(key)->ints = value;
  kernel.body.push_back(std::move(primitive));
  return kernel;
}

inline Result<std::unique_ptr<Kernel>> TryMake(const std::string& name,
                                               std::vector<OperandType> inputs,
                                               std::vector<OperandType> outputs,
                                               const Attributes& attributes = {}) {
  return MakeCpuKernel(Named(name, attributes), inputs, outputs);
}

inline bool Run(const std::string& name, const std::vector<const Value*>& inputs, Value* output,
                const Attributes& attributes, std::string& error) {
  std::vector<OperandType> in_types, out_types;
  std::vector<Tensor> in, out;
  for (const Value* input : inputs) {
    in_types.push_back(TypeOf(input->tensor));
    in.push_back(input->tensor);
  }
  if (output != nullptr) {
    out_types.push_back(TypeOf(output->tensor));
    out.push_back(output->tensor);
  }
  auto kernel = TryMake(name, in_types, out_types, attributes);
  INFO(name << ": " << (kernel.ok() ? "" : kernel.status().message()));
  REQUIRE(kernel.ok());
  return (*kernel)->Run(in, out, nullptr, error);
}
inline Value Call(const std::string& name, const std::vector<const Value*>& inputs, Value output,
                  const Attributes& attributes = {}) {
  std::string error;
  REQUIRE(Run(name, inputs, &output, attributes, error));
  return output;
}

// Returns the element of `from` that broadcasting puts at a flat index of `to`.
inline int64_t BroadcastIndex(const Tensor& from, const Tensor& to, int64_t flat) {
  int64_t index = 0, stride = 1;
  for (int i = 1; i <= to.rank; ++i) {
    const int64_t at = flat % to.dims[to.rank - i];
    flat /= to.dims[to.rank - i];
    if (i > from.rank) continue;
    if (from.dims[from.rank - i] != 1) index += at * stride;
    stride *= from.dims[from.rank - i];
  }
  return index;
}

template <typename T>
std::vector<T> Sequence(int64_t count, int first = -7) {
  std::vector<T> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(first + 3 * static_cast<int>(i) % 23);
  return values;
}

template <typename T>
void SameElements(const std::vector<T>& got, const std::vector<T>& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i);
    if (expected[i] != expected[i]) CHECK(got[i] != got[i]);
    else CHECK(got[i] == expected[i]);
  }
}

}  // namespace cgraph::device::testing

#endif  // CGRAPH_TESTS_SUPPORT_KERNEL_CALLS_H_
