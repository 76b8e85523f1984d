// Nvtx: named ranges on threads, which NVIDIA's profilers show beside what the GPU does.
//
// A profiler sets NVTX_INJECTION64_PATH to a library of its own. Programs open that library and
// hand it tables of function pointers, which it fills; without the variable nothing is opened.
// NVIDIA's header nvtx3 does the same; what we use of it is declared here.
#ifndef CGRAPH_RUNTIME_EXECUTE_NVTX_H_
#define CGRAPH_RUNTIME_EXECUTE_NVTX_H_

namespace cgraph::engine {

// Returns whether a tool is attached that records ranges, found out once a process. Thread-safe.
bool NvtxIsAttached();

// Begin a range on this thread, inside those that it has begun; end the innermost. A tool is
// attached.
void BeginRange(const char* name);
void EndRange();

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_EXECUTE_NVTX_H_
