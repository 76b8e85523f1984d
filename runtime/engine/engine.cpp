#include <cgraph/engine.h>

#include <fmt/format.h>

#include <mutex>
#include <new>

#include "runtime/device/gpus.h"
#include "runtime/engine/parts.h"
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

Outputs::Outputs(engine::ExecutionState* state) : state_(state), size_(state->outputs.size()) {}

Outputs::Outputs(const Outputs& other) : state_(other.state_), size_(other.size_) {
  if (state_ != nullptr) state_->Ref();
}

Outputs::~Outputs() {
  if (state_ != nullptr) state_->Unref();
}

size_t Outputs::size() const { return size_; }

const std::string& Outputs::name(size_t i) const {
  return state_->engine->loaded.graphs[state_->graph]->plan->outputs[i]->name;
}

const device::Tensor& Outputs::operator[](size_t i) const { return state_->outputs[i]; }

const device::Tensor* Outputs::Find(std::string_view name) const {
  for (size_t i = 0; i < size(); ++i) {
    if (this->name(i) == name) return &state_->outputs[i];
  }
  return nullptr;
}

std::optional<uint32_t> Outputs::gpu(size_t i) const {
  const device::SharedGpu* gpu = state_->engine->callers_gpus.OfResult(*state_, i);
  return gpu == nullptr ? std::nullopt : std::optional(gpu->number());
}

Status Outputs::CopyOut(size_t i, void* to) const {
  const device::Tensor& tensor = state_->outputs[i];
  if (device::SharedGpu* gpu = state_->engine->callers_gpus.OfResult(*state_, i)) {
    return gpu->Fetch(to, tensor.data, tensor.bytes());
  }
  device::CopyBytes(to, tensor.data, tensor.bytes());
  return Status::Ok();
}

void Outputs::UsedBy(size_t i, void* stream) const {
  device::SharedGpu* gpu = state_->engine->callers_gpus.OfResult(*state_, i);
  if (gpu == nullptr) return;
  if (auto fence = gpu->MakeFence(stream)) {
    std::lock_guard lock(state_->mutex);
    state_->fences.push_back(std::move(fence));
  }
}

Execution::~Execution() {
  if (state_ == nullptr) return;
  engine::Parts& engine = *state_->engine;
  if (!engine.ending.has_ended() && !state_->Over()) engine.driver.EnsureProgress();
  state_->Unref(spare_ ? 2 : 1);
}

// Returns the result of an execution that is over, or of an engine that has ended.
Result<Outputs> Execution::Fetch() {
  engine::Parts& engine = *state_->engine;
  if (engine.ending.has_ended()) return engine.ending.why();
  if (engine.loaded.several_ranks()) state_->CollectFailures();
  if (state_->failed.load(std::memory_order_acquire)) {  // over: no input is lent, or it is done
    if (!state_->Done()) engine.driver.EnsureProgress();  // the rest of it is still under way
    return state_->Error();
  }
  // A device that fails may have let others go on, with memory that holds anything.
  if (engine.loaded.has_queues) engine.device_failures.EndWhereAny();
  if (engine.ending.has_ended()) return engine.ending.why();
  if (spare_) {
    spare_ = false;
  } else {
    state_->Ref();
  }
  return Outputs(state_);
}

Result<Outputs> Execution::Get() {
  engine::Parts& engine = *state_->engine;
  const device::CallersContext context(engine.callers_gpus.any());
  if (!state_->Over()) CGRAPH_RETURN_IF_ERROR(engine.submitter.CheckCaller());
  if (state_->lags) CGRAPH_RETURN_IF_ERROR(engine.submitter.Flush(*state_));
  engine.driver.Await(*state_);
  return Fetch();
}

Result<Outputs> Execution::Get(std::chrono::nanoseconds timeout) {
  engine::Parts& engine = *state_->engine;
  const device::CallersContext context(engine.callers_gpus.any());
  if (!state_->Over()) CGRAPH_RETURN_IF_ERROR(engine.submitter.CheckCaller());
  if (state_->lags) CGRAPH_RETURN_IF_ERROR(engine.submitter.Hasten(*state_));
  if (!state_->Over()) engine.driver.AwaitUntil(*state_, DeadlineAfter(timeout));
  if (engine.ending.has_ended() || state_->Over()) return Fetch();
  return Status(StatusCode::kTimeout, fmt::format("no result after {} s\n{}",
                                                  std::chrono::duration<double>(timeout).count(),
                                                  engine.reporter.Text()));
}

bool Execution::Ready() const {
  engine::Parts& engine = *state_->engine;
  if (engine.ending.has_ended() || state_->Over()) return true;
  // Where memory for an empty round is short, the round is tried again, here or by the watchdog.
  if (state_->lags && engine.submitter.CheckCaller().ok())
    static_cast<void>(engine.submitter.Hasten(*state_).ok());
  engine.driver.EnsureProgress();
  return false;
}

Result<std::unique_ptr<Engine>> Engine::Load(std::unique_ptr<plan::Plan> plan,
                                             const EngineOptions& options) try {
  if (plan == nullptr) return Status(StatusCode::kInvalid, "there is no plan to load");
  const device::CallersContext context(options.gpus);
  std::unique_ptr<Engine> engine(new Engine);
  auto parts = engine::Parts::Load(std::move(plan), options);
  if (!parts.ok()) return parts.status();
  engine->parts_ = *parts;
  const plan::Plan& loaded = engine->plan();
  for (uint32_t g = 0; g < loaded.graphs.size(); ++g) {
    engine->repeats_.push_back(loaded.graphs[g]->repeat || plan::IsBefore(loaded, g));
  }
  return engine;
} catch (const std::bad_alloc&) {
  return OutOfMemory();
}

Result<std::unique_ptr<Engine>> Engine::LoadFile(const std::string& path,
                                                 const EngineOptions& options) try {
  auto plan = plan::ReadFile(path);
  if (!plan.ok()) return plan.status();
  return Load(std::move(*plan), options);
} catch (const std::bad_alloc&) {
  return OutOfMemory();
}

Engine::~Engine() {
  if (parts_ == nullptr) return;
  const device::CallersContext context(parts_->callers_gpus.any());
  parts_->Teardown();
  parts_->Release();
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
  if (repeats_[graph]) {
    return Status(StatusCode::kInvalid,
                  fmt::format("`{}` is executed round after round, as one run: Engine::Repeat() "
                              "begins it",
                              plan().graphs[graph]->name));
  }
  const device::CallersContext context(parts_->callers_gpus.any());
  auto execution = parts_->submitter.Submit(graph, inputs, when_full);
  if (!execution.ok()) return execution.status();
  return Execution(*execution);
}

Result<void*> Engine::HandoverStream(uint32_t gpu) const {
  device::SharedGpu* const shared = parts_->callers_gpus.Of(gpu);
  if (shared != nullptr) return shared->HandoverStream();
  return Status(StatusCode::kUnsupported,
                fmt::format("the engine does not run on cuda:{}; it runs on {}", gpu,
                            parts_->callers_gpus.Text()));
}

Status Engine::CheckCaller() const { return parts_->submitter.CheckCaller(); }

const std::vector<Engine::State>& Engine::States() const { return parts_->states.states(); }
Status Engine::ReadState(std::string_view name, std::span<uint8_t> to) {
  const device::CallersContext context(parts_->callers_gpus.any());
  return parts_->states.Read(name, to);
}
Status Engine::WriteState(std::string_view name, std::span<const uint8_t> from) {
  const device::CallersContext context(parts_->callers_gpus.any());
  return parts_->states.Write(name, from);
}
Result<Engine::Snapshot> Engine::TakeSnapshot() try {
  const device::CallersContext context(parts_->callers_gpus.any());
  return parts_->states.TakeSnapshot();
} catch (const std::bad_alloc&) {
  return OutOfMemory();
}
Result<std::vector<std::string>> Engine::RestoreSnapshot(
    std::span<const Snapshot::Tensor> tensors) try {
  const device::CallersContext context(parts_->callers_gpus.any());
  return parts_->states.RestoreSnapshot(tensors);
} catch (const std::bad_alloc&) {
  return OutOfMemory();
}

void Engine::Teardown() {
  const device::CallersContext context(parts_->callers_gpus.any());
  parts_->Teardown();
}
bool Engine::Ended() const { return parts_->ending.has_ended(); }
const plan::Plan& Engine::plan() const { return *parts_->loaded.plan; }
Status Engine::EndStatus() const {
  return parts_->ending.has_ended() ? parts_->ending.why() : Status::Ok();
}

std::string Engine::WaitReport() const { return parts_->reporter.Text(); }
std::string Engine::WaitReportDot() const { return parts_->reporter.Dot(); }
Engine::Stats Engine::GetStats() const { return parts_->measurements.GetStats(); }
std::string Engine::NoteOfWorkers() const { return parts_->NoteOfWorkers(); }
std::vector<std::pair<std::string, double>> Engine::Profile() const {
  return parts_->measurements.Profile();
}

plan::GraphTrace Engine::Trace(uint32_t graph) const { return parts_->measurements.Trace(graph); }

plan::TraceProcesses Engine::TraceProcesses() const { return parts_->measurements.Processes(); }

void Engine::ForgetMeasurements() { parts_->measurements.Forget(); }

}  // namespace cgraph
