// Measures GPUs: each alone, then every ordered pair.
#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "runtime/command/discover/bench.h"
#include "runtime/command/discover/discover.h"
#include "runtime/device/gpus.h"
#include "runtime/device/memory.h"

namespace cgraph::command {
namespace {

using Clock = std::chrono::steady_clock;
using device::Memory;

constexpr uint64_t kLeastCopy = uint64_t{1} << 18;    // bytes
constexpr uint64_t kMostCopy = uint64_t{1} << 28;
// Where a copy of the size of kTrialCopy is slower than any GPU's, larger ones would tell nothing
// more and take long: an emulation.
constexpr uint64_t kTrialCopy = uint64_t{1} << 22;
constexpr double kSlowestGpu = 2e10;                  // bytes a second, copied inside its memory
constexpr uint64_t kSmallCopy = 64;                   // bytes
constexpr uint64_t kLeastRepeats = 16, kMostRepeats = 1024;
constexpr int64_t kSides[] = {64, 512, 4096};         // of products
constexpr Seconds kMostPatience = 0.2;                // with a product, as a smaller one tells
constexpr uint64_t kShareOfMemory = 16;               // an operand has at most so much of a GPU's
constexpr int64_t kSmallKernel = 32;                  // elements

// Returns how long it takes until all that `issue` gives to these queues is over.
Result<Seconds> Timed(Bench& bench, const std::vector<uint32_t>& queues,
                      const std::function<void()>& issue) {
  const Clock::time_point start = Clock::now();
  issue();
  for (const uint32_t queue : queues) bench.Signal(queue);
  CGRAPH_RETURN_IF_ERROR(bench.Finish(queues));
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Returns the seconds that one more of `issue` takes, issued one behind the other.
Result<Seconds> EachOf(Bench& bench, const std::vector<uint32_t>& queues,
                       const std::function<void()>& issue) {
  auto taken = MedianOf([&](uint64_t times) {
    return Timed(bench, queues, [&] {
      for (uint64_t i = 0; i < times; ++i) issue();
    });
  }, kLeastRepeats, kMostRepeats);
  if (!taken.ok()) return taken.status();
  return taken->seconds / static_cast<double>(taken->amount);
}

Result<double> CopyRate(Bench& bench, uint32_t queue, const Memory& to, const Memory& from) {
  auto taken = MedianOf([&](uint64_t bytes) {
    return Timed(bench, {queue}, [&] { bench.Copy(queue, to, from, bytes); });
  }, kLeastCopy, std::min(to.size(), from.size()));
  if (!taken.ok()) return taken.status();
  return taken->per_second();
}

// A hop of a value between two queues: a copy, a signal, a wait. Half of there and back.
Result<Seconds> HopLatency(Bench& bench, uint32_t here, uint32_t there, const Memory& a,
                           const Memory& b) {
  auto both = EachOf(bench, {here, there}, [&] {
    bench.Copy(here, b, a, kSmallCopy);
    bench.Wait(there, here, bench.Signal(here));
    bench.Copy(there, a, b, kSmallCopy);
    bench.Wait(here, there, bench.Signal(there));
  });
  if (!both.ok()) return both.status();
  return *both / 2;
}

// Products of one dtype, the smaller ones first.
using Products = std::vector<std::pair<int64_t, BenchCall>>;  // side, call

Result<Products> MakeProducts(Bench& bench, uint32_t device, plan::DType dtype, uint64_t memory) {
  Products products;
  for (const int64_t side : kSides) {
    const uint64_t bytes = 3 * static_cast<uint64_t>(side * side) * plan::DTypeBytes(dtype);
    if (bytes > memory / kShareOfMemory) break;
    auto call = bench.Make(device, "matmul", dtype, {{side, side}, {side, side}}, {side, side});
    if (!call.ok()) return call.status();
    products.emplace_back(side, std::move(*call));
  }
  return products;
}

// Returns the rate of the largest product for which there is time.
Result<double> ProductRate(Bench& bench, uint32_t device, const Products& products) {
  double rate = 0;
  for (const auto& [side, call] : products) {
    const double flops = 2.0 * static_cast<double>(side) * static_cast<double>(side * side);
    if (rate > 0 && flops / rate > kMostPatience) break;
    auto taken = MedianOf([&, product = &call](uint64_t times) {
      return Timed(bench, {device}, [&] {
        for (uint64_t i = 0; i < times; ++i) bench.Launch(device, *product);
      });
    }, 1, kMostRepeats);
    if (!taken.ok()) return taken.status();
    rate = std::max(rate, flops * taken->per_second());
  }
  return rate;
}

// What is made on a GPU before its queue is opened.
struct Prepared {
  Memory first, second;  // for copies
  BenchCall small;
  Products f32, f16, f64;
};

template <typename T>
Status Put(Result<T> found, T& to) {
  if (!found.ok()) return found.status();
  to = std::move(*found);
  return Status::Ok();
}

Status Prepare(Bench& bench, uint32_t device, uint64_t bytes, Prepared& to) {
  CGRAPH_RETURN_IF_ERROR(Put(bench.Make(device, "add", plan::DType::f32,
                                        {{kSmallKernel}, {kSmallKernel}}, {kSmallKernel}),
                             to.small));
  CGRAPH_RETURN_IF_ERROR(Put(MakeProducts(bench, device, plan::DType::f32, bytes), to.f32));
  CGRAPH_RETURN_IF_ERROR(Put(MakeProducts(bench, device, plan::DType::f16, bytes), to.f16));
  return Put(MakeProducts(bench, device, plan::DType::f64, bytes), to.f64);
}

// Allocates what is copied, of the size that tells something about these GPUs.
Status PrepareCopies(Bench& bench, const std::vector<device::Gpu>& gpus,
                     std::vector<Prepared>& prepared, Memory& host, Memory& read) {
  uint64_t most = kTrialCopy;
  const auto allocate = [&](uint32_t i) {
    const uint64_t bytes = std::min(most, gpus[i].bytes / kShareOfMemory);
    CGRAPH_RETURN_IF_ERROR(Put(bench.Allocate(i + 1, bytes), prepared[i].first));
    return Put(bench.Allocate(i + 1, bytes), prepared[i].second);
  };
  CGRAPH_RETURN_IF_ERROR(allocate(0));
  double rate = 0;
  CGRAPH_RETURN_IF_ERROR(Put(CopyRate(bench, 1, prepared[0].second, prepared[0].first), rate));
  if (rate >= kSlowestGpu) most = kMostCopy;
  for (uint32_t i = 0; i < gpus.size(); ++i) CGRAPH_RETURN_IF_ERROR(allocate(i));
  CGRAPH_RETURN_IF_ERROR(Put(bench.Allocate(0, most), host));
  return Put(bench.Allocate(0, most), read);
}

class GpuMeasurer {
 public:
  GpuMeasurer(Bench& bench, std::vector<Prepared>& prepared, Memory& host, Memory& read)
      : bench_(bench), prepared_(prepared), host_(host), read_(read) {}

  Status Alone(uint32_t gpu, MeasuredGpu& to) {
    const uint32_t queue = gpu + 1;
    const Prepared& mine = prepared_[gpu];
    double copied = 0;
    CGRAPH_RETURN_IF_ERROR(Put(CopyRate(bench_, queue, mine.second, mine.first), copied));
    to.processor.bandwidth = 2 * copied;  // read and written
    CGRAPH_RETURN_IF_ERROR(Put(CopyRate(bench_, queue, host_, mine.first), to.to_host.bandwidth));
    CGRAPH_RETURN_IF_ERROR(Put(CopyRate(bench_, queue, mine.first, host_),
                               to.from_host.bandwidth));
    CGRAPH_RETURN_IF_ERROR(Put(BothWays(queue, mine), to.both_ways));
    CGRAPH_RETURN_IF_ERROR(Put(SmallCopy(queue, host_, mine.first), to.to_host.latency));
    CGRAPH_RETURN_IF_ERROR(Put(SmallCopy(queue, mine.first, host_), to.from_host.latency));
    CGRAPH_RETURN_IF_ERROR(Put(EachOf(bench_, {queue}, [&] { bench_.Launch(queue, mine.small); }),
                               to.processor.launch));
    CGRAPH_RETURN_IF_ERROR(Put(ProductRate(bench_, queue, mine.f32), to.processor.rate_f32));
    CGRAPH_RETURN_IF_ERROR(Put(ProductRate(bench_, queue, mine.f16), to.processor.rate_f16));
    return Put(ProductRate(bench_, queue, mine.f64), to.processor.rate_f64);
  }

  // Copies from GPU `from` to GPU `to` are made by the queue of the receiver, as the engine's are.
  Status Pair(uint32_t from, uint32_t to, MeasuredLink& direct, double& via_host) {
    const Memory &source = prepared_[from].first, &target = prepared_[to].second;
    CGRAPH_RETURN_IF_ERROR(Put(CopyRate(bench_, to + 1, target, source), direct.bandwidth));
    CGRAPH_RETURN_IF_ERROR(Put(HopLatency(bench_, from + 1, to + 1, prepared_[from].second,
                                          prepared_[to].first), direct.latency));
    auto staged = MedianOf([&](uint64_t bytes) {
      return Timed(bench_, {from + 1, to + 1}, [&] {
        bench_.Copy(from + 1, host_, source, bytes);
        bench_.Wait(to + 1, from + 1, bench_.Signal(from + 1));
        bench_.Copy(to + 1, target, host_, bytes);
      });
    }, kLeastCopy, std::min({host_.size(), source.size(), target.size()}));
    if (!staged.ok()) return staged.status();
    via_host = staged->per_second();
    return Status::Ok();
  }

 private:
  // The rate of each direction, while as much is copied to the host as from it.
  Result<double> BothWays(uint32_t queue, const Prepared& mine) {
    const uint32_t other = bench_.SecondQueue(queue);
    auto taken = MedianOf(
        [&](uint64_t bytes) {
          return Timed(bench_, {queue, other}, [&] {
            bench_.Copy(queue, host_, mine.first, bytes);
            bench_.Copy(other, mine.second, read_, bytes);
          });
        },
        kLeastCopy, std::min({host_.size(), read_.size(), mine.first.size()}));
    if (!taken.ok()) return taken.status();
    return taken->per_second();
  }
  Result<Seconds> SmallCopy(uint32_t queue, const Memory& to, const Memory& from) {
    return EachOf(bench_, {queue}, [&] { bench_.Copy(queue, to, from, kSmallCopy); });
  }

  Bench& bench_;
  std::vector<Prepared>& prepared_;
  Memory& host_;
  Memory& read_;  // of the host, too, where something else is written at the same time
};

}  // namespace

Status MeasureGpus(const DiscoverOptions& options, MeasuredMachine& machine) {
  const device::GpuReport& report = device::FindGpus();
  if (!report.usable.ok()) {
    machine.no_gpus = report.usable.message();
    return Status::Ok();
  }
  const auto count = static_cast<uint32_t>(report.gpus.size());
  auto bench = Bench::Open(count, options.patience);
  if (!bench.ok()) return bench.status();
  Memory host, read;
  std::vector<Prepared> prepared(count);
  machine.gpus.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    const device::Gpu& gpu = report.gpus[i];
    MeasuredGpu& to = machine.gpus[i];
    to.name = gpu.name;
    to.major = gpu.major;
    to.copy_engines = gpu.copy_engines;
    to.processor.memory = gpu.bytes;
    to.from.resize(count);
    to.from_via_host.resize(count);
    CGRAPH_RETURN_IF_ERROR(Prepare(**bench, i + 1, gpu.bytes, prepared[i]));
  }
  CGRAPH_RETURN_IF_ERROR((*bench)->OpenQueues());
  CGRAPH_RETURN_IF_ERROR(PrepareCopies(**bench, report.gpus, prepared, host, read));
  GpuMeasurer measurer(**bench, prepared, host, read);
  for (uint32_t to = 0; to < count; ++to) {
    CGRAPH_RETURN_IF_ERROR(measurer.Alone(to, machine.gpus[to]));
    for (uint32_t from = 0; from < count; ++from) {
      if (from == to) continue;
      CGRAPH_RETURN_IF_ERROR(measurer.Pair(from, to, machine.gpus[to].from[from],
                                           machine.gpus[to].from_via_host[from]));
    }
  }
  return Status::Ok();
}

}  // namespace cgraph::command
