// States between executions: read and written by the program that executes graphs.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/engine/core.h"
#include "runtime/kinds/native.h"
#include "runtime/plan/print.h"
#include "runtime/status/text.h"

namespace cgraph::engine {

void Core::ListStates() {
  for (uint32_t a = 0; a < plan_->actors.size(); ++a) {
    const plan::Actor& actor = *plan_->actors[a];
    for (uint32_t s = 0; s < actor.states.size(); ++s) {
      const plan::State& state = *actor.states[s];
      if (state.name == kNativeObjectState) {  // of no use to anybody else
        objects_.push_back({a, state.offset});
        continue;
      }
      states_.push_back({actor.name + "." + state.name, state.dtype, state.dims, state.bytes});
      places_of_states_.push_back({a, s});
    }
  }
}

// Returns kUnsupported where this process does not reach the states of an actor.
Status Core::CheckReached(const plan::Actor& actor) const {
  const char* where = IsElsewhere(actor.device) ? "on another machine" : nullptr;
  if (view_.OnGpu(actor.device) && !view_.IsHere(actor.device)) {
    where = "on a GPU of another process";
  }
  if (where == nullptr) return Status::Ok();
  return Status(StatusCode::kUnsupported,
                fmt::format("the states of {} are {}, at {}, where they cannot be looked at yet; "
                            "run all in one process",
                            actor.name, where, plan::DeviceName(*plan_, actor.device)));
}

Status Core::CheckStates() const {
  for (const auto& actor : plan_->actors) {
    if (!actor->states.empty()) CGRAPH_RETURN_IF_ERROR(CheckReached(*actor));
  }
  return Status::Ok();
}

// Awaits executions that have failed, and whose other branches go on. Returns kUnsupported while
// others are in flight.
Status Core::AwaitIdle(const std::string& what) {
  for (;;) {
    if (ended()) return EndStatus();
    LoadedGraph* busy = nullptr;
    for (const auto& graph : graphs_) {
      Retire(*graph);
      if (graph->idle()) continue;
      busy = graph.get();
      for (uint64_t n = graph->retired; n < graph->round(); ++n) {
        const size_t frame = (graph->oldest_frame + n - graph->retired) % graph->frames.size();
        ExecutionState& run = *graph->frames[frame].run;
        if (run.empty || run.Over()) continue;
        return Status(StatusCode::kUnsupported,
                      fmt::format("{} cannot be looked at while executions of graph {} are in "
                                  "flight; take their results first",
                                  what, graph->plan->name));
      }
    }
    if (busy == nullptr) return Status::Ok();
    // Gives the lock up meanwhile, so that another thread may submit to any graph.
    CGRAPH_RETURN_IF_ERROR(AwaitOldest(*busy));
  }
}

Core::StateAddress Core::AddressOf(size_t state) const {
  const auto [a, s] = places_of_states_[state];
  StateAddress address = arenas_->StatesOf(a);
  address.offset += plan_->actors[a]->states[s]->offset;
  return address;
}

// Finds a state that can be read or written now. Under submission_.
Result<Core::StateAddress> Core::FindState(std::string_view name, uint64_t bytes) {
  if (ended()) return EndStatus();
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
  const size_t state = found - states_.begin();
  CGRAPH_RETURN_IF_ERROR(CheckReached(*plan_->actors[places_of_states_[state].first]));
  CGRAPH_RETURN_IF_ERROR(AwaitIdle(fmt::format("state `{}`", name)));
  return AddressOf(state);
}

Status Core::ReadState(std::string_view name, std::span<uint8_t> to) {
  std::lock_guard lock(submission_);
  const auto address = FindState(name, to.size());
  if (!address.ok()) return address.status();
  return address->device->CopyOut(to.data(), *address->block, address->offset, to.size());
}

Status Core::WriteState(std::string_view name, std::span<const uint8_t> from) {
  std::lock_guard lock(submission_);
  const auto address = FindState(name, from.size());
  if (!address.ok()) return address.status();
  return address->device->CopyIn(*address->block, address->offset, from.data(), from.size());
}

}  // namespace cgraph::engine
