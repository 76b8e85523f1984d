// View: a tensor of a call as Python sees it, in the memory where it lies: an argument, a state, or
// the memory of a result. It is valid until the call is over. What is made of it without a copy (an
// array of NumPy's, a tensor of PyTorch's) must be gone by then, which is counted.
#ifndef CGRAPH_RUNTIME_PYTHON_METHODS_VIEW_H_
#define CGRAPH_RUNTIME_PYTHON_METHODS_VIEW_H_

#include "runtime/kinds/limits.h"
#include "runtime/native/cgraph_extern.h"
#include "runtime/python/methods/python_api.h"

namespace cgraph::methods {

struct View {
  PyObject_HEAD DLTensor tensor;  // its extents are `shape`
  int64_t shape[kMaxRank];
  Py_ssize_t strides[kMaxRank];  // in bytes
  bool is_writable;
  bool is_valid;
  Py_ssize_t exports;  // what was made of it and is still there
};

// Makes the type of views. Returns whether that has succeeded; else Python has an error set.
bool MakeViewType();

// Returns a view, which TakeBack() gets when the call is over; null with an error set.
View* MakeView(const DLTensor& tensor, bool is_writable);
// Returns whether nothing is left that was made of the view. Nobody can use the view any more.
bool TakeBack(View* view);

}  // namespace cgraph::methods

#endif  // CGRAPH_RUNTIME_PYTHON_METHODS_VIEW_H_
