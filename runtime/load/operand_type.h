// Conversion of a value of a plan to the type that a kernel is told.
#ifndef CGRAPH_RUNTIME_LOAD_OPERAND_TYPE_H_
#define CGRAPH_RUNTIME_LOAD_OPERAND_TYPE_H_

#include <cstdint>

#include "runtime/device/kernel.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// Returns the type, with dims at their bounds.
device::OperandType OperandTypeOf(const plan::Graph& graph, uint32_t value);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_OPERAND_TYPE_H_
