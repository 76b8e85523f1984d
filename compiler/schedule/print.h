// Print schedules: what `--emit schedule` and `--emit transports` show.
#ifndef CGRAPH_COMPILER_SCHEDULE_PRINT_H_
#define CGRAPH_COMPILER_SCHEDULE_PRINT_H_

#include <vector>

#include "compiler/base/source.h"
#include "compiler/schedule/ir.h"
#include "llvm/Support/raw_ostream.h"

namespace cgraph {

// Per graph and lane its steps in order, one line each, with what they wait for. `sources` say in
// which line a value without a name is made; null: unknown.
void PrintSchedule(const graph::Module& module, const std::vector<schedule::Schedule>& schedules,
                   const Sources* sources, llvm::raw_ostream& out);

// Per graph its edges between devices: value, from, to, transport, why. One line each.
void PrintTransports(const graph::Module& module, const std::vector<schedule::Schedule>& schedules,
                     const Sources* sources, llvm::raw_ostream& out);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_SCHEDULE_PRINT_H_
