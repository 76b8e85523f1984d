#include "runtime/cuda/device/cuda_graph.h"

namespace cgraph::cuda {

CudaGraph::~CudaGraph() {
  if (executable_ == nullptr) return;
  gpu_->MakeCurrent();
  gpu_->driver().cuGraphExecDestroy(executable_);
}

Status CudaGraph::End(CUstream stream) {
  const Driver& driver = gpu_->driver();
  const char* what = "capturing a CUDA graph";
  CUgraph graph = nullptr;
  Refuse(driver.cuStreamEndCapture(stream, &graph));  // even a capture that has failed is ended
  if (error_ == CUDA_SUCCESS) error_ = driver.cuGraphInstantiateWithFlags(&executable_, graph, 0);
  if (graph != nullptr) driver.cuGraphDestroy(graph);
  CGRAPH_RETURN_IF_ERROR(driver.Check(error_, what));
  CGRAPH_RETURN_IF_ERROR(driver.Check(driver.cuGraphUpload(executable_, stream), what));
  return driver.Check(driver.cuStreamSynchronize(stream), what);
}

CUresult CudaGraph::Launch(CUstream stream) const {
  return gpu_->driver().cuGraphLaunch(executable_, stream);
}

}  // namespace cgraph::cuda
