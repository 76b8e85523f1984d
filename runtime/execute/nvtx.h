// Nvtx: named ranges on threads, which NVIDIA's profilers show beside what the GPU does.
//
// A profiler sets NVTX_INJECTION64_PATH to a library of its own. Programs open that library and
// hand it tables of function pointers, which it fills; without the variable nothing is opened.
// NVIDIA's header nvtx3 does the same; what we use of it is declared here.
#ifndef CGRAPH_RUNTIME_EXECUTE_NVTX_H_
#define CGRAPH_RUNTIME_EXECUTE_NVTX_H_

namespace cgraph::engine {

class Nvtx {
 public:
  // Returns the functions of the tool that is attached, found once a process; null without one.
  // Thread-safe.
  static const Nvtx* Get();

  // Begin a range on this thread, inside those that it has begun; end the innermost.
  void Push(const char* name) const { push_(name); }
  void Pop() const { pop_(); }

 private:
  using PushFunction = int (*)(const char* name);
  using PopFunction = int (*)();

  Nvtx(PushFunction push, PopFunction pop) : push_(push), pop_(pop) {}
  static const Nvtx* Attach();

  PushFunction push_;
  PopFunction pop_;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_EXECUTE_NVTX_H_
