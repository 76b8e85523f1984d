// Copies: the bandwidth of memory, and values that go from one place to another. The cases g1 to g3
// are those of bench/gpu/reference.cgraph without a runtime: the value is made anew, moved, and one
// of its numbers is read by the host.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "bench/gpu/probe/probe.h"

namespace cgraph::cuda {
namespace {

using device::Memory;

constexpr uint64_t kNumber = 2;  // bytes: f16

void MeasureMoves(Probe& probe, uint64_t bytes) {
  std::vector<uint16_t> here(bytes / kNumber), there(bytes / kNumber);
  volatile uint16_t read = 0;
  probe.Measure(fmt::format("g1_{}", bytes), [&] {
    std::fill(here.begin(), here.end(), uint16_t{0x3c00});
    std::memcpy(there.data(), here.data(), bytes);
    read = there.back();
  });
  const Memory a = probe.OnGpu(bytes), b = probe.OnGpu(bytes);
  const Memory host = probe.Pinned(bytes), number = probe.Pinned(kNumber);
  probe.MeasureEager(fmt::format("g2_{}", bytes), [&] {
    probe.Fill(a, 1, bytes);
    probe.Copy(b, a, bytes);
    probe.Copy(number, b, kNumber);
  });
  probe.MeasureEager(fmt::format("g3_{}", bytes), [&] {
    probe.Fill(a, 1, bytes);
    probe.Copy(host, a, bytes);
    probe.Copy(b, host, bytes);
    probe.Copy(number, b, kNumber);
  });
  probe.MeasureEager(fmt::format("copy_{}", bytes), [&] { probe.Copy(b, a, bytes); });
}

}  // namespace

void MeasureMemory(Probe& probe) {
  const uint64_t bytes = probe.small ? 8192 : uint64_t{1} << 28;
  const Memory a = probe.OnGpu(bytes), b = probe.OnGpu(bytes), host = probe.Pinned(bytes);
  probe.MeasureEager(fmt::format("copy_{}", bytes), [&] { probe.Copy(b, a, bytes); });
  probe.MeasureEager(fmt::format("copy_to_host_{}", bytes), [&] { probe.Copy(host, a, bytes); });
  probe.MeasureEager(fmt::format("copy_from_host_{}", bytes), [&] { probe.Copy(a, host, bytes); });
}

void MeasureMessages(Probe& probe) {
  for (const uint64_t bytes :
       probe.small ? std::vector<uint64_t>{200} : std::vector<uint64_t>{100'000, 40'000'000}) {
    MeasureMoves(probe, bytes);
  }
}

}  // namespace cgraph::cuda
