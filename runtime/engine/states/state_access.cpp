#include "runtime/engine/states/state_access.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>


namespace cgraph::engine {
namespace {

using cluster::StateRequest;
using native::Storing;
using native::StoredObject;
using Clock = std::chrono::steady_clock;

// Returns the length of the piece of so many bytes that begins there.
uint32_t PieceOf(uint64_t bytes, uint64_t begin) {
  const uint64_t rest = bytes - std::min(begin, bytes);
  return static_cast<uint32_t>(std::min<uint64_t>(rest, StateRequest::kMostBytes));
}

// Returns what a rank is asked to do, before the name of an actor.
const char* TaskText(StateRequest::Kind kind) {
  switch (kind) {
    case StateRequest::Kind::kRead:
      return "read states of";
    case StateRequest::Kind::kWrite:
      return "set states of";
    case StateRequest::Kind::kLook:
    case StateRequest::Kind::kSave:
      return "save the object of";
    case StateRequest::Kind::kRestore:
      return "restore the object of";
  }
  return "";
}

// Puts a text into the piece: its beginning, where it is longer.
void SetText(std::string_view text, StateRequest& request, std::span<uint8_t> piece) {
  request.piece_bytes = static_cast<uint32_t>(std::min(text.size(), piece.size()));
  if (!text.empty()) std::memcpy(piece.data(), text.data(), request.piece_bytes);
}

}  // namespace

// ---- every rank ---------------------------------------------------------------------------------

// Returns whether this process reaches the memory of the actor's device: ranks of one machine share
// the host's.
bool StateAccess::Reaches(uint32_t actor) const {
  const uint32_t device = loaded_.plan->actors[actor]->device;
  return !loaded_.IsElsewhere(device) &&
         (loaded_.view.IsHere(device) || !loaded_.view.OnGpu(device));
}

uint32_t StateAccess::RankOf(uint32_t actor) const {
  return loaded_.RankOfDevice(loaded_.plan->actors[actor]->device);
}

Status StateAccess::CopyOut(uint32_t actor, uint64_t offset, std::span<uint8_t> to) {
  if (Reaches(actor)) {
    const Arenas::StateAddress at = loaded_.arenas->StatesOf(actor);
    return at.device->CopyOut(to.data(), *at.block, at.offset + offset, to.size());
  }
  StateRequest request{
      .kind = Task::kRead, .actor = actor, .offset = offset, .bytes = to.size()};
  return AskInPieces(RankOf(actor), request, {},
                     [&](uint64_t begin, std::span<const uint8_t> piece) {
                       const auto part = to.subspan(begin);
                       std::copy_n(piece.begin(), std::min(piece.size(), part.size()),
                                   part.begin());
                     });
}

Status StateAccess::CopyIn(uint32_t actor, uint64_t offset, std::span<const uint8_t> from) {
  if (Reaches(actor)) {
    const Arenas::StateAddress at = loaded_.arenas->StatesOf(actor);
    return at.device->CopyIn(*at.block, at.offset + offset, from.data(), from.size());
  }
  StateRequest request{
      .kind = Task::kWrite, .actor = actor, .offset = offset, .bytes = from.size()};
  return AskInPieces(RankOf(actor), request, from, {});
}

Result<StoredObject> StateAccess::DoWithObject(uint32_t actor, uint64_t offset, Task task,
                                               std::span<const uint8_t> bytes) {
  if (RankOf(actor) == loaded_.rank) return DoWithOwnObject(actor, offset, task, bytes);
  StateRequest request{.kind = task, .actor = actor, .offset = offset, .bytes = bytes.size()};
  std::vector<uint8_t> answer;
  const auto append = [&](uint64_t, std::span<const uint8_t> piece) {
    answer.insert(answer.end(), piece.begin(), piece.end());
  };
  CGRAPH_RETURN_IF_ERROR(AskInPieces(RankOf(actor), request, bytes, append));
  StoredObject stored;
  stored.storing = static_cast<Storing>(request.storing);
  if (stored.storing == Storing::kImpossible) {
    stored.why_not.assign(answer.begin(), answer.end());
  } else {
    stored.bytes = std::move(answer);
  }
  return stored;
}

Result<StoredObject> StateAccess::DoWithOwnObject(uint32_t actor, uint64_t offset, Task task,
                                                  std::span<const uint8_t> bytes) {
  int64_t number = 0;
  const Arenas::StateAddress at = loaded_.arenas->StatesOf(actor);
  CGRAPH_RETURN_IF_ERROR(
      at.device->CopyOut(&number, *at.block, at.offset + offset, sizeof number));
  const native::Object* object = loaded_.kernels->objects().Find(number);
  if (object == nullptr) return Status(StatusCode::kFailed, "a place has no object");
  if (task == Task::kLook) return native::LookAtObject(*object);
  if (task == Task::kSave) return native::SaveObject(*object);
  CGRAPH_RETURN_IF_ERROR(native::RestoreObject(*object, bytes));
  return StoredObject();
}

// ---- rank 0 -------------------------------------------------------------------------------------

// Sends `from` piece by piece where the request has pieces; otherwise calls `take` for each piece
// of the answer, with where it begins.
Status StateAccess::AskInPieces(uint32_t rank, StateRequest& request, std::span<const uint8_t> from,
                         const TakePiece& take) {
  // The piece has bytes of the states, or an error's text. How many bytes an object keeps is not
  // known before it has answered.
  constexpr uint64_t kText = 4096, kMost = StateRequest::kMostBytes;
  const bool known = request.kind != Task::kLook && request.kind != Task::kSave;
  std::vector<uint8_t> piece(known ? std::clamp(request.bytes, kText, kMost) : kMost);
  do {
    request.piece_bytes = request.HasPiece() ? PieceOf(request.bytes, request.begin) : 0;
    if (request.piece_bytes != 0) {
      std::memcpy(piece.data(), from.data() + request.begin, request.piece_bytes);
    }
    CGRAPH_RETURN_IF_ERROR(AskRank(rank, request, piece));
    const auto answer = std::span<const uint8_t>(piece).first(request.piece_bytes);
    if (request.code != StatusCode::kOk) {
      return Status(request.code, std::string(answer.begin(), answer.end()));
    }
    if (request.HasPiece()) {
      request.begin += PieceOf(request.bytes, request.begin);
    } else {
      take(request.begin, answer);
      request.begin += answer.size();
    }
  } while (request.begin < request.bytes && (request.HasPiece() || request.piece_bytes != 0));
  return Status::Ok();
}

// Hands the request to a rank, and waits until its answer has replaced it.
Status StateAccess::AskRank(uint32_t rank, StateRequest& request, std::span<uint8_t> piece) {
  constexpr auto kMostCounted = std::chrono::milliseconds(100);
  // The time that this process has seen pass: a while in which it was stopped counts little.
  std::chrono::nanoseconds waited{0};
  const auto patient = [&, last = Clock::now()]() mutable {
    const auto now = Clock::now();
    waited += std::min<std::chrono::nanoseconds>(now - std::exchange(last, now), kMostCounted);
    const bool late = options_.timeout.count() != 0 && waited > options_.timeout;
    return !late && !ending_.has_ended();
  };
  if (ranks_.AskStates(rank, request, piece, patient)) return Status::Ok();
  const std::string asked = fmt::format("{} {}", TaskText(request.kind),
                                        loaded_.plan->actors[request.actor]->name);
  if (!ending_.has_ended()) {
    ending_.End(Status(StatusCode::kTimeout,
               fmt::format("{} was asked to {}, and has not answered in {} s", ranks_.TextOf(rank),
                           asked, std::chrono::duration<double>(options_.timeout).count())));
    return ending_.why();
  }
  const Status end = ending_.why();
  return Status(end.code(),
                fmt::format("{}\n{} was asked to {}", end.message(), ranks_.TextOf(rank), asked));
}

// ---- the others ---------------------------------------------------------------------------------

void StateAccess::AnswerPiece(StateRequest& request, std::span<uint8_t> piece) {
  Status status;
  try {
    switch (request.kind) {
      case StateRequest::Kind::kRead:
      case StateRequest::Kind::kWrite:
        status = CopyPiece(request, piece);
        break;
      case StateRequest::Kind::kLook:
      case StateRequest::Kind::kSave:
        status = SavePiece(request, piece);
        break;
      case StateRequest::Kind::kRestore:
        status = RestorePiece(request, piece);
        break;
    }
  } catch (const std::bad_alloc&) {
    status = OutOfMemory();
  }
  request.code = status.code();
  if (request.HasPiece()) request.piece_bytes = 0;  // nothing to send back
  if (!status.ok()) SetText(status.message(), request, piece);
}

Status StateAccess::CopyPiece(StateRequest& request, std::span<uint8_t> piece) {
  const uint64_t offset = request.offset + request.begin;
  if (request.kind == StateRequest::Kind::kWrite) {
    return CopyIn(request.actor, offset, piece.first(request.piece_bytes));
  }
  request.piece_bytes = PieceOf(request.bytes, request.begin);
  return CopyOut(request.actor, offset, piece.first(request.piece_bytes));
}

Status StateAccess::RestorePiece(const StateRequest& request, std::span<const uint8_t> piece) {
  if (request.begin == 0) object_bytes_.clear();
  const auto bytes = piece.first(request.piece_bytes);
  object_bytes_.insert(object_bytes_.end(), bytes.begin(), bytes.end());
  if (object_bytes_.size() < request.bytes) return Status::Ok();
  const std::vector<uint8_t> all = std::exchange(object_bytes_, {});
  return DoWithOwnObject(request.actor, request.offset, request.kind, all).status();
}

// Answers kLook and kSave.
Status StateAccess::SavePiece(StateRequest& request, std::span<uint8_t> piece) {
  if (request.begin == 0) {
    auto stored = DoWithOwnObject(request.actor, request.offset, request.kind, {});
    if (!stored.ok()) return stored.status();
    request.storing = static_cast<uint32_t>(stored->storing);
    request.bytes = stored->bytes.size();
    object_bytes_ = std::move(stored->bytes);
    if (stored->storing == Storing::kImpossible) {
      SetText(stored->why_not, request, piece);
      return Status::Ok();
    }
  }
  request.piece_bytes = PieceOf(object_bytes_.size(), request.begin);
  if (request.piece_bytes != 0) {
    std::memcpy(piece.data(), object_bytes_.data() + request.begin, request.piece_bytes);
  }
  if (request.begin + request.piece_bytes == object_bytes_.size()) object_bytes_ = {};
  return Status::Ok();
}

}  // namespace cgraph::engine
