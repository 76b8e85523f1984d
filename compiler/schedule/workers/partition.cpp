#include "compiler/schedule/workers/partition.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "compiler/schedule/workers/round.h"
#include "runtime/plan/placement.h"

namespace cgraph::schedule {

namespace {

constexpr int64_t kEffort = 2'000'000;  // instructions gone through, some 20 ms
// A plan carries several partitions beside its own, so each gets less.
constexpr int64_t kEffortOfEach = kEffort / 8;

using Workers = std::vector<uint32_t>;  // by device

std::vector<uint32_t> PositionsOf(const plan::Graph& graph) {
  std::vector<uint32_t> positions;
  for (const plan::Instruction& instruction : graph.instructions) {
    positions.push_back(instruction.certificate_position());
  }
  return positions;
}

// Partitioner: finds the partition of a plan for some number of workers.
class Partitioner {
 public:
  Partitioner(plan::Plan& plan, uint32_t workers, uint64_t hop, int64_t effort)
      : plan_(plan), hop_(hop), devices_(plan::BusyDevices(plan)), left_(effort) {
    for (const auto& graph : plan.graphs) rounds_.emplace_back(*graph);
    workers_ = std::min(workers, static_cast<uint32_t>(devices_.size()) + 1);
  }

  // Returns the partition. The plan is as before.
  std::unique_ptr<plan::Partition> Run() {
    best_ = plan::InShares(plan_, devices_, workers_);
    if (Affordable()) Search();
    auto made = std::make_unique<plan::Partition>();
    made->workers = workers_;
    made->worker_of_lane = LanesOf(best_);
    for (size_t i = 0; i < rounds_.size(); ++i) {
      made->certificates.push_back(std::make_unique<plan::Certificate>());
      if (!Affordable()) continue;
      made->certificates.back()->positions = BetterCertificate(i, made->worker_of_lane);
      found_ |= !made->certificates.back()->positions.empty();
    }
    return made;
  }

  // Returns whether Run() has found anything better than equal shares and the plan's certificate.
  bool found() const { return found_; }

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
      times.one += rounds_[i].Play(lanes, 1, hop_);
      times.many += rounds_[i].Play(lanes, Many(i), hop_);
      left_ -= static_cast<int64_t>(rounds_[i].Effort(1 + Many(i)));
    }
    return times;
  }

  void Search() {
    const Times shares = TimeOf(best_);
    now_ = shares;
    Try(InTurns(), shares);
    Try(ByLoad(), shares);
    if (hop_ > 0) Try(Workers(plan_.devices.size(), 0), shares);
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
    found_ = true;
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

  // Returns the positions of a certificate with which the graph is sooner on these workers than
  // with its own; empty: none was found.
  std::vector<uint32_t> BetterCertificate(size_t i, const std::vector<uint32_t>& lanes) {
    plan::Graph& graph = *plan_.graphs[i];
    std::vector<uint32_t> positions = rounds_[i].Rearranged(lanes);
    if (positions.empty()) return {};
    const Times before = TimeOfGraph(rounds_[i], i, lanes);
    const std::vector<uint32_t> own = PositionsOf(graph);
    plan::SetCertificate(positions, graph);
    const Times after = TimeOfGraph(Round(graph), i, lanes);
    plan::SetCertificate(own, graph);
    if (!after.NoWorse(before) || after.sum() == before.sum()) positions.clear();
    return positions;
  }
  Times TimeOfGraph(const Round& round, size_t graph, const std::vector<uint32_t>& lanes) const {
    return {round.Play(lanes, 1, hop_), round.Play(lanes, Many(graph), hop_)};
  }
  plan::Plan& plan_;
  const uint64_t hop_;
  const std::vector<uint32_t> devices_;  // that have work
  std::vector<Round> rounds_;            // by graph
  uint32_t workers_ = 1;
  Workers best_;
  Times now_;
  bool found_ = false;
  int64_t left_;  // of the effort
};

// Renumbers the workers by their first device, the caller's first, and leaves out those without a
// lane.
void LeaveOutIdle(plan::Partition& partition) {
  std::vector<uint32_t> numbers(partition.workers, plan::kNone);
  uint32_t count = 1;
  numbers[0] = 0;
  for (uint32_t& worker : partition.worker_of_lane) {
    if (numbers[worker] == plan::kNone) numbers[worker] = count++;
    worker = numbers[worker];
  }
  partition.workers = count;
}

// Returns the numbers of workers for which a plan carries partitions: those of most machines.
std::vector<uint32_t> CountsBelow(uint32_t workers) {
  std::vector<uint32_t> counts;
  for (uint32_t count = 2; count < workers; count < 8 ? ++count : count *= 2) {
    counts.push_back(count);
  }
  return counts;
}

}  // namespace

void Partition(plan::Plan& plan, const PartitionOptions& options) {
  if (plan::HasWorkers(plan, options.workers)) return;
  Partitioner partitioner(plan, options.workers, options.hop, kEffort);
  const std::unique_ptr<plan::Partition> found = partitioner.Run();
  LeaveOutIdle(*found);
  plan::Follow(*found, plan);
}

void AddPartitions(plan::Plan& plan) {
  const bool one_node = std::all_of(plan.devices.begin(), plan.devices.end(),
                                    [](const auto& device) { return device->node == 0; });
  if (!one_node) return;
  std::vector<std::unique_ptr<plan::Partition>> partitions;
  bool any = false;
  for (uint32_t count : CountsBelow(plan.workers)) {
    Partitioner partitioner(plan, count, 0, kEffortOfEach);
    partitions.push_back(partitioner.Run());
    any |= partitioner.found();
  }
  if (any) plan.partitions = std::move(partitions);
}

void PartitionFor(plan::Plan& plan, uint32_t workers) {
  if (plan::HasWorkers(plan, workers)) return;
  Partitioner partitioner(plan, workers, 0, kEffort);
  std::unique_ptr<plan::Partition> exact = partitioner.Run();
  for (size_t i = 0; i < plan.graphs.size(); ++i) {  // the plan's own certificate will be another
    std::vector<uint32_t>& positions = exact->certificates[i]->positions;
    if (positions.empty()) positions = PositionsOf(*plan.graphs[i]);
  }
  Partition(plan, {.workers = workers, .hop = kHop});
  if (plan.workers != exact->workers) plan.partitions.push_back(std::move(exact));
}

}  // namespace cgraph::schedule
