#include "compiler/inspect/simulate/bounds.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "compiler/base/check.h"
#include "compiler/inspect/graph_messages.h"
#include "compiler/inspect/simulate/data_flow.h"
#include "compiler/inspect/simulate/periodic.h"

namespace cgraph {
namespace {

constexpr uint64_t kNoWork = std::numeric_limits<uint64_t>::max();

// Moment 2u is the start of unit u, 2u + 1 its end; a unit's time is at its end.
uint32_t Start(uint32_t unit) { return 2 * unit; }
uint32_t End(uint32_t unit) { return 2 * unit + 1; }

class Bounder {
 public:
  Bounder(const plan::Plan& plan, const plan::Graph& graph, const std::vector<uint64_t>& durations)
      : graph_(graph), index_(IndexMessages(plan, graph)), durations_(durations),
        units_(FindUnits(graph)), weights_(units_.size(), 0) {
    for (uint32_t i = 0; i < durations.size(); ++i) {
      weights_[units_.of[i]] = AddTimes(weights_[units_.of[i]], durations[i]);
    }
    for (uint32_t unit = 0; unit < units_.size(); ++unit) {
      moments_.AddMoment();
      moments_.AddMoment();
      moments_.AddEdge(Start(unit), End(unit), 0);
    }
    for (const Dependency& dependency : DataFlowOf(index_, units_)) {
      moments_.AddEdge(End(dependency.from), Start(dependency.to), dependency.distance);
    }
    for (uint32_t channel = 0; channel < graph.channels.size(); ++channel) AddChannel(channel);
    for (const CollectiveParts parts : CollectivesOf(index_)) AddCollective(parts);
  }

  // A receive is not over before its send has begun and the bytes have moved, which takes a
  // rendezvous as long as the slower of its ends says. A buffered message is put into its slot
  // first.
  void AddChannel(uint32_t number) {
    const plan::Channel& channel = graph_.channels[number];
    const auto sends = index_.sends(number), receives = index_.receives(number);
    const bool buffered = channel.protocol() == plan::Protocol::buffered && channel.capacity() > 0;
    for (size_t j = 0; j < std::min(sends.size(), receives.size()); ++j) {
      const uint32_t send = units_.of[sends[j].instruction];
      const uint32_t receive = units_.of[receives[j].instruction];
      if (!buffered) {
        const std::array ends = {sends[j], receives[j]};
        Lengthen(std::span<const plan::Message>(ends));
      }
      if (units_.program_order[send] <= units_.program_order[receive]) {
        moments_.AddEdge(buffered ? End(send) : Start(send), End(receive), 0);
      }
    }
  }

  // All parts of a collective end when all have begun and the slowest has moved its bytes.
  void AddCollective(CollectiveParts parts) {
    Lengthen(parts);
    const uint32_t meeting = moments_.AddMoment();
    for (const plan::CollectivePart& part : parts) {
      const uint32_t unit = units_.of[part.instruction];
      if (units_.program_order[unit] ==
          units_.program_order[units_.of[parts.front().instruction]]) {
        moments_.AddEdge(Start(unit), meeting, 0);
        moments_.AddEdge(meeting, End(unit), 0);
      }
    }
  }

  void Bound(uint32_t executions, LowerBounds& bounds) {
    const size_t lanes = graph_.programs.size();
    std::vector<uint64_t> before(lanes, kNoWork), after(lanes, kNoWork), work(lanes, 0);
    bounds.longest_path = LeastOutside(moments_, executions, before);
    LeastOutside(moments_.Reversed(), executions, after);
    for (uint32_t unit = 0; unit < units_.size(); ++unit) {
      work[units_.lane[unit]] = AddTimes(work[units_.lane[unit]], weights_[unit]);
    }
    for (size_t lane = 0; lane < lanes; ++lane) {
      if (before[lane] == kNoWork) {
        continue;
      }
      const uint64_t all = work[lane] > kNoWork / executions ? kNoWork : work[lane] * executions;
      const uint64_t outside = AddTimes(before[lane], after[lane]);
      bounds.through_lane = std::max(bounds.through_lane, AddTimes(all, outside));
    }
  }

 private:
  // Parts that happen together take as long as the slowest of them.
  template <typename Part>
  void Lengthen(std::span<const Part> parts) {
    uint64_t longest = 0;
    for (const Part& part : parts) {
      longest = std::max(longest, durations_[part.instruction]);
    }
    for (const Part& part : parts) {
      uint64_t& weight = weights_[units_.of[part.instruction]];
      weight = std::max(weight, longest);
    }
  }

  // Returns the longest path. Sets by lane the least time that passes before any of its work can
  // begin (in the reversed graph: after it).
  uint64_t LeastOutside(PeriodicGraph moments, uint32_t executions,
                        std::vector<uint64_t>& least) const {
    const bool acyclic = moments.Sort().empty();
    CGRAPH_CHECK(acyclic, "bounds", "the dependencies of a plan have a cycle");
    const auto weight = [&](uint32_t moment, uint64_t) {
      const bool end = moment < 2 * units_.size() && moment % 2 == 1;
      return end ? weights_[moment / 2] : 0;
    };
    uint64_t longest = 0;
    moments.Play(executions, weight, [&](uint64_t, std::span<const uint64_t> times) {
      for (uint32_t unit = 0; unit < units_.size(); ++unit) {
        const uint64_t end = times[End(unit)];
        longest = std::max(longest, end);
        if (weights_[unit] > 0) {
          least[units_.lane[unit]] = std::min(least[units_.lane[unit]], end - weights_[unit]);
        }
      }
    });
    return longest;
  }

  const plan::Graph& graph_;
  const plan::GraphIndex index_;
  const std::vector<uint64_t>& durations_;
  const Units units_;
  std::vector<uint64_t> weights_;  // by unit
  PeriodicGraph moments_;
};

// Bounds by resources: whatever the order, the transfers through a resource take their time there.
void BoundByResources(const Contention& contention, uint32_t executions, LowerBounds& bounds) {
  std::vector<uint64_t> held(contention.tokens.size(), 0);
  for (const auto& [moment, hold] : contention.holds) {
    for (uint32_t resource : hold.resources) {
      held[resource] = AddTimes(held[resource], hold.time);
    }
  }
  for (size_t i = 0; i < held.size(); ++i) {
    const auto all = static_cast<unsigned __int128>(held[i]) * executions;
    const auto bound = static_cast<uint64_t>(
        std::min<unsigned __int128>(all / contention.tokens[i], UINT64_MAX));
    if (bound <= bounds.busiest_resource) continue;
    bounds.busiest_resource = bound;
    bounds.resource = contention.names[i];
  }
}

// Bounds by workers: one worker does the work of its lanes one after the other; in a collective or
// a transfer several of its lanes take part at once.
void BoundByWorkers(const plan::Graph& graph, const plan::Placement& placement,
                    const std::vector<uint64_t>& durations, uint32_t executions,
                    LowerBounds& bounds) {
  for (const std::vector<uint32_t>& work_queue : plan::WorkQueuesOf(placement, graph)) {
    uint64_t work = 0;
    for (uint32_t i : work_queue) {
      if (graph.instructions[i].kind() != plan::Kind::comm) work = AddTimes(work, durations[i]);
    }
    const auto all = static_cast<unsigned __int128>(work) * executions;
    bounds.busiest_worker =
        std::max(bounds.busiest_worker,
                 static_cast<uint64_t>(std::min<unsigned __int128>(all, UINT64_MAX)));
  }
}

}  // namespace

LowerBounds BoundMakespan(const plan::Plan& plan, const plan::Graph& graph,
                          const std::vector<uint64_t>& durations, uint32_t executions,
                          const Contention& contention, const plan::Placement* placement) {
  LowerBounds bounds;
  if (executions == 0) return bounds;
  Bounder(plan, graph, durations).Bound(executions, bounds);
  BoundByResources(contention, executions, bounds);
  if (placement != nullptr) BoundByWorkers(graph, *placement, durations, executions, bounds);
  return bounds;
}

}  // namespace cgraph
