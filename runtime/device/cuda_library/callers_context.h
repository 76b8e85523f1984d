// CallersContext: the CUDA context that is current in the calling thread, put back at the end of
// the scope. To CUDA's runtime, which PyTorch uses, it says which GPU the thread is at, and our own
// work on GPUs changes it.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_CALLERS_CONTEXT_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_CALLERS_CONTEXT_H_

namespace cgraph::device {

class CallersContext {
 public:
  // `uses_gpus`: whether anything of the scope may change it. Else nothing is done.
  explicit CallersContext(bool uses_gpus);
  ~CallersContext();
  CallersContext(const CallersContext&) = delete;

 private:
  const bool kept_;
  void* context_ = nullptr;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_CALLERS_CONTEXT_H_
