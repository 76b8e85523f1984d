// The element types of tensors: their names, their form by the buffer protocol, their numbers.
#ifndef CGRAPH_RUNTIME_PYTHON_METHODS_DTYPES_H_
#define CGRAPH_RUNTIME_PYTHON_METHODS_DTYPES_H_

#include <string>
#include <string_view>

#include <cgraph_extern.h>

#include "runtime/python/methods/python_api.h"

namespace cgraph::methods {

struct DType {
  const char* name;
  DLDataType type;
  const char* format;    // by the buffer protocol; null of bf16, which it lacks
  const char* long_name;  // of NumPy and PyTorch
};

// Returns null where tensors of ours have no such type.
const DType* FindDType(DLDataType type);
// The type of elements of a buffer, by its format; null where tensors of ours have none.
const DType* FindFormat(const char* format, Py_ssize_t item_bytes);
// The same by array interfaces: "<f4", "|b1". Empty of bf16, which they lack.
std::string TypeTextOf(const DType& dtype);
const DType* FindTypeText(std::string_view text);
// What to return instead of a result `y` of another type: "y.astype(numpy.float32)", and of
// PyTorch, which has no `astype`, "y.to(torch.float32)".
std::string NumpyConversion(DLDataType to);
std::string TorchConversion(DLDataType to);

// Returns an element as a number of Python's; null with an error set.
PyObject* ReadNumber(const void* element, DLDataType type);
// Writes a number as an element. False, with an error set, where it is none or does not fit.
bool WriteNumber(PyObject* number, void* element, DLDataType type);

}  // namespace cgraph::methods

#endif  // CGRAPH_RUNTIME_PYTHON_METHODS_DTYPES_H_
