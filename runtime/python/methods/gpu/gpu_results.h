// Results on a GPU: what a method returned there is copied by the call's stream.
#ifndef CGRAPH_RUNTIME_PYTHON_METHODS_GPU_GPU_RESULTS_H_
#define CGRAPH_RUNTIME_PYTHON_METHODS_GPU_GPU_RESULTS_H_

#include <string>

#include <cgraph_extern.h>
#include "runtime/python/methods/gpu/call_stream.h"
#include "runtime/python/methods/python_api.h"

namespace cgraph::methods {

// Lets the stream copy a tensor on its GPU (DLPack, or the array interface of CUDA), or a number,
// into the memory of a result, behind what the tensor's owner has given other streams. What lies in
// the host's memory is refused: whoever copies it would make the host wait for the GPU. Returns an
// empty text, or what does not fit; where Python has an error set, that is why.
std::string CopyGpuResult(PyObject* value, const DLTensor& to, CallStream& stream);

}  // namespace cgraph::methods

#endif  // CGRAPH_RUNTIME_PYTHON_METHODS_GPU_GPU_RESULTS_H_
