// All states and objects of one moment: nothing is submitted while they are read or set. What is
// set is set whole: objects come first, since a library may refuse the bytes; states are copies,
// which fail where a device has failed, and then the engine is over.
#include <atomic>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "runtime/base/kinds/native.h"
#include "runtime/engine/core.h"

namespace cgraph::engine {

using native::Storing;

namespace {

// Calling: while it lives, libraries are called by this thread, which holds the engine's lock.
struct Calling {
  explicit Calling(std::atomic<std::thread::id>& thread) : thread(thread) {
    thread.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  ~Calling() { thread.store({}, std::memory_order_relaxed); }
  std::atomic<std::thread::id>& thread;
};

}  // namespace

// Restoring: where tensors of a snapshot go.
struct Core::Restoring {
  using Tensor = Engine::Snapshot::Tensor;
  std::vector<std::pair<size_t, const Tensor*>> states;
  std::vector<std::pair<uint32_t, const Tensor*>> objects;  // by actor
  std::vector<std::string> absent;
};

std::string Core::ObjectName(uint32_t actor) const {
  return plan_->actors[actor]->name + "." + kNativeObjectState;
}

Result<Engine::Snapshot> Core::TakeSnapshot() {
  CGRAPH_RETURN_IF_ERROR(CheckCaller());
  std::lock_guard lock(submission_);
  CGRAPH_RETURN_IF_ERROR(AwaitIdle());
  const Calling calling(snapshot_thread_);
  Engine::Snapshot snapshot;
  for (size_t s = 0; s < states_.size(); ++s) {
    auto& tensor = snapshot.tensors.emplace_back();
    tensor = {states_[s].name, states_[s].dtype, states_[s].dims, {}};
    tensor.bytes.resize(states_[s].bytes);
    const auto [actor, offset] = places_of_states_[s];
    CGRAPH_RETURN_IF_ERROR(CopyStatesOut(actor, offset, tensor.bytes));
  }
  for (const auto& [actor, _] : objects_) {
    auto stored = DoWithObject(actor, ObjectTask::kSave);
    if (!stored.ok()) return stored.status();
    if (stored->storing == Storing::kImpossible) {
      snapshot.unsaved.push_back({plan_->actors[actor]->name, std::move(stored->why_not)});
    }
    if (stored->storing != Storing::kPossible) continue;
    const auto size = static_cast<int64_t>(stored->bytes.size());
    snapshot.tensors.push_back(
        {ObjectName(actor), plan::DType::u8, {size}, std::move(stored->bytes)});
  }
  return snapshot;
}

Result<std::vector<std::string>> Core::RestoreSnapshot(
    std::span<const Engine::Snapshot::Tensor> tensors) {
  CGRAPH_RETURN_IF_ERROR(CheckCaller());
  std::lock_guard lock(submission_);
  if (ended()) return EndStatus();
  CGRAPH_RETURN_IF_ERROR(AwaitIdle());
  const Calling calling(snapshot_thread_);
  auto all = Assign(tensors);
  if (!all.ok()) return all.status();
  CGRAPH_RETURN_IF_ERROR(RestoreObjects(*all));
  for (const auto& [state, tensor] : all->states) {
    const auto [actor, offset] = places_of_states_[state];
    CGRAPH_RETURN_IF_ERROR(CopyStatesIn(actor, offset, tensor->bytes));
  }
  return std::move(all->absent);
}

// Finds for each tensor what it is to set, and what no tensor sets.
Result<Core::Restoring> Core::Assign(std::span<const Engine::Snapshot::Tensor> tensors) {
  Restoring all;
  std::map<std::string_view, const Engine::Snapshot::Tensor*> given;
  for (const auto& tensor : tensors) given[tensor.name] = &tensor;
  const auto take = [&](const std::string& name) -> const Engine::Snapshot::Tensor* {
    const auto found = given.extract(name);
    return found.empty() ? nullptr : found.mapped();
  };
  for (size_t s = 0; s < states_.size(); ++s) {
    const auto* tensor = take(states_[s].name);
    if (tensor == nullptr) {
      all.absent.push_back(states_[s].name);
    } else if (tensor->bytes.size() != states_[s].bytes) {
      return Status(StatusCode::kInvalid,
                    fmt::format("state `{}` has {} bytes, not {}", tensor->name, states_[s].bytes,
                                tensor->bytes.size()));
    } else {
      CGRAPH_RETURN_IF_ERROR(CheckElements(s, tensor->bytes));
      all.states.push_back({s, tensor});
    }
  }
  for (const auto& [actor, _] : objects_) {
    const std::string name = ObjectName(actor);
    if (const auto* tensor = take(name)) {
      all.objects.push_back({actor, tensor});
      continue;
    }
    const auto stored = DoWithObject(actor, ObjectTask::kLook);
    if (!stored.ok()) return stored.status();
    if (stored->storing == Storing::kPossible) all.absent.push_back(name);
  }
  if (given.empty()) return all;
  return Status(StatusCode::kInvalid, fmt::format("the plan has neither a state nor an object `{}`",
                                                  given.begin()->first));
}

Status Core::RestoreObjects(const Restoring& all) {
  std::vector<std::vector<uint8_t>> before;
  for (const auto& [actor, tensor] : all.objects) {
    auto stored = DoWithObject(actor, ObjectTask::kSave);
    if (!stored.ok()) return stored.status();
    if (stored->storing != Storing::kPossible) {
      return Status(
          StatusCode::kInvalid,
          fmt::format(
              "the object of {} cannot be restored: {}", plan_->actors[actor]->name,
              stored->storing == Storing::kNothing ? "the place has none" : stored->why_not));
    }
    before.push_back(std::move(stored->bytes));
  }
  for (size_t i = 0; i < all.objects.size(); ++i) {
    const auto& [actor, tensor] = all.objects[i];
    auto restored = DoWithObject(actor, ObjectTask::kRestore, tensor->bytes);
    if (!restored.ok()) return PutBack(all, i + 1, before, restored.status());
  }
  return Status::Ok();
}

// Puts the first objects into the state in which they were.
Status Core::PutBack(const Restoring& all, size_t count,
                     const std::vector<std::vector<uint8_t>>& before, Status why) {
  for (size_t i = 0; i < count; ++i) {
    const auto restored = DoWithObject(all.objects[i].first, ObjectTask::kRestore, before[i]);
    if (restored.ok()) continue;
    End(Status(StatusCode::kFailed,
               fmt::format("{}; and what it kept before cannot be put back, so the engine has "
                           "ended: {}",
                           why.message(), restored.status().message())));
    return EndStatus();
  }
  return why;
}

}  // namespace cgraph::engine
