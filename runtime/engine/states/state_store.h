// StateStore: the states of actors, and what objects of native code keep, between executions. All
// of them are of one moment: nothing is submitted while they are read or set. What is set is set
// whole: objects come first, since a library may refuse the bytes; to set states is to copy bytes,
// which fails where a device has failed, and then the engine is over. States that are copies of one
// variable are set together.
#ifndef CGRAPH_RUNTIME_ENGINE_STATES_STATE_STORE_H_
#define CGRAPH_RUNTIME_ENGINE_STATES_STATE_STORE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cgraph/engine.h>

#include "runtime/base/status.h"
#include "runtime/engine/ending.h"
#include "runtime/engine/states/state_access.h"
#include "runtime/engine/submitter.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/state_names.h"

namespace cgraph::engine {

class StateStore {
 public:
  StateStore(StateAccess& access, Submitter& submitter, Ending& ending)
      : access_(access), submitter_(submitter), ending_(ending) {}

  // Called at load: finds the states and objects of the plan.
  void List(const plan::Plan& plan);

  // Carry out Engine's ReadState, WriteState, TakeSnapshot and RestoreSnapshot.
  const std::vector<Engine::State>& states() const { return states_; }
  Status Read(std::string_view name, std::span<uint8_t> to);
  Status Write(std::string_view name, std::span<const uint8_t> from);
  Result<Engine::Snapshot> TakeSnapshot();
  Result<std::vector<std::string>> RestoreSnapshot(
      std::span<const Engine::Snapshot::Tensor> tensors);
  // Refuses the states of all actors that a graph uses, and of what stands before its rounds, until
  // they are set: they may be of two executions.
  void MarkBroken(uint32_t graph, const std::string& why);

 private:
  using Tensor = Engine::Snapshot::Tensor;
  using Task = StateAccess::Task;
  struct Object {
    std::string place_name;  // "stage[0]"
    // Where the number lies by which the process that has it finds it.
    uint32_t actor;
    uint64_t offset;
  };
  // Restoring: where tensors of a snapshot go.
  struct Restoring {
    std::vector<std::pair<size_t, const Tensor*>> states;
    std::vector<std::pair<const Object*, const Tensor*>> objects;
    std::vector<std::string> absent;  // what no tensor sets
  };

  Status CheckWhole(const std::string& name) const;
  Result<size_t> Find(std::string_view name, uint64_t bytes) const;  // a state of the plan's own
  Status CheckBytes(size_t state, std::string_view name, std::span<const uint8_t> bytes) const;
  Status CopyOut(size_t state, std::span<uint8_t> to);
  Status CopyIn(size_t state, std::span<const uint8_t> from);
  Result<Restoring> MatchTensors(std::span<const Tensor> tensors);
  Status RestoreObjects(const Restoring& all);
  Status PutBack(const Restoring& all, size_t count,
                 const std::vector<std::vector<uint8_t>>& before, Status why);
  Result<native::StoredObject> Do(const Object& object, Task task,
                                  std::span<const uint8_t> bytes = {}) {
    return access_.DoWithObject(object.actor, object.offset, task, bytes);
  }

  StateAccess& access_;
  Submitter& submitter_;
  Ending& ending_;
  std::vector<Engine::State> states_;
  std::optional<plan::StateNames> names_;  // of these, in their order; made by List()
  std::vector<Object> objects_;
  const plan::Plan* plan_ = nullptr;
  std::map<std::string, std::string> broken_;  // why, by name; under the lock of submissions
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_STATES_STATE_STORE_H_
