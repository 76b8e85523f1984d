// Steady states, compared with lanes that keep their order over many rounds.
#include <catch2/catch.hpp>

#include <algorithm>
#include <optional>

#include "compiler/schedule/ordering/list/list_schedule.h"
#include "compiler/schedule/ordering/steady_state.h"
#include "tests/support/modules/task_builder.h"

namespace cgraph::schedule {
namespace {

using namespace testing;

uint32_t LagOf(const Timetable& table, uint32_t task) {
  return table.lags.empty() ? 0 : table.lags[task];
}

// Returns when each round's last task ends on lanes that start every task as soon as they can,
// `inflight` executions at a time. Requires that nothing waits for what only comes later.
std::vector<uint64_t> EndsOfRounds(const Tasks& tasks,
                                   const std::vector<LoopCarriedDependency>& carried,
                                   const Timetable& table, size_t inflight, size_t rounds) {
  constexpr uint64_t kNotYet = UINT64_MAX;
  std::vector<std::vector<uint64_t>> ends(rounds, std::vector<uint64_t>(tasks.size(), kNotYet));
  std::vector<uint64_t> free(tasks.lanes, 0), last(rounds, 0);
  for (size_t round = 0; round < rounds; ++round) {
    for (uint32_t task : table.order) {
      if (LagOf(table, task) > round) continue;  // an execution that nobody asked for
      const size_t execution = round - LagOf(table, task);
      uint64_t start = 0;
      const auto follow = [&](size_t earlier, uint32_t other) {
        REQUIRE(ends[earlier][other] != kNotYet);
        start = std::max(start, ends[earlier][other]);
      };
      for (uint32_t before : tasks.predecessors[task]) follow(execution, before);
      for (const LoopCarriedDependency& one : carried) {
        if (one.later == task && one.executions <= execution) {
          follow(execution - one.executions, one.earlier);
        }
      }
      if (execution >= inflight) {
        for (uint32_t other = 0; other < tasks.size(); ++other) {
          if (tasks.successors[other].empty()) follow(execution - inflight, other);
        }
      }
      const std::vector<uint32_t>& lanes = tasks.queues[tasks.queue[task]].lanes;
      for (uint32_t lane : lanes) start = std::max(start, free[lane]);
      ends[execution][task] = start + tasks.durations[task];
      for (uint32_t lane : lanes) free[lane] = ends[execution][task];
      last[round] = std::max(last[round], ends[execution][task]);
    }
  }
  return last;
}

uint64_t PeriodOf(const Tasks& tasks, const std::vector<LoopCarriedDependency>& carried,
                  const Timetable& table, size_t inflight) {
  const std::vector<uint64_t> ends = EndsOfRounds(tasks, carried, table, inflight, 60);
  return (ends[59] - ends[29]) / 30;
}

TEST_CASE("a device that waits for what it gets back works for the next execution meanwhile") {
  TaskBuilder b;
  const uint32_t here = b.Queue({0}), there = b.Queue({1});
  const uint32_t first = b.Task(here, 10);
  const uint32_t between = b.Task(there, 10, {first});
  const uint32_t second = b.Task(here, 10, {between});
  const Tasks tasks = b.Build();
  const Timetable once = ListSchedule(tasks, ProgramOrder(tasks));
  CHECK(PeriodOf(tasks, {}, once, 2) == 30);
  const std::optional<Timetable> steady =
      FindSteadyState(tasks, ProgramOrder(tasks), {}, once, 2);
  REQUIRE(steady.has_value());
  CHECK(steady->makespan == 20);
  CHECK(steady->lags[first] == 0);
  CHECK(steady->lags[second] == 1);
  CHECK(PeriodOf(tasks, {}, *steady, 2) == 20);
  SECTION("nothing is looked for where the busiest lane is busy already") {
    CHECK(!FindSteadyState(tasks, ProgramOrder(tasks), {}, *steady, 1).has_value());
  }
  SECTION("what the next execution needs of this one bounds the period") {
    const std::vector<LoopCarriedDependency> carried = {{second, first, 1}};
    CHECK(!FindSteadyState(tasks, ProgramOrder(tasks), carried, once, 2).has_value());
  }
}

TEST_CASE("a sequence keeps its order in each execution") {
  TaskBuilder b;
  const uint32_t here = b.Queue({0}), there = b.Queue({1});
  const uint32_t far = b.Task(there, 10);
  const uint32_t needs = b.Task(here, 4, {far});
  const uint32_t later = b.Task(here, 4);
  const uint32_t back = b.Task(there, 2, {later});
  const Tasks tasks = b.Build();
  Policy policy = ProgramOrder(tasks);
  policy.sequences = {{needs, later}, {far, back}};
  policy.sequence_of = {0, 1};
  const Timetable once = ListSchedule(tasks, policy);
  REQUIRE(PeriodOf(tasks, {}, once, 3) == 20);
  const std::optional<Timetable> steady = FindSteadyState(tasks, policy, {}, once, 3);
  REQUIRE(steady.has_value());
  CHECK(steady->makespan < 14);
  const auto moment = [&](uint32_t task) {
    return steady->lags[task] * steady->makespan + steady->starts[task];
  };
  CHECK(moment(needs) < moment(later));
  CHECK(moment(far) < moment(back));
}

TEST_CASE("a shared resource bounds the period too") {
  TaskBuilder b;
  const uint32_t left = b.Queue({0}), right = b.Queue({1});
  const uint32_t one = b.Task(left, 10);
  const uint32_t two = b.Task(right, 10, {one});
  b.Task(left, 2, {two});
  Tasks tasks = b.Build();
  tasks.tokens = {1};
  tasks.holds.Add(std::vector<uint32_t>{0});
  tasks.holds.Add(std::vector<uint32_t>{0});
  tasks.holds.Add(std::vector<uint32_t>{});
  tasks.held = {8, 8, 0};
  const Timetable once = ListSchedule(tasks, ProgramOrder(tasks));
  const std::optional<Timetable> steady =
      FindSteadyState(tasks, ProgramOrder(tasks), {}, once, 3);
  REQUIRE(steady.has_value());
  CHECK(steady->makespan >= 16);
  CHECK(steady->makespan < 22);
}

TEST_CASE("random tasks: nothing waits for what comes later, and rounds are as near as promised") {
  uint32_t found = 0, reached = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const Tasks tasks = RandomTasks(seed, 12);
    const size_t inflight = 2 + random() % 3;
    std::vector<LoopCarriedDependency> carried;
    for (uint32_t i = random() % 4; i > 0; --i) {
      const auto earlier = static_cast<uint32_t>(random() % tasks.size());
      const auto later = static_cast<uint32_t>(random() % (earlier + 1));
      carried.push_back({earlier, later, static_cast<uint32_t>(1 + random() % inflight)});
    }
    const Timetable once = ListSchedule(tasks, ProgramOrder(tasks));
    const std::optional<Timetable> steady =
        FindSteadyState(tasks, ProgramOrder(tasks), carried, once, inflight);
    if (!steady) continue;
    ++found;
    for (uint32_t task = 0; task < tasks.size(); ++task) REQUIRE(steady->lags[task] < inflight);
    const uint64_t period = PeriodOf(tasks, carried, *steady, inflight);
    CHECK(period <= steady->makespan);
    CHECK(period < PeriodOf(tasks, carried, once, inflight));
    std::vector<uint64_t> busy(tasks.lanes, 0);
    for (uint32_t task = 0; task < tasks.size(); ++task) {
      for (uint32_t lane : tasks.queues[tasks.queue[task]].lanes) {
        busy[lane] += tasks.durations[task];
      }
    }
    reached += period == *std::max_element(busy.begin(), busy.end());
  }
  CAPTURE(found, reached);
  CHECK(found > 200);
  CHECK(reached > found / 3);
}

}  // namespace
}  // namespace cgraph::schedule
