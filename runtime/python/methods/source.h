// Source: a tensor that a method has returned, to be copied.
#ifndef CGRAPH_RUNTIME_PYTHON_METHODS_SOURCE_H_
#define CGRAPH_RUNTIME_PYTHON_METHODS_SOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include <cgraph_extern.h>

#include "runtime/python/methods/python_api.h"

namespace cgraph::methods {

struct Source {
  const char* data = nullptr;
  DLDataType type{};
  std::vector<int64_t> shape, strides;  // strides in bytes

  // Makes the source of a DLPack tensor, which must outlive it.
  static Source Of(const DLTensor& tensor);
  // Whether its elements lie one behind the other, the last dimension's next to each other.
  bool IsDense() const;
};

// "f32[3, 4]".
std::string TypeText(DLDataType type, const int64_t* shape, size_t rank);
// The name of a value's type, as "ndarray".
std::string TypeName(PyObject* value);
// Returns an empty text where the source's type and extents are those of the result, or the two,
// and what to return instead. `has_buffer`: the source is no tensor of PyTorch's.
std::string Misfit(const Source& from, const DLTensor& to, bool has_buffer = false);

// A capsule of the value, of `__dlpack__` with these keywords (or null); a tensor of PyTorch's that
// has a history of gradients leaves it behind. Null with an error set.
Reference CapsuleOf(PyObject* value, PyObject* keywords);

}  // namespace cgraph::methods

#endif  // CGRAPH_RUNTIME_PYTHON_METHODS_SOURCE_H_
