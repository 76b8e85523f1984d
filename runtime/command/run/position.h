// Position: where a run is in its data. States that a run of --epochs saves say it in their file's
// metadata, and a run that loads them goes on behind it.
#ifndef CGRAPH_RUNTIME_COMMAND_RUN_POSITION_H_
#define CGRAPH_RUNTIME_COMMAND_RUN_POSITION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/base/status.h"
#include "runtime/engine/states/saved_states.h"

namespace cgraph::command {

struct Position {
  uint64_t executions = 0;          // that were made, by all runs
  // What the same executions are made of:
  std::string graph;
  uint64_t of_epoch = 1;            // executions of an epoch
  int64_t rows = 0, per_slice = 0;  // of --batch; 0: there is none
  std::optional<uint64_t> shuffle;  // the seed

  bool operator==(const Position&) const = default;
  StatesMetadata ToMetadata() const;
  // Returns nothing of a file that does not say where a run was; kInvalid where it says it wrongly.
  static Result<std::optional<Position>> Of(const StatesMetadata& metadata);
};

// Returns what the executions are of: "graph step over 1408 rows, 64 at a time, with --shuffle 7".
std::string DataText(const Position& position);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_RUN_POSITION_H_
