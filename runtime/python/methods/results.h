// Results: what a method in Python returns becomes the results of its call.
#ifndef CGRAPH_RUNTIME_PYTHON_METHODS_RESULTS_H_
#define CGRAPH_RUNTIME_PYTHON_METHODS_RESULTS_H_

#include <cstdint>
#include <string>

#include <cgraph_extern.h>
#include "runtime/python/methods/gpu/call_stream.h"
#include "runtime/python/methods/python_api.h"

namespace cgraph::methods {

// Copies what was returned into the memory of the results: nothing is None, one result is the value
// itself, several are a tuple or list. `own`: how many at the end are not the method's, but of what
// calls it. On a GPU `stream` copies them; else it is null. Returns an empty text, or what does not
// fit; where Python has an error set, that is why.
std::string CopyResults(PyObject* returned, const DLTensor* results, int32_t count, int32_t own,
                        CallStream* stream);

}  // namespace cgraph::methods

#endif  // CGRAPH_RUNTIME_PYTHON_METHODS_RESULTS_H_
