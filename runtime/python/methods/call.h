// A call of a method in Python.
#ifndef CGRAPH_RUNTIME_PYTHON_METHODS_CALL_H_
#define CGRAPH_RUNTIME_PYTHON_METHODS_CALL_H_

#include <cstdint>
#include <string>

#include <cgraph_extern.h>

#include "runtime/python/methods/gpu/call_stream.h"
#include "runtime/python/methods/python_api.h"

namespace cgraph::methods {

struct Method;

// Makes a method of what `find` of helper.py has found; it is never ended.
Method* MakeMethod(PyObject* found);

// Calls it, with the interpreter's lock. Returns an empty text, or why it has failed.
std::string Call(Method& method, const cgraph_call& call);

// Copies what was returned into the memory of the results: nothing is None, one result is the value
// itself, several are a tuple or list. `own`: how many at the end are not the method's, but of what
// calls it. On a GPU `stream` copies them; else it is null. Returns an empty text, or what does not
// fit; where Python has an error set, that is why.
std::string CopyResults(PyObject* returned, const DLTensor* results, int32_t count, int32_t own,
                        CallStream* stream);

// Lets the stream copy a tensor on its GPU (DLPack, or the array interface of CUDA), or a number,
// into the memory of a result, behind what the tensor's owner has given other streams. What lies in
// the host's memory is refused: a copy of it would make the host wait for the GPU. Returns an
// empty text, or what does not fit; where Python has an error set, that is why.
std::string CopyGpuResult(PyObject* value, const DLTensor& to, CallStream& stream);

}  // namespace cgraph::methods

#endif  // CGRAPH_RUNTIME_PYTHON_METHODS_CALL_H_
