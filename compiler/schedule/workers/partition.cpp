#include "compiler/schedule/workers/partition.h"

#include <algorithm>
#include <vector>

#include "runtime/plan/placement.h"
#include "compiler/schedule/workers/round.h"

namespace cgraph::schedule {

namespace {

constexpr int64_t kEffort = 2'000'000;  // instructions gone through, some 20 ms

using Workers = std::vector<uint32_t>;  // by device

class Partitioner {
 public:
  Partitioner(plan::Plan& plan, const PartitionOptions& options)
      : plan_(plan), options_(options), devices_(plan::BusyDevices(plan)) {
    for (const auto& graph : plan.graphs) rounds_.emplace_back(*graph);
  }

  void Run() {
    workers_ = std::min(options_.workers, static_cast<uint32_t>(devices_.size()) + 1);
    best_ = plan::InShares(plan_, devices_, workers_);
    if (Affordable()) Search();
    Write();
    if (Affordable()) Rearrange();
  }

 private:
  // Returns whether a few rounds can be played at all: a plan may state lags without end.
  bool Affordable() const {
    uint64_t effort = 0;
    for (size_t i = 0; i < rounds_.size(); ++i) {
      effort += rounds_[i].Effort(Many(i)) + rounds_[i].Kept();
    }
    return effort <= kEffort / 4;
  }
  uint32_t Many(size_t graph) const {
    const uint32_t inflight = std::max(1u, plan_.graphs[graph]->inflight);
    return std::min(2 * inflight, 16u);
  }

  std::vector<uint32_t> LanesOf(const Workers& workers) const {
    std::vector<uint32_t> of;
    for (const plan::LaneInfo& lane : plan_.lanes) of.push_back(workers[lane.device()]);
    return of;
  }

  // Times: the ends of one execution and of several, over all graphs.
  struct Times {
    uint64_t one = 0, many = 0;
    bool NoWorse(const Times& than) const { return one <= than.one && many <= than.many; }
    uint64_t sum() const { return one + many; }
  };
  Times TimeOf(const Workers& workers) {
    Times times;
    const std::vector<uint32_t> lanes = LanesOf(workers);
    for (size_t i = 0; i < rounds_.size(); ++i) {
      times.one += rounds_[i].Play(lanes, 1, options_.hop);
      times.many += rounds_[i].Play(lanes, Many(i), options_.hop);
      left_ -= static_cast<int64_t>(rounds_[i].Effort(1 + Many(i)));
    }
    return times;
  }

  void Search() {
    const Times shares = TimeOf(best_);
    now_ = shares;
    Try(InTurns(), shares);
    Try(ByLoad(), shares);
    if (options_.hop > 0) Try(Workers(plan_.devices.size(), 0), shares);
    while (left_ > 0 && Improve(shares)) {
    }
  }

  // Tries a partition; returns whether it is now the best. The best is no worse than equal shares
  // in any respect.
  bool Try(const Workers& workers, const Times& shares) {
    const Times times = TimeOf(workers);
    if (!times.NoWorse(shares) || times.sum() >= now_.sum()) return false;
    best_ = workers;
    now_ = times;
    return true;
  }

  // Tries to move one device to another worker, or to exchange two.
  bool Improve(const Times& shares) {
    for (size_t i = 0; i < devices_.size() && left_ > 0; ++i) {
      for (uint32_t worker = 0; worker < workers_; ++worker) {
        Workers other = best_;
        other[devices_[i]] = worker;
        if (worker != best_[devices_[i]] && left_ > 0 && Try(other, shares)) return true;
      }
      for (size_t j = i + 1; j < devices_.size() && left_ > 0; ++j) {
        Workers other = best_;
        std::swap(other[devices_[i]], other[devices_[j]]);
        if (other != best_ && Try(other, shares)) return true;
      }
    }
    return false;
  }

  Workers InTurns() const {
    Workers workers(plan_.devices.size(), 0);
    for (size_t i = 0; i < devices_.size(); ++i) {
      workers[devices_[i]] = static_cast<uint32_t>(i % workers_);
    }
    return workers;
  }

  // Deals the device with most work first, to the worker that has least.
  Workers ByLoad() const {
    std::vector<uint64_t> loads(plan_.devices.size(), 0), sums(workers_, 0);
    for (const auto& graph : plan_.graphs) {
      for (uint32_t lane = 0; lane < graph->programs.size(); ++lane) {
        const plan::Range& range = graph->programs[lane];
        for (uint32_t i = range.first(); i < range.first() + range.count(); ++i) {
          const plan::Instruction& instruction = graph->instructions[i];
          const plan::Kind kind = instruction.kind();
          if (kind != plan::Kind::call && kind != plan::Kind::copy) continue;
          loads[plan_.lanes[lane].device()] += instruction.expected();
        }
      }
    }
    std::vector<uint32_t> order = devices_;
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return loads[a] > loads[b]; });
    Workers workers(plan_.devices.size(), 0);
    for (uint32_t device : order) {
      const auto least = std::min_element(sums.begin(), sums.end()) - sums.begin();
      workers[device] = static_cast<uint32_t>(least);
      sums[least] += loads[device];
    }
    return workers;
  }

  // Writes the partition into the plan. Workers without a device are left out, except for the
  // caller's.
  void Write() {
    std::vector<uint32_t> numbers(workers_, plan::kNone);
    uint32_t count = 1;
    numbers[0] = 0;
    for (uint32_t device : devices_) {
      uint32_t& number = numbers[best_[device]];
      if (number == plan::kNone) number = count++;
    }
    for (uint32_t& worker : best_) worker = numbers[worker];
    for (plan::LaneInfo& lane : plan_.lanes) lane.mutate_worker(best_[lane.device()]);
    plan_.workers = count;
  }

  void Rearrange() {
    const std::vector<uint32_t> lanes = LanesOf(best_);
    for (size_t i = 0; i < rounds_.size(); ++i) {
      plan::Graph& graph = *plan_.graphs[i];
      const std::vector<uint32_t> positions = rounds_[i].Rearranged(lanes);
      if (positions.empty()) continue;
      const Times before = TimeOfGraph(rounds_[i], i, lanes);
      std::vector<uint32_t> old;
      for (const plan::Instruction& instruction : graph.instructions)
        old.push_back(instruction.certificate_position());
      SetOrder(positions, graph);
      const Times after = TimeOfGraph(Round(graph), i, lanes);
      if (!after.NoWorse(before) || after.sum() == before.sum()) SetOrder(old, graph);
    }
  }
  Times TimeOfGraph(const Round& round, size_t graph, const std::vector<uint32_t>& lanes) const {
    return {round.Play(lanes, 1, options_.hop), round.Play(lanes, Many(graph), options_.hop)};
  }
  static void SetOrder(const std::vector<uint32_t>& positions, plan::Graph& graph) {
    for (uint32_t i = 0; i < positions.size(); ++i) {
      graph.instructions[i].mutate_certificate_position(positions[i]);
    }
  }

  plan::Plan& plan_;
  const PartitionOptions options_;
  const std::vector<uint32_t> devices_;  // that have work
  std::vector<Round> rounds_;            // by graph
  uint32_t workers_ = 1;
  Workers best_;
  Times now_;
  int64_t left_ = kEffort;
};

}  // namespace

void Partition(plan::Plan& plan, const PartitionOptions& options) {
  if (plan::HasWorkers(plan, options.workers)) return;
  Partitioner(plan, options).Run();
}

}  // namespace cgraph::schedule
