// How much there is to put in order follows from where accesses begin and end: a sweep over a
// buffer (dependencies.cpp, and the prover's) looks at each stretch between two such ends once for
// each access to it.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/base/limits.h"
#include "compiler/graph/names.h"
#include "compiler/schedule/accesses.h"
#include "compiler/schedule/passes.h"

namespace cgraph::schedule {
namespace {

// What remembering one more reader of a stretch counts, as with the prover.
constexpr int64_t kReaderCost = 16;

int64_t WorkOf(const std::vector<Access>& accesses) {
  const bool changes =
      std::any_of(accesses.begin(), accesses.end(), [](const Access& one) { return one.write; });
  if (!changes) return 0;
  std::vector<int64_t> ends;
  for (const Access& access : accesses) {
    ends.push_back(access.begin);
    ends.push_back(access.end);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  const auto at = [&](int64_t end) {
    return std::lower_bound(ends.begin(), ends.end(), end) - ends.begin();
  };
  int64_t work = 0;
  for (const Access& access : accesses) {
    work += (at(access.end) - at(access.begin)) * (access.write ? 1 : kReaderCost);
  }
  return work;
}

}  // namespace

bool RefuseOverlaps(const graph::Graph& graph, const Schedule& schedule,
                    Diagnostics& diagnostics) {
  const std::vector<std::vector<Access>> accesses = FindAccesses(graph, schedule);
  int64_t work = 0;
  BufferId worst;
  int64_t most = 0;
  for (BufferId id : schedule.buffers.Ids()) {
    const int64_t here = WorkOf(accesses[id.index]);
    work += here;
    if (here <= most) continue;
    most = here;
    worst = id;
  }
  if (work <= kMaxOverlaps) return false;
  const auto location = std::find_if(schedule.locations.begin(), schedule.locations.end(),
                                     [&](const ValueLocation& one) { return one.buffer == worst; });
  const graph::Value& value = graph.values[graph::RootOf(graph, location->value)];
  diagnostics
      .Report(Code::kE0803, graph.range,
              fmt::format("graph `{}` has more overlapping reads and writes of parts of values "
                          "than can be put in order; let fewer parts of one value overlap",
                          graph.name))
      .AddNote(value.range, fmt::format("most are of `{}`, which is read and written {} times",
                                        graph::ValueName(graph, value, nullptr),
                                        accesses[worst.index].size()));
  return true;
}

}  // namespace cgraph::schedule
