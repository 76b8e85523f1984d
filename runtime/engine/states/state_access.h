// StateAccess: reads and writes what actors keep between executions, states and objects of native
// code, wherever it lies. Rank 0 asks other ranks about what it does not reach
// (cluster/state_request.h); the thread that serves a rank answers: it has nothing else to do then.
#ifndef CGRAPH_RUNTIME_ENGINE_STATES_STATE_ACCESS_H_
#define CGRAPH_RUNTIME_ENGINE_STATES_STATE_ACCESS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/state_request.h"
#include "runtime/engine/ending.h"
#include "runtime/engine/options.h"
#include "runtime/engine/ranks/ranks.h"
#include "runtime/load/loaded_plan.h"
#include "runtime/native/stored_objects.h"

namespace cgraph::engine {

class StateAccess {
 public:
  using Task = cluster::StateRequest::Kind;

  StateAccess(const EngineOptions& options, const LoadedPlan& loaded, Ranks& ranks, Ending& ending)
      : options_(options), loaded_(loaded), ranks_(ranks), ending_(ending) {}

  // Copy states of an actor out and in. No execution is in flight. kFailed with the error of a
  // device or of another rank; kTimeout where that does not answer, which ends the engine.
  Status CopyOut(uint32_t actor, uint64_t offset, std::span<uint8_t> to);
  Status CopyIn(uint32_t actor, uint64_t offset, std::span<const uint8_t> from);
  // Looks at, saves or restores the object of an actor, the number of which lies at this offset of
  // its states. Errors as above, and the library's.
  Result<native::StoredObject> DoWithObject(uint32_t actor, uint64_t offset, Task task,
                                            std::span<const uint8_t> bytes = {});

  // At ranks other than the first: does what rank 0 asks.
  void Answer() {
    ranks_.AnswerStates([this](cluster::StateRequest& request, std::span<uint8_t> piece) {
      AnswerPiece(request, piece);
    });
  }

 private:
  using TakePiece = std::function<void(uint64_t begin, std::span<const uint8_t> piece)>;

  bool Reaches(uint32_t actor) const;
  uint32_t RankOf(uint32_t actor) const;
  Result<native::StoredObject> DoWithOwnObject(uint32_t actor, uint64_t offset, Task task,
                                               std::span<const uint8_t> bytes);
  // At rank 0.
  Status AskInPieces(uint32_t rank, cluster::StateRequest& request, std::span<const uint8_t> from,
                     const TakePiece& take);
  Status AskRank(uint32_t rank, cluster::StateRequest& request, std::span<uint8_t> piece);
  // At the others.
  void AnswerPiece(cluster::StateRequest& request, std::span<uint8_t> piece);
  Status CopyPiece(cluster::StateRequest& request, std::span<uint8_t> piece);
  Status RestorePiece(const cluster::StateRequest& request, std::span<const uint8_t> piece);
  Status SavePiece(cluster::StateRequest& request, std::span<uint8_t> piece);

  const EngineOptions& options_;
  const LoadedPlan& loaded_;
  Ranks& ranks_;
  Ending& ending_;
  std::vector<uint8_t> object_bytes_;  // of the object that this rank, not the first, is asked for
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_STATES_STATE_ACCESS_H_
