// Parts that every maker of kernels needs: the call as the plan states it, and checks of operands.
//
// A plan is untrusted, and only a kernel knows its rules, so each maker checks all of them and
// Run() none. Dims are compared at their bounds: two operands whose bounds agree are safe to index
// by either one's extents, whatever the extents of an execution are.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_OPERANDS_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_OPERANDS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/device/kernel.h"
#include "runtime/device/memory.h"
#include "runtime/device/numbers/half.h"
#include "runtime/plan/kinds.h"

namespace cgraph::device {

using KernelResult = Result<std::unique_ptr<Kernel>>;
using plan::DType;

// A kernel to be made.
struct Request {
  const std::string& kernel;
  std::span<const std::unique_ptr<plan::Attribute>> attributes;
  std::span<const OperandType> inputs;
  std::span<const OperandType> outputs;
};

// Returns the type for messages: "f32[n <= 64, 32]"; a dynamic dim is "<= 64".
std::string TypeText(const OperandType& type);

Status Invalid(const Request& request, const std::string& why);
// Returns the refusal where no kernel computes with these dtypes.
Status NoKernel(const Request& request);

Status ExpectCounts(const Request& request, size_t inputs, size_t outputs);
// Checks that every input and output has this dtype.
Status ExpectDType(const Request& request, DType dtype);
// Checks that every input and output has the dtype of the first output.
Status ExpectOneDType(const Request& request);
Status ExpectScalar(const Request& request, const OperandType& type, DType dtype);
Status ExpectSameDims(const Request& request, const OperandType& a, const OperandType& b);
// Checks that `from` broadcasts to `to` by NumPy's rules.
Status ExpectBroadcast(const Request& request, const OperandType& from, const OperandType& to);
bool SameDim(const OperandType& a, int i, const OperandType& b, int j);

// The longest dimension `dim` of a kernel whose workspace may be as long as that dimension.
inline constexpr int64_t kLongestRow = int64_t{1} << 24;
Status ExpectWorkspaceFits(const Request& request, const OperandType& type, int dim);

// Look attributes up by name: kInvalid when one is absent or of another kind.
Result<int64_t> IntAttribute(const Request& request, const std::string& name);
Result<bool> BoolAttribute(const Request& request, const std::string& name);
Result<double> FloatAttribute(const Request& request, const std::string& name);
Result<std::string> TextAttribute(const Request& request, const std::string& name);
Result<std::vector<int64_t>> IntsAttribute(const Request& request, const std::string& name);
// Looks up an attribute that names one of the dimensions of `type`; -1 is the last.
Result<int> DimAttribute(const Request& request, const std::string& name, const OperandType& type);

// The product of dims [first, last).
inline int64_t Product(const Tensor& tensor, int first, int last) {
  int64_t product = 1;
  for (int i = first; i < last; ++i) product *= tensor.dims[i];
  return product;
}

// Returns which element of `part`, without its last `own` dimensions, goes with element i of
// `whole` without its last `whole_own`, where it broadcasts to that by NumPy's rules.
inline int64_t BroadcastIndex(const Tensor& part, int own, const Tensor& whole, int whole_own,
                              int64_t i) {
  int64_t index = 0, size = 1;
  for (int d = 1; d <= part.rank - own; ++d) {
    const int64_t extent = part.dims[part.rank - own - d];
    const int64_t step = whole.dims[whole.rank - whole_own - d];
    if (extent != 1) index += i % step * size;
    size *= extent;
    i /= step;
  }
  return index;
}

// A tensor as [outer, along, inner], where `along` is one of its dimensions. A column is what lies
// along it.
struct Columns {
  int64_t outer, along, inner;
  int64_t count() const { return outer * inner; }
};
inline Columns ColumnsOf(const Tensor& x, int dim) {
  return {Product(x, 0, dim), x.dims[dim], Product(x, dim + 1, x.rank)};
}

// Calls `use` with a value of the C++ type of a dtype; bool is a byte that is zero or not.
template <typename Use>
void WithType(DType dtype, Use&& use) {
  switch (dtype) {
    case DType::bool_: case DType::u8: use(uint8_t{}); return;
    case DType::i8: use(int8_t{}); return;
    case DType::i32: use(int32_t{}); return;
    case DType::i64: use(int64_t{}); return;
    case DType::f16: use(F16{}); return;
    case DType::bf16: use(BF16{}); return;
    case DType::f32: use(float{}); return;
    case DType::f64: use(double{}); return;
  }
}
// As WithType(), for the dtypes whose elements are numbers in themselves: f16 and bf16 are computed
// with as f32.
constexpr bool IsHalf(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }
constexpr DType ComputeDType(DType dtype) { return IsHalf(dtype) ? DType::f32 : dtype; }
template <typename Use>
void WithComputeType(DType dtype, Use&& use) {
  WithType(ComputeDType(dtype), [&](auto zero) {
    if constexpr (!kIsHalf<decltype(zero)>) use(zero);
  });
}

// A kernel that is a function of its operands and nothing else.
template <typename Function>
class FunctionKernel final : public Kernel {
 public:
  explicit FunctionKernel(Function function) : function_(std::move(function)) {}
  bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void*,
           std::string& error) override {
    if constexpr (std::is_invocable_v<Function, std::span<const Tensor>, std::span<const Tensor>,
                                      std::string&>) {
      return function_(inputs, outputs, error);
    } else {
      function_(inputs, outputs);
      return true;
    }
  }

 private:
  Function function_;
};
template <typename Function>
std::unique_ptr<Kernel> KernelOf(Function function) {
  return std::make_unique<FunctionKernel<Function>>(std::move(function));
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_OPERANDS_H_
