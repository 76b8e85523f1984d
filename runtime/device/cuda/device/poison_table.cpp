#include "runtime/device/cuda/device/poison_table.h"

namespace cgraph::cuda {

Result<std::unique_ptr<PoisonTable>> PoisonTable::Make(const std::shared_ptr<Gpu>& gpu,
                                                       const device::GraphLayout& layout) {
  std::unique_ptr<PoisonTable> table(new PoisonTable(gpu));
  table->may_fail_ = *layout.may_fail;
  table->frames_ = static_cast<uint32_t>(layout.frames.size());
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

}  // namespace cgraph::cuda
