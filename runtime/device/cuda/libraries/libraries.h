// The libraries of CUDA's that kernels of one GPU are made with. Each is opened when a kernel first
// asks for it: loading cuBLASLt takes a fifth of a second, and a plan may multiply nothing.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_LIBRARIES_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_LIBRARIES_H_

#include <memory>

#include "runtime/device/cuda/kernels/executable.h"
#include "runtime/device/cuda/libraries/cublaslt.h"
#include "runtime/device/cuda/libraries/kernel_compiler.h"

namespace cgraph::cuda {

// The context of the GPU is current whenever a member is called, and at the end. One thread calls.
class OpenedLibraries final : public Libraries {
 public:
  // For a GPU of this compute capability: 90 for 9.0.
  OpenedLibraries(const Driver& driver, int capability) : compiler_(driver, capability) {}
  const ProductLibrary* products() override;
  Result<CUfunction> Compile(const std::string& source, const std::string& name) override {
    return compiler_.Compile(source, name);
  }

 private:
  KernelCompiler compiler_;
  bool asked_for_products_ = false;
  std::unique_ptr<ProductLibrary> products_;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_LIBRARIES_H_
