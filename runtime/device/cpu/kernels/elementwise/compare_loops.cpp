// Loops of the comparisons.
#include "runtime/device/cpu/kernels/elementwise/loop_templates.h"

namespace cgraph::device {

std::optional<ElementOp> FindCompare(std::string_view name, DType dtype) {
#define COMPARE(op_name, operation, dtypes) \
  if (name == op_name) return BinaryOp<operation, DTypes::dtypes, true>(dtype);
#include "runtime/device/cpu/kernels/kernels.def"
  return std::nullopt;
}

}  // namespace cgraph::device
