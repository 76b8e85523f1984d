// Objects of native code between executions: those of this process, and those of other ranks, which
// are asked by way of the memory that all of them map (ranks/shared/object_request.h). A rank does
// it on its worker's thread.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "runtime/engine/core.h"

namespace cgraph::engine {
namespace {

using native::Object;
using native::StoredObject;
using ranks::ObjectRequest;

Result<StoredObject> Do(const Object* object, ObjectRequest::Kind task,
                        std::span<const uint8_t> bytes) {
  if (object == nullptr) return Status(StatusCode::kFailed, "a place has no object");
  if (task == ObjectRequest::Kind::kLook) return native::LookAtObject(*object);
  if (task == ObjectRequest::Kind::kSave) return native::SaveObject(*object);
  CGRAPH_RETURN_IF_ERROR(native::RestoreObject(*object, bytes));
  return StoredObject();
}

// Returns how much of so many bytes the piece that begins there has.
uint64_t PieceOf(uint64_t bytes, uint64_t begin) {
  return std::min<uint64_t>(bytes - std::min(begin, bytes), ObjectRequest::kMostBytes);
}

}  // namespace

Result<StoredObject> Core::DoWithObject(uint32_t actor, ObjectTask task,
                                        std::span<const uint8_t> bytes) {
  const auto found = std::find_if(objects_.begin(), objects_.end(),
                                  [&](const auto& each) { return each.first == actor; });
  const StateAddress at = arenas_->StatesOf(actor);
  int64_t number = 0;
  CGRAPH_RETURN_IF_ERROR(
      at.device->CopyOut(&number, *at.block, at.offset + found->second, sizeof number));
  const uint32_t rank = several_ranks() ? view_.rank_of_device[plan_->actors[actor]->device] : 0;
  if (rank != 0) return LetRankDo(rank, task, number, bytes);
  return Do(kernels_->objects().Find(number), task, bytes);
}

Result<StoredObject> Core::LetRankDo(uint32_t rank, ObjectTask task, int64_t number,
                                     std::span<const uint8_t> bytes) {
  ObjectRequest& request = ranks_.control->object;
  StoredObject stored;
  request.kind = task;
  request.number = number;
  request.bytes = bytes.size();
  for (uint64_t begin = 0, end = bytes.size();;) {
    request.begin = begin;
    if (task == ObjectTask::kRestore) {
      const uint64_t count = PieceOf(end, begin);
      if (count != 0) std::memcpy(request.piece, bytes.data() + begin, count);
      begin += count;
    }
    CGRAPH_RETURN_IF_ERROR(AskRank(rank));
    if (request.code != StatusCode::kOk) {
      return Status(StatusCode::kFailed, std::string(request.text.Get()));
    }
    if (task == ObjectTask::kSave) {
      end = request.bytes;
      const uint64_t count = PieceOf(end, begin);
      stored.bytes.insert(stored.bytes.end(), request.piece, request.piece + count);
      begin += count;
    }
    if (task == ObjectTask::kLook || begin >= end) break;
  }
  stored.storing = static_cast<native::Storing>(request.storing);
  stored.why_not = std::string(request.text.Get());
  return stored;
}

// Hands the request to a rank, and waits until it is done with it.
Status Core::AskRank(uint32_t rank) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kSlice = std::chrono::milliseconds(50);  // nobody notifies of an end
  ranks::Control& control = *ranks_.control;
  control.object.asked.store(rank, std::memory_order_seq_cst);
  workers_[rank]->event_count->Notify();
  const auto answered = [&] { return control.object.asked.load() == 0; };
  for (const auto begun = Clock::now(); !answered();) {
    if (ended()) return EndStatus();
    const auto now = Clock::now();
    if (options_.stall_timeout.count() != 0 && now - begun > options_.stall_timeout) {
      End(Status(StatusCode::kTimeout,
                 fmt::format("{} has not saved or restored an object in {} s", RankText(rank),
                             std::chrono::duration<double>(options_.stall_timeout).count())));
      return EndStatus();
    }
    control.changed.Wait([&] { return answered() || ended(); }, now + kSlice);
  }
  return Status::Ok();
}

bool Core::IsAsked() const {
  return ranks_.control->object.asked.load(std::memory_order_seq_cst) == ranks_.rank;
}

// Does what rank 0 asks this one for.
void Core::Answer() {
  ObjectRequest& request = ranks_.control->object;
  try {
    DoPiece(request);
  } catch (const std::bad_alloc&) {
    request.code = StatusCode::kNotFound;
    request.text.Set(OutOfMemory().message());
  }
  request.asked.store(0, std::memory_order_seq_cst);
  ranks_.control->changed.Notify();
}

void Core::DoPiece(ObjectRequest& request) {
  const uint64_t count = PieceOf(request.bytes, request.begin);
  const bool restores = request.kind == ObjectTask::kRestore;
  if (request.begin == 0) object_bytes_.clear();
  if (restores) object_bytes_.insert(object_bytes_.end(), request.piece, request.piece + count);
  const bool is_last = request.begin + count == request.bytes;
  request.code = StatusCode::kOk;
  if (restores ? is_last : request.begin == 0) {
    auto done = Do(kernels_->objects().Find(request.number), request.kind, object_bytes_);
    request.code = done.status().code();
    request.text.Set(done.ok() ? done->why_not : done.status().message());
    request.storing = static_cast<uint32_t>(done.ok() ? done->storing : native::Storing::kNothing);
    object_bytes_ = done.ok() ? std::move(done->bytes) : std::vector<uint8_t>();
    if (!restores) request.bytes = object_bytes_.size();
  }
  if (request.kind == ObjectTask::kSave) {
    const uint64_t size = PieceOf(object_bytes_.size(), request.begin);
    if (size != 0) std::memcpy(request.piece, object_bytes_.data() + request.begin, size);
    if (request.begin + size == object_bytes_.size()) object_bytes_ = {};
  }
}

}  // namespace cgraph::engine
