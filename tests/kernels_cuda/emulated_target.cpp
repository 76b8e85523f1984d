#include "tests/kernels_cuda/emulated_target.h"

#include "tests/emulation/grid/kernel_table.h"
#include "tests/emulation/grid/run_grid.h"

namespace cgraph::cuda::testing {
namespace {

uint64_t grid_seed = 0;

class GivenLibraries final : public Libraries {
 public:
  const ProductLibrary* products() override { return given_products; }
  Result<CUfunction> Compile(const std::string&, const std::string&) override {
    return Status(StatusCode::kNotFound, "there is no compiler");
  }
  const ProductLibrary* given_products = nullptr;
};
GivenLibraries libraries;

class EmulatedModule final : public KernelModule {
 public:
  Result<CUfunction> Find(const std::string& name) const override {
    const emulation::HostKernel* kernel = emulation::FindHostKernel(name);
    if (kernel == nullptr) return Status(StatusCode::kUnsupported, "no kernel " + name);
    return reinterpret_cast<CUfunction>(const_cast<emulation::HostKernel*>(kernel));
  }
};

// The device works on the host's memory.
class NoStaging final : public Staging {
 public:
  void* Put(void* bytes, size_t) override { return bytes; }
  void Upload() override {}
  void Download() override {}
};

CUresult Launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                CUstream, void** parameters, void**) {
  if (grid_x == 0 || grid_y == 0 || grid_z == 0) return CUDA_ERROR_INVALID_VALUE;
  emulation::RunGrid(*reinterpret_cast<const emulation::HostKernel*>(function),
                     {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes,
                     parameters, grid_seed);
  return CUDA_SUCCESS;
}

}  // namespace

void SetProducts(const ProductLibrary* given) { libraries.given_products = given; }

void SetGridSeed(uint64_t seed) { grid_seed = seed; }

std::unique_ptr<Staging> MakeStaging() { return std::make_unique<NoStaging>(); }

const Target& TrialTarget() {
  static const EmulatedModule module;
  static const Driver driver = [] {
    Driver table;
    table.cuLaunchKernel = Launch;
    return table;
  }();
  static const Target target{&driver, &module, 1, &libraries};
  return target;
}

}  // namespace cgraph::cuda::testing
