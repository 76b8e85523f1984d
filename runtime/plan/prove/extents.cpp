// The check that each symbol is one number. A symbol's number lies on each device that has values
// of that extent, so it is copied and sent about; were it overwritten in one place, the two ends of
// a transfer would differ in size. Rules 10 and 11 have shown that every read finds what program
// order says. So each read of an extent is followed back in program order: to the last write of
// those bytes, from a copy to its source, from a receive to what was sent, from a broadcast to what
// its root gave, until some instruction has made the number. All reads of a symbol must end at the
// same instruction. A write of the same bytes after their last reader does no harm.
#include "runtime/plan/prove/rules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "runtime/plan/kinds.h"
#include "runtime/plan/print.h"

namespace cgraph::plan::prove {
namespace {

// The most accesses and bytes that the search for makers looks at; only hostile plans need more.
constexpr uint64_t kAccessBudget = 1'000'000'000;
constexpr uint64_t kStepBack = 16;  // what a step from a copy to what it copied costs of that

struct Bytes {
  uint32_t buffer = 0;
  uint64_t begin = 0, end = 0;

  auto operator<=>(const Bytes&) const = default;
};

// A number, identified by its maker: the content of some bytes once an instruction (kNone: whatever
// ran before the execution) has written them.
struct Number {
  uint32_t maker = kNone;
  Bytes at;

  bool operator==(const Number&) const = default;
};

class ReachingDefinitions {
 public:
  ReachingDefinitions(const GraphIndex& index, const Lists<Access>& accesses)
      : index_(index), graph_(index.graph()), accesses_(accesses) {
    FindSenders();
    FindGivers();
  }

  // Returns what a value holds when everything that program order puts before `place` is done.
  Number NumberIn(uint32_t value, uint64_t place) {
    Bytes at = BytesOf(value);
    for (;; spent_ += kStepBack) {
      const Access* write = LastWrite(at, place);
      if (write == nullptr || exhausted()) return {kNone, at};
      const std::optional<Origin> origin = OriginOf(*write, at);
      if (!origin.has_value()) return {write->instruction, at};
      if (origin->is_maker) return {origin->instruction, origin->at};
      at = origin->at;
      place = graph_.instructions[origin->instruction].program_order();  // earlier than before
    }
  }
  // Returns whether two numbers are one. Each device has constants of its own: equal constants are
  // one number.
  bool AreOne(const Number& a, const Number& b) {
    if (a == b) return true;
    if (a.maker != kNone || b.maker != kNone || a.at.begin != b.at.begin) return false;
    const std::span<const uint8_t> constant = ConstantIn(a.at.buffer);
    return !constant.empty() && std::ranges::equal(constant, ConstantIn(b.at.buffer));
  }
  bool exhausted() const { return spent_ > kAccessBudget; }

 private:
  // Origin: where a written number comes from, either bytes that an instruction read elsewhere or
  // the instruction that made it.
  struct Origin {
    uint32_t instruction = 0;
    Bytes at;
    bool is_maker = false;
  };
  // SourcePart: the part whose inputs are the outputs of a part; where the part makes its outputs
  // itself, the part that stands for all those that make the same.
  struct SourcePart {
    Message part;
    bool is_maker = false;
  };

  Bytes BytesOf(uint32_t value) const {
    const Value& row = graph_.values[value];
    return {row.buffer(), row.offset(), row.offset() + row.bytes()};
  }

  void FindSenders() {
    givers_.assign(graph_.parts.size(), {});
    for (uint32_t channel = 0; channel < graph_.channels.size(); ++channel) {
      const auto sends = index_.sends(channel), receives = index_.receives(channel);
      for (size_t j = 0; j < receives.size(); ++j) givers_[receives[j].part] = {sends[j], false};
    }
  }
  void FindGivers() {
    const auto parts = index_.collective_parts();
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto& collective = *graph_.collectives[graph_.parts[parts[i].part].subject()];
      const CollectiveKind kind = FindTraits(collective)->kind;
      const size_t first = i - parts[i].member;  // every member has a part, one after the other
      const bool alike = kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kAllGather;
      const bool broadcast = kind == CollectiveKind::kBroadcast;
      const size_t giver = alike ? first : broadcast ? first + collective.root : i;
      givers_[parts[i].part] = {{parts[giver].instruction, parts[giver].part}, !broadcast};
    }
  }

  // Returns the bytes that fill a buffer; none when no constant does.
  std::span<const uint8_t> ConstantIn(uint32_t buffer) {
    spent_ += graph_.constants.size() + graph_.buffers[buffer].bytes();
    for (const Constant& constant : graph_.constants) {
      if (constant.buffer() != buffer) continue;
      return std::span(graph_.constant_data)
          .subspan(constant.first(), graph_.buffers[buffer].bytes());
    }
    return {};
  }

  const Access* LastWrite(const Bytes& at, uint64_t place) {
    const auto [found, is_new] = writes_.try_emplace(at);
    std::vector<const Access*>& writes = found->second;
    if (is_new && !exhausted()) {
      spent_ += accesses_.of(at.buffer).size();
      for (const Access& access : accesses_.of(at.buffer)) {
        if (access.write && access.begin < at.end && access.end > at.begin) {
          writes.push_back(&access);
        }
      }
    }
    const auto after = std::partition_point(writes.begin(), writes.end(), [&](const Access* write) {
      return write->program_order < place;
    });
    return after == writes.begin() ? nullptr : *std::prev(after);
  }

  // Returns none where a write has made the number, or has left some of what was there: then the
  // bytes hold a new number from there on.
  std::optional<Origin> OriginOf(const Access& write, const Bytes& at) const {
    const bool whole = write.begin <= at.begin && at.end <= write.end;
    if (!whole || !ScaledBy(graph_, write).empty()) return std::nullopt;
    const Instruction& instruction = graph_.instructions[write.instruction];
    const uint64_t into = at.begin - write.begin;
    if (instruction.kind() == Kind::copy) {
      return Origin{write.instruction, From(graph_.operands[instruction.first()], into, at), false};
    }
    if (instruction.kind() != Kind::comm) return std::nullopt;
    for (uint32_t p = instruction.first(); p < instruction.first() + instruction.inputs(); ++p) {
      const CommPart& part = graph_.parts[p];
      const auto outputs = std::span(graph_.operands).subspan(part.first() + part.inputs(),
                                                              part.outputs());
      const auto output = std::find(outputs.begin(), outputs.end(), write.value);
      if (output == outputs.end()) continue;
      const auto& [giver, is_maker] = givers_[p];
      const CommPart& gives = graph_.parts[giver.part];
      const uint32_t first = gives.first() + (is_maker ? gives.inputs() : 0);
      const uint32_t value = graph_.operands[first + (output - outputs.begin())];
      return Origin{giver.instruction, From(value, into, at), is_maker};
    }
    return std::nullopt;
  }
  Bytes From(uint32_t value, uint64_t into, const Bytes& at) const {
    const Bytes whole = BytesOf(value);
    return {whole.buffer, whole.begin + into, whole.begin + into + (at.end - at.begin)};
  }

  const GraphIndex& index_;
  const Graph& graph_;
  const Lists<Access>& accesses_;
  std::vector<SourcePart> givers_;                           // by part
  std::map<Bytes, std::vector<const Access*>> writes_;  // in program order
  uint64_t spent_ = 0;
};

// Reading: an instruction that needs an extent, and the number that it finds.
struct Reading {
  uint32_t instruction = kNone, value = 0;
  Number number;
};

std::string NameOf(const GraphIndex& index, uint32_t name) {
  return name == kNone ? "" : index.plan().names[name];
}

std::string Finds(const GraphIndex& index, const Reading& reading) {
  const std::string name = NameOf(index, index.graph().values[reading.value].name());
  const std::string maker = reading.number.maker == kNone
                                ? "was there before"
                                : MakeStep(index, reading.number.maker).text + " has made";
  return fmt::format("finds in `%{}#{}` what {}", name, reading.value, maker);
}

}  // namespace

Verdict CheckOneExtent(const GraphIndex& index, const Lists<Access>& accesses,
                       const std::string& graph_name) {
  const Graph& graph = index.graph();
  if (graph.symbols.empty()) return {};
  ReachingDefinitions makers(index, accesses);
  std::vector<Reading> readings(graph.symbols.size());  // the first of each symbol
  std::vector<uint32_t> symbols, made;
  for (uint32_t i = 0; i < graph.instructions.size() && !makers.exhausted(); ++i) {
    symbols.clear(), made.clear();
    index.ForEachSymbol(i, [&](uint32_t symbol, uint32_t, uint32_t) { symbols.push_back(symbol); });
    if (symbols.empty()) continue;
    index.ForEachOperand(i, [&](uint32_t value, bool write, uint32_t) {
      if (write) made.push_back(value);
    });
    std::sort(symbols.begin(), symbols.end());
    symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
    std::sort(made.begin(), made.end());
    for (uint32_t symbol : symbols) {
      const uint32_t extent = index.ExtentValue(symbol, index.device(i));
      const bool makes = std::binary_search(made.begin(), made.end(), extent);
      const uint64_t place = uint64_t{graph.instructions[i].program_order()} + (makes ? 1 : 0);
      const Reading reading{i, extent, makers.NumberIn(extent, place)};
      Reading& first = readings[symbol];
      if (first.instruction == kNone) first = reading;
      if (makers.AreOne(reading.number, first.number) || makers.exhausted()) continue;
      return RefusePair(index, Refusal::kExtent,
                        fmt::format("{}, rule 15: the extent `{}` is two numbers in one execution",
                                    graph_name, NameOf(index, graph.symbols[symbol].name())),
                        first.instruction, Finds(index, first), i, Finds(index, reading));
    }
  }
  if (!makers.exhausted()) return {};
  Verdict verdict;
  verdict.refusal = Refusal::kTooLarge;
  verdict.message = graph_name + ", rule 15: too many writes near extents to decide";
  return verdict;
}

}  // namespace cgraph::plan::prove
