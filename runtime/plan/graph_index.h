// GraphIndex: facts that a graph's flat tables say only implicitly. Those are the lane of each
// instruction, the two ends of each message, where a device finds an extent, and which bytes an
// instruction touches. The check and the prover both read a graph through it, and nothing of it is
// stored in a plan.
#ifndef CGRAPH_RUNTIME_PLAN_GRAPH_INDEX_H_
#define CGRAPH_RUNTIME_PLAN_GRAPH_INDEX_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph::plan {

// Returns a plan's graph by its number; kNone: the start graph.
inline const Graph& GraphAt(const Plan& plan, uint32_t number) {
  return number == kNone ? *plan.start : *plan.graphs[number];
}
inline Graph& GraphAt(Plan& plan, uint32_t number) {
  return number == kNone ? *plan.start : *plan.graphs[number];
}

// Lists: a number of lists that lie one after the other.
template <typename Entry>
class Lists {
 public:
  Lists() = default;  // of any number of lists all are empty
  // `for_each(add)` calls add(list, entry) for every entry, in the order of each list. It is called
  // twice, since the entries are counted first.
  template <typename ForEach>
  Lists(size_t lists, const ForEach& for_each) : first_(lists + 1, 0) {
    for_each([&](uint32_t list, const Entry&) { ++first_[list + 1]; });
    for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    entries_.resize(first_.back());
    std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
    for_each([&](uint32_t list, const Entry& entry) { entries_[next[list]++] = entry; });
  }

  std::span<const Entry> of(uint32_t list) const {
    if (first_.empty()) return {};
    return std::span(entries_).subspan(first_[list], first_[list + 1] - first_[list]);
  }
  // Sorts the entries of each list.
  template <typename Less>
  void Sort(const Less& less) {
    for (size_t i = 0; i + 1 < first_.size(); ++i) {
      std::sort(entries_.begin() + first_[i], entries_.begin() + first_[i + 1], less);
    }
  }

 private:
  std::vector<uint32_t> first_;
  std::vector<Entry> entries_;
};

// One send or receive of a round.
struct Message {
  uint32_t instruction = 0;
  uint32_t part = 0;
};

// One member's part of a collective.
struct CollectivePart {
  uint32_t communicator = 0;
  uint32_t turn = 0;    // the how manyth collective of a round on this communicator and lane
  uint32_t member = 0;  // position among the communicator's members
  uint32_t instruction = 0;
  uint32_t part = 0;
};

// One operand's bytes, as an instruction reads or writes them.
struct Access {
  uint32_t instruction = 0;
  uint32_t value = 0;
  uint32_t program_order = 0;
  bool write = false;
  uint64_t begin = 0, end = 0;  // in its buffer
};

// Says on which extents the present bytes of a value with symbols depend: its address, its bytes at
// the bound, and the symbols that scale them. Empty for a static value. Where two results are
// equal, one access covers the other in every execution.
std::vector<uint64_t> ScaledBy(const Graph& graph, const Access& access);

class GraphIndex {
 public:
  // Needs a graph whose programs partition its instructions and whose extents are in bounds.
  GraphIndex(const Plan& plan, const Graph& graph);
  // Indexes sends, receives and collectives. Needs comms whose parts are in bounds, and channels
  // and communicators that are.
  void IndexMessages();

  const Plan& plan() const { return plan_; }
  const Graph& graph() const { return graph_; }
  // Returns whether this is the start graph: one round, one execution, whatever it says of itself.
  bool runs_once() const { return &graph_ == plan_.start.get(); }

  uint32_t lane(uint32_t instruction) const { return lane_of_[instruction]; }
  uint32_t device(uint32_t instruction) const { return plan_.lanes[lane(instruction)].device(); }
  uint32_t position(uint32_t instruction) const {
    return instruction - graph_.programs[lane(instruction)].first();
  }
  uint32_t length(uint32_t lane) const { return graph_.programs[lane].count(); }

  // Return the messages in the order of the lane that sends, and of the lane that receives.
  std::span<const Message> sends(uint32_t channel) const { return sends_.of(channel); }
  std::span<const Message> receives(uint32_t channel) const { return receives_.of(channel); }
  // Returns the parts of collectives by communicator, turn, member.
  std::span<const CollectivePart> collective_parts() const { return collective_parts_; }

  // Returns the value in which the device finds the symbol's extent; kNone when it has none.
  uint32_t ExtentValue(uint32_t symbol, uint32_t device) const;

  // Calls visit(value, write, part) for every operand of an instruction. `part` is kNone except for
  // comms.
  template <typename Visit>
  void ForEachOperand(uint32_t instruction, Visit visit) const;
  // Calls visit(symbol, value, part) for every symbol whose extent the instruction needs to know
  // before it starts, once per operand that has it. A part that is moved at the bound needs none.
  template <typename Visit>
  void ForEachSymbol(uint32_t instruction, Visit visit) const;
  // Calls visit(value, write) for operands and the extents that are read with them. An instruction
  // that makes an extent does not read it.
  template <typename Visit>
  void ForEachAccess(uint32_t instruction, Visit visit) const;

 private:
  Lists<Message> MessagesOf(Part part) const;
  void IndexCollectives();

  const Plan& plan_;
  const Graph& graph_;
  std::vector<uint32_t> lane_of_;
  std::vector<std::pair<uint64_t, uint32_t>> extents_;  // symbol and device -> value, sorted
  Lists<Message> sends_, receives_;
  std::vector<CollectivePart> collective_parts_;
};

// Cuts the bytes of a buffer into pieces where accesses begin and end: sets the ends of the pieces.
void CutIntoPieces(std::span<const Access> accesses, std::vector<uint64_t>& ends);
// Returns the number of the piece that begins at one of the ends.
inline size_t PieceAt(const std::vector<uint64_t>& ends, uint64_t end) {
  return std::lower_bound(ends.begin(), ends.end(), end) - ends.begin();
}

// Returns the accesses of every buffer, in program order; reads stand before writes of the same
// position.
Lists<Access> AccessesByBuffer(const GraphIndex& index);

template <typename Visit>
void GraphIndex::ForEachOperand(uint32_t instruction, Visit visit) const {
  const Instruction& at = graph_.instructions[instruction];
  auto visit_range = [&](uint32_t first, uint32_t inputs, uint32_t outputs, uint32_t part) {
    for (uint32_t i = 0; i < inputs + outputs; ++i) {
      visit(graph_.operands[first + i], i >= inputs, part);
    }
  };
  switch (at.kind()) {
    case Kind::signal:
    case Kind::wait:
      return;
    case Kind::comm:
      for (uint32_t p = at.first(); p < at.first() + at.inputs(); ++p) {
        const CommPart& part = graph_.parts[p];
        visit_range(part.first(), part.inputs(), part.outputs(), p);
      }
      return;
    default:
      visit_range(at.first(), at.inputs(), at.outputs(), kNone);
  }
}

template <typename Visit>
void GraphIndex::ForEachSymbol(uint32_t instruction, Visit visit) const {
  if (graph_.symbols.empty()) return;
  ForEachOperand(instruction, [&](uint32_t id, bool, uint32_t part) {
    if (part != kNone && (graph_.parts[part].flags() & kAtBound) != 0) return;
    const Value& value = graph_.values[id];
    for (uint32_t d = 0; d < value.rank(); ++d) {
      const uint32_t symbol = graph_.dims[value.first_dim() + d].symbol();
      if (symbol != kNone) visit(symbol, id, part);
    }
  });
}

template <typename Visit>
void GraphIndex::ForEachAccess(uint32_t instruction, Visit visit) const {
  ForEachOperand(instruction, [&](uint32_t value, bool write, uint32_t) { visit(value, write); });
  if (graph_.symbols.empty()) return;
  std::vector<uint32_t> extents, made;
  ForEachSymbol(instruction, [&](uint32_t symbol, uint32_t, uint32_t) {
    extents.push_back(ExtentValue(symbol, device(instruction)));
  });
  if (extents.empty()) return;
  ForEachOperand(instruction, [&](uint32_t value, bool write, uint32_t) {
    if (write) made.push_back(value);
  });
  std::sort(extents.begin(), extents.end());
  extents.erase(std::unique(extents.begin(), extents.end()), extents.end());
  std::sort(made.begin(), made.end());
  for (uint32_t extent : extents) {
    if (!std::binary_search(made.begin(), made.end(), extent)) visit(extent, false);
  }
}

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_GRAPH_INDEX_H_
