// Measures one core, and messages between two.
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include <unistd.h>

#include "runtime/base/sync/cores.h"
#include "runtime/base/sync/spin.h"
#include "runtime/command/discover/bench.h"
#include "runtime/command/discover/discover.h"

namespace cgraph::command {
namespace {

using CoreClock = std::chrono::steady_clock;

constexpr int64_t kSide = 512;                    // of a product
constexpr int64_t kSmallCall = 32;              // elements
constexpr uint64_t kCopy = uint64_t{1} << 26;     // bytes: more than the caches have
constexpr uint64_t kMostCalls = uint64_t{1} << 20;

Result<Seconds> TimeOf(const std::function<void()>& work) {
  const CoreClock::time_point start = CoreClock::now();
  work();
  return std::chrono::duration<double>(CoreClock::now() - start).count();
}

// Returns how often a second a core runs this call. The queue of a core runs it when it is issued.
Result<double> CallsPerSecond(plan::DType dtype, const char* op,
                              const std::vector<std::vector<int64_t>>& inputs,
                              const std::vector<int64_t>& output) {
  auto bench = Bench::Open(0);
  if (!bench.ok()) return bench.status();
  auto call = (*bench)->Make(0, op, dtype, inputs, output);
  if (!call.ok()) return call.status();
  CGRAPH_RETURN_IF_ERROR((*bench)->OpenQueues());
  auto taken = MedianOf([&](uint64_t times) {
    return TimeOf([&] {
      for (uint64_t i = 0; i < times; ++i) (*bench)->Launch(0, *call);
    });
  }, 1, kMostCalls);
  if (!taken.ok()) return taken.status();
  CGRAPH_RETURN_IF_ERROR((*bench)->Finish({0}));
  return taken->per_second();
}

// Returns the rate of a product, in operations a second.
Result<double> CoreProductRate(plan::DType dtype) {
  auto calls = CallsPerSecond(dtype, "matmul", {{kSide, kSide}, {kSide, kSide}}, {kSide, kSide});
  if (!calls.ok()) return calls.status();
  return 2.0 * static_cast<double>(kSide * kSide * kSide) * *calls;
}

// Returns the seconds that a number takes from one thread to another: half of there and back.
Result<Seconds> HandOver() {
  std::atomic<uint64_t> there{0}, back{0};
  constexpr uint64_t kEnd = UINT64_MAX;
  std::thread other([&] {
    for (uint64_t seen = 0;;) {
      const uint64_t now = there.load(std::memory_order_acquire);
      if (now == kEnd) return;
      if (now != seen) back.store(seen = now, std::memory_order_release);
      else Pause();
    }
  });
  uint64_t next = 0;
  const auto taken = MedianOf([&](uint64_t times) {
    return TimeOf([&] {
      for (uint64_t i = 0; i < times; ++i) {
        there.store(++next, std::memory_order_release);
        while (back.load(std::memory_order_acquire) != next) Pause();
      }
    });
  }, 64, kMostCalls);
  there.store(kEnd, std::memory_order_release);
  other.join();
  if (!taken.ok()) return taken.status();
  return 0.5 / taken->per_second();
}

}  // namespace

Status MeasureCores(MeasuredMachine& machine) {
  machine.cores = Cores();
  MeasuredProcessor& core = machine.core;
  core.memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (const auto& [dtype, rate] : {std::pair{plan::DType::f32, &core.rate_f32},
                                    std::pair{plan::DType::f16, &core.rate_f16},
                                    std::pair{plan::DType::f64, &core.rate_f64}}) {
    auto measured = CoreProductRate(dtype);
    if (!measured.ok()) return measured.status();
    *rate = *measured;
  }
  auto launches = CallsPerSecond(plan::DType::f32, "add", {{kSmallCall}, {kSmallCall}},
                                 {kSmallCall});
  if (!launches.ok()) return launches.status();
  core.launch = 1 / *launches;

  std::vector<std::byte> from(kCopy), to(kCopy);
  const auto copied = MedianOf([&](uint64_t bytes) {
    return TimeOf([&] { std::memcpy(to.data(), from.data(), bytes); });
  }, kCopy, kCopy);
  if (!copied.ok()) return copied.status();
  core.bandwidth = 2 * copied->per_second();  // read and written
  machine.between_cores.bandwidth = copied->per_second();
  if (machine.cores > 1) {
    auto hand_over = HandOver();
    if (!hand_over.ok()) return hand_over.status();
    machine.between_cores.latency = *hand_over;
  }
  return Status::Ok();
}

}  // namespace cgraph::command
