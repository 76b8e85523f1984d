// Rules: the family in which the schedules that people write for pipelines lie.
//
// The calls that many devices make again and again (forward, backward, ...) are preferred in some
// order; the first kind may run ahead of another by some number, which falls along the devices; and
// the last kind is put off by some number that rises along them, as zero-bubble schedules put off
// weight gradients to fill later gaps. The numbers are found by trying, first roughly over all
// combinations, then one at a time from the best few, then lane by lane.
#include <algorithm>
#include <map>
#include <numeric>

#include "compiler/schedule/arrange/counter_random.h"
#include "compiler/schedule/arrange/search.h"
#include "compiler/schedule/arrange/task_maker.h"

namespace cgraph::schedule {
namespace {

constexpr uint32_t kMostKinds = 4;     // 24 orders of preference
constexpr int64_t kUnbounded = 1 << 30;

// Where several actors of a pipeline share a device: which of them comes first. One is as deep as
// the longest path to its first call of a kind.
enum class Depth : uint8_t {
  kAny,      // whoever makes the call from which the longest path goes on
  kForward,  // of the first kind the deepest, of others any
  kOutAndBack,  // of the first kind the deepest, of others the least deep
  kDeepest,
};

// One member of the family. Slopes are in hundredths of a call per lane.
struct Knobs {
  uint32_t preference = 0;       // which permutation of the kinds
  int64_t ahead_slope = kUnbounded, ahead = 0;  // the first kind minus `against`
  bool flat = false;             // the same on all lanes
  uint32_t against = 1;          // into the kinds
  int64_t behind_slope = 0;      // the last but one minus the last
  Depth depth = Depth::kAny;
  friend bool operator==(const Knobs&, const Knobs&) = default;
};

// The bounds that knobs give each lane, which are then tried one by one.
struct Bounds {
  std::vector<int64_t> ahead, behind;  // by position
};

struct Trial {
  Knobs knobs;
  Cost cost;
};

class RuleSearch {
 public:
  RuleSearch(const Tasks& tasks, Goal goal, Budget& budget, Found& best)
      : tasks_(tasks), goal_(goal), budget_(budget), best_(best) {
    FindKinds();
    FindPermutations();
    FindDepths();
  }

  void Run() {
    std::vector<Trial> trials = TryRoughly();
    if (kinds_.size() < 2 || positions_.size() < 2) return;
    std::stable_sort(trials.begin(), trials.end(),
                     [](const Trial& a, const Trial& b) { return a.cost < b.cost; });
    constexpr size_t kRefined = 4;
    trials.resize(std::min(trials.size(), kRefined));
    for (Trial& trial : trials) Refine(trial);
    std::stable_sort(trials.begin(), trials.end(),
                     [](const Trial& a, const Trial& b) { return a.cost < b.cost; });
    RefineLanes(trials.front());
  }

 private:
  // ---- the family -------------------------------------------------------------------------------

  // Kinds of which some lane makes several calls, in the order in which they first appear.
  void FindKinds() {
    std::vector<std::vector<uint32_t>> counts(tasks_.lanes, std::vector<uint32_t>(tasks_.kinds));
    std::vector<uint32_t> appear;
    for (uint32_t task = 0; task < tasks_.size(); ++task) {
      const Queue& queue = tasks_.queues[tasks_.queue[task]];
      for (uint32_t kind : queue.kinds) {
        if (++counts[queue.lanes[0]][kind] == 1) appear.push_back(kind);
      }
    }
    for (uint32_t kind : appear) {
      const bool often = std::any_of(counts.begin(), counts.end(),
                                     [&](const auto& count) { return count[kind] > 2; });
      const bool known = std::find(kinds_.begin(), kinds_.end(), kind) != kinds_.end();
      if (often && !known && kinds_.size() < kMostKinds) kinds_.push_back(kind);
    }
    for (uint32_t lane = 0; lane < tasks_.lanes; ++lane) {
      const bool covered = std::any_of(kinds_.begin(), kinds_.end(),
                                       [&](uint32_t kind) { return counts[lane][kind] > 0; });
      if (covered) positions_.push_back(lane);
    }
  }

  void FindPermutations() {
    std::vector<uint32_t> order(kinds_.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      permutations_.push_back(order);
    } while (std::next_permutation(order.begin(), order.end()));
  }

  void FindDepths() {
    const std::vector<uint64_t> paths = ElapsedPaths(tasks_);
    std::map<std::pair<uint32_t, uint32_t>, int64_t> least;  // by actor and queue
    for (uint32_t task = 0; task < tasks_.size(); ++task) {
      const auto path = static_cast<int64_t>(paths[task]);
      const auto [it, is_new] = least.try_emplace({tasks_.actor[task], tasks_.queue[task]}, path);
      it->second = std::min(it->second, path);
    }
    for (uint32_t task = 0; task < tasks_.size(); ++task) {
      depths_.push_back(least.at({tasks_.actor[task], tasks_.queue[task]}));
    }
    std::map<uint32_t, int64_t> seen;  // by queue
    const bool differ = std::any_of(least.begin(), least.end(), [&](const auto& entry) {
      const auto& [of, depth] = entry;
      return of.first != kNone && seen.try_emplace(of.second, depth).first->second != depth;
    });
    depth_orders_ = {Depth::kAny};
    if (differ) depth_orders_ = {Depth::kAny, Depth::kForward, Depth::kOutAndBack, Depth::kDeepest};
  }

  // What is not of these kinds comes first.
  std::vector<uint32_t> Ranks(const Knobs& knobs) const {
    std::vector<uint32_t> classes;
    std::vector<std::vector<int64_t>> keys(tasks_.size());
    const std::vector<uint32_t>& preferred = permutations_[knobs.preference];
    for (uint32_t task = 0; task < tasks_.size(); ++task) {
      const Queue& queue = tasks_.queues[tasks_.queue[task]];
      uint32_t rank = 0;
      for (uint32_t i = 0; i < preferred.size() && !queue.kinds.empty(); ++i) {
        if (queue.kinds[0] == kinds_[preferred[i]]) rank = i + 1;
      }
      classes.push_back(rank);
      if (rank > 0) keys[task] = DepthKey(knobs.depth, task, queue.kinds[0] == kinds_[0]);
    }
    return RankTasks(tasks_, classes, keys);
  }

  std::vector<int64_t> DepthKey(Depth depth, uint32_t task, bool is_first_kind) const {
    const bool deep = depth == Depth::kDeepest || (depth != Depth::kAny && is_first_kind);
    if (deep) return {-depths_[task]};
    if (depth == Depth::kOutAndBack) return {depths_[task]};
    return {};
  }

  Bounds BoundsOf(const Knobs& knobs) const {
    const auto lanes = static_cast<int64_t>(positions_.size());
    Bounds bounds;
    for (int64_t i = 0; i < lanes; ++i) {
      const int64_t along = knobs.flat ? lanes : lanes - i;
      bounds.ahead.push_back(
          knobs.ahead_slope == kUnbounded
              ? kUnbounded
              : std::max(int64_t{1}, knobs.ahead_slope * along / 100 + knobs.ahead));
      bounds.behind.push_back(knobs.behind_slope == kUnbounded ? kUnbounded
                                                               : knobs.behind_slope * i / 100);
    }
    return bounds;
  }

  std::vector<std::vector<LaneLimit>> Limits(const Knobs& knobs, const Bounds& bounds) const {
    std::vector<std::vector<LaneLimit>> limits(tasks_.lanes);
    if (kinds_.size() < 2) return limits;
    const size_t last = kinds_.size() - 1;
    for (size_t i = 0; i < positions_.size(); ++i) {
      std::vector<LaneLimit>& here = limits[positions_[i]];
      here.push_back({kinds_[0], kinds_[knobs.against], /*at_most=*/true, bounds.ahead[i]});
      if (last > 1) here.push_back({kinds_[last - 1], kinds_[last], false, bounds.behind[i]});
    }
    return limits;
  }

  // ---- trying -----------------------------------------------------------------------------------

  Cost Try(const Policy& policy) {
    budget_.Spend(tasks_.size());
    Timetable table = ListSchedule(tasks_, policy);
    if (table.order.size() < tasks_.size()) return Cost{};  // something waits for ever
    const Cost cost = CostOf(tasks_, table.starts, goal_);
    best_.Offer(std::move(table), cost);
    if (best_.perfect()) budget_.LeaveFew();
    if (best_.done()) budget_.End();
    return cost;
  }

  Trial Try(const Knobs& knobs) {
    Policy policy;
    policy.ranks = Ranks(knobs);
    policy.limits = Limits(knobs, BoundsOf(knobs));
    return {knobs, Try(policy)};
  }

  std::vector<Trial> TryRoughly() {
    std::vector<Trial> trials;
    for (const Depth depth : depth_orders_) {
      for (uint32_t preference = 0; preference < permutations_.size(); ++preference) {
        for (const int64_t ahead : {kUnbounded, int64_t{100}, int64_t{200}}) {
          for (const int64_t behind : {int64_t{0}, int64_t{150}, kUnbounded}) {
            if (budget_.over() && !trials.empty()) return trials;
            if (ahead != kUnbounded && kinds_.size() < 2) continue;
            if (behind != 0 && kinds_.size() < 3) continue;
            trials.push_back(Try({.preference = preference,
                                  .ahead_slope = ahead,
                                  .behind_slope = behind,
                                  .depth = depth}));
          }
        }
        // What a forward keeps until the last of its backwards, alike on all devices: the way to
        // live within a memory that holds no more.
        for (const int64_t ahead : {50, 100, 200}) {
          if (budget_.over() || kinds_.size() < 2) continue;
          trials.push_back(Try({.preference = preference,
                                .ahead_slope = ahead,
                                .flat = true,
                                .against = static_cast<uint32_t>(kinds_.size()) - 1,
                                .depth = depth}));
        }
      }
    }
    return trials;
  }

  // One knob after the other, until none helps.
  void Refine(Trial& trial) {
    for (bool better = true; better && !budget_.over();) {
      better = false;
      for (const Knobs& knobs : Neighbours(trial.knobs)) {
        if (budget_.over()) return;
        const Trial other = Try(knobs);
        if (!(other.cost < trial.cost)) continue;
        trial = other;
        better = true;
      }
    }
  }

  std::vector<Knobs> Neighbours(const Knobs& knobs) const {
    std::vector<Knobs> found;
    const auto add = [&](auto change) {
      Knobs other = knobs;
      change(other);
      if (!(other == knobs)) found.push_back(other);
    };
    for (const int64_t slope : {50, 67, 75, 100, 150, 200, 300, 400}) {
      add([&](Knobs& k) { k.ahead_slope = slope; });
    }
    // A slope a little steeper makes room for the time that travelling takes, and wants another
    // start: these two are varied together.
    for (const int64_t more : {0, 2, 4, 6, 8, 10, 15}) {
      for (int64_t ahead = -2; ahead <= 4; ++ahead) {
        add([&](Knobs& k) {
          if (k.ahead_slope == kUnbounded) return;
          k.ahead_slope = k.ahead_slope / 25 * 25 + more;
          k.ahead = ahead;
        });
      }
    }
    for (const int64_t slope : {0, 50, 100, 150, 200, 250, 300, 350, 400}) {
      add([&](Knobs& k) { k.behind_slope = slope; });
    }
    add([&](Knobs& k) { k.flat = !k.flat; });
    for (uint32_t i = 1; i < kinds_.size(); ++i) add([&](Knobs& k) { k.against = i; });
    for (uint32_t i = 0; i < permutations_.size(); ++i) add([&](Knobs& k) { k.preference = i; });
    for (const Depth depth : depth_orders_) add([&](Knobs& k) { k.depth = depth; });
    return found;
  }

  // The bounds of single lanes, and of a few neighbours together, by simulated annealing.
  void RefineLanes(const Trial& trial) {
    const int64_t before = budget_.left(), share = before / 2;
    Policy policy;
    policy.ranks = Ranks(trial.knobs);
    Bounds now = BoundsOf(trial.knobs);
    Cost cost = trial.cost;
    CounterRandom random;
    const double all = static_cast<double>(share);
    const double scale = static_cast<double>(*std::max_element(tasks_.durations.begin(),
                                                               tasks_.durations.end())) / 2;
    while (before - budget_.left() < share) {
      Bounds other = now;
      const size_t first = random.Below(positions_.size());
      const size_t count = 1 + random.Below(random.Below(4) == 0 ? positions_.size() : 3);
      const int64_t change = (random.Below(2) == 0 ? 1 : -1) * (1 + random.Below(2));
      std::vector<int64_t>& bounds = random.Below(2) == 0 ? other.ahead : other.behind;
      const auto most = static_cast<int64_t>(tasks_.size());
      for (size_t i = first; i < std::min(first + count, bounds.size()); ++i) {
        bounds[i] = std::clamp(std::min(bounds[i], most) + change, int64_t{0}, most);
      }
      for (int64_t& bound : other.ahead) bound = std::max(bound, int64_t{1});
      policy.limits = Limits(trial.knobs, other);
      const Cost tried = Try(policy);
      if (tried.goal == UINT64_MAX) continue;
      const double rest = 1 - static_cast<double>(before - budget_.left()) / all;
      const auto slack = static_cast<uint64_t>(scale * rest * rest * random.Below(1000) / 4000);
      if (tried < cost || tried.goal <= cost.goal + slack) {
        now = std::move(other);
        cost = tried;
      }
    }
  }

  const Tasks& tasks_;
  const Goal goal_;
  Budget& budget_;
  Found& best_;
  std::vector<uint32_t> kinds_;
  std::vector<uint32_t> positions_;  // lanes that make calls of these kinds
  std::vector<std::vector<uint32_t>> permutations_;
  std::vector<int64_t> depths_;      // by task: of its actor, picoseconds
  std::vector<Depth> depth_orders_;  // one where no device has actors of several depths
};

}  // namespace

void SearchRules(const Tasks& tasks, Goal goal, Budget& budget, Found& best) {
  RuleSearch(tasks, goal, budget, best).Run();
}

}  // namespace cgraph::schedule
