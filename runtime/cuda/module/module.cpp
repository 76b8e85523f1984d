// One module per image, since linking device code would compile all of it again whenever a file
// changes. The driver loads a kernel's code when the kernel is first looked up.
#include "runtime/cuda/module/module.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/cuda/module/images.h"

namespace cgraph::cuda {
namespace {

class LoadedKernels : public KernelModule {
 public:
  explicit LoadedKernels(const Driver& driver) : driver_(driver) {}
  ~LoadedKernels() override {
    for (CUmodule module : modules_) driver_.cuModuleUnload(module);
  }
  LoadedKernels(const LoadedKernels&) = delete;
  LoadedKernels& operator=(const LoadedKernels&) = delete;

  Status Load() {
    for (const Image& image : Images()) {
      modules_.reserve(modules_.size() + 1);
      CUmodule module = nullptr;
      const CUresult result = driver_.cuModuleLoadData(&module, image.data);
      if (result == CUDA_ERROR_NO_BINARY_FOR_GPU) {
        return {StatusCode::kUnsupported,
                "this GPU is older than every one that the kernels are compiled for; the oldest is "
                "of compute capability 8.0"};
      }
      CGRAPH_RETURN_IF_ERROR(
          driver_.Check(result, fmt::format("the kernels of {} cannot be loaded", image.file)));
      modules_.push_back(module);
    }
    return Status::Ok();
  }

  Result<CUfunction> Find(const std::string& name) const override {
    for (CUmodule module : modules_) {
      CUfunction function = nullptr;
      const CUresult result = driver_.cuModuleGetFunction(&function, module, name.c_str());
      if (result == CUDA_ERROR_NOT_FOUND) continue;
      const std::string what = fmt::format("kernel `{}`", name);
      CGRAPH_RETURN_IF_ERROR(driver_.Check(result, what));
      CGRAPH_RETURN_IF_ERROR(driver_.Check(driver_.cuFuncLoad(function), what));
      return function;
    }
    return Status(StatusCode::kUnsupported, fmt::format("there is no CUDA kernel `{}`", name));
  }

 private:
  const Driver& driver_;
  std::vector<CUmodule> modules_;
};

}  // namespace

Result<std::unique_ptr<KernelModule>> LoadKernels(const Driver& driver) {
  auto kernels = std::make_unique<LoadedKernels>(driver);
  CGRAPH_RETURN_IF_ERROR(kernels->Load());
  return std::unique_ptr<KernelModule>(std::move(kernels));
}

}  // namespace cgraph::cuda
