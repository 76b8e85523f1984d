// List schedules and the search for orders, on tasks by hand and at random.
#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "compiler/schedule/ordering/list/list_schedule.h"
#include "compiler/schedule/ordering/search/search.h"
#include "compiler/schedule/ordering/search/serial_scheduler.h"
#include "compiler/schedule/ordering/tasks/tasks.h"
#include "tests/support/modules/task_builder.h"

namespace cgraph::schedule {
namespace {

using namespace testing;

// Checks the properties of every timetable.
void CheckTimetable(const Tasks& tasks, const Timetable& table) {
  REQUIRE(table.order.size() == tasks.size());
  std::vector<uint32_t> places(tasks.size());
  for (uint32_t place = 0; place < table.order.size(); ++place) places[table.order[place]] = place;
  const auto end = [&](uint32_t task) { return table.starts[task] + tasks.durations[task]; };
  uint64_t last = 0;
  for (uint32_t task = 0; task < tasks.size(); ++task) {
    last = std::max(last, end(task));
    for (uint32_t before : tasks.predecessors[task]) {
      CHECK(end(before) <= table.starts[task]);
      CHECK(places[before] < places[task]);
    }
    for (uint32_t other = 0; other < task; ++other) {
      const auto& lanes = tasks.queues[tasks.queue[task]].lanes;
      const auto& others = tasks.queues[tasks.queue[other]].lanes;
      const bool share = std::find_first_of(lanes.begin(), lanes.end(), others.begin(),
                                            others.end()) != lanes.end();
      if (share) CHECK((end(task) <= table.starts[other] || end(other) <= table.starts[task]));
    }
  }
  CHECK(last == table.makespan);
}

TEST_CASE("what is ready starts at once, the least rank first, both ends of a transfer together") {
  TaskBuilder b;
  const uint32_t left = b.Queue({0}), right = b.Queue({1}), wire = b.Queue({2, 3});
  const uint32_t make = b.Task(left, 5);
  const uint32_t send = b.Task(wire, 2, {make});
  const uint32_t use = b.Task(right, 4, {send});
  const uint32_t other = b.Task(left, 1);
  const Tasks tasks = b.Build();
  Policy policy = ProgramOrder(tasks);
  Timetable table = ListSchedule(tasks, policy);
  CheckTimetable(tasks, table);
  CHECK(table.starts == std::vector<uint64_t>{0, 5, 7, 5});
  CHECK(table.order == std::vector<uint32_t>{make, other, send, use});
  std::swap(policy.ranks[make], policy.ranks[other]);
  CHECK(ListSchedule(tasks, policy).starts == std::vector<uint64_t>{1, 6, 8, 0});
}

TEST_CASE("a sequence holds back what is ready") {
  TaskBuilder b;
  const uint32_t lane = b.Queue({0}), other = b.Queue({1});
  const uint32_t slow = b.Task(other, 10);
  const uint32_t late = b.Task(lane, 1, {slow});
  const uint32_t early = b.Task(lane, 1);
  const Tasks tasks = b.Build();
  Policy policy = ProgramOrder(tasks);
  CHECK(ListSchedule(tasks, policy).starts[early] == 0);
  policy.sequences = {{late, early}};
  policy.sequence_of = {0, kNone};
  CHECK(ListSchedule(tasks, policy).starts[early] == 11);
}

TEST_CASE("limits count starts, and a lower one ends when nothing of its first kind is left") {
  TaskBuilder b;
  const uint32_t forward = b.Queue({0}, {0}), backward = b.Queue({0}, {1});
  std::vector<uint32_t> f, w;
  for (int i = 0; i < 4; ++i) f.push_back(b.Task(forward, 1));
  for (int i = 0; i < 4; ++i) w.push_back(b.Task(backward, 1, {f[i]}));
  const Tasks tasks = b.Build();
  Policy policy = ProgramOrder(tasks);
  policy.limits = {{{.minuend = 0, .subtrahend = 1, .at_most = true, .bound = 2}}};
  CHECK(ListSchedule(tasks, policy).order ==
        std::vector<uint32_t>{f[0], f[1], w[0], f[2], w[1], f[3], w[2], w[3]});
  for (uint32_t task = 0; task < tasks.size(); ++task) {
    policy.ranks[task] = tasks.size() - 1 - task;  // w first, later ones first
  }
  policy.limits = {{{.minuend = 0, .subtrahend = 1, .at_most = false, .bound = 1}}};
  const Timetable table = ListSchedule(tasks, policy);
  CHECK(table.order == std::vector<uint32_t>{f[3], f[2], w[3], f[1], w[2], f[0], w[1], w[0]});
}

TEST_CASE("what would wait for ever is left out of the order") {
  TaskBuilder b;
  const uint32_t first = b.Queue({0}, {0}), second = b.Queue({0}, {1});
  b.Task(first, 1);
  b.Task(second, 1);
  const Tasks tasks = b.Build();
  Policy policy = ProgramOrder(tasks);
  policy.limits = {{{0, 1, true, 0}, {1, 0, true, 0}}};
  CHECK(ListSchedule(tasks, policy).order.empty());
}

TEST_CASE("memory is taken at the start and given back when the last user ends") {
  TaskBuilder b;
  const uint32_t lane = b.Queue({0}), other = b.Queue({1}), memory = b.Memory(10);
  const uint32_t a = b.Task(lane, 1), c = b.Task(lane, 1);
  const uint32_t use_a = b.Task(other, 5, {a}), use_c = b.Task(other, 5, {c});
  b.Block(memory, 6, a, {use_a});
  b.Block(memory, 6, c, {use_c});
  const Tasks tasks = b.Build();
  const Timetable table = ListSchedule(tasks, ProgramOrder(tasks));
  CheckTimetable(tasks, table);
  CHECK(table.starts == std::vector<uint64_t>{0, 6, 1, 7});
}

// Returns the most bytes of each memory alive at one time.
std::vector<int64_t> MostAlive(const Tasks& tasks, const Timetable& table) {
  std::vector<int64_t> ends(tasks.blocks.size(), 0), most(tasks.memories.size(), 0);
  std::vector<std::vector<std::pair<int64_t, int64_t>>> changes(most.size());  // what ends is first
  for (uint32_t task = 0; task < tasks.size(); ++task) {
    for (uint32_t block : tasks.touches[task]) {
      ends[block] = std::max(ends[block],
                             static_cast<int64_t>(table.starts[task] + tasks.durations[task]));
    }
  }
  for (uint32_t task = 0; task < tasks.size(); ++task) {
    for (uint32_t block : tasks.takes[task]) {
      const auto& [memory, bytes] = tasks.blocks[block];
      changes[memory].emplace_back(table.starts[task], bytes);
      changes[memory].emplace_back(ends[block], -bytes);
    }
  }
  for (size_t memory = 0; memory < most.size(); ++memory) {
    std::sort(changes[memory].begin(), changes[memory].end());
    int64_t alive = 0;
    for (const auto& [time, change] : changes[memory]) {
      most[memory] = std::max(most[memory], alive += change);
    }
  }
  return most;
}

TEST_CASE("what is started leaves room for what must follow") {
  // Two chains, each with two results of 6 bytes alive at once: on 12 bytes one after the other.
  TaskBuilder b;
  const uint32_t lane = b.Queue({0}), other = b.Queue({1}), memory = b.Memory(12);
  for (int chain = 0; chain < 2; ++chain) {
    const uint32_t queue = chain == 0 ? lane : other;
    const uint32_t first = b.Task(queue, 2), second = b.Task(queue, 3, {first});
    const uint32_t last = b.Task(queue, 1, {first, second});
    b.Block(memory, 6, first, {second, last});
    b.Block(memory, 6, second, {last});
  }
  Tasks tasks = b.Build();
  const Policy policy = ProgramOrder(tasks);
  CHECK(ListSchedule(tasks, policy).order.size() == 2);  // whatever fits now: both begin
  const Fallback fallback = FindFallback(tasks, policy);
  CHECK(fallback.needs == std::vector<int64_t>{12});
  tasks.fallback = fallback.order;
  const Timetable table = ListSchedule(tasks, policy);
  CheckTimetable(tasks, table);
  CHECK(table.makespan == 12);
  CHECK(MostAlive(tasks, table) == std::vector<int64_t>{12});
}

TEST_CASE("where memory is all that holds back, lower limits give way") {
  // `w` is kept back until another `f` has started. That one needs a value that comes by another
  // lane, which has no memory before `w` is done.
  TaskBuilder b;
  const uint32_t f = b.Queue({0}, {0}), w = b.Queue({0}, {1}), wire = b.Queue({1});
  const uint32_t memory = b.Memory(1);
  const uint32_t first = b.Task(f, 1), use = b.Task(w, 1, {first});
  const uint32_t arrive = b.Task(wire, 1), second = b.Task(f, 1, {arrive});
  b.Block(memory, 1, first, {use});
  b.Block(memory, 1, arrive, {second});
  Tasks tasks = b.Build();
  Policy policy = ProgramOrder(tasks);
  policy.limits = {{{.minuend = 0, .subtrahend = 1, .at_most = false, .bound = 1}}, {}};
  tasks.fallback = FindFallback(tasks, policy).order;
  const Timetable table = ListSchedule(tasks, policy);
  CheckTimetable(tasks, table);
  CHECK(table.order == std::vector<uint32_t>{first, use, arrive, second});
}

// Returns the least makespan: the best of all orders that keep the dependencies, each task as early
// as its order allows; orders that cannot beat the best so far are cut off.
uint64_t LeastMakespan(const Tasks& tasks) {
  const std::vector<uint64_t> paths = RemainingPaths(tasks);
  uint64_t best = UINT64_MAX;
  std::vector<uint64_t> ends(tasks.size(), UINT64_MAX), free(tasks.lanes, 0);
  std::function<void(uint32_t, uint64_t)> place = [&](uint32_t placed, uint64_t latest) {
    if (placed == tasks.size()) best = std::min(best, latest);
    for (uint32_t task = 0; task < tasks.size(); ++task) {
      if (ends[task] != UINT64_MAX) continue;
      uint64_t start = 0;
      bool ready = true;
      for (uint32_t before : tasks.predecessors[task]) {
        ready = ready && ends[before] != UINT64_MAX;
        if (ready) start = std::max(start, ends[before]);
      }
      if (!ready) continue;
      const std::vector<uint32_t>& lanes = tasks.queues[tasks.queue[task]].lanes;
      for (uint32_t lane : lanes) start = std::max(start, free[lane]);
      if (start + paths[task] >= best) continue;
      const std::vector<uint64_t> before = free;
      ends[task] = start + tasks.durations[task];
      for (uint32_t lane : lanes) free[lane] = ends[task];
      place(placed + 1, std::max(latest, ends[task]));
      free = before;
      ends[task] = UINT64_MAX;
    }
  };
  place(0, 0);
  return best;
}

// A few calls on one or two lanes, with what they make in one or two memories.
Tasks RandomTasksInMemory(uint32_t seed, uint32_t calls) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  TaskBuilder b;
  std::vector<uint32_t> lanes, memories;
  for (uint32_t i = 0; i <= below(3); ++i) lanes.push_back(b.Queue({i}, {0}));
  for (uint32_t i = 0; i <= below(2); ++i) memories.push_back(b.Memory(8 + below(10)));
  std::vector<uint32_t> made;
  std::vector<std::vector<uint32_t>> users(calls);
  for (uint32_t i = 0; i < calls; ++i) {
    std::vector<uint32_t> after;
    for (uint32_t j = 0; j < i; ++j) {
      if (below(3) == 0) after.push_back(j), users[j].push_back(i);
    }
    b.Task(lanes[below(static_cast<uint32_t>(lanes.size()))], below(4), after);
  }
  for (uint32_t i = 0; i < calls; ++i) {
    b.Block(memories[below(static_cast<uint32_t>(memories.size()))], 1 + below(6), i, users[i]);
  }
  return b.Build();
}

// Returns whether some order of all tasks, one after the other, fits: by trying all sets that can
// be done.
bool SomeOrderFits(const Tasks& tasks) {
  const uint32_t all = (1u << tasks.size()) - 1;
  std::vector<bool> reached(all + 1, false);
  reached[0] = true;
  for (uint32_t done = 0; done < all; ++done) {
    if (!reached[done]) continue;
    for (uint32_t task = 0; task < tasks.size(); ++task) {
      const auto& before = tasks.predecessors[task];
      const bool ready = std::all_of(before.begin(), before.end(),
                                     [&](uint32_t one) { return (done >> one & 1) != 0; });
      if ((done >> task & 1) != 0 || !ready) continue;
      std::vector<int64_t> alive(tasks.memories.size(), 0);
      for (uint32_t maker = 0; maker < tasks.size(); ++maker) {
        if (maker != task && (done >> maker & 1) == 0) continue;
        for (uint32_t block : tasks.takes[maker]) {
          bool used = maker == task;
          for (uint32_t user = 0; user < tasks.size(); ++user) {
            const auto& touched = tasks.touches[user];
            used = used || ((done >> user & 1) == 0 && std::find(touched.begin(), touched.end(),
                                                                 block) != touched.end());
          }
          if (used) alive[tasks.blocks[block].memory] += tasks.blocks[block].bytes;
        }
      }
      bool fits = true;
      for (size_t i = 0; i < alive.size(); ++i) fits = fits && alive[i] <= tasks.memories[i];
      if (fits) reached[done | 1u << task] = true;
    }
  }
  return reached[all];
}

TEST_CASE("random tasks fit into memories exactly when some order does, and never hold more") {
  int possible = 0, greedy = 0;
  constexpr int kGraphs = 600;
  for (uint32_t seed = 0; seed < kGraphs; ++seed) {
    Tasks tasks = RandomTasksInMemory(seed, 3 + seed % 7);
    INFO("seed " << seed);
    const Policy policy = ProgramOrder(tasks);
    greedy += ListSchedule(tasks, policy).order.size() == tasks.size();
    const Fallback fallback = FindFallback(tasks, policy);
    REQUIRE(fallback.order.size() == tasks.size());
    bool fits = true;
    for (size_t i = 0; i < fallback.needs.size(); ++i) {
      fits = fits && fallback.needs[i] <= tasks.memories[i];
    }
    REQUIRE(fits == SomeOrderFits(tasks));
    if (!fits) continue;
    ++possible;
    tasks.fallback = fallback.order;
    for (const bool search : {false, true}) {
      const Timetable table =
          search ? Search(tasks, {.effort = 1})[0] : ListSchedule(tasks, policy);
      CheckTimetable(tasks, table);
      const std::vector<int64_t> most = MostAlive(tasks, table);
      for (size_t i = 0; i < most.size(); ++i) CHECK(most[i] <= tasks.memories[i]);
    }
  }
  CHECK(possible > kGraphs / 3);
  CHECK(possible < kGraphs);
  CHECK(greedy < possible);  // else the fallback would not be needed
}

TEST_CASE("the search finds the least makespan of small random graphs") {
  constexpr int kGraphs = 60;
  int optimal = 0;
  for (uint32_t seed = 0; seed < kGraphs; ++seed) {
    const Tasks tasks = RandomTasks(seed, 5);
    const Timetable table = Search(tasks, {.effort = 20})[0];
    INFO("seed " << seed << ", " << tasks.size() << " tasks");
    CheckTimetable(tasks, table);
    const uint64_t least = LeastMakespan(tasks);
    REQUIRE(table.makespan >= least);
    optimal += table.makespan == least;
  }
  CHECK(optimal >= kGraphs * 95 / 100);
}

TEST_CASE("the search finds the least makespan within memories") {
  constexpr int kGraphs = 200;
  int possible = 0, optimal = 0;
  for (uint32_t seed = 1000; seed < 1000 + kGraphs; ++seed) {
    Tasks tasks = RandomTasksInMemory(seed, 6);
    uint64_t least = UINT64_MAX;
    SerialScheduler scheduler(tasks);
    std::vector<uint32_t> order(tasks.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      std::vector<uint32_t> places(tasks.size());
      for (uint32_t place = 0; place < order.size(); ++place) places[order[place]] = place;
      bool keeps = true;
      for (uint32_t task = 0; task < tasks.size(); ++task) {
        for (uint32_t before : tasks.predecessors[task]) keeps &= places[before] < places[task];
      }
      if (!keeps || !scheduler.Place(order)) continue;
      Timetable table{scheduler.starts(), order, 0};
      table.makespan = CostOf(tasks, table.starts, Goal::kMakespan).goal;
      CheckTimetable(tasks, table);
      const std::vector<int64_t> most = MostAlive(tasks, table);
      for (size_t i = 0; i < most.size(); ++i) REQUIRE(most[i] <= tasks.memories[i]);
      least = std::min(least, table.makespan);
    } while (std::next_permutation(order.begin(), order.end()));
    if (least == UINT64_MAX) continue;
    INFO("seed " << seed);
    ++possible;
    tasks.fallback = FindFallback(tasks, ProgramOrder(tasks)).order;
    REQUIRE(!tasks.fallback.empty());
    CHECK(ListSchedule(tasks, ProgramOrder(tasks)).makespan >= least);
    const Timetable table = Search(tasks, {.effort = 20})[0];
    CheckTimetable(tasks, table);
    REQUIRE(table.makespan >= least);
    optimal += table.makespan == least;
  }
  CHECK(possible > kGraphs / 3);
  CHECK(optimal >= possible * 95 / 100);
}

TEST_CASE("the search keeps everything that a timetable keeps, and gives the same twice") {
  for (uint32_t seed = 100; seed < 120; ++seed) {
    const Tasks tasks = RandomTasks(seed, 20);
    const Timetable table = Search(tasks, {.effort = 30})[0];
    INFO("seed " << seed);
    CheckTimetable(tasks, table);
    CHECK(table.makespan <= ListSchedule(tasks, ProgramOrder(tasks)).makespan);
    CHECK(Search(tasks, {.effort = 30})[0].order == table.order);
  }
}

TEST_CASE("a graph whose kinds come in any order is searched, too") {
  // The third kind comes before the second on either lane: a task that is put off until another has
  // started never starts.
  TaskBuilder b;
  const uint32_t wire = b.Queue({2, 3});
  std::vector<std::vector<uint32_t>> queues(2);
  for (uint32_t lane : {0u, 1u}) {
    for (uint32_t kind : {0u, 1u, 2u}) queues[lane].push_back(b.Queue({lane}, {kind}));
  }
  std::vector<uint32_t> last(2, kNone);
  for (int i = 0; i < 4; ++i) {
    for (uint32_t lane : {0u, 1u}) {
      for (uint32_t kind : {0u, 2u, 1u}) {
        std::vector<uint32_t> after;
        if (last[lane] != kNone && kind != 0) after.push_back(last[lane]);
        last[lane] = b.Task(queues[lane][kind], 1 + kind, after);
      }
    }
    last[0] = b.Task(wire, 2, {last[1]});
  }
  const Tasks tasks = b.Build();
  const std::vector<Timetable> tables = Search(tasks, {.effort = 5});
  REQUIRE(!tables.empty());
  CheckTimetable(tasks, tables[0]);
  CHECK(CostOf(tasks, tables[0].starts, Goal::kMakespan).goal ==
        LeastCost(tasks, Goal::kMakespan).goal);
}

TEST_CASE("no search ends with more than the order or the policy that it was told") {
  for (uint32_t seed = 200; seed < 260; ++seed) {
    const Tasks tasks = RandomTasks(seed, 30);
    const Timetable told = Search(tasks, {.effort = 50})[0];
    const Policy program = ProgramOrder(tasks);
    const std::vector<Timetable> tables =
        Search(tasks, {.effort = 1}, {.order = told.order, .policies = {program}});
    INFO("seed " << seed);
    CheckTimetable(tasks, tables[0]);
    CHECK(tables[0].makespan <= told.makespan);
    CHECK(tables[0].makespan <= ListSchedule(tasks, program).makespan);
  }
}

}  // namespace
}  // namespace cgraph::schedule
