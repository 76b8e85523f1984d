// Objects of native code between executions, of this process and of other ranks.
#include <algorithm>

#include "runtime/engine/core.h"

namespace cgraph::engine {

using native::Object;
using native::Storing;
using native::StoredObject;
using cluster::StateRequest;

Result<StoredObject> Core::DoWithObject(uint32_t actor, ObjectTask task,
                                        std::span<const uint8_t> bytes) {
  const uint32_t rank = RankOfDevice(plan_->actors[actor]->device);
  if (rank == ranks_.rank) return DoWithOwnObject(actor, task, bytes);
  StateRequest request{.kind = task, .actor = actor, .bytes = bytes.size()};
  std::vector<uint8_t> answer;
  const auto append = [&](uint64_t, std::span<const uint8_t> piece) {
    answer.insert(answer.end(), piece.begin(), piece.end());
  };
  CGRAPH_RETURN_IF_ERROR(AskInPieces(rank, request, bytes, append));
  StoredObject stored;
  stored.storing = static_cast<Storing>(request.storing);
  if (stored.storing == Storing::kImpossible) {
    stored.why_not.assign(answer.begin(), answer.end());
  } else {
    stored.bytes = std::move(answer);
  }
  return stored;
}

Result<StoredObject> Core::DoWithOwnObject(uint32_t actor, ObjectTask task,
                                           std::span<const uint8_t> bytes) {
  const auto found = std::find_if(objects_.begin(), objects_.end(),
                                  [&](const auto& each) { return each.first == actor; });
  const Object* object = nullptr;
  if (found != objects_.end()) {
    int64_t number = 0;
    const StateAddress at = arenas_->StatesOf(actor);
    CGRAPH_RETURN_IF_ERROR(
        at.device->CopyOut(&number, *at.block, at.offset + found->second, sizeof number));
    object = kernels_->objects().Find(number);
  }
  if (object == nullptr) return Status(StatusCode::kFailed, "a place has no object");
  if (task == ObjectTask::kLook) return native::LookAtObject(*object);
  if (task == ObjectTask::kSave) return native::SaveObject(*object);
  CGRAPH_RETURN_IF_ERROR(native::RestoreObject(*object, bytes));
  return StoredObject();
}

}  // namespace cgraph::engine
