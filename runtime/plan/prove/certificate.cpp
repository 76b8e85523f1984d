// Rule 12, how many executions are in progress at once, and rule 13, certificates (docs/plan.md).
#include "runtime/plan/prove/rules.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace cgraph::plan::prove {
namespace {

Verdict Refuse(Refusal refusal, std::string message, const GraphIndex& index,
               std::initializer_list<uint32_t> instructions) {
  Verdict verdict;
  verdict.refusal = refusal;
  verdict.message = std::move(message);
  for (uint32_t instruction : instructions) {
    verdict.steps.push_back(MakeStep(index, instruction));
    verdict.message += "\n  " + verdict.steps.back().text;
  }
  return verdict;
}

// Of each lane how far along its endless list an instruction is, and which that is.
using Extremes = std::map<uint32_t, std::pair<uint64_t, uint32_t>>;

// Keeps one instruction of each lane: the furthest, or the nearest.
void KeepExtreme(const GraphIndex& index, uint32_t instruction, bool furthest, Extremes& extremes) {
  const uint32_t lane = index.lane(instruction);
  const uint64_t along =
      index.position(instruction) +
      uint64_t{index.graph().instructions[instruction].lag()} * index.length(lane);
  const auto [found, first] = extremes.emplace(lane, std::pair(along, instruction));
  if (!first && (furthest ? along > found->second.first : along < found->second.first)) {
    found->second = {along, instruction};
  }
}

bool Works(const Instruction& instruction) {
  return instruction.kind() == Kind::call || instruction.kind() == Kind::copy ||
         instruction.kind() == Kind::load;
}

// A node, and the distance at which a search finds it.
using AtDistance = std::pair<uint32_t, int64_t>;

// Returns by node the least distance of a path from `sources`; kUnordered for nodes that no path of
// at most `longest` reaches. `credit`: paths through credit edges count, too.
std::vector<int64_t> DistancesFrom(const ConstraintGraph& constraints, const Lists<uint32_t>& out,
                                   const std::vector<AtDistance>& sources, int64_t longest,
                                   bool credit) {
  std::vector<int64_t> distances(constraints.nodes(), kUnordered);
  std::vector<std::vector<uint32_t>> reached(longest + 1);  // by distance; perhaps by a longer way
  for (const auto& [node, distance] : sources) {
    distances[node] = distance;
    reached[distance].push_back(node);
  }
  for (int64_t distance = 0; distance <= longest; ++distance) {
    for (size_t i = 0; i < reached[distance].size(); ++i) {
      const uint32_t from = reached[distance][i];
      if (distances[from] < distance) continue;
      for (uint32_t id : out.of(from)) {
        const Edge& edge = constraints.edges()[id];
        const int64_t there = distance + edge.distance;
        if ((edge.credit && !credit) || there > longest || there >= distances[edge.to]) continue;
        distances[edge.to] = there;
        reached[there].push_back(edge.to);
      }
    }
  }
  return distances;
}

// Adds where an execution of a graph without inputs begins, for rule 12: the work that no other
// work of the execution comes before. Work y of the same execution is before x when D(y, x) <=
// lag(x) - lag(y), where D is the distance of rule 9, so the search starts at each y with its lag.
void AddFirstWork(const ConstraintGraph& constraints, const Lists<uint32_t>& out,
                  Extremes& begins) {
  const auto& instructions = constraints.index().graph().instructions;
  std::vector<AtDistance> works;
  int64_t longest = 0;
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    if (!Works(instructions[i])) continue;
    works.emplace_back(constraints.done(i), instructions[i].lag());
    longest = std::max<int64_t>(longest, instructions[i].lag());
  }
  const std::vector<int64_t> after = DistancesFrom(constraints, out, works, longest, false);
  std::vector<uint8_t> comes_first(instructions.size(), 1);
  for (const Edge& edge : constraints.edges()) {
    const uint32_t to = constraints.instruction(edge.to);
    if (to == kNone || edge.credit || after[edge.from] == kUnordered) continue;
    if (after[edge.from] + edge.distance <= instructions[to].lag()) comes_first[to] = 0;
  }
  for (const auto& [work, lag] : works) {
    if (comes_first[work] != 0) KeepExtreme(constraints.index(), work, /*furthest=*/true, begins);
  }
}

// Positions in a certificate. A capture's launch must stand after everything that the capture waits
// for: its own node has the position of its first instruction, and its end that of its last.
class Positions {
 public:
  // `positions`: of another certificate, by instruction; empty: of the graph's own.
  Positions(const ConstraintGraph& constraints, const std::vector<uint32_t>& positions)
      : constraints_(constraints), positions_(positions) {
    const auto count = constraints.index().graph().instructions.size();
    for (uint32_t i = 0; !constraints.captures().empty() && i < count; ++i) {
      const auto* capture = constraints.CaptureOf(i);
      if (capture == nullptr) continue;
      const uint32_t position = of_instruction(i);
      uint32_t& first = captures_.emplace(capture->launch, position).first->second;
      first = std::min(first, position);
      uint32_t& last = captures_.emplace(capture->end, position).first->second;
      last = std::max(last, position);
    }
  }
  uint32_t of_instruction(uint32_t i) const {
    if (!positions_.empty()) return positions_[i];
    return constraints_.index().graph().instructions[i].certificate_position();
  }
  // Returns the position of a node; kNone for hubs, which have none.
  uint32_t of(uint32_t node) const {
    const uint32_t instruction = constraints_.instruction(node);
    if (instruction != kNone) return of_instruction(instruction);
    const auto found = captures_.find(node);
    return found == captures_.end() ? kNone : found->second;
  }

 private:
  const ConstraintGraph& constraints_;
  const std::vector<uint32_t>& positions_;
  std::map<uint32_t, uint32_t> captures_;
};

// Returns an instruction that stands for a node in the text of an error: its own. A hub or a
// capture has none; each has a neighbour with one.
uint32_t Representative(const ConstraintGraph& constraints, uint32_t node) {
  const uint32_t instruction = constraints.instruction(node);
  if (instruction != kNone) return instruction;
  for (const Edge& edge : constraints.edges()) {
    if (edge.from == node && constraints.instruction(edge.to) != kNone) {
      return constraints.instruction(edge.to);
    }
    if (edge.to == node && constraints.instruction(edge.from) != kNone) {
      return constraints.instruction(edge.from);
    }
  }
  return 0;
}

Verdict RefusePositions(const ConstraintGraph& constraints, const Positions& positions,
                        const std::string& graph_name, uint32_t from, uint32_t to,
                        const char* must) {
  const uint32_t first = Representative(constraints, from);
  const uint32_t second = Representative(constraints, to);
  return Refuse(Refusal::kCertificate,
                fmt::format("{}, rule 13: positions {} and {} of the certificate must {}",
                            graph_name, positions.of_instruction(first),
                            positions.of_instruction(second), must),
                constraints.index(), {first, second});
}

}  // namespace

Verdict CheckLags(const GraphIndex& index, const std::string& graph_name) {
  const Graph& graph = index.graph();
  const uint32_t inflight = index.runs_once() ? 1 : graph.inflight;
  for (uint32_t i = 0; i < graph.instructions.size(); ++i) {
    if (graph.instructions[i].lag() < inflight) continue;
    return Refuse(Refusal::kInflight,
                  fmt::format("{}, rule 12: lag {} needs more than inflight {}", graph_name,
                              graph.instructions[i].lag(), inflight),
                  index, {i});
  }
  return {};
}

Verdict CheckInflight(const ConstraintGraph& constraints, const Lists<uint32_t>& out,
                      const std::string& graph_name) {
  const GraphIndex& index = constraints.index();
  const Graph& graph = index.graph();
  Extremes outputs, begins;
  for (uint32_t i = 0; i < graph.instructions.size(); ++i) {
    const Instruction& instruction = graph.instructions[i];
    if (instruction.kind() == Kind::output) KeepExtreme(index, i, false, outputs);
    if (instruction.kind() == Kind::input) KeepExtreme(index, i, true, begins);
  }
  if (outputs.empty()) return {};
  if (begins.empty()) AddFirstWork(constraints, out, begins);
  const auto lag = [&](uint32_t instruction) -> int64_t {
    return graph.instructions[instruction].lag();
  };
  const int64_t most = index.runs_once() ? 0 : int64_t{graph.inflight} - 1;
  for (const auto& [output_lane, output] : outputs) {
    const std::vector<int64_t> distances =
        DistancesFrom(constraints, out, {{constraints.done(output.second), 0}}, 2 * most, true);
    for (const auto& [begin_lane, begin] : begins) {
      const int64_t distance = distances[constraints.start(begin.second)];
      if (distance > most + lag(begin.second) - lag(output.second)) continue;
      return Refuse(Refusal::kInflight,
                    fmt::format("{}, rule 12: {} executions cannot be in flight: the second waits "
                                "for the first of {} executions before",
                                graph_name, graph.inflight, graph.inflight - 1),
                    index, {output.second, begin.second});
    }
  }
  return {};
}

Verdict CheckCertificate(const ConstraintGraph& constraints,
                         const std::vector<uint32_t>& certificate,
                         const std::string& graph_name) {
  const Positions positions(constraints, certificate);
  std::map<uint32_t, uint32_t> hubs;  // hub -> a member
  for (const Edge& edge : constraints.edges()) {
    if (edge.distance != 0 || edge.why == Why::kRuns) continue;
    uint32_t from = edge.from, to = edge.to;
    const bool joined = edge.why == Why::kRendezvous || edge.why == Why::kCollective;
    if (edge.why == Why::kCollective) {
      if (constraints.instruction(from) == kNone) from = hubs.emplace(from, to).first->second;
      if (constraints.instruction(to) == kNone) to = hubs.emplace(to, from).first->second;
    }
    if (joined && positions.of(from) != positions.of(to)) {
      return RefusePositions(constraints, positions, graph_name, from, to,
                             "be equal, since they are joined");
    }
    if (!joined && positions.of(from) >= positions.of(to)) {
      return RefusePositions(constraints, positions, graph_name, from, to,
                             "increase, since the second waits for the first");
    }
    // A wait for a signal from within a capture waits for the whole capture.
    if (edge.why != Why::kEvent) continue;
    const auto* capture = constraints.CaptureOf(edge.from);
    if (capture != nullptr && capture != constraints.CaptureOf(edge.to) &&
        positions.of(capture->end) >= positions.of(edge.to)) {
      return RefusePositions(constraints, positions, graph_name, capture->end, edge.to,
                             "increase, since the second waits for the first's capture");
    }
  }
  return {};
}

}  // namespace cgraph::plan::prove
