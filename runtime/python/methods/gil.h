// Gil: holds the interpreter's lock for its lifetime, on any thread.
#ifndef CGRAPH_RUNTIME_PYTHON_METHODS_GIL_H_
#define CGRAPH_RUNTIME_PYTHON_METHODS_GIL_H_

#include <utility>

#include "runtime/python/methods/python_api.h"

namespace cgraph::methods {

// Prepares a thread of ours to call methods; with the lock (helper.h).
void BeginThread();

// Attachment: what Python keeps for a thread of ours. It stays until the thread ends: to make one
// for each call would cost more than the call, and lose what `threading.local` holds.
class Attachment {
 public:
  Attachment() {
    if (PyGILState_GetThisThreadState() != nullptr) return;  // a thread of Python's
    PyGILState_Ensure();
    own_ = PyEval_SaveThread();
    begins_ = true;
  }
  ~Attachment() {
    if (own_ == nullptr || ending) return;  // a thread that waits for the lock then never gets it
    PyEval_RestoreThread(own_);
    PyGILState_Release(PyGILState_UNLOCKED);
  }
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  // Returns whether this is a thread of ours that has not called anything yet.
  bool Begins() { return std::exchange(begins_, false); }

  static inline bool ending = false;  // the interpreter is about to end; with its lock

 private:
  PyThreadState* own_ = nullptr;
  bool begins_ = false;
};

class Gil {
 public:
  Gil() : begins_(Attached().Begins()), state_(PyGILState_Ensure()) {
    if (begins_) BeginThread();
  }
  ~Gil() { PyGILState_Release(state_); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  static Attachment& Attached() {
    thread_local Attachment attachment;
    return attachment;
  }

  const bool begins_;
  const PyGILState_STATE state_;
};

}  // namespace cgraph::methods

#endif  // CGRAPH_RUNTIME_PYTHON_METHODS_GIL_H_
