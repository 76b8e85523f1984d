// The driver's functions of captures and graphs.
#include <cuda.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/emulation/driver/capture.h"
#include "tests/emulation/driver/machine.h"
#include "tests/emulation/misuse.h"

using namespace cgraph::emulation;

namespace {

// Instantiating takes long. Other threads may call meanwhile, but not with the same graph, which is
// not safe to use from several.
void TakeTime(Machine& machine, Lock& lock, CUgraph_st& graph) {
  if (graph.instantiated++ != 0) Misuse("a graph is instantiated twice at the same time");
  ++machine.instantiating;
  machine.most_instantiating = std::max(machine.most_instantiating, machine.instantiating);
  lock.unlock();
  std::this_thread::sleep_for(std::chrono::microseconds(200));
  lock.lock();
  --machine.instantiating;
  --graph.instantiated;
}

}  // namespace

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  return Serve(calls::k_cuStreamBeginCapture, [&](Machine& machine, Lock&) {
    CUstream stream;
    const CUresult found = FindStream(machine, handle, stream);
    if (found != CUDA_SUCCESS) return found;
    return BeginCapture(machine, stream, mode);
  });
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  return Serve(calls::k_cuStreamEndCapture, [&](Machine& machine, Lock&) {
    CUstream stream;
    const CUresult found = FindStream(machine, handle, stream);
    if (found != CUDA_SUCCESS) return found;
    return EndCapture(machine, stream, *graph);
  });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* handle, CUgraph graph,
                                     unsigned long long flags) {
  return Serve(calls::k_cuGraphInstantiateWithFlags, [&](Machine& machine, Lock& lock) {
    if (!machine.graphs.Lives(graph)) return BadHandle("a graph");
    if (flags != 0) return CUDA_ERROR_NOT_SUPPORTED;
    TakeTime(machine, lock, *graph);
    CUgraphExec exec = machine.execs.Make();
    exec->context = CurrentContext();
    exec->nodes = graph->nodes;
    exec->dependents.resize(exec->nodes.size());
    for (size_t i = 0; i < exec->nodes.size(); ++i) {
      for (const size_t dependency : exec->nodes[i].dependencies) {
        exec->dependents[dependency].push_back(i);
      }
    }
    *handle = exec;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream handle) {
  return Serve(calls::k_cuGraphUpload, [&](Machine& machine, Lock&) {
    if (!machine.execs.Lives(exec)) return BadHandle("an executable graph");
    CUstream stream;
    const CUresult found = FindStream(machine, handle, stream);
    if (found != CUDA_SUCCESS || stream->capture.capture == nullptr) return found;
    return Invalidate(stream->capture.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  });
}

// What was captured is launched with the memory that there is now.
CUresult cuGraphLaunch(CUgraphExec exec, CUstream handle) {
  return Serve(calls::k_cuGraphLaunch, [&](Machine& machine, Lock&) {
    if (!machine.execs.Lives(exec)) return BadHandle("an executable graph");
    CUstream stream;
    const CUresult found = FindStream(machine, handle, stream);
    if (found != CUDA_SUCCESS) return found;
    if (stream->capture.capture != nullptr) {
      return Invalidate(stream->capture.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    for (const GraphNode& node : exec->nodes) {
      Work work = node.work;
      const CUresult checked = CheckMemory(machine, work);
      if (checked != CUDA_SUCCESS) return checked;
    }
    auto run = std::make_shared<GraphRun>();
    run->exec = exec;
    run->number = exec->launched++;
    return Issue(machine, stream, {RunGraph{std::move(run)}});
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return Serve(calls::k_cuGraphDestroy, [&](Machine& machine, Lock&) {
    if (!machine.graphs.Lives(graph)) return BadHandle("a graph");
    if (graph->instantiated != 0) Misuse("a graph is destroyed while it is instantiated");
    machine.graphs.Destroy(graph);
    return CUDA_SUCCESS;
  });
}

// Launches that are not done go on.
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return Serve(calls::k_cuGraphExecDestroy, [&](Machine& machine, Lock&) {
    if (!machine.execs.Lives(exec)) return BadHandle("an executable graph");
    machine.execs.Destroy(exec);
    return CUDA_SUCCESS;
  });
}
