#include "tests/support/deferred/deferred.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <mutex>

#include "runtime/device/kernel.h"
#include "tests/support/deferred/machine.h"

namespace cgraph::testing {
namespace {

using namespace device;

std::atomic<uint64_t> first_seed{1}, machines{0};
std::atomic<bool> deferring{false}, alike{false};
std::mutex last_machine_mutex;
std::weak_ptr<Machine> last_machine;

class DeferredDevice : public Device {
 public:
  DeferredDevice(std::shared_ptr<Machine> machine, std::unique_ptr<Device> cpu, bool host_visible,
                 bool communicates, bool records)
      : Device({.queues_communicate = communicates, .queues_record = records}),
        machine_(std::move(machine)),
        cpu_(std::move(cpu)),
        host_visible_(host_visible) {}

  Result<Memory> Allocate(uint64_t bytes, MemoryKind kind, const std::string& what) override {
    auto memory = cpu_->Allocate(bytes, kind, what);
    if (!memory.ok() || host_visible_ || memory->size() == 0) return memory;
    auto owner = std::make_shared<Block>(std::move(*memory));
    std::byte* data = owner->memory.data();
    const uint64_t size = owner->memory.size();
    return Memory(data, size, kind, /*host_visible=*/false, std::move(owner));
  }
  Result<std::unique_ptr<Executable>> MakeKernel(const plan::Kernel& kernel,
                                                 std::span<const OperandType> inputs,
                                                 std::span<const OperandType> outputs) override {
    return cpu_->MakeKernel(kernel, inputs, outputs);
  }
  Result<std::unique_ptr<Executable>> MakeUpload(std::unique_ptr<Source> source) override {
    return cpu_->MakeUpload(std::move(source));
  }
  Result<std::unique_ptr<Queue>> OpenQueue(const QueueOptions& options) override {
    auto scratch = Memory::Allocate(options.scratch, "a kernel's scratch");
    if (!scratch.ok()) return scratch.status();
    return std::unique_ptr<Queue>(
        std::make_unique<DeferredQueue>(options, std::move(*scratch), machine_));
  }
  EventCount* event_count() override { return machine_->event_count(); }

 private:
  // Goes back to the CPU with the last handle.
  struct Block : MemoryOwner {
    explicit Block(Memory memory) : memory(std::move(memory)) {}
    void Free(std::byte*, uint64_t) override {}
    Memory memory;
  };

  Status Upload(std::byte* to, const void* from, uint64_t bytes) override {
    std::memcpy(to, from, bytes);
    return Status::Ok();
  }
  Status Download(void* to, const std::byte* from, uint64_t bytes) override {
    std::memcpy(to, from, bytes);
    return Status::Ok();
  }

  std::shared_ptr<Machine> machine_;
  std::unique_ptr<Device> cpu_;
  const bool host_visible_;
};

class DeferredBackend : public Backend {
 public:
  explicit DeferredBackend(const DeferredOptions& options)
      : options_(options), machine_(std::make_shared<Machine>(options)) {}

  std::string_view name() const override { return "deferred"; }
  Status Serves(const plan::Plan& plan, uint32_t device) const override {
    if (plan.devices[device]->kind == plan::DeviceKind::caller && !options_.caller) {
      return Status(StatusCode::kUnsupported, "the caller is left to the CPU");
    }
    if (plan.devices[device]->kind == plan::DeviceKind::cpu && !options_.cpus) {
      return Status(StatusCode::kUnsupported, "cpus are left to the CPU");
    }
    return cpu_->Serves(plan, device);
  }
  Result<std::unique_ptr<Device>> Open(const plan::Plan& plan, uint32_t device) override {
    {
      std::lock_guard lock(last_machine_mutex);
      last_machine = machine_;
    }
    auto cpu = cpu_->Open(plan, device);
    if (!cpu.ok()) return cpu;
    const bool caller = plan.devices[device]->kind == plan::DeviceKind::caller;
    return std::unique_ptr<Device>(std::make_unique<DeferredDevice>(
        machine_, std::move(*cpu), caller, Communicates(device), options_.records));
  }

 private:
  bool Communicates(uint32_t device) const {
    switch (options_.communicates) {
      case DeferredOptions::Communicates::kNone: return false;
      case DeferredOptions::Communicates::kSome: return (options_.seed / 5 >> device % 8 & 1) != 0;
      case DeferredOptions::Communicates::kAll: return true;
    }
    return false;
  }

  DeferredOptions options_;
  std::shared_ptr<Machine> machine_;
  std::unique_ptr<Backend> cpu_ = MakeCpuBackend();
};

DeferredOptions NextOptions() {
  const uint64_t number = machines++;
  if (!alike) return OptionsOf(first_seed + number);
  DeferredOptions options = OptionsOf(first_seed);
  if (options.thread) options.communicates = DeferredOptions::Communicates::kAll;
  return options;
}

}  // namespace

DeferredOptions OptionsOf(uint64_t seed) {
  DeferredOptions options;
  options.seed = seed;
  options.caller = seed % 2 == 0;
  options.thread = seed % 3 == 0;
  using Communicates = DeferredOptions::Communicates;
  options.communicates = seed % 5 < 2    ? Communicates::kAll
                         : seed % 5 == 2 ? Communicates::kSome
                                         : Communicates::kNone;
  options.records = seed % 7 != 0;
  options.cpus = seed % 11 != 0;
  return options;
}

std::unique_ptr<Backend> MakeDeferredBackend(const DeferredOptions& options) {
  return std::make_unique<DeferredBackend>(options);
}

void DeferAllEngines(uint64_t seed) {
  first_seed = seed;
  machines = 0;
  deferring = true;
  alike = false;
  static const bool added = [] {
    BackendRegistry::Get().Add({[](const Assignment& assignment) {
      // GPUs and memory that processes share are no business of it.
      const bool others = !assignment.gpus.empty() || assignment.among.memory != nullptr;
      std::unique_ptr<Backend> none;
      if (!deferring || others) return Result<std::unique_ptr<Backend>>(std::move(none));
      return Result<std::unique_ptr<Backend>>(MakeDeferredBackend(NextOptions()));
    }});
    return true;
  }();
  (void)added;
}

void DeferAllRanks(uint64_t seed) {
  DeferAllEngines(seed);
  alike = true;
}

void DeferNoEngines() { deferring = false; }

void ReseedLast(uint64_t seed) {
  std::lock_guard lock(last_machine_mutex);
  if (auto machine = last_machine.lock()) machine->Reseed(seed);
}

uint64_t LastSeed() { return first_seed + machines - 1; }
uint64_t MachinesMade() { return machines; }

}  // namespace cgraph::testing
