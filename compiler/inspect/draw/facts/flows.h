// Which operation's value reaches which other operation, and how it travels there.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_FACTS_FLOWS_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_FACTS_FLOWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/inspect/draw/facts/operations.h"
#include "runtime/plan/plan.h"

namespace cgraph {

struct Flow {
  uint32_t from = 0;   // operations that make or use values: calls, takes, gives, loads,
  uint32_t to = 0;     // collectives; not the copies and transfers between them
  uint32_t value = 0;  // as its maker wrote it, or the part of it that is read
  // As `--emit transports` says it: "host", "nccl through gpu[1]", in order; "copy" is one on the
  // same device; none: no device is left.
  std::vector<std::string> transports;
};

// In program order of the readers. State is not followed: it belongs to an actor and is no value
// that travels. Extents are followed only when they are used as numbers.
std::vector<Flow> FindFlows(const plan::Plan& plan, const plan::Graph& graph,
                            const Operations& operations);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_FACTS_FLOWS_H_
