// NCCL with itself, one rank on one GPU: what its calls take at the least. g4 is a message as in
// bench/gpu/reference.cgraph.
#include "runtime/device/cuda/libraries/nccl.h"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <string>

#include "bench/gpu/probe/probe.h"

namespace cgraph::cuda {
namespace {

using device::Memory;

constexpr auto kPatience = std::chrono::seconds(20);

class OneRank {
 public:
  OneRank(const Nccl& nccl, Probe& probe) : nccl_(nccl), probe_(probe) {
    NcclId id;
    NcclConfig config;
    config.blocking = 0;
    Check(nccl_.ncclGetUniqueId(&id));
    Check(nccl_.ncclCommInitRankConfig(&handle_, 1, id, 0, &config));
    Settle();
  }
  ~OneRank() {
    nccl_.ncclCommFinalize(handle_);
    Settle();
    nccl_.ncclCommDestroy(handle_);
  }

  void SendToItself(const Memory& from, const Memory& to, uint64_t bytes) {
    Check(nccl_.ncclGroupStart());
    Check(nccl_.ncclSend(from.data(), bytes, nccl::kU8, 0, handle_, probe_.stream));
    Check(nccl_.ncclRecv(to.data(), bytes, nccl::kU8, 0, handle_, probe_.stream));
    Check(nccl_.ncclGroupEnd());
    Settle();
  }
  void AllReduce(const Memory& from, const Memory& to, uint64_t bytes) {
    Check(nccl_.ncclAllReduce(from.data(), to.data(), bytes / sizeof(float), nccl::kF32, nccl::kSum,
                              handle_, probe_.stream));
    Settle();
  }

 private:
  void Check(int status) const {
    if (status == nccl::kSuccess || status == nccl::kInProgress) return;
    Fail(fmt::format("NCCL reports: {}", nccl_.ErrorText(status)));
  }
  void Settle() const {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    for (int state = nccl::kInProgress;;) {
      Check(nccl_.ncclCommGetAsyncError(handle_, &state));
      if (state != nccl::kInProgress) return Check(state);
      if (std::chrono::steady_clock::now() > end) Fail("NCCL does not come to an end");
    }
  }

  const Nccl& nccl_;
  Probe& probe_;
  NcclComm handle_ = nullptr;
};

}  // namespace

void MeasureNccl(Probe& probe) {
  const auto library = Nccl::Get();
  if (!library.ok()) return Note(library.status().message());
  OneRank rank(**library, probe);
  const auto both = [&](const std::string& name, const std::function<void()>& issue) {
    probe.MeasureEager(name + "_eager", issue);
    // The emulated NCCL takes no captures.
    if (!probe.small) probe.MeasureGraph(name + "_graph", issue);
  };
  for (const uint64_t bytes : {uint64_t{8}, uint64_t{100'000}}) {
    const Memory from = probe.OnGpu(bytes), to = probe.OnGpu(bytes);
    both(fmt::format("nccl_self_{}", bytes), [&] { rank.SendToItself(from, to, bytes); });
    both(fmt::format("nccl_all_reduce_{}", bytes), [&] { rank.AllReduce(from, to, bytes); });
    if (bytes == 8) continue;
    const Memory number = probe.Pinned(2);
    probe.MeasureEager(fmt::format("g4_{}", bytes), [&] {
      probe.Fill(from, 1, bytes);
      rank.SendToItself(from, to, bytes);
      probe.Copy(number, to, 2);
    });
  }
}

}  // namespace cgraph::cuda
