#include "compiler/inspect/draw/order/order.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "compiler/inspect/graph_messages.h"

namespace cgraph {
namespace {

// Where in the program an operation may stand.
struct PlaceRange {
  uint32_t first = 0, last = 0;
};

// The last place of what only carries a value: that of the value's first use.
class IntervalFinder {
 public:
  IntervalFinder(const plan::Plan& plan, const plan::Graph& graph)
      : graph_(graph), index_(IndexMessages(plan, graph)), uses_(graph.buffers.size()),
        last_(graph.instructions.size()), received_(graph.parts.size(), plan::kNone) {
    for (uint32_t channel = 0; channel < graph.channels.size(); ++channel) {
      const auto sends = index_.sends(channel), receives = index_.receives(channel);
      for (size_t j = 0; j < std::min(sends.size(), receives.size()); ++j) {
        received_[sends[j].part] = receives[j].part;
      }
    }
  }

  // From the end of the program, so that what passes a value on is known before what brought it.
  std::vector<PlaceRange> Find() {
    std::vector<uint32_t> order(graph_.instructions.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return PlaceOf(a) > PlaceOf(b);
    });
    for (size_t i = 0; i < order.size();) {
      // Operations of one place do not use each other's results.
      size_t end = i;
      for (; end < order.size() && PlaceOf(order[end]) == PlaceOf(order[i]); ++end) {
        last_[order[end]] = LastPlaceOf(order[end]);
      }
      for (; i < end; ++i) AddUses(order[i]);
    }
    std::vector<PlaceRange> intervals;
    for (uint32_t i = 0; i < last_.size(); ++i) intervals.push_back({PlaceOf(i), last_[i]});
    return intervals;
  }

 private:
  struct Use {
    uint64_t begin, end;
    uint32_t place;
  };

  uint32_t PlaceOf(uint32_t instruction) const {
    return graph_.instructions[instruction].program_order();
  }

  uint32_t LastPlaceOf(uint32_t instruction) const {
    const plan::Instruction& at = graph_.instructions[instruction];
    if (at.kind() == plan::Kind::output) return plan::kNone;
    uint32_t last = plan::kNone;
    if (at.kind() == plan::Kind::comm) {
      for (uint32_t p = at.first(); p < at.first() + at.inputs(); ++p) {
        if (graph_.parts[p].part() == plan::Part::collective) return PlaceOf(instruction);
        const uint32_t receive = graph_.parts[p].part() == plan::Part::send ? received_[p] : p;
        if (receive == plan::kNone) return PlaceOf(instruction);
        const plan::CommPart& part = graph_.parts[receive];
        for (uint32_t i = 0; i < part.outputs(); ++i) {
          last = std::min(last, FirstUse(graph_.operands[part.first() + part.inputs() + i]));
        }
      }
    } else if (at.kind() == plan::Kind::copy || at.kind() == plan::Kind::input) {
      index_.ForEachOperand(instruction, [&](uint32_t value, bool write, uint32_t) {
        if (write) last = std::min(last, FirstUse(value));
      });
    } else {
      return PlaceOf(instruction);
    }
    return std::max(last, PlaceOf(instruction));
  }

  uint32_t FirstUse(uint32_t value_index) const {
    const plan::Value& value = graph_.values[value_index];
    uint32_t first = plan::kNone;
    for (const Use& use : uses_[value.buffer()]) {
      if (use.begin < value.offset() + value.bytes() && value.offset() < use.end) {
        first = std::min(first, use.place);
      }
    }
    return first;
  }

  void AddUses(uint32_t instruction) {
    index_.ForEachOperand(instruction, [&](uint32_t operand, bool write, uint32_t) {
      if (write) return;
      const plan::Value& value = graph_.values[operand];
      std::vector<Use>& uses = uses_[value.buffer()];
      const uint64_t begin = value.offset(), end = begin + value.bytes();
      // Accesses are visited backwards: this one is earlier than those that it covers.
      std::erase_if(uses, [&](const Use& use) {
        return begin <= use.begin && use.end <= end && use.place >= last_[instruction];
      });
      uses.push_back({begin, end, last_[instruction]});
    });
  }

  const plan::Graph& graph_;
  const plan::GraphIndex index_;
  std::vector<std::vector<Use>> uses_;  // by buffer, of what was visited
  std::vector<uint32_t> last_;          // by instruction
  std::vector<uint32_t> received_;      // by sending part: the part that receives it
};

// Finds for each interval, in the order of a lane, whether it stays in a largest set from which
// places can be chosen that never fall. From the end, let g(m) be the size of the largest set so
// far whose places are all m or more. An interval adds one to g(m) for m between its ends; below
// its first place g(m) is one more only where it is no larger than there, which is down to its next
// step. So each interval adds a step of g at its last place and removes the one next below its
// first.
std::vector<bool> LargestInOrder(const std::vector<PlaceRange>& intervals) {
  constexpr int64_t kBelow = -1;
  std::multiset<int64_t> steps;  // g(m): how many of them are m or more
  std::vector<int64_t> removed(intervals.size(), kBelow);
  for (size_t i = intervals.size(); i-- > 0;) {
    const auto at = steps.lower_bound(intervals[i].first);
    if (at != steps.begin()) {
      removed[i] = *std::prev(at);
      steps.erase(std::prev(at));
    }
    steps.insert(intervals[i].last);
  }
  std::vector<bool> stays(intervals.size());
  int64_t least = 0;  // that the places of those to come may have
  for (size_t i = 0; i < intervals.size(); ++i) {
    stays[i] = least <= intervals[i].last && least > removed[i];
    if (stays[i]) least = std::max<int64_t>(least, intervals[i].first);
  }
  return stays;
}

// Finds, for each interval that does not stay, one that it is on the wrong side of.
class LanePartners {
 public:
  explicit LanePartners(const std::vector<PlaceRange>& intervals) : intervals_(intervals) {
    least_after_.assign(intervals.size(), intervals.size());
    most_before_ = least_after_;
    for (size_t i = intervals.size(); i-- > 1;) {
      const size_t known = least_after_[i];
      const bool less = known == intervals.size() || intervals[i].last < intervals[known].last;
      least_after_[i - 1] = less ? i : known;
    }
    for (size_t i = 0; i + 1 < intervals.size(); ++i) {
      const size_t known = most_before_[i];
      const bool more = known == intervals.size() || intervals[i].first > intervals[known].first;
      most_before_[i + 1] = more ? i : known;
    }
  }

  size_t Of(size_t i) const {
    const size_t after = least_after_[i];
    if (after < intervals_.size() && intervals_[after].last < intervals_[i].first) return after;
    return most_before_[i];
  }

 private:
  const std::vector<PlaceRange>& intervals_;
  std::vector<size_t> least_after_, most_before_;  // as many as intervals: none
};

}  // namespace

std::vector<uint32_t> FindMoved(const plan::Plan& plan, const plan::Graph& graph,
                                const Operations& operations) {
  const std::vector<PlaceRange> places = IntervalFinder(plan, graph).Find();
  std::vector<uint32_t> moved(operations.all.size(), plan::kNone);
  for (const std::vector<uint32_t>& lane : operations.lanes) {
    std::vector<PlaceRange> intervals;
    for (uint32_t id : lane) {
      intervals.push_back(places[operations.all[id].instructions.front()]);
    }
    const std::vector<bool> stays = LargestInOrder(intervals);
    const LanePartners partners(intervals);
    for (size_t i = 0; i < lane.size(); ++i) {
      if (!stays[i]) moved[lane[i]] = lane[partners.Of(i)];
    }
  }
  return moved;
}

}  // namespace cgraph
