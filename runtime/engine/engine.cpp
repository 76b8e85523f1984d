#include "runtime/engine/engine.h"

#include <fmt/format.h>

#include <mutex>
#include <new>

#include "runtime/device/cuda_library/callers_context.h"
#include "runtime/engine/core.h"
#include "runtime/plan/load.h"

namespace cgraph {
namespace {

// Returns the end of `timeout`, or none where the clock cannot tell that time.
Deadline DeadlineAfter(std::chrono::nanoseconds timeout) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point now = Clock::now();
  if (timeout <= std::chrono::nanoseconds::zero()) return now;
  if (timeout >= Clock::time_point::max() - now) return std::nullopt;
  return now + timeout;
}

}  // namespace

Outputs::Outputs(const Outputs& other) : run_(other.run_) {
  if (run_ != nullptr) run_->Ref();
}

Outputs::~Outputs() {
  if (run_ != nullptr) run_->Unref();
}

size_t Outputs::size() const { return run_->outputs.size(); }

const std::string& Outputs::name(size_t i) const { return run_->core->OutputName(run_->graph, i); }

const device::Tensor& Outputs::operator[](size_t i) const { return run_->outputs[i]; }

const device::Tensor* Outputs::Find(std::string_view name) const {
  for (size_t i = 0; i < size(); ++i) {
    if (this->name(i) == name) return &run_->outputs[i];
  }
  return nullptr;
}

std::optional<uint32_t> Outputs::gpu(size_t i) const {
  const device::SharedGpu* gpu = run_->core->GpuOfResult(*run_, i);
  return gpu == nullptr ? std::nullopt : std::optional(gpu->number());
}

Status Outputs::CopyOut(size_t i, void* to) const {
  const device::Tensor& tensor = run_->outputs[i];
  if (device::SharedGpu* gpu = run_->core->GpuOfResult(*run_, i)) {
    return gpu->Fetch(to, tensor.data, tensor.bytes());
  }
  device::CopyBytes(to, tensor.data, tensor.bytes());
  return Status::Ok();
}

void Outputs::UsedBy(size_t i, void* stream) const {
  device::SharedGpu* gpu = run_->core->GpuOfResult(*run_, i);
  if (gpu == nullptr) return;
  if (auto fence = gpu->MakeFence(stream)) {
    std::lock_guard lock(run_->mutex);
    run_->fences.push_back(std::move(fence));
  }
}

Execution::~Execution() {
  if (run_ == nullptr) return;
  engine::Core& core = *run_->core;
  if (!core.ended() && !run_->Over()) core.EnsureProgress();
  run_->Unref(spare_ ? 2 : 1);
}

// Returns the result of an execution that is over, or of an engine that has ended.
Result<Outputs> Execution::Fetch() {
  engine::Core& core = *run_->core;
  if (core.ended()) return core.EndStatus();
  if (core.several_ranks()) run_->CollectFailures();
  if (run_->failed.load(std::memory_order_acquire)) {  // over: no input is lent, or it is done
    if (!run_->Done()) core.EnsureProgress();  // the rest of it is still under way
    return run_->Error();
  }
  // A device that fails may have let others go on, with memory that holds anything.
  if (core.has_queues()) core.EndWhereDeviceFailed();
  if (core.ended()) return core.EndStatus();
  if (spare_) {
    spare_ = false;
  } else {
    run_->Ref();
  }
  return Outputs(run_);
}

Result<Outputs> Execution::Get() {
  engine::Core& core = *run_->core;
  const device::CallersContext context(core.uses_gpus());
  if (!run_->Over()) CGRAPH_RETURN_IF_ERROR(core.CheckCaller());
  if (run_->lags) CGRAPH_RETURN_IF_ERROR(core.Flush(*run_));
  core.Await(*run_);
  return Fetch();
}

Result<Outputs> Execution::Get(std::chrono::nanoseconds timeout) {
  engine::Core& core = *run_->core;
  const device::CallersContext context(core.uses_gpus());
  if (!run_->Over()) CGRAPH_RETURN_IF_ERROR(core.CheckCaller());
  if (run_->lags) CGRAPH_RETURN_IF_ERROR(core.Hasten(*run_));
  if (!run_->Over()) core.AwaitUntil(*run_, DeadlineAfter(timeout));
  if (core.ended() || run_->Over()) return Fetch();
  return Status(StatusCode::kTimeout,
                fmt::format("no result after {} s\n{}",
                            std::chrono::duration<double>(timeout).count(), core.WaitReport()));
}

bool Execution::Ready() const {
  engine::Core& core = *run_->core;
  if (core.ended() || run_->Over()) return true;
  // Where memory for an empty round is short, the round is tried again, here or by the watchdog.
  if (run_->lags && core.CheckCaller().ok()) static_cast<void>(core.Hasten(*run_).ok());
  core.EnsureProgress();
  return false;
}

Result<std::unique_ptr<Engine>> Engine::Load(std::unique_ptr<plan::Plan> plan,
                                             const EngineOptions& options) try {
  if (plan == nullptr) return Status(StatusCode::kInvalid, "there is no plan to load");
  const device::CallersContext context(options.gpus);
  std::unique_ptr<Engine> engine(new Engine);
  auto core = engine::Core::Load(std::move(plan), options);
  if (!core.ok()) return core.status();
  engine->core_ = *core;
  return engine;
} catch (const std::bad_alloc&) {
  return engine::OutOfMemory();
}

Result<std::unique_ptr<Engine>> Engine::LoadFile(const std::string& path,
                                                 const EngineOptions& options) try {
  auto plan = plan::ReadFile(path);
  if (!plan.ok()) return plan.status();
  return Load(std::move(*plan), options);
} catch (const std::bad_alloc&) {
  return engine::OutOfMemory();
}

Engine::~Engine() {
  if (core_ == nullptr) return;
  const device::CallersContext context(core_->uses_gpus());
  core_->Teardown();
  core_->JoinWatchdog();
  core_->Release();
}

Result<Execution> Engine::Execute(std::string_view graph, std::span<const Input> inputs,
                                  WhenFull when_full) {
  const auto& graphs = plan().graphs;
  for (uint32_t i = 0; i < graphs.size(); ++i) {
    if (graphs[i]->name == graph) return Execute(i, inputs, when_full);
  }
  return Status(StatusCode::kInvalid, fmt::format("the plan has no graph `{}`", graph));
}

Result<Execution> Engine::Execute(uint32_t graph, std::span<const Input> inputs,
                                  WhenFull when_full) {
  if (graph >= plan().graphs.size()) {
    return Status(StatusCode::kInvalid,
                  fmt::format("the plan has no graph {}, it has {}", graph, plan().graphs.size()));
  }
  const device::CallersContext context(core_->uses_gpus());
  auto run = core_->Submit(graph, inputs, when_full);
  if (!run.ok()) return run.status();
  return Execution(*run);
}

Result<void*> Engine::HandoverStream(uint32_t gpu) const {
  device::SharedGpu* const shared = core_->SharedGpuOf(gpu);
  if (shared != nullptr) return shared->HandoverStream();
  return Status(StatusCode::kUnsupported,
                fmt::format("the engine does not run on cuda:{}; it runs on {}", gpu,
                            core_->SharedGpusText()));
}

Status Engine::CheckCaller() const { return core_->CheckCaller(); }

const std::vector<Engine::State>& Engine::States() const { return core_->states(); }
Status Engine::ReadState(std::string_view name, std::span<uint8_t> to) {
  const device::CallersContext context(core_->uses_gpus());
  return core_->ReadState(name, to);
}
Status Engine::WriteState(std::string_view name, std::span<const uint8_t> from) {
  const device::CallersContext context(core_->uses_gpus());
  return core_->WriteState(name, from);
}
Result<Engine::Snapshot> Engine::TakeSnapshot() try {
  const device::CallersContext context(core_->uses_gpus());
  return core_->TakeSnapshot();
} catch (const std::bad_alloc&) {
  return engine::OutOfMemory();
}
Result<std::vector<std::string>> Engine::RestoreSnapshot(
    std::span<const Snapshot::Tensor> tensors) try {
  const device::CallersContext context(core_->uses_gpus());
  return core_->RestoreSnapshot(tensors);
} catch (const std::bad_alloc&) {
  return engine::OutOfMemory();
}

void Engine::Teardown() {
  const device::CallersContext context(core_->uses_gpus());
  core_->Teardown();
}
bool Engine::Ended() const { return core_->ended(); }
const plan::Plan& Engine::plan() const { return core_->plan(); }
Status Engine::EndStatus() const { return core_->ended() ? core_->EndStatus() : Status::Ok(); }

std::string Engine::WaitReport() const { return core_->WaitReport(); }
std::string Engine::WaitReportDot() const { return core_->WaitReportDot(); }
Engine::Stats Engine::GetStats() const { return core_->GetStats(); }
std::string Engine::NoteOfWorkers() const { return core_->NoteOfWorkers(); }
std::vector<std::pair<std::string, double>> Engine::Profile() const { return core_->Profile(); }

plan::GraphTrace Engine::Trace(uint32_t graph) const { return core_->Trace(graph); }

plan::TraceProcesses Engine::TraceProcesses() const { return core_->TraceProcesses(); }

void Engine::ForgetMeasurements() { core_->ForgetMeasurements(); }

}  // namespace cgraph
