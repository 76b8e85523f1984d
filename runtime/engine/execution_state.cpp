#include "runtime/engine/execution_state.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "runtime/engine/device_failures.h"

namespace cgraph::engine {

void ExecutionState::Fail(uint32_t position, Status status, bool device_failed) {
  if (device_failed) {
    device_failures->EndBy(status);
  } else {
    device_failures->EndWhereAny();  // then this error may be one of its consequences
  }
  std::lock_guard lock(mutex);
  Keep(position, std::move(status));
}

void ExecutionState::Keep(uint32_t position, Status status) {
  if (error.ok() || position < program_order) {
    program_order = position;
    error = std::move(status);
  }
  failed.store(true, std::memory_order_release);
}

void ExecutionState::CollectFailures() {
  if (remote_failures.any_set == nullptr) return;
  device_failures->EndWhereAny();  // then the errors may be its consequences
  std::lock_guard lock(mutex);
  if (collected) return;  // then the frame may be another execution's
  // Done() comes first: what the slots hold afterwards is all that they will hold. They are
  // cleared, since the next execution of the frame uses the same ones.
  collected = Done();
  for (FailureSlot& slot : remote_failures.slots) {
    if (auto failure = slot.Get()) {
      Keep(failure->program_order, Status(StatusCode::kFailed, std::move(failure->text)));
    }
    if (collected) slot.Clear();
  }
  if (collected) remote_failures.any_set->store(false, std::memory_order_relaxed);
}

Status ExecutionState::Error() {
  std::lock_guard lock(mutex);
  return error;
}

bool ExecutionState::IsFirstError() {
  std::lock_guard lock(mutex);
  return std::all_of(targets.get(), targets.get() + target_count, [&](const Target& target) {
    return target.first_failure >= program_order || target.Finished();
  });
}

bool ExecutionState::Unused() {
  if (fences.empty()) return true;
  if (!std::all_of(fences.begin(), fences.end(), [](auto& fence) { return fence->Over(); })) {
    return false;
  }
  fences.clear();
  return true;
}

void ExecutionState::AwaitUnused() {
  for (const auto& fence : fences) fence->Await();
  fences.clear();
}

void ExecutionState::Unref(uint32_t count) {
  // A holder of all references that are left needs no read-modify-write: no other thread can hold
  // one.
  if (refs.load(std::memory_order_acquire) == count ||
      refs.fetch_sub(count, std::memory_order_acq_rel) == count) {
    pool->Return(this);
  }
}

}  // namespace cgraph::engine
