#include "runtime/command/discover/bench.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "runtime/device/backends.h"

namespace cgraph::command {
namespace {

using namespace device;

// A round that takes as long is told apart from the cost of starting it and of hearing of its end.
constexpr Seconds kLongEnough = 5e-3;
constexpr int kRounds = 5;
constexpr uint64_t kScratch = uint64_t{64} << 20;  // more than any kernel of a core asks for
// With what has outlasted the patience, before it is abandoned.
constexpr auto kLastPatience = std::chrono::seconds(1);

Seconds MedianOfRounds(std::vector<Seconds>& rounds) {
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  return rounds[kRounds / 2];
}

OperandType TypeOf(const Tensor& tensor) {
  OperandType type;
  type.dtype = tensor.dtype;
  type.rank = tensor.rank;
  std::copy_n(tensor.dims, tensor.rank, type.dims);
  return type;
}

plan::Kernel KernelNamed(const std::string& op) {
  plan::Kernel kernel;
  kernel.name = op;
  kernel.body.push_back(std::make_unique<plan::Primitive>());
  kernel.body[0]->op = op;
  if (op != "matmul") return kernel;
  for (const char* name : {"transpose_a", "transpose_b"}) {
    kernel.body[0]->attributes.push_back(std::make_unique<plan::Attribute>());
    kernel.body[0]->attributes.back()->name = name;
    kernel.body[0]->attributes.back()->ints = {0};
  }
  return kernel;
}

}  // namespace

Result<Growing> MedianOf(const std::function<Result<Seconds>(uint64_t)>& round, uint64_t first,
                         uint64_t most) {
  for (uint64_t amount = first;; amount *= 4) {
    auto warm = round(amount);  // not counted: what is done once is done here
    if (!warm.ok()) return warm.status();
    auto tried = round(amount);
    if (!tried.ok()) return tried.status();
    if (*tried < kLongEnough && amount * 4 <= most) continue;
    std::vector<Seconds> rounds = {*tried};
    while (rounds.size() < kRounds) {
      auto taken = round(amount);
      if (!taken.ok()) return taken.status();
      rounds.push_back(*taken);
    }
    return Growing{amount, MedianOfRounds(rounds)};
  }
}

Result<std::unique_ptr<Bench>> Bench::Open(uint32_t gpus, std::chrono::nanoseconds patience) {
  std::unique_ptr<Bench> bench(new Bench);
  bench->patience_ = patience;
  bench->plan_ = std::make_unique<plan::Plan>();
  GpuMap map;
  for (uint32_t i = 0; i <= gpus; ++i) {
    bench->plan_->devices.push_back(std::make_unique<plan::Device>());
    if (i == 0) continue;
    bench->plan_->devices[i]->kind = plan::DeviceKind::gpu;
    map[i] = i - 1;
  }
  auto opened = BackendRegistry::Get().OpenAll(*bench->plan_, {map, {}});
  if (!opened.ok()) return opened.status();
  bench->devices_ = std::move(*opened);
  const uint32_t queues = 2 * (gpus + 1);
  auto semaphores = SemaphoreArray::Make(*bench->devices_[0], queues, "semaphores");
  if (!semaphores.ok()) return semaphores.status();
  bench->semaphores_ = std::move(*semaphores);
  bench->signalled_.resize(queues);
  bench->bindings_.poisoned = &bench->poisoned_;
  return bench;
}

Result<Memory> Bench::Allocate(uint32_t device, uint64_t bytes) {
  const MemoryKind kind = device == 0 ? MemoryKind::pinned : MemoryKind::plain;
  return devices_[device]->Allocate(bytes, kind, "memory for measurements");
}

Result<BenchCall> Bench::Make(uint32_t device, const std::string& op, plan::DType dtype,
                              const std::vector<std::vector<int64_t>>& inputs,
                              const std::vector<int64_t>& output) {
  BenchCall call;
  std::vector<OperandType> types;
  for (size_t i = 0; i <= inputs.size(); ++i) {
    const std::vector<int64_t>& dims = i < inputs.size() ? inputs[i] : output;
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.rank = static_cast<uint8_t>(dims.size());
    std::copy(dims.begin(), dims.end(), tensor.dims);
    auto memory = Allocate(device, tensor.bytes());
    if (!memory.ok()) return memory.status();
    tensor.data = memory->data();
    call.memory.push_back(std::move(*memory));
    call.operands.push_back(tensor);
    types.push_back(TypeOf(tensor));
  }
  const std::span<const OperandType> all = types;
  auto made = devices_[device]->MakeKernel(KernelNamed(op), all.first(inputs.size()),
                                           all.subspan(inputs.size()));
  if (!made.ok()) return made.status();
  call.executable = std::move(*made);
  return call;
}

Status Bench::OpenQueues() {
  for (const uint64_t scratch : {kScratch, uint64_t{0}}) {  // second queues copy only
    for (std::unique_ptr<Device>& device : devices_) {
      QueueOptions options;
      options.on_report = &reported_;
      options.scratch = scratch;
      options.stall_timeout = kLastPatience;
      auto queue = device->OpenQueue(options);
      if (!queue.ok()) return queue.status();
      queues_.push_back(std::move(*queue));
    }
  }
  return Status::Ok();
}

void Bench::Launch(uint32_t queue, const BenchCall& call) {
  device::Launch launch;
  launch.bindings = &bindings_;
  launch.predicate.own = kNoFlag;
  launch.executable = call.executable.get();
  launch.operands = call.operands.data();
  launch.inputs = static_cast<uint16_t>(call.operands.size() - 1);
  launch.outputs = 1;
  queues_[queue]->Launch(launch);
}

void Bench::Copy(uint32_t queue, const Memory& to, const Memory& from, uint64_t bytes) {
  Tensor tensor;
  tensor.dtype = plan::DType::u8;
  tensor.rank = 1;
  tensor.dims[0] = static_cast<int64_t>(bytes);
  tensor.data = from.data();
  device::Copy copy;
  copy.bindings = &bindings_;
  copy.predicate.own = kNoFlag;
  copy.from = &kept_.emplace_back(tensor);
  tensor.data = to.data();
  copy.to = &kept_.emplace_back(tensor);
  queues_[queue]->Copy(copy);
}

uint64_t Bench::Signal(uint32_t queue) {
  queues_[queue]->Signal(&semaphores_[queue], ++signalled_[queue]);
  return signalled_[queue];
}

void Bench::Wait(uint32_t queue, uint32_t for_queue, uint64_t value) {
  queues_[queue]->Wait(&semaphores_[for_queue], value, {});
}

std::string Bench::NameOf(uint32_t queue) const {
  const size_t device = queue % devices_.size();
  return device == 0 ? "a core" : fmt::format("cuda:{}", device - 1);
}

Status Bench::Finish(const std::vector<uint32_t>& queues) {
  const auto end = std::chrono::steady_clock::now() + patience_;
  std::vector<device::Report> reports;
  for (const uint32_t i : queues) {
    while (!semaphores_[i].Reached(signalled_[i])) {
      for (const uint32_t each : queues) queues_[each]->Poll(reports);
      if (std::chrono::steady_clock::now() > end) {
        // Before the caller frees memory, which would wait for the work.
        for (std::unique_ptr<Queue>& queue : queues_) queue->Close();
        return Status(StatusCode::kTimeout,
                      fmt::format("{} does not come to an end of its work within {} s; see whether "
                                  "other programs use it, or give it longer with --timeout",
                                  NameOf(i), std::chrono::duration<double>(patience_).count()));
      }
    }
  }
  for (const uint32_t i : queues) queues_[i]->Poll(reports);
  kept_.clear();
  for (const device::Report& report : reports) {
    if (report.failed) return Status(StatusCode::kFailed, report.error);
  }
  return Status::Ok();
}

}  // namespace cgraph::command
