// A value of a plan as a kernel is told of it.
#ifndef CGRAPH_RUNTIME_ENGINE_LOAD_OPERAND_TYPE_H_
#define CGRAPH_RUNTIME_ENGINE_LOAD_OPERAND_TYPE_H_

#include <cstdint>

#include "runtime/device/kernel.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// Its dims are at their bounds.
device::OperandType OperandTypeOf(const plan::Graph& graph, uint32_t value);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_LOAD_OPERAND_TYPE_H_
