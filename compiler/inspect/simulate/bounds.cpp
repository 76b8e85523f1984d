#include "compiler/inspect/simulate/bounds.h"

#include <algorithm>
#include <limits>

#include "compiler/base/check.h"
#include "compiler/inspect/meetings.h"
#include "compiler/inspect/simulate/dependencies.h"
#include "compiler/inspect/simulate/periodic.h"

namespace cgraph {
namespace {

constexpr uint64_t kNoWork = std::numeric_limits<uint64_t>::max();

// Moment 2u is the start of unit u, 2u + 1 its end; a unit's time is at its end.
uint32_t Start(uint32_t unit) { return 2 * unit; }
uint32_t End(uint32_t unit) { return 2 * unit + 1; }

class Bounder {
 public:
  Bounder(const plan::Graph& graph, const std::vector<uint64_t>& durations, size_t lanes)
      : durations_(durations), lanes_(lanes), units_(FindUnits(graph)), weights_(units_.size(), 0) {
    for (uint32_t i = 0; i < durations.size(); ++i) {
      weights_[units_.of[i]] = AddTimes(weights_[units_.of[i]], durations[i]);
    }
    for (uint32_t unit = 0; unit < units_.size(); ++unit) {
      moments_.AddMoment();
      moments_.AddMoment();
      moments_.AddEdge(Start(unit), End(unit), 0);
    }
    for (const Dependency& dependency : FindDependencies(graph, units_)) {
      moments_.AddEdge(End(dependency.from), Start(dependency.to), dependency.distance);
    }
  }

  // A receive is not over before its send has begun and the bytes have moved, which takes a
  // rendezvous as long as the slower of its ends says.
  void AddChannel(const plan::Channel& channel, const ChannelEnds& ends) {
    const bool buffered =
        channel.protocol() == plan::Protocol::buffered && channel.capacity() > 0;
    for (size_t j = 0; j < std::min(ends.sends.size(), ends.receives.size()); ++j) {
      const uint32_t send = units_.of[ends.sends[j].instruction];
      const uint32_t receive = units_.of[ends.receives[j].instruction];
      if (!buffered) {
        Lengthen({ends.sends[j], ends.receives[j]});
      }
      if (units_.written[send] <= units_.written[receive]) {
        moments_.AddEdge(Start(send), End(receive), 0);
      }
    }
  }

  // All parts of a collective end when all have begun and the slowest has moved its bytes.
  void AddCollective(const std::vector<PartRef>& parts) {
    Lengthen(parts);
    const uint32_t meeting = moments_.AddMoment();
    for (const PartRef& part : parts) {
      const uint32_t unit = units_.of[part.instruction];
      if (units_.written[unit] == units_.written[units_.of[parts.front().instruction]]) {
        moments_.AddEdge(Start(unit), meeting, 0);
        moments_.AddEdge(meeting, End(unit), 0);
      }
    }
  }

  LowerBounds Bound(uint32_t executions) {
    std::vector<uint64_t> before(lanes_, kNoWork), after(lanes_, kNoWork), work(lanes_, 0);
    LowerBounds bounds;
    bounds.longest_path = LeastOutside(moments_, executions, before);
    LeastOutside(moments_.Reversed(), executions, after);
    for (uint32_t unit = 0; unit < units_.size(); ++unit) {
      work[units_.lane[unit]] = AddTimes(work[units_.lane[unit]], weights_[unit]);
    }
    for (size_t lane = 0; lane < lanes_; ++lane) {
      if (before[lane] == kNoWork) {
        continue;
      }
      const uint64_t all = work[lane] > kNoWork / executions ? kNoWork : work[lane] * executions;
      const uint64_t outside = AddTimes(before[lane], after[lane]);
      bounds.busiest_lane = std::max(bounds.busiest_lane, AddTimes(all, outside));
    }
    return bounds;
  }

 private:
  void Lengthen(const std::vector<PartRef>& parts) {
    uint64_t longest = 0;
    for (const PartRef& part : parts) {
      longest = std::max(longest, durations_[part.instruction]);
    }
    for (const PartRef& part : parts) {
      uint64_t& weight = weights_[units_.of[part.instruction]];
      weight = std::max(weight, longest);
    }
  }

  // By lane, the least time that passes before any of its work can begin (in the reversed graph:
  // after it); returns the longest path.
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

  const std::vector<uint64_t>& durations_;
  const size_t lanes_;
  const Units units_;
  std::vector<uint64_t> weights_;  // by unit
  PeriodicGraph moments_;
};

}  // namespace

LowerBounds BoundMakespan(const plan::Plan& plan, const plan::Graph& graph,
                          const std::vector<uint64_t>& durations, uint32_t executions) {
  if (executions == 0) {
    return {};
  }
  Bounder bounder(graph, durations, graph.programs.size());
  const Meetings meetings = FindMeetings(plan, graph);
  for (uint32_t channel = 0; channel < meetings.channels.size(); ++channel) {
    bounder.AddChannel(graph.channels[channel], meetings.channels[channel]);
  }
  for (const std::vector<PartRef>& parts : meetings.collectives) {
    bounder.AddCollective(parts);
  }
  return bounder.Bound(executions);
}

}  // namespace cgraph
