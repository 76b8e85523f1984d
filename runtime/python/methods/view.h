// View: a tensor of a call as Python sees it, in the memory where it lies, the host's or a GPU's:
// an argument, a state, or the memory of a result. It is valid until the call is over. What is made
// of it without a copy (an array of NumPy's, a tensor of PyTorch's) must be gone by then, which is
// counted.
#ifndef CGRAPH_RUNTIME_PYTHON_METHODS_VIEW_H_
#define CGRAPH_RUNTIME_PYTHON_METHODS_VIEW_H_

#include <cgraph_extern.h>

#include "runtime/base/kinds/limits.h"
#include "runtime/python/methods/gpu/call_stream.h"
#include "runtime/python/methods/python_api.h"

namespace cgraph::methods {

struct View {
  PyObject_HEAD DLTensor tensor;  // its extents are `shape`
  int64_t shape[kMaxRank];
  Py_ssize_t strides[kMaxRank];  // in bytes
  CallStream* stream;            // on a GPU: the call's, while the view is valid; else null
  bool is_writable;
  bool is_valid;
  bool is_described;   // its address was told, by whose user it is held itself
  Py_ssize_t exports;  // what was made of it and is still there
};

// Makes the type of views. Returns whether that has succeeded; else Python has an error set.
bool MakeViewType();

// Returns a view, which TakeBack() gets when the call is over; null with an error set. `stream`: of
// a call on a GPU, else null.
View* MakeView(const DLTensor& tensor, bool is_writable, CallStream* stream);
// Whether something may be there that was made of the view.
inline bool MayBeUsed(const View* view) { return view->exports != 0 || view->is_described; }
// Returns whether nothing is left that was made of the view. The view cannot be used any more.
bool TakeBack(View* view);

}  // namespace cgraph::methods

#endif  // CGRAPH_RUNTIME_PYTHON_METHODS_VIEW_H_
