#include "compiler/schedule/ordering/search/rule_family.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace cgraph::schedule {
namespace {

constexpr uint32_t kMostKinds = 4;  // 24 orders of preference

}  // namespace

RuleFamily::RuleFamily(const Tasks& tasks) : tasks_(tasks), all_kinds_(tasks.kinds) {
  FindKinds();
  std::vector<uint32_t> order(kinds_.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    permutations_.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  FindDepths();
  FindChunks();
  if (deep_) TellDeepest();
}

// Finds the kinds with several calls on some lane, in the order in which they first appear.
void RuleFamily::FindKinds() {
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
  KeepCommonKinds(counts);
}

// Keeps in a pipeline the kinds that every stage has: a loss, which the last one alone computes,
// takes no part. Other graphs keep all.
void RuleFamily::KeepCommonKinds(const std::vector<std::vector<uint32_t>>& counts) {
  std::vector<uint32_t> common;
  for (uint32_t kind : kinds_) {
    if (std::all_of(positions_.begin(), positions_.end(),
                    [&](uint32_t lane) { return counts[lane][kind] > 0; })) {
      common.push_back(kind);
    }
  }
  if (common.size() > 1) kinds_ = std::move(common);
}

uint32_t RuleFamily::KindOf(uint32_t task) const {
  const std::vector<uint32_t>& kinds = tasks_.queues[tasks_.queue[task]].kinds;
  if (kinds.empty()) return kNone;
  const auto found = std::find(kinds_.begin(), kinds_.end(), kinds[0]);
  return found == kinds_.end() ? kNone : static_cast<uint32_t>(found - kinds_.begin());
}

void RuleFamily::FindChunks() {
  std::map<uint32_t, std::map<uint32_t, int64_t>> actors;  // by lane: how deep, of the first kind
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> calls;  // by actor and kind
  chunks_.assign(tasks_.size(), 0);
  batches_.assign(tasks_.size(), 0);
  for (uint32_t task = 0; task < tasks_.size(); ++task) {
    const uint32_t kind = KindOf(task);
    if (kind == kNone) continue;
    const uint32_t opener = tasks_.opener[task];
    batches_[task] = opener == task ? calls[{tasks_.actor[task], kind}]++ : batches_[opener];
    most_batches_ = std::max(most_batches_, int64_t{batches_[task]} + 1);
    const uint32_t lane = tasks_.queues[tasks_.queue[task]].lanes[0];
    if (kind == 0) actors[lane].emplace(tasks_.actor[task], depths_[task]);
  }
  for (uint32_t task = 0; task < tasks_.size(); ++task) {
    if (KindOf(task) == kNone) continue;
    const auto& here = actors[tasks_.queues[tasks_.queue[task]].lanes[0]];
    const auto own = here.find(tasks_.actor[task]);
    if (own == here.end()) continue;
    chunks_[task] = static_cast<uint32_t>(
        std::count_if(here.begin(), here.end(),
                      [&](const auto& other) { return other.second < own->second; }));
    most_chunks_ = std::max(most_chunks_, int64_t{chunks_[task]} + 1);
  }
}

void RuleFamily::FindDepths() {
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
  deep_ = bounded() && std::any_of(least.begin(), least.end(), [&](const auto& entry) {
    const auto& [of, depth] = entry;
    return of.first != kNone && seen.try_emplace(of.second, depth).first->second != depth;
  });
}

// Gives the calls of all actors but the deepest of each lane queues and kinds of their own.
void RuleFamily::TellDeepest() {
  std::map<uint32_t, std::pair<int64_t, uint32_t>> deepest;  // by lane: depth, actor
  const auto lane_of = [&](uint32_t task) { return tasks_.queues[tasks_.queue[task]].lanes[0]; };
  for (uint32_t task = 0; task < tasks_.size(); ++task) {
    const Queue& queue = tasks_.queues[tasks_.queue[task]];
    if (queue.kinds.empty() || queue.kinds[0] != kinds_[0]) continue;
    auto& most = deepest[queue.lanes[0]];
    most = std::max(most, {depths_[task], tasks_.actor[task]});
  }
  std::map<uint32_t, uint32_t> outs;  // by queue: that of actors which are not the deepest
  for (uint32_t task = 0; task < tasks_.size(); ++task) {
    const uint32_t queue = tasks_.queue[task];
    const auto found = deepest.find(lane_of(task));
    if (tasks_.queues[queue].kinds.empty() || found == deepest.end()) continue;
    if (tasks_.actor[task] == found->second.second) continue;
    const auto [it, is_new] = outs.try_emplace(queue, static_cast<uint32_t>(tasks_.queues.size()));
    if (is_new) {
      tasks_.queues.push_back(tasks_.queues[queue]);
      std::vector<uint32_t>& kinds = tasks_.queues.back().kinds;
      kinds.push_back(OutKind(kinds[0]));
    }
    tasks_.queue[task] = it->second;
  }
  tasks_.kinds = 2 * all_kinds_;
}

// ---- members ------------------------------------------------------------------------------------

std::vector<Depth> RuleFamily::Depths() const {
  if (!deep_) return {Depth::kAny};
  return {Depth::kAny, Depth::kForward, Depth::kOutAndBack, Depth::kDeepest, Depth::kInterleaved};
}

std::vector<PolicyParams> RuleFamily::Spread() const {
  std::vector<PolicyParams> spread;
  const bool limits = kinds_.size() > 1;
  for (const Depth depth : Depths()) {
    for (uint32_t preference = 0; preference < permutations_.size(); ++preference) {
      for (const int64_t ahead : {kUnbounded, int64_t{100}, int64_t{200}}) {
        for (const int64_t behind : {int64_t{0}, int64_t{150}, kUnbounded}) {
          if (ahead != kUnbounded && !limits) continue;
          if (behind != 0 && kinds_.size() < 3) continue;
          spread.push_back({.preference = preference,
                            .ahead_slope = ahead,
                            .behind_slope = behind,
                            .depth = depth});
        }
      }
      // The bounds vary how many activations a device keeps from a forward until the last of its
      // backwards, alike on all devices: the way to live within a memory that holds no more.
      for (const int64_t ahead : {50, 100, 200}) {
        for (const int64_t out : {kUnbounded, int64_t{100}}) {
          if (!limits || (out != kUnbounded && depth == Depth::kAny)) continue;
          spread.push_back({.preference = preference,
                            .ahead_slope = ahead,
                            .flat = true,
                            .against = static_cast<uint32_t>(kinds_.size()) - 1,
                            .depth = depth,
                            .out_base = out});
        }
      }
    }
  }
  return spread;
}

// Returns one_f_one_b, zb_h1, zb_h2, zb_v, interleaved and dualpipe_v; gpipe is one without bounds.
std::vector<PolicyParams> RuleFamily::Library() const {
  if (!bounded()) return {};
  const uint32_t last_first = static_cast<uint32_t>(permutations_.size()) - 1;
  std::vector<PolicyParams> known = {{.preference = last_first, .ahead_slope = 100}};
  if (kinds_.size() > 2) {
    known.push_back({.ahead_slope = 100, .behind_slope = 100, .kept_base = 100});
    known.push_back(
        {.ahead_slope = 200, .ahead = -1, .behind_slope = 200, .kept_base = 200, .kept = -1});
  }
  if (!deep_) return known;
  known.push_back({.ahead_slope = 200, .ahead = -1, .depth = Depth::kInterleaved});
  if (kinds_.size() < 3) return known;
  known.push_back({.ahead_slope = 200,
                   .flat = true,
                   .against = static_cast<uint32_t>(kinds_.size()) - 1,
                   .depth = Depth::kOutAndBack,
                   .out_base = 100});
  if (most_chunks_ == 2) known.push_back({.depth = Depth::kDualPipe});
  return known;
}

std::vector<PolicyParams> RuleFamily::Unlimited() const {
  std::vector<PolicyParams> found;
  for (const Depth depth : Depths()) {
    for (uint32_t preference = 0; preference < permutations_.size(); ++preference) {
      found.push_back({.preference = preference, .behind_slope = kNotBehind, .depth = depth});
    }
  }
  return found;
}

std::vector<PolicyParams> RuleFamily::Neighbours(const PolicyParams& params) const {
  std::vector<PolicyParams> found;
  const auto add = [&](auto change) {
    PolicyParams other = params;
    change(other);
    if (!(other == params)) found.push_back(other);
  };
  for (const int64_t slope : {50, 67, 75, 100, 150, 200, 300, 400}) {
    add([&](PolicyParams& k) { k.ahead_slope = slope; });
  }
  // A slope a little steeper makes room for the time of transfers, and needs another start: these
  // two are varied together.
  for (const int64_t more : {0, 2, 4, 6, 8, 10, 15}) {
    for (int64_t ahead = -2; ahead <= 4; ++ahead) {
      add([&](PolicyParams& k) {
        if (k.ahead_slope == kUnbounded) return;
        k.ahead_slope = k.ahead_slope / 25 * 25 + more;
        k.ahead = ahead;
      });
    }
  }
  for (const int64_t slope : {0, 50, 100, 150, 200, 250, 300, 350, 400}) {
    add([&](PolicyParams& k) { k.behind_slope = slope; });
  }
  add([&](PolicyParams& k) { k.flat = !k.flat; });
  add([](PolicyParams& k) { k.kept_base = kUnbounded; });
  for (uint32_t i = 1; i < kinds_.size(); ++i) add([&](PolicyParams& k) { k.against = i; });
  for (uint32_t i = 0; i < permutations_.size(); ++i)
    add([&](PolicyParams& k) { k.preference = i; });
  if (!deep_) return found;
  for (const Depth depth : Depths()) add([&](PolicyParams& k) { k.depth = depth; });
  add([](PolicyParams& k) { k.out_base = kUnbounded; });
  for (const int64_t base : {50, 75, 100, 125}) {
    for (const int64_t slope : {50, 75, 100, 125}) {
      for (int64_t out = -3; out <= 2; ++out) {
        add([&](PolicyParams& k) { k.out_base = base, k.out_slope = slope, k.out = out; });
      }
    }
  }
  return found;
}

// ---- what a member means ------------------------------------------------------------------------

Bounds RuleFamily::BoundsOf(const PolicyParams& params) const {
  const auto lanes = static_cast<int64_t>(positions_.size());
  const auto at_least_one = [](int64_t bound) { return std::max(int64_t{1}, bound); };
  // The device waits until the deepest chunk has its first micro-batch.
  const int64_t rounds = params.depth == Depth::kInterleaved ? (most_chunks_ - 1) * lanes : 0;
  Bounds bounds;
  for (int64_t i = 0; i < lanes; ++i) {
    const int64_t along = params.flat ? lanes : lanes - i;
    bounds.ahead.push_back(
        params.ahead_slope == kUnbounded
            ? kUnbounded
            : at_least_one(params.ahead_slope * along / 100 + params.ahead + rounds));
    const bool free = params.behind_slope == kUnbounded || params.behind_slope == kNotBehind;
    bounds.behind.push_back(free ? params.behind_slope : params.behind_slope * i / 100);
    bounds.kept.push_back(params.kept_base == kUnbounded
                              ? kUnbounded
                              : at_least_one(params.kept_base * lanes / 100 + params.kept));
    bounds.out.push_back(
        params.out_base == kUnbounded
            ? kUnbounded
            : at_least_one((params.out_base * lanes + params.out_slope * (lanes - i)) / 100 +
                           params.out));
  }
  return bounds;
}

std::vector<std::vector<LaneLimit>> RuleFamily::Limits(const PolicyParams& params,
                                                       const Bounds& bounds) const {
  std::vector<std::vector<LaneLimit>> limits(tasks_.lanes);
  if (kinds_.size() < 2) return limits;
  const size_t last = kinds_.size() - 1;
  for (size_t i = 0; i < positions_.size(); ++i) {
    std::vector<LaneLimit>& here = limits[positions_[i]];
    here.push_back({kinds_[0], kinds_[params.against], /*at_most=*/true, bounds.ahead[i]});
    if (last > 1) here.push_back({kinds_[last - 1], kinds_[last], false, bounds.behind[i]});
    if (params.kept_base != kUnbounded) {
      here.push_back({kinds_[0], kinds_[last], /*at_most=*/true, bounds.kept[i]});
    }
    if (params.out_base == kUnbounded) continue;
    here.push_back({OutKind(kinds_[0]), OutKind(kinds_[1]), /*at_most=*/true, bounds.out[i]});
  }
  return limits;
}

Policy RuleFamily::PolicyOf(const PolicyParams& params, const Bounds& bounds) const {
  Policy policy;
  policy.ranks = Ranks(params);
  policy.limits = Limits(params, bounds);
  AddSequences(params.depth, policy);
  return policy;
}

// Calls that are not of these kinds come first.
std::vector<uint32_t> RuleFamily::Ranks(const PolicyParams& params) const {
  std::vector<uint32_t> classes;
  std::vector<std::vector<int64_t>> keys(tasks_.size());
  const std::vector<uint32_t>& preferred = permutations_[params.preference];
  for (uint32_t task = 0; task < tasks_.size(); ++task) {
    const Queue& queue = tasks_.queues[tasks_.queue[task]];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < preferred.size() && !queue.kinds.empty(); ++i) {
      if (queue.kinds[0] == kinds_[preferred[i]]) rank = i + 1;
    }
    classes.push_back(rank);
    if (rank > 0) keys[task] = DepthKey(params.depth, task, queue.kinds[0] == kinds_[0]);
  }
  return RankTasks(tasks_, classes, keys);
}

// Adds a sequence for each lane and kind, or for all kinds of a lane together.
void RuleFamily::AddSequences(Depth depth, Policy& policy) const {
  if (depth != Depth::kInterleaved && depth != Depth::kDualPipe) return;
  policy.sequence_of.assign(tasks_.queues.size(), kNone);
  std::vector<std::vector<std::pair<std::vector<int64_t>, uint32_t>>> keys;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> known;  // by position and kind
  for (uint32_t task = 0; task < tasks_.size(); ++task) {
    const uint32_t kind = KindOf(task);
    if (kind == kNone) continue;
    const uint32_t lane = tasks_.queues[tasks_.queue[task]].lanes[0];
    const auto position = static_cast<uint32_t>(
        std::lower_bound(positions_.begin(), positions_.end(), lane) - positions_.begin());
    const auto [sequence, is_new] =
        known.try_emplace({position, depth == Depth::kDualPipe ? 0 : kind},
                          static_cast<uint32_t>(keys.size()));
    if (is_new) keys.emplace_back();
    policy.sequence_of[tasks_.queue[task]] = sequence->second;
    keys[sequence->second].emplace_back(SequenceKey(depth, position, kind, task), task);
  }
  for (auto& sequence : keys) {
    std::sort(sequence.begin(), sequence.end());
    std::vector<uint32_t>& order = policy.sequences.emplace_back();
    for (const auto& [key, task] : sequence) order.push_back(task);
  }
}

// Returns the key of stdlib/schedules/interleaved.cgraph and dualpipe_v.cgraph.
std::vector<int64_t> RuleFamily::SequenceKey(Depth depth, uint32_t position, uint32_t kind,
                                             uint32_t task) const {
  const auto lanes = static_cast<int64_t>(positions_.size());
  const int64_t chunk = chunks_[task], batch = batches_[task], index = position;
  if (depth == Depth::kInterleaved) {
    return {batch / lanes, kind == 0 ? chunk : -chunk, batch % lanes};
  }
  if (kind == 0) {
    const int64_t behind = lanes - index - 1;
    const int64_t out = batch - (batch < lanes + behind ? 2 * behind : behind);
    return {chunk == 1 ? 6 * batch + 3 : 6 * out};
  }
  const int64_t back = 6 * batch + (chunk == 1 ? 6 * index + 6 : 6 * lanes + 3);
  if (kind + 1 < kinds_.size()) return {back + 1};
  if (back < 6 * most_batches_ + 3 * index + 3) return {back + 2};
  const bool soon = back < 6 * (most_batches_ + index + 1);
  return {(soon ? 2 * back - 6 * most_batches_ : back + 6 * index + 3) + 2};
}

std::vector<int64_t> RuleFamily::DepthKey(Depth depth, uint32_t task, bool is_first_kind) const {
  if (depth == Depth::kInterleaved || depth == Depth::kDualPipe) return {};
  const bool deep = depth == Depth::kDeepest || (depth != Depth::kAny && is_first_kind);
  if (deep) return {-depths_[task]};
  if (depth == Depth::kOutAndBack) return {depths_[task]};
  return {};
}

}  // namespace cgraph::schedule
