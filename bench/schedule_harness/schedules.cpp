#include "bench/schedule_harness/schedules.h"

#include <fmt/format.h>

#include <algorithm>

namespace cgraph::bench {
namespace {

struct Known {
  const char* name;
  const char* schedule;  // in stdlib/schedules
  bool split = true;   // the two gradients are calls of their own
  int64_t chunks = 1;
  bool v_shaped = false;
  int64_t memory = 0;  // in activations, times the stages
};
constexpr Known kKnown[] = {
    {"gpipe", "gpipe", false},
    {"1f1b", "one_f_one_b", false},
    {"1f1b_interleaved", "interleaved", false, 2},
    {"zb_h1", "zb_h1"},
    {"zb_h2", "zb_h2"},
    {"zb_v", "zb_v", true, 2, true},
    {"zb_1p", "auto", true, 1, false, 1},
    {"zb_2p", "auto", true, 1, false, 2},
    {"auto", "auto", true, 2, true, 1},
};

}  // namespace

std::string ScheduleNames() {
  std::string names;
  for (const Known& known : kKnown) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

Status SetSchedule(const std::string& name, PipelineSetup& pipeline) {
  const auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                  [&](const Known& one) { return one.name == name; });
  if (known == std::end(kKnown)) {
    return Status(StatusCode::kInvalid,
                  fmt::format("no schedule `{}`; there are {}", name, ScheduleNames()));
  }
  pipeline.schedule = known->schedule;
  if (pipeline.chunks == 0) pipeline.chunks = known->chunks;
  pipeline.v_shaped = known->v_shaped;
  pipeline.split = known->split;
  pipeline.most_activations = known->memory * pipeline.stages;
  return Status::Ok();
}

}  // namespace cgraph::bench
