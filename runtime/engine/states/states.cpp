// States between executions: read and written by the program that executes graphs.
#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "runtime/base/kinds/native.h"
#include "runtime/base/omission.h"
#include "runtime/base/text.h"
#include "runtime/engine/core.h"
#include "runtime/plan/booleans.h"
#include "runtime/plan/print.h"

namespace cgraph::engine {

using cluster::StateRequest;

void Core::ListStates() {
  for (uint32_t a = 0; a < plan_->actors.size(); ++a) {
    const plan::Actor& actor = *plan_->actors[a];
    for (const auto& each : actor.states) {
      const plan::State& state = *each;
      if (state.name == kNativeObjectState) {  // of no use to anybody else
        objects_.push_back({a, state.offset});
        continue;
      }
      states_.push_back({actor.name + "." + state.name, state.dtype, state.dims, state.bytes});
      places_of_states_.push_back({a, state.offset});
    }
  }
}

// Returns the rank that serves the device.
uint32_t Core::RankOfDevice(uint32_t device) const {
  if (machines_ != nullptr) return plan_->devices[device]->node;
  return several_ranks() ? view_.rank_of_device[device] : 0;
}

// Returns whether this process reaches the device's memory: ranks of one machine share the host's.
bool Core::ReachesMemoryOf(uint32_t device) const {
  return !IsElsewhere(device) && (view_.IsHere(device) || !view_.OnGpu(device));
}

Status Core::CopyStatesOut(uint32_t actor, uint64_t offset, std::span<uint8_t> to) {
  const uint32_t device = plan_->actors[actor]->device;
  if (ReachesMemoryOf(device)) {
    const StateAddress at = arenas_->StatesOf(actor);
    return at.device->CopyOut(to.data(), *at.block, at.offset + offset, to.size());
  }
  StateRequest request{
      .kind = StateRequest::Kind::kRead, .actor = actor, .offset = offset, .bytes = to.size()};
  return AskInPieces(RankOfDevice(device), request, {},
                     [&](uint64_t begin, std::span<const uint8_t> piece) {
                       const auto part = to.subspan(begin);
                       std::copy_n(piece.begin(), std::min(piece.size(), part.size()),
                                   part.begin());
                     });
}

Status Core::CopyStatesIn(uint32_t actor, uint64_t offset, std::span<const uint8_t> from) {
  const uint32_t device = plan_->actors[actor]->device;
  if (ReachesMemoryOf(device)) {
    const StateAddress at = arenas_->StatesOf(actor);
    return at.device->CopyIn(*at.block, at.offset + offset, from.data(), from.size());
  }
  StateRequest request{
      .kind = StateRequest::Kind::kWrite, .actor = actor, .offset = offset, .bytes = from.size()};
  return AskInPieces(RankOfDevice(device), request, from, {});
}

// Waits until no execution is in flight. Gives the lock up meanwhile; a pause keeps executions from
// beginning then, so that this ends although other threads go on submitting.
Status Core::AwaitIdle() {
  if (Omits(Omission::kIdle)) return Status::Ok();
  if (ended()) {
    // Where a time-out has ended the engine and it is torn down, nothing touches the states of this
    // process any more: they can still be read, as the executions that were interrupted left them.
    const std::unique_lock teardown(teardown_mutex_, std::try_to_lock);
    const bool at_rest = teardown.owns_lock() && torn_down_ && !has_queues_ && !several_ranks();
    const Status end = EndStatus();
    return at_rest && end.code() == StatusCode::kTimeout ? Status::Ok() : end;
  }
  const Turns::Pause pause(turns_);
  return DriveToIdle();
}

Status Core::CheckCallerInside() const {
  if (kernels_->objects().AnyIsCalledHere()) {
    return Status(StatusCode::kUnsupported,
                  "a method cannot read or set states of the engine that calls it, execute its "
                  "graphs, wait for them, or close it: that would wait for its own execution");
  }
  if (!HoldsSubmission()) return Status::Ok();
  return Status(StatusCode::kUnsupported,
                "what saves or restores an object cannot use the engine that asks for it: that "
                "would wait for itself");
}

Status Core::DriveToIdle() {
  for (;;) {
    // Of a graph with lags an execution may wait for rounds that nobody has submitted yet.
    for (const auto& graph : graphs_) {
      CGRAPH_RETURN_IF_ERROR(FlushUntil(*graph, graph->begun, /*interruptible=*/true));
    }
    if (ended()) return EndStatus();
    LoadedGraph* busy = nullptr;
    for (const auto& graph : graphs_) {
      Retire(*graph);
      if (!graph->idle()) busy = graph.get();
    }
    if (busy == nullptr) return Status::Ok();
    CGRAPH_RETURN_IF_ERROR(AwaitOldest(*busy, /*interruptible=*/true));
  }
}

// Finds a state of so many bytes by its name. Under submission_.
Result<size_t> Core::FindState(std::string_view name, uint64_t bytes) {
  const auto found = std::find_if(states_.begin(), states_.end(),
                                  [&](const Engine::State& state) { return state.name == name; });
  if (found == states_.end()) {
    std::vector<std::string> names;
    for (const Engine::State& state : states_) names.push_back(state.name);
    return Status(StatusCode::kNotFound,
                  fmt::format("the plan has no state `{}`{}", name, DidYouMeanHint(name, names)));
  }
  if (bytes != found->bytes) {
    return Status(StatusCode::kInvalid,
                  fmt::format("state `{}` has {} bytes, not {}", name, found->bytes, bytes));
  }
  return found - states_.begin();
}

// Checks what a state is set to, which has its size.
Status Core::CheckElements(size_t state, std::span<const uint8_t> bytes) const {
  if (plan::ValidElements(states_[state].dtype, bytes)) return Status::Ok();
  return Status(StatusCode::kInvalid, fmt::format("state `{}` was given {}", states_[state].name,
                                                  plan::kWrongBooleans));
}

Status Core::ReadState(std::string_view name, std::span<uint8_t> to) {
  CGRAPH_RETURN_IF_ERROR(CheckCaller());
  std::lock_guard lock(submission_);
  const auto state = FindState(name, to.size());
  if (!state.ok()) return state.status();
  CGRAPH_RETURN_IF_ERROR(AwaitIdle());
  const auto [actor, offset] = places_of_states_[*state];
  return CopyStatesOut(actor, offset, to);
}

Status Core::WriteState(std::string_view name, std::span<const uint8_t> from) {
  CGRAPH_RETURN_IF_ERROR(CheckCaller());
  std::lock_guard lock(submission_);
  const auto state = FindState(name, from.size());
  if (!state.ok()) return state.status();
  CGRAPH_RETURN_IF_ERROR(CheckElements(*state, from));
  if (ended()) return EndStatus();
  CGRAPH_RETURN_IF_ERROR(AwaitIdle());
  const auto [actor, offset] = places_of_states_[*state];
  return CopyStatesIn(actor, offset, from);
}

}  // namespace cgraph::engine
