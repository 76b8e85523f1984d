#include "runtime/device/cuda/device/device_poison.h"

#include <algorithm>

#include "runtime/device/cuda/kernels/executable.h"
#include "runtime/device/operations.h"

namespace cgraph::cuda {
namespace {

constexpr uint32_t kCopyThreads = 256;
constexpr uint64_t kCopyBytesPerThread = 64;
constexpr uint64_t kMostCopyBlocks = 1024;

}  // namespace

// ---- the flags of one graph ---------------------------------------------------------------------

Result<std::unique_ptr<PoisonTable>> PoisonTable::Make(const std::shared_ptr<Gpu>& gpu,
                                                       const device::GraphLayout& layout) {
  std::unique_ptr<PoisonTable> table(new PoisonTable(gpu));
  table->may_fail_ = *layout.may_fail;
  table->frames_ = static_cast<uint32_t>(layout.frames.size());
  table->steps_ = layout.steps;
  const uint64_t flags = layout.setters.size();
  for (uint64_t flag = 0; flag < flags; ++flag) {
    if (!table->may_fail_[flag] || layout.setters[flag] != layout.device) continue;
    table->most_failures_ += table->frames_;
  }
  table->stride_ = (flags + device::kLineAlign - 1) / device::kLineAlign * device::kLineAlign;
  auto memory = AllocateOnGpu(gpu, table->stride_ * table->frames_, device::MemoryKind::plain,
                              "the poison flags of a graph");
  if (!memory.ok()) return memory.status();
  table->flags_ = std::move(*memory);
  for (std::span<const uint32_t> host : layout.checks) {
    Pool& pool = table->pools_.emplace_back();
    pool.host = host;
    std::vector<uint32_t> kept;
    for (uint32_t flag : host) {
      pool.kept_before.push_back(static_cast<uint32_t>(kept.size()));
      if (!table->may_fail_[flag]) continue;
      kept.push_back(layout.setters[flag] == layout.device ? flag : flag | kElsewhere);
    }
    pool.kept_before.push_back(static_cast<uint32_t>(kept.size()));
    auto uploaded = AllocateOnGpu(gpu, kept.size() * sizeof(uint32_t), device::MemoryKind::plain,
                                  "the checks of a graph");
    if (!uploaded.ok()) return uploaded.status();
    pool.kept = std::move(*uploaded);
    if (kept.empty()) continue;
    CGRAPH_RETURN_IF_ERROR(
        gpu->CopyToGpu(pool.kept.data(), kept.data(), kept.size() * sizeof(uint32_t)));
  }
  return table;
}

Guard PoisonTable::GuardOf(const device::Bindings& bindings,
                           const device::Predicate& predicate) const {
  Guard guard;
  guard.own = predicate.own;
  guard.flags = FlagsOf(bindings.frame);
  guard.host_flags = reinterpret_cast<uint8_t*>(bindings.flags);
  guard.graph = bindings.graph;
  guard.frame = bindings.frame;
  const uint32_t* first = predicate.checks.data();
  for (const Pool& pool : pools_) {
    if (predicate.checks.empty()) break;
    if (first < pool.host.data() || first >= pool.host.data() + pool.host.size()) continue;
    const size_t at = static_cast<size_t>(first - pool.host.data());
    const uint32_t kept = pool.kept_before[at];
    guard.checks = reinterpret_cast<const uint32_t*>(pool.kept.data()) + kept;
    guard.count = pool.kept_before[at + predicate.checks.size()] - kept;
  }
  guard.looks = guard.count != 0 || (predicate.own != device::kNoFlag && may_fail_[predicate.own]);
  return guard;
}

// The execution that had the frame is over, and the next one is not submitted: no stream uses the
// flags now. A memset may return before it is done, so it is waited for.
CUresult PoisonTable::Clear(const device::Bindings& bindings) const {
  const Driver& driver = gpu_->driver();
  CUresult result = gpu_->MakeCurrent();
  if (result == CUDA_SUCCESS) {
    result = driver.cuMemsetD8(AddressOf(FlagsOf(bindings.frame)), 0, stride_);
  }
  return result == CUDA_SUCCESS ? driver.cuStreamSynchronize(nullptr) : result;
}

// ---- all graphs ---------------------------------------------------------------------------------

Result<std::unique_ptr<DevicePoison>> DevicePoison::Make(std::shared_ptr<Gpu> gpu) {
  std::unique_ptr<DevicePoison> made(new DevicePoison(std::move(gpu)));
  for (const auto& [name, function] : {std::pair("pass_poison", &made->pass_),
                                       std::pair("show_poison", &made->show_),
                                       std::pair("take_poison", &made->take_),
                                       std::pair("copy_guarded", &made->copy_guarded_)}) {
    auto found = made->gpu_->module().Find(name);
    if (!found.ok()) return found.status();
    *function = *found;
  }
  return made;
}

Status DevicePoison::Add(const device::GraphLayout& layout) {
  auto table = PoisonTable::Make(gpu_, layout);
  if (!table.ok()) return table.status();
  graphs_.resize(std::max<size_t>(graphs_.size(), layout.graph + 1));
  graphs_[layout.graph] = std::move(*table);
  return Status::Ok();
}

uint64_t DevicePoison::most_failures() const {
  uint64_t most = 0;
  for (const auto& table : graphs_) most += table->most_failures();
  return most;
}

CUresult DevicePoison::Copy(CUstream stream, const Guard& guard, void* to, const void* from,
                            const View& sized, uint32_t width) const {
  const Driver& driver = gpu_->driver();
  uint64_t bytes = width;
  for (int d = 0; d < sized.rank; ++d) bytes *= static_cast<uint64_t>(sized.dims[d].number);
  if (bytes == 0 || to == from) return guard.looks ? Pass(stream, guard) : CUDA_SUCCESS;
  if (!guard.looks) return driver.cuMemcpyAsync(AddressOf(to), AddressOf(from), bytes, stream);
  const uint64_t blocks = std::clamp<uint64_t>(bytes / (kCopyThreads * kCopyBytesPerThread), 1,
                                               kMostCopyBlocks);
  return LaunchGrid(driver, stream, copy_guarded_, static_cast<uint32_t>(blocks), kCopyThreads,
                    guard, to, from, sized, width);
}

CUresult DevicePoison::Pass(CUstream stream, const Guard& guard) const {
  return LaunchGrid(gpu_->driver(), stream, pass_, 1, 1, guard);
}

CUresult DevicePoison::Show(CUstream stream, const device::Collect& collect) const {
  const Guard guard = table(collect.bindings->graph)
                          .GuardOf(*collect.bindings, {collect.checks, device::kNoFlag});
  void* const shown = collect.to;
  return LaunchGrid(gpu_->driver(), stream, show_, 1, 1, guard, shown);
}

// What another member has shown is known behind the collective.
CUresult DevicePoison::Take(CUstream stream, const device::Collect& collect) const {
  const uint32_t own = collect.predicate.own;
  const PoisonTable& flags = table(collect.bindings->graph);
  if (own == device::kNoFlag || !flags.MayFail(own)) return CUDA_SUCCESS;
  const Guard guard = flags.GuardOf(*collect.bindings, {{}, own});
  const void* const shown = collect.to;
  return LaunchGrid(gpu_->driver(), stream, take_, 1, 1, guard, shown);
}

CUresult DevicePoison::SetFlag(CUstream stream, const device::Operation& operation) const {
  const uint32_t own = operation.predicate.own;
  if (own == device::kNoFlag) return CUDA_SUCCESS;
  operation.bindings->Poison(own);
  uint8_t* flag = table(operation.bindings->graph).FlagsOf(operation.bindings->frame) + own;
  return gpu_->driver().cuMemsetD8Async(AddressOf(flag), 1, 1, stream);
}

void DevicePoison::PassPoisonOn(const device::Operation& operation) const {
  const auto& [checks, own] = operation.predicate;
  if (!host_looks_ || own == device::kNoFlag) return;
  if (device::AnyPoisoned(checks, *operation.bindings)) {
    operation.bindings->Poison(own);
  }
}

}  // namespace cgraph::cuda
