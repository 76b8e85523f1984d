#include "runtime/device/cuda/device/cuda_graph.h"

#include <utility>

namespace cgraph::cuda {

namespace {

constexpr const char* kWhat = "capturing a CUDA graph";

}  // namespace

CudaGraph::~CudaGraph() {
  if (gpu_->driver().abandoned() || (captured_ == nullptr && executable_ == nullptr)) return;
  gpu_->MakeCurrent();
  if (captured_ != nullptr) gpu_->driver().cuGraphDestroy(captured_);
  if (executable_ != nullptr) gpu_->driver().cuGraphExecDestroy(executable_);
}

Status CudaGraph::End(CUstream stream) {
  stream_ = stream;
  // Even a capture that has failed is ended.
  Refuse(gpu_->driver().cuStreamEndCapture(stream, &captured_));
  return gpu_->Check(error_, kWhat);
}

// The stream is used for the upload alone; its queue issues nothing while graphs are finished. What
// was captured is of no use once it is instantiated.
Status CudaGraph::Finish() {
  const Driver& driver = gpu_->driver();
  Refuse(gpu_->MakeCurrent());
  if (error_ == CUDA_SUCCESS) {
    error_ = driver.cuGraphInstantiateWithFlags(&executable_, captured_, 0);
  }
  driver.cuGraphDestroy(std::exchange(captured_, nullptr));
  CGRAPH_RETURN_IF_ERROR(gpu_->Check(error_, kWhat));
  CGRAPH_RETURN_IF_ERROR(gpu_->Check(driver.cuGraphUpload(executable_, stream_), kWhat));
  return gpu_->Check(driver.cuStreamSynchronize(stream_), kWhat);
}

CUresult CudaGraph::Launch(CUstream stream) const {
  return gpu_->driver().cuGraphLaunch(executable_, stream);
}

}  // namespace cgraph::cuda
