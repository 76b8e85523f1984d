#include "compiler/inspect/simulate/contention.h"

#include <algorithm>
#include <deque>
#include <queue>
#include <set>

#include "compiler/cost/tokens.h"

namespace cgraph {
namespace {

// Event: a moment is over, or gives its tokens back, whichever comes first.
struct Event {
  uint64_t time;
  bool is_end;
  uint64_t round;
  uint32_t moment;
  auto operator<=>(const Event&) const = default;
};

class ContendedPlay {
 public:
  ContendedPlay(const PeriodicGraph& graph, const Contention& contention, uint64_t rounds,
                const std::function<uint64_t(uint32_t, uint64_t)>& weight,
                const std::function<void(uint64_t, std::span<const uint64_t>)>& see)
      : graph_(graph),
        contention_(contention),
        rounds_(rounds),
        weight_(weight),
        see_(see),
        tokens_(contention.tokens),
        first_after_(graph.size() + 1, 0) {
    for (const PeriodicGraph::Edge& edge : graph.edges()) ++first_after_[edge.from + 1];
    for (uint32_t i = 0; i < graph.size(); ++i) first_after_[i + 1] += first_after_[i];
    std::vector<uint32_t> next(first_after_.begin(), first_after_.end() - 1);
    after_.resize(graph.edges().size());
    for (const PeriodicGraph::Edge& edge : graph.edges()) after_[next[edge.from]++] = &edge;
  }

  void Run() {
    if (rounds_ > 0) Row(0);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      if (event.is_end) {
        End(event);
      } else {
        GiveBack(event);
      }
    }
  }

 private:
  struct Round {
    std::vector<uint64_t> times;   // when a moment was over
    std::vector<uint32_t> open;    // what each still waits for
    uint32_t left;                 // moments that are not over
  };

  // Returns the row of a round. A round begins when the first of its moments is waited for.
  Round& Row(uint64_t round) {
    while (first_ + rows_.size() <= round) Begin(first_ + rows_.size());
    return rows_[round - first_];
  }

  void Begin(uint64_t round) {
    rows_.push_back({std::vector<uint64_t>(graph_.size(), 0),
                     std::vector<uint32_t>(graph_.size(), 0), graph_.size()});
    Round& row = rows_.back();
    for (const PeriodicGraph::Edge& edge : graph_.edges()) {
      row.open[edge.to] += edge.distance <= round;
    }
    std::vector<uint32_t> free;
    for (uint32_t moment = 0; moment < graph_.size(); ++moment) {
      if (row.open[moment] == 0) free.push_back(moment);
    }
    for (uint32_t moment : free) BecomeReady({now_, true, round, moment});
  }

  const Hold* HoldOf(const Event& event) const {
    const auto found = contention_.holds.find(event.moment);
    const bool holds = found != contention_.holds.end() && weight_(event.moment, event.round) > 0;
    return holds ? &found->second : nullptr;
  }

  // Called at event.time, when everything that the moment waits for is over.
  void BecomeReady(const Event& event) {
    const Hold* hold = HoldOf(event);
    if (hold != nullptr && !Take(*hold)) {
      waiting_.insert(event);
    } else {
      Start(event, hold);
    }
  }
  void Start(const Event& event, const Hold* hold) {
    const uint64_t weight = weight_(event.moment, event.round);
    events_.push({AddTimes(now_, weight), true, event.round, event.moment});
    if (hold == nullptr) return;
    const uint64_t until = AddTimes(now_, std::min(hold->time, weight));
    events_.push({until, false, event.round, event.moment});
  }
  bool Take(const Hold& hold) {
    if (!cost::HasTokens(hold.resources, tokens_)) return false;
    for (uint32_t resource : hold.resources) --tokens_[resource];
    return true;
  }
  void GiveBack(const Event& event) {
    now_ = event.time;
    for (uint32_t resource : contention_.holds.at(event.moment).resources) ++tokens_[resource];
    for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
      const Hold& hold = contention_.holds.at(waiting->moment);
      if (!Take(hold)) {
        ++waiting;
        continue;
      }
      Start(*waiting, &hold);
      waiting = waiting_.erase(waiting);
    }
  }

  void End(const Event& event) {
    now_ = event.time;
    Round& row = Row(event.round);
    row.times[event.moment] = event.time;
    --row.left;
    for (uint32_t i = first_after_[event.moment]; i < first_after_[event.moment + 1]; ++i) {
      const PeriodicGraph::Edge& edge = *after_[i];
      if (edge.distance >= rounds_ - event.round) continue;
      const uint64_t round = event.round + edge.distance;
      if (--Row(round).open[edge.to] == 0) BecomeReady({now_, true, round, edge.to});
    }
    for (; !rows_.empty() && rows_.front().left == 0; ++first_) {
      see_(first_, rows_.front().times);
      rows_.pop_front();
    }
  }

  const PeriodicGraph& graph_;
  const Contention& contention_;
  const uint64_t rounds_;
  const std::function<uint64_t(uint32_t, uint64_t)>& weight_;
  const std::function<void(uint64_t, std::span<const uint64_t>)>& see_;
  std::vector<uint32_t> tokens_;
  std::vector<uint32_t> first_after_;
  std::vector<const PeriodicGraph::Edge*> after_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::set<Event> waiting_;  // by when they became ready
  std::deque<Round> rows_;   // of rounds first_ ..
  uint64_t first_ = 0, now_ = 0;
};

}  // namespace

Contention ContentionOf(const LaneTimes& lane_times, const Movements& movements,
                        const cost::Topology* topology) {
  Contention contention;
  if (topology == nullptr || !topology->machine) return contention;
  for (const cost::Resource& resource : topology->machine->resources) {
    contention.tokens.push_back(resource.capacity);
    contention.names.push_back(resource.name);
  }
  for (const auto& [moment, instruction] : lane_times.holders) {
    const cost::Movement& movement = movements.at(instruction);
    contention.holds[moment] = {movement.resources,
                                std::min(movement.held_ps, lane_times.weights[moment])};
  }
  return contention;
}

void ShareCores(const LaneTimes& lane_times, uint32_t cores, Contention& contention) {
  const auto core = static_cast<uint32_t>(contention.tokens.size());
  contention.tokens.push_back(cores);
  contention.names.push_back("cores");
  for (uint32_t moment = 0; moment < lane_times.weights.size(); ++moment) {
    if (lane_times.weights[moment] == 0) continue;
    Hold& hold = contention.holds[moment];
    hold.resources.push_back(core);
    hold.time = lane_times.weights[moment];
  }
}

void PlayContended(const PeriodicGraph& graph, const Contention& contention, uint64_t rounds,
                   const std::function<uint64_t(uint32_t, uint64_t)>& weight,
                   const std::function<void(uint64_t, std::span<const uint64_t>)>& see) {
  ContendedPlay(graph, contention, rounds, weight, see).Run();
}

}  // namespace cgraph
