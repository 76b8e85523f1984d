// Rule 10 asks about every pair of accesses that conflict. "Before" is transitive, so it is enough
// to sweep a buffer's accesses in program order and to ask about neighbours: each read against the
// latest write of the same bytes, each write against that and the reads since. A second sweep
// starts from what the first left: it is the next execution in the same copy. A graph that runs
// once has no second sweep.
#include "runtime/plan/prove/rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/plan/print.h"

namespace cgraph::plan::prove {
namespace {

// The most byte ranges of buffers, and readers of them, that the sweeps look at; only hostile plans
// need more. One more reader of a range takes memory, too.
constexpr uint64_t kPieceBudget = 2'000'000'000;
constexpr uint64_t kReaderCost = 16;

class BufferSweep {
 public:
  explicit BufferSweep(const VectorClocks& clocks) : clocks_(clocks) {}

  struct Pair {
    const Access* first = nullptr;  // in program order
    const Access* second = nullptr;
    bool next_execution = false;  // second works for the next execution in the same copy
  };
  // Returns true when all pairs are ordered; otherwise `pair` is one that is not. `copies` 0: no
  // other execution uses the same memory.
  bool Check(std::span<const Access> accesses, uint32_t copies, Pair& pair) {
    if (std::none_of(accesses.begin(), accesses.end(), [](const Access& a) { return a.write; })) {
      return true;
    }
    SplitIntoPieces(accesses);
    for (const Access& access : accesses) {
      if (!FirstSweep(access, pair)) return false;
    }
    if (pair.first != nullptr) return false;
    if (copies == 0) return true;
    for (const Access& access : accesses) {
      if (!SecondSweep(access, copies, pair)) return false;
    }
    return true;
  }
  bool exhausted() const { return spent_ > kPieceBudget; }

 private:
  // Bytes between two neighbouring ends of accesses, with the accesses that touched them last.
  struct ByteRange {
    const Access* writer = nullptr;
    std::vector<const Access*> readers;  // since that write
  };

  void SplitIntoPieces(std::span<const Access> accesses) {
    CutIntoPieces(accesses, ends_);
    if (ranges_.size() < ends_.size()) ranges_.resize(ends_.size());
    for (size_t i = 0; i < ends_.size(); ++i) {
      ranges_[i].writer = nullptr;
      ranges_[i].readers.clear();
    }
  }

  template <typename Visit>
  bool ForByteRanges(const Access& access, Visit visit) {
    const size_t end = PieceAt(ends_, access.end);
    for (size_t i = PieceAt(ends_, access.begin); i < end; ++i) {
      spent_ += access.write ? 1 + ranges_[i].readers.size() : kReaderCost;
      if (exhausted() || !visit(ranges_[i])) return false;
    }
    return true;
  }

  // Returns false to end the sweep. Where two accesses have the same position in program order,
  // nothing says what their order should be, so that pair is reported rather than one that nothing
  // orders.
  bool Ordered(const Access* first, const Access& second, Pair& pair) const {
    if (first == nullptr || first->instruction == second.instruction) return true;
    const bool same_place = first->program_order == second.program_order;
    if (!same_place && (pair.first != nullptr ||
                        clocks_.Before(first->instruction, second.instruction, 0))) {
      return true;
    }
    pair = {first, &second, false};
    return !same_place;
  }
  bool OrderedNext(const Access* first, const Access& second, uint32_t copies, Pair& pair) const {
    if (first == nullptr || clocks_.Before(first->instruction, second.instruction, copies)) {
      return true;
    }
    pair = {first, &second, true};
    return false;
  }

  bool FirstSweep(const Access& access, Pair& pair) {
    return ForByteRanges(access, [&](ByteRange& range) {
      if (!Ordered(range.writer, access, pair)) return false;
      if (!access.write) {
        range.readers.push_back(&access);
        return true;
      }
      for (const Access* reader : range.readers) {
        if (!Ordered(reader, access, pair)) return false;
      }
      range.writer = &access;
      range.readers.clear();
      return true;
    });
  }
  bool SecondSweep(const Access& access, uint32_t copies, Pair& pair) {
    return ForByteRanges(access, [&](ByteRange& range) {
      if (!OrderedNext(range.writer, access, copies, pair)) return false;
      if (!access.write) return true;
      for (const Access* reader : range.readers) {
        if (!OrderedNext(reader, access, copies, pair)) return false;
      }
      range.writer = nullptr;
      range.readers.clear();
      return true;
    });
  }

  const VectorClocks& clocks_;
  std::vector<uint64_t> ends_;     // of pieces
  std::vector<ByteRange> ranges_;  // by piece
  uint64_t spent_ = 0;
};

std::string Doing(const GraphIndex& index, const Access& access) {
  const Value& value = index.graph().values[access.value];
  const std::string name = value.name() == kNone ? "" : index.plan().names[value.name()];
  return fmt::format("{} `%{}#{}`", access.write ? "writes" : "reads", name, access.value);
}

}  // namespace

Verdict CheckSameBuffer(const GraphIndex& index, const Lists<Access>& accesses,
                        const VectorClocks& clocks, const std::string& graph_name) {
  const Graph& graph = index.graph();
  BufferSweep sweep(clocks);
  for (uint32_t buffer = 0; buffer < graph.buffers.size(); ++buffer) {
    const Arena& arena = graph.arenas[graph.buffers[buffer].arena()];
    BufferSweep::Pair pair;
    const uint32_t copies = index.runs_once() ? 0 : arena.copies();
    if (sweep.Check(accesses.of(buffer), copies, pair)) continue;
    if (sweep.exhausted()) {
      Verdict verdict;
      verdict.refusal = Refusal::kTooLarge;
      verdict.message = graph_name + ", rule 10: too many overlapping accesses to decide";
      return verdict;
    }
    if (LivesInTurn(index, accesses, clocks, buffer)) continue;
    const std::string later = Later(pair.next_execution ? arena.copies() : 0);
    const bool same_place =
        !pair.next_execution && pair.first->program_order == pair.second->program_order;
    // A plan without a first and a second access states no order that its runs could differ from.
    return RefusePair(
        index, same_place ? Refusal::kShape : Refusal::kRace,
        fmt::format("{}, rule 10: {} two accesses of one {} buffer on {}", graph_name,
                    same_place ? "one place in program order has" : "nothing orders",
                    EnumNameSpace(arena.space()), DeviceName(index.plan(), arena.device())),
        pair.first->instruction, Doing(index, *pair.first), pair.second->instruction,
        Doing(index, *pair.second) + later);
  }
  return {};
}

}  // namespace cgraph::plan::prove
