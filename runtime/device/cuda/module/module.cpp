// One module per image, since linking device code would compile all of it again whenever a file
// changes. The driver loads a kernel's code when the kernel is first looked up.
#include "runtime/device/cuda/module/module.h"

#include <utility>
#include <vector>

#include <fmt/format.h>


namespace cgraph::cuda {
namespace {

class LoadedKernels : public KernelModule {
 public:
  LoadedKernels(const Driver& driver, CheckFunction check)
      : driver_(driver), check_(std::move(check)) {}
  ~LoadedKernels() override {
    for (CUmodule module : modules_) driver_.cuModuleUnload(module);
  }
  LoadedKernels(const LoadedKernels&) = delete;
  LoadedKernels& operator=(const LoadedKernels&) = delete;

  Status Load() {
    for (const Image& image : Images()) {
      modules_.reserve(modules_.size() + 1);  // first: push_back() must not fail on a loaded module
      CUmodule module = nullptr;
      const std::string what = fmt::format("loading the kernels of {}", image.file);
      const CUresult result = driver_.cuModuleLoadData(&module, image.data);
      if (result == CUDA_ERROR_NO_BINARY_FOR_GPU) {
        const std::string error = check_(result, what).message();
        const int oldest = OldestCapability();
        return {StatusCode::kNotFound,
                fmt::format("{}; the oldest GPU that the kernels are compiled for is of compute "
                            "capability {}.{}\n"
                            "use another GPU (--device-map), or build cgraph for this one "
                            "(-DCGRAPH_CUDA_ARCHITECTURES=...)",
                            error.substr(0, error.find('\n')), oldest / 10, oldest % 10)};
      }
      CGRAPH_RETURN_IF_ERROR(check_(result, what));
      modules_.push_back(module);
    }
    return Status::Ok();
  }

  Result<CUfunction> Find(const std::string& name) const override {
    for (CUmodule module : modules_) {
      CUfunction function = nullptr;
      const CUresult result = driver_.cuModuleGetFunction(&function, module, name.c_str());
      if (result == CUDA_ERROR_NOT_FOUND) continue;
      const std::string what = fmt::format("loading the kernel `{}`", name);
      CGRAPH_RETURN_IF_ERROR(check_(result, what));
      CGRAPH_RETURN_IF_ERROR(check_(driver_.cuFuncLoad(function), what));
      return function;
    }
    return Status(StatusCode::kUnsupported, fmt::format("there is no CUDA kernel `{}`", name));
  }

 private:
  const Driver& driver_;
  const CheckFunction check_;
  std::vector<CUmodule> modules_;
};

}  // namespace

Result<std::unique_ptr<KernelModule>> LoadKernels(const Driver& driver, CheckFunction check) {
  auto kernels = std::make_unique<LoadedKernels>(driver, std::move(check));
  CGRAPH_RETURN_IF_ERROR(kernels->Load());
  return std::unique_ptr<KernelModule>(std::move(kernels));
}

}  // namespace cgraph::cuda
