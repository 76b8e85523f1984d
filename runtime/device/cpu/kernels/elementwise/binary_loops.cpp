// Loops of the operations of two and of three operands, and of selecting between two.
#include "runtime/device/cpu/kernels/elementwise/loop_templates.h"

namespace cgraph::device {

std::optional<ElementOp> FindOfSeveral(std::string_view name, DType dtype) {
#define BINARY(op_name, operation, dtypes) \
  if (name == op_name) return BinaryOp<operation, DTypes::dtypes, /*compares=*/false>(dtype);
#define SELECT(op_name, operation, dtypes) \
  if (name == op_name) return SelectOp<operation, DTypes::dtypes>(dtype);
#define TERNARY(op_name, operation, dtypes) \
  if (name == op_name) return TernaryOp<operation, DTypes::dtypes>(dtype);
#include "runtime/device/cpu/kernels/kernels.def"
  return std::nullopt;
}

}  // namespace cgraph::device
