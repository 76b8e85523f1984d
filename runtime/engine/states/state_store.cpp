#include "runtime/engine/states/state_store.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "runtime/base/kinds/native.h"
#include "runtime/base/text.h"
#include "runtime/plan/kinds.h"

namespace cgraph::engine {

using native::Storing;

namespace {

// Returns the name of an object in a snapshot: "stage[0].native object".
std::string ObjectName(const std::string& place) { return place + "." + kNativeObjectState; }

}  // namespace

void StateStore::List(const plan::Plan& plan) {
  plan_ = &plan;
  for (uint32_t a = 0; a < plan.actors.size(); ++a) {
    const plan::Actor& actor = *plan.actors[a];
    for (const auto& each : actor.states) {
      const plan::State& state = *each;
      if (state.name == kNativeObjectState) objects_.push_back({actor.name, a, state.offset});
    }
  }
  names_.emplace(plan);
  for (const auto& [actor, state, first] : names_->states()) {
    states_.push_back(
        {plan.actors[actor]->name + "." + state->name, state->dtype, state->dims, state->bytes});
  }
}

void StateStore::MarkBroken(uint32_t graph, const std::string& why) {
  Submitter::Idle idle(submitter_);
  std::set<uint32_t> actors;
  const auto look = [&](const plan::Graph& used) {
    for (const plan::Arena& arena : used.arenas) {
      if (arena.space() == plan::Space::state) actors.insert(arena.owner());
    }
  };
  const plan::Graph& round = *plan_->graphs[graph];
  look(round);
  if (round.repeat->before != plan::kNone) look(*plan_->graphs[round.repeat->before]);
  for (const uint32_t actor : actors) {
    for (const auto& state : plan_->actors[actor]->states) {
      broken_[plan_->actors[actor]->name + "." + state->name] = why;
    }
  }
}

// Fails where a state, or an object, is marked as broken.
Status StateStore::CheckWhole(const std::string& name) const {
  const auto found = broken_.find(name);
  if (found == broken_.end()) return Status::Ok();
  return Status(StatusCode::kFailed,
                fmt::format("`{}` may be of two executions: {}, after some of its calls had "
                            "changed states; set states from a file or a snapshot, or load the "
                            "plan anew",
                            name, found->second));
}

// Finds a state of so many bytes by its name.
Result<size_t> StateStore::Find(std::string_view name, uint64_t bytes) const {
  const std::optional<size_t> found = names_->Find(name);
  if (!found || states_[*found].name != name) {
    std::vector<std::string> names;
    for (const Engine::State& state : states_) names.push_back(state.name);
    return Status(StatusCode::kNotFound,
                  fmt::format("the plan has no state `{}`{}", name, DidYouMeanHint(name, names)));
  }
  if (bytes == states_[*found].bytes) return *found;
  return Status(StatusCode::kInvalid, fmt::format("state `{}` has {} bytes, not {}", name,
                                                  states_[*found].bytes, bytes));
}

// Checks what a state is set to; `name`: of the tensor.
Status StateStore::CheckBytes(size_t state, std::string_view name,
                              std::span<const uint8_t> bytes) const {
  if (bytes.size() != states_[state].bytes) {
    return Status(StatusCode::kInvalid, fmt::format("state `{}` has {} bytes, not {}", name,
                                                    states_[state].bytes, bytes.size()));
  }
  if (plan::ValidElements(states_[state].dtype, bytes)) return Status::Ok();
  return Status(StatusCode::kInvalid,
                fmt::format("state `{}` was given {}", name, plan::kWrongBooleans));
}

Status StateStore::CopyOut(size_t state, std::span<uint8_t> to) {
  const auto& [actor, entry, first] = names_->states()[state];
  return access_.CopyOut(actor, entry->offset, to);
}

Status StateStore::CopyIn(size_t state, std::span<const uint8_t> from) {
  const auto& [actor, entry, first] = names_->states()[state];
  CGRAPH_RETURN_IF_ERROR(access_.CopyIn(actor, entry->offset, from));
  broken_.erase(states_[state].name);
  return Status::Ok();
}

Status StateStore::Read(std::string_view name, std::span<uint8_t> to) {
  CGRAPH_RETURN_IF_ERROR(submitter_.CheckCaller());
  Submitter::Idle idle(submitter_);
  const auto state = Find(name, to.size());
  if (!state.ok()) return state.status();
  CGRAPH_RETURN_IF_ERROR(idle.Await());
  CGRAPH_RETURN_IF_ERROR(CheckWhole(states_[*state].name));
  return CopyOut(*state, to);
}

Status StateStore::Write(std::string_view name, std::span<const uint8_t> from) {
  CGRAPH_RETURN_IF_ERROR(submitter_.CheckCaller());
  Submitter::Idle idle(submitter_);
  const auto state = Find(name, from.size());
  if (!state.ok()) return state.status();
  CGRAPH_RETURN_IF_ERROR(CheckBytes(*state, name, from));
  if (ending_.has_ended()) return ending_.why();
  CGRAPH_RETURN_IF_ERROR(idle.Await());
  for (const size_t copy : names_->CopiesOf(*state)) CGRAPH_RETURN_IF_ERROR(CopyIn(copy, from));
  return Status::Ok();
}

Result<Engine::Snapshot> StateStore::TakeSnapshot() {
  CGRAPH_RETURN_IF_ERROR(submitter_.CheckCaller());
  Submitter::Idle idle(submitter_);
  CGRAPH_RETURN_IF_ERROR(idle.Await());
  idle.CallLibraries();
  Engine::Snapshot snapshot;
  for (size_t s = 0; s < states_.size(); ++s) {
    CGRAPH_RETURN_IF_ERROR(CheckWhole(states_[s].name));
    auto& tensor = snapshot.tensors.emplace_back();
    tensor = {states_[s].name, states_[s].dtype, states_[s].dims, {}};
    tensor.bytes.resize(states_[s].bytes);
    CGRAPH_RETURN_IF_ERROR(CopyOut(s, tensor.bytes));
  }
  for (const Object& object : objects_) {
    CGRAPH_RETURN_IF_ERROR(CheckWhole(ObjectName(object.place_name)));
    auto stored = Do(object, Task::kSave);
    if (!stored.ok()) return stored.status();
    if (stored->storing == Storing::kImpossible) {
      snapshot.unsaved.push_back({object.place_name, std::move(stored->why_not)});
    }
    if (stored->storing != Storing::kPossible) continue;
    const auto size = static_cast<int64_t>(stored->bytes.size());
    snapshot.tensors.push_back(
        {ObjectName(object.place_name), plan::DType::u8, {size}, std::move(stored->bytes)});
  }
  return snapshot;
}

Result<std::vector<std::string>> StateStore::RestoreSnapshot(
    std::span<const Engine::Snapshot::Tensor> tensors) {
  CGRAPH_RETURN_IF_ERROR(submitter_.CheckCaller());
  Submitter::Idle idle(submitter_);
  if (ending_.has_ended()) return ending_.why();
  CGRAPH_RETURN_IF_ERROR(idle.Await());
  idle.CallLibraries();
  auto all = MatchTensors(tensors);
  if (!all.ok()) return all.status();
  CGRAPH_RETURN_IF_ERROR(RestoreObjects(*all));
  for (const auto& [object, tensor] : all->objects) broken_.erase(ObjectName(object->place_name));
  for (const auto& [state, tensor] : all->states) {
    CGRAPH_RETURN_IF_ERROR(CopyIn(state, tensor->bytes));
  }
  return std::move(all->absent);
}

// Finds for each state and object the tensor that sets it, and which no tensor sets. A copy without
// a tensor of its own gets that of another copy.
Result<StateStore::Restoring> StateStore::MatchTensors(std::span<const Tensor> tensors) {
  struct Variable {
    const Tensor* first = nullptr;
    const Tensor* differing = nullptr;  // from the first one
    bool elsewhere = false;             // has a tensor of a place that the plan lacks
  };
  Restoring all;
  std::map<std::string_view, const Tensor*> given;
  for (const auto& tensor : tensors) given[tensor.name] = &tensor;
  std::vector<Variable> variables(states_.size());  // by the first copy
  std::vector<const Tensor*> own(states_.size(), nullptr);
  for (auto at = given.begin(); at != given.end();) {
    const auto& [name, tensor] = *at;
    const std::optional<size_t> state = names_->Find(name);
    if (!state) {
      ++at;
      continue;
    }
    CGRAPH_RETURN_IF_ERROR(CheckBytes(*state, name, tensor->bytes));
    Variable& variable = variables[names_->states()[*state].first];
    if (variable.first == nullptr) variable.first = tensor;
    if (variable.first->bytes != tensor->bytes) variable.differing = tensor;
    if (states_[*state].name == name)
      own[*state] = tensor;
    else
      variable.elsewhere = true;
    at = given.erase(at);
  }
  for (size_t s = 0; s < states_.size(); ++s) {
    const Variable& variable = variables[names_->states()[s].first];
    if (variable.differing != nullptr && (own[s] == nullptr || variable.elsewhere)) {
      return Status(StatusCode::kInvalid,
                    fmt::format("`{}` and `{}` are copies of one variable (`equal along`) and have "
                                "different values, of which one is to be at other places, too: "
                                "leave one of them out",
                                variable.first->name, variable.differing->name));
    }
    const Tensor* const tensor = own[s] == nullptr ? variable.first : own[s];
    if (tensor == nullptr)
      all.absent.push_back(states_[s].name);
    else
      all.states.push_back({s, tensor});
  }
  for (const Object& object : objects_) {
    const std::string name = ObjectName(object.place_name);
    if (const auto found = given.extract(name)) {
      all.objects.push_back({&object, found.mapped()});
      continue;
    }
    const auto stored = Do(object, Task::kLook);
    if (!stored.ok()) return stored.status();
    if (stored->storing == Storing::kPossible) all.absent.push_back(name);
  }
  if (given.empty()) return all;
  return Status(StatusCode::kInvalid, fmt::format("the plan has neither a state nor an object `{}`",
                                                  given.begin()->first));
}

Status StateStore::RestoreObjects(const Restoring& all) {
  std::vector<std::vector<uint8_t>> before;
  for (const auto& [object, tensor] : all.objects) {
    auto stored = Do(*object, Task::kSave);
    if (!stored.ok()) return stored.status();
    if (stored->storing != Storing::kPossible) {
      return Status(
          StatusCode::kInvalid,
          fmt::format(
              "the object of {} cannot be restored: {}", object->place_name,
              stored->storing == Storing::kNothing ? "the place has none" : stored->why_not));
    }
    before.push_back(std::move(stored->bytes));
  }
  for (size_t i = 0; i < all.objects.size(); ++i) {
    const auto& [object, tensor] = all.objects[i];
    auto restored = Do(*object, Task::kRestore, tensor->bytes);
    if (!restored.ok()) return PutBack(all, i + 1, before, restored.status());
  }
  return Status::Ok();
}

// Puts the first `count` objects into the state in which they were. Returns `why`, or where one of
// them cannot be put back, why the engine has ended.
Status StateStore::PutBack(const Restoring& all, size_t count,
                           const std::vector<std::vector<uint8_t>>& before, Status why) {
  for (size_t i = 0; i < count; ++i) {
    const auto restored = Do(*all.objects[i].first, Task::kRestore, before[i]);
    if (restored.ok()) continue;
    ending_.End(Status(StatusCode::kFailed,
                       fmt::format("{}; and what it kept before cannot be put back, so the engine "
                                   "has ended: {}",
                                   why.message(), restored.status().message())));
    return ending_.why();
  }
  return why;
}

}  // namespace cgraph::engine
