// Communication beside computation within one execution, in simulated time: which transfers happen
// while which calls run. (Across executions: inflight_test.cpp.)
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/inspect/simulate.h"
#include "runtime/plan/print.h"
#include "tests/support/run.h"

namespace cgraph::testing {
namespace {

constexpr uint64_t kMillisecond = 1'000'000'000;  // in picoseconds

class Timeline {
 public:
  explicit Timeline(const std::string& graph, bool overlap = true)
      : plan_(CompileFile(CGRAPH_SOURCE_DIR "/tests/conformance/overlap.cgraph",
                          {.graphs = {graph}, .overlap = overlap, .lanes = CommLanes::kOne})),
        graph_(*plan_->graphs.at(0)) {
    Profile profile;
    for (const char* method : {"make", "work", "join"}) {
      profile.call_ps[std::string("Worker.") + method] = kMillisecond;
    }
    profile.call_ps["Worker.slow"] = 5 * kMillisecond;
    simulation_ = Simulate(*plan_, /*graph=*/0, {.profile = &profile});
    REQUIRE_FALSE(simulation_.deadlocks());
  }

  // Returns the calls in the order of their lane.
  std::vector<plan::TraceEvent> Calls(const std::string& name) const {
    return Find([&](const plan::Instruction& instruction, uint32_t) {
      return instruction.kind() == plan::Kind::call &&
             plan::CallName(*plan_, graph_, instruction.call()) == name;
    });
  }
  // Returns the sends, receives and parts of collectives of a device.
  std::vector<plan::TraceEvent> Comms(const std::string& device) const {
    return Find([&](const plan::Instruction& instruction, uint32_t lane) {
      return instruction.kind() == plan::Kind::comm &&
             plan::DeviceName(*plan_, plan_->lanes[lane].device()) == device;
    });
  }

 private:
  template <typename Wanted>
  std::vector<plan::TraceEvent> Find(const Wanted& wanted) const {
    std::vector<plan::TraceEvent> found;
    for (const plan::TraceEvent& event : simulation_.events) {
      if (wanted(graph_.instructions[event.instruction], event.lane)) found.push_back(event);
    }
    return found;
  }

  std::unique_ptr<plan::Plan> plan_;
  const plan::Graph& graph_;
  Simulation simulation_;
};

TEST_CASE("D11 a receive is ahead of more than one computation") {
  const Timeline timeline("prefetched");
  const auto receives = timeline.Comms("gpu[1]"), works = timeline.Calls("b.work");
  REQUIRE(receives.size() == 1);
  REQUIRE(works.size() == 2);
  // a makes it in the first millisecond, and b still works for another.
  CHECK(receives[0].end <= works[1].start + kMillisecond / 10);
  CHECK(timeline.Calls("b.join")[0].start == works[1].end);
}

TEST_CASE("D11 a send waits for its receiver, and what does not need it goes on") {
  const Timeline timeline("delayed");
  const auto sends = timeline.Comms("gpu[0]"), works = timeline.Calls("a.work");
  REQUIRE(sends.size() == 1);
  REQUIRE(works.size() == 2);
  CHECK(sends[0].active >= 5 * kMillisecond);
  CHECK(works[1].end < sends[0].active);
}

TEST_CASE("D11 a collective is made while its participants compute") {
  const Timeline timeline("summed"), in_order("summed", /*overlap=*/false);
  const std::pair<const char*, const char*> participants[] = {{"gpu[0]", "a.work"},
                                                              {"gpu[1]", "b.work"}};
  for (const auto& [device, call] : participants) {
    const auto parts = timeline.Comms(device), works = timeline.Calls(call);
    REQUIRE(parts.size() == 1);
    REQUIRE(works.size() == 1);
    CHECK(works[0].start <= parts[0].active);
    CHECK(parts[0].end <= works[0].end);
    const plan::TraceEvent part = in_order.Comms(device)[0], work = in_order.Calls(call)[0];
    CHECK((part.end <= work.start || work.end <= part.active));
  }
}

}  // namespace
}  // namespace cgraph::testing
