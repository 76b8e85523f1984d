// CudaGraph: launches of one frame, captured from a stream as a CUDA graph and launched as one.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_CUDA_GRAPH_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_CUDA_GRAPH_H_

#include <memory>
#include <vector>

#include "runtime/device/cuda/device/logical_gpu.h"
#include "runtime/device/cuda/gpu/gpu.h"
#include "runtime/device/queue.h"

namespace cgraph::cuda {

class CudaGraph : public device::Recording {
 public:
  struct Launched {
    device::Operation operation;  // its tag has no round
    const Prepared* prepared;
  };

  explicit CudaGraph(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  ~CudaGraph() override;

  void Add(const device::Operation& operation, const Prepared* prepared) {
    launches_.push_back({operation, prepared});
  }
  // Remembers the first error of what is captured, if it is one.
  void Refuse(CUresult result) {
    if (error_ == CUDA_SUCCESS) error_ = result;
  }
  // Ends the stream's capture. The stream outlives Finish().
  Status End(CUstream stream);
  // Instantiates what was captured, which takes the driver long, and brings it to the GPU.
  Status Finish() override;
  CUresult Launch(CUstream stream) const;
  const std::vector<Launched>& launches() const { return launches_; }

 private:
  std::shared_ptr<Gpu> gpu_;
  std::vector<Launched> launches_;
  CUresult error_ = CUDA_SUCCESS;
  CUstream stream_ = nullptr;   // of the capture
  CUgraph captured_ = nullptr;  // until it is finished
  CUgraphExec executable_ = nullptr;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_CUDA_GRAPH_H_
