// The inputs of an execution: matched with the ports of its graph, and put into its frame.
#ifndef CGRAPH_RUNTIME_ENGINE_INPUTS_H_
#define CGRAPH_RUNTIME_ENGINE_INPUTS_H_

#include <span>
#include <vector>

#include <cgraph/engine.h>

#include "runtime/base/status.h"
#include "runtime/engine/callers_gpus.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// Finds the input of each port of the graph, and checks its type. `given`: by port; it has room for
// those of any graph. kInvalid, with the port, where one is missing, twice there, or does not fit.
Status MatchInputs(const plan::Plan& plan, const LoadedGraph& graph, std::span<const Input> inputs,
                   std::vector<const Input*>& given);

// Puts matched inputs into a frame, which no round uses: copies them, or has the frame read them
// where the caller lends them; `any_lent` says whether it does. kInvalid where there is no memory
// for a copy, kFailed with the error of a device.
Status PutInputs(const LoadedGraph& graph, const std::vector<const Input*>& given,
                 const CallersGpus& gpus, Frame& frame, bool& any_lent);

// Has the frame read none of its inputs from the caller's memory any more.
void ReturnLent(Frame& frame);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_INPUTS_H_
