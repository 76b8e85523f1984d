// The trial target of kernels_gpu_test: GPU 0 of the driver. What a launch works on is copied into
// one block of its memory at once, and back at once. Our own kernels are tried, without libraries.
#include <catch2/catch.hpp>

#include <cstring>
#include <string>
#include <vector>

#include "runtime/device/cuda/gpu/gpu.h"
#include "tests/kernels_cuda/trial_target.h"

namespace cgraph::cuda::testing {
namespace {

constexpr size_t kBlock = size_t{16} << 20;
constexpr size_t kAlign = 256;

struct TrialGpu {
  std::shared_ptr<Gpu> gpu;
  device::Memory block;
  std::string problem;
};

TrialGpu OpenGpu() {
  const Result<const Driver*> driver = Driver::Get();
  if (!driver.ok()) return {nullptr, {}, driver.status().message()};
  Result<std::shared_ptr<Gpu>> gpu = Gpu::Open(**driver, 0);
  if (!gpu.ok()) return {nullptr, {}, gpu.status().message()};
  auto block = AllocateOnGpu(*gpu, kBlock, device::MemoryKind::plain, "the trials' memory");
  if (!block.ok()) return {nullptr, {}, block.status().message()};
  return {*gpu, std::move(*block), ""};
}

const TrialGpu& OpenedGpu() {
  static const TrialGpu& opened = *new TrialGpu(OpenGpu());  // outlives the driver's own statics
  if (!opened.problem.empty()) FAIL(opened.problem);
  return opened;
}

class BlockStaging final : public Staging {
 public:
  explicit BlockStaging(const TrialGpu& gpu) : gpu_(gpu) {}

  void* Put(void* bytes, size_t size) override {
    parts_.push_back({bytes, size, used_});
    used_ += (size + kAlign - 1) / kAlign * kAlign;
    REQUIRE(used_ <= kBlock);
    return gpu_.block.data() + parts_.back().offset;
  }

  void Upload() override {
    copy_.resize(used_);
    for (const Part& part : parts_) {
      if (part.size != 0) std::memcpy(copy_.data() + part.offset, part.bytes, part.size);
    }
    const Status copied = gpu_.gpu->CopyToGpu(gpu_.block.data(), copy_.data(), used_);
    INFO(copied.message());
    REQUIRE(copied.ok());
  }

  void Download() override {
    const Driver& driver = gpu_.gpu->driver();
    const Status over = driver.Check(driver.cuStreamSynchronize(nullptr), "waiting for the GPU");
    INFO(over.message());
    REQUIRE(over.ok());
    REQUIRE(driver.cuMemcpyDtoH(copy_.data(), AddressOf(gpu_.block.data()), used_) ==
            CUDA_SUCCESS);
    for (const Part& part : parts_) {
      if (part.size != 0) std::memcpy(part.bytes, copy_.data() + part.offset, part.size);
    }
  }

 private:
  struct Part {
    void* bytes;
    size_t size, offset;
  };

  const TrialGpu& gpu_;
  std::vector<Part> parts_;
  std::vector<std::byte> copy_;
  size_t used_ = 0;
};

}  // namespace

void SetGridSeed(uint64_t) {}

const Target& TrialTarget() {
  static const Target target = [] {
    Target made = OpenedGpu().gpu->target();
    return Target{.driver = made.driver, .module = made.module,
                  .multiprocessors = made.multiprocessors};
  }();
  return target;
}

std::unique_ptr<Staging> MakeStaging() { return std::make_unique<BlockStaging>(OpenedGpu()); }

}  // namespace cgraph::cuda::testing
