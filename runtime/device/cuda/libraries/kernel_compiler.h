// KernelCompiler: kernels that are made when a plan is loaded, by NVRTC or from the cache on disk,
// and loaded into one context.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_KERNEL_COMPILER_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_KERNEL_COMPILER_H_

#include <map>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/cuda/driver/driver.h"
#include "runtime/device/cuda/libraries/code_cache.h"

namespace cgraph::cuda {

// The context is current whenever a member is called, and at the end. One thread calls.
class KernelCompiler {
 public:
  // For a GPU of this compute capability: 90 for 9.0.
  KernelCompiler(const Driver& driver, int capability)
      : driver_(driver), capability_(capability), cache_(CodeCache::DefaultFolder()) {}
  ~KernelCompiler();
  KernelCompiler(const KernelCompiler&) = delete;
  KernelCompiler& operator=(const KernelCompiler&) = delete;

  // As Libraries::Compile. The same source is compiled, or fails to compile, once.
  Result<CUfunction> Compile(const std::string& source, const std::string& name);

 private:
  Result<CUfunction> Make(const std::string& source, const std::string& name);
  Result<CUfunction> Load(const std::string& code, const std::string& name);

  const Driver& driver_;
  const int capability_;
  const CodeCache cache_;
  std::map<std::string, Result<CUfunction>> made_;  // by source
  std::vector<CUmodule> modules_;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_KERNEL_COMPILER_H_
