// Rule 11. Of two lifetimes (lifetimes.h) that share bytes there must be an integer k such that the
// first (of execution e) is through before the second (of e + k * copies) begins, and the second
// before the first of the execution that follows in the same copy.
//
// Most buffers are written once or live as one, so all accesses of a buffer are tried as one
// lifetime. Where lifetimes follow one another, "is through before" is transitive, so a sweep over
// the arena in the order of a round asks only about neighbours. If a neighbour fails, all pairs of
// true lifetimes are checked, for any k. A graph that runs once has one execution: there all
// accesses of one buffer come before all of the other.
#include "runtime/plan/prove/rules.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "runtime/plan/print.h"
#include "runtime/plan/prove/memory/lifetimes.h"

namespace cgraph::plan::prove {
namespace {

constexpr int64_t kPairBudget = 50'000'000;

class ArenaReuse {
 public:
  ArenaReuse(const GraphIndex& index, const Lists<Access>& accesses, const VectorClocks& clocks)
      : index_(index), clocks_(clocks), found_(index, accesses, clocks) {}

  struct Pair {
    uint32_t first = kNone, second = kNone;  // instructions
    uint32_t first_buffer = 0, second_buffer = 0;
    int64_t later = 0;  // executions: the first should be before the second of so much later
  };
  enum class Answer { kYes, kNo, kTooMany };

  Answer Check(std::vector<uint32_t>& buffers, uint32_t copies, Pair& pair) {
    Begin(copies);
    for (uint32_t buffer : buffers) found_.AddWhole(buffer);
    if (!AnyOverlap() || SweepRound()) return Answer::kYes;
    Begin(copies);
    for (uint32_t buffer : buffers) found_.AddTrue(buffer, left_);
    return left_ < 0 ? Answer::kTooMany : CheckAllPairs(pair, false);
  }

  // Checks one buffer: each write is before its reads, and none of its lifetimes overlaps another
  // in time, nor itself in the execution that follows in the same copy.
  bool InTurn(uint32_t buffer, uint32_t copies) {
    Begin(copies);
    Pair pair;
    if (!found_.AddTrue(buffer, left_) || CheckAllPairs(pair, true) != Answer::kYes) return false;
    return index_.runs_once() ||
           std::all_of(lifetimes_.begin(), lifetimes_.end(), [&](const Lifetime& lifetime) {
             return LeastTurn(lifetime, lifetime) <= 1;
           });
  }

 private:
  void Begin(uint32_t copies) {
    copies_ = copies;
    left_ = kPairBudget;
    found_.Clear(copies);
  }

  bool AnyOverlap() {
    std::sort(lifetimes_.begin(), lifetimes_.end(),
              [](const Lifetime& a, const Lifetime& b) { return a.begin < b.begin; });
    uint64_t end = 0;
    for (const Lifetime& lifetime : lifetimes_) {
      if (lifetime.begin < end) return true;
      end = std::max(end, lifetime.end);
    }
    return false;
  }

  // Returns the least k such that all of `a` is before all of `b` at k * copies; kUnordered for
  // none. `pair`, when given, gets the accesses that need the greatest k.
  int64_t LeastTurn(const Lifetime& a, const Lifetime& b, Pair* pair = nullptr) const {
    int64_t least = std::numeric_limits<int64_t>::min();
    for (const LaneSpan& ending : found_.SpansOf(a)) {
      for (const LaneSpan& beginning : found_.SpansOf(b)) {
        // An instruction that works in place ends one lifetime of its buffer and begins the next.
        const bool in_place = ending.last == beginning.first && a.buffer == b.buffer && &a < &b;
        const int64_t shift = in_place ? 0 : clocks_.LeastShift(ending.last, beginning.first);
        const int64_t copies = copies_;
        const int64_t turn = shift == kUnordered ? kUnordered
                             : shift >= 0        ? (shift + copies - 1) / copies
                                                 : -(-shift / copies);
        if (turn > least && pair != nullptr) {
          *pair = {ending.last, beginning.first, a.buffer, b.buffer, 0};
        }
        least = std::max(least, turn);
      }
    }
    return least;
  }

  // Goes through lifetimes in the order in which a round uses one copy, twice over: each must find
  // its bytes released by the lifetimes that had them before.
  bool SweepRound() {
    std::sort(lifetimes_.begin(), lifetimes_.end(), [](const Lifetime& a, const Lifetime& b) {
      return std::tie(a.phase, a.order, a.buffer) < std::tie(b.phase, b.order, b.buffer);
    });
    std::map<uint64_t, const Lifetime*> holders;  // from this byte on; null: none
    holders[0] = nullptr;
    const int64_t last_round = index_.runs_once() ? 0 : 1;
    for (int64_t round = 0; round <= last_round; ++round) {
      for (const Lifetime& next : lifetimes_) {
        auto at = Split(holders, next.begin);
        const auto end = Split(holders, next.end);
        for (; at != end; at = holders.erase(at)) {
          const Lifetime* holder = at->second;
          if (holder == nullptr || holder == &next) continue;
          if (LeastTurn(*holder, next) > holder->turns - next.turns + round) return false;
        }
        // Pairs that the first round has checked are not checked again in the second.
        holders[next.begin] = round == 0 ? &next : nullptr;
      }
    }
    return true;
  }
  static std::map<uint64_t, const Lifetime*>::iterator Split(
      std::map<uint64_t, const Lifetime*>& holders, uint64_t byte) {
    auto after = holders.lower_bound(byte);
    if (after != holders.end() && after->first == byte) return after;
    return holders.emplace_hint(after, byte, std::prev(after)->second);
  }

  // Checks all pairs of lifetimes in different buffers, or all in one buffer.
  Answer CheckAllPairs(Pair& pair, bool in_one_buffer) {
    std::vector<const Lifetime*> by_begin;
    for (const Lifetime& lifetime : lifetimes_) by_begin.push_back(&lifetime);
    std::sort(by_begin.begin(), by_begin.end(),
              [](const Lifetime* a, const Lifetime* b) { return a->begin < b->begin; });
    for (size_t i = 0; i < by_begin.size(); ++i) {
      for (size_t j = i + 1; j < by_begin.size() && by_begin[j]->begin < by_begin[i]->end; ++j) {
        left_ -= 1 + int64_t{by_begin[i]->spans} * by_begin[j]->spans;
        if (left_ < 0) return Answer::kTooMany;
        const bool is_one = by_begin[i]->buffer == by_begin[j]->buffer;
        if (is_one != in_one_buffer || Alternate(*by_begin[i], *by_begin[j], pair)) continue;
        return Answer::kNo;
      }
    }
    return Answer::kYes;
  }

  bool Alternate(const Lifetime& a, const Lifetime& b, Pair& pair) const {
    Pair there, back;
    const int64_t forth = LeastTurn(a, b, &there);
    const int64_t return_turn = LeastTurn(b, a, &back);
    // In a graph that runs once, lifetimes meet only within that execution: one of the two comes
    // first.
    const bool meets = index_.runs_once()
                           ? forth != kUnordered || return_turn != kUnordered
                           : forth != kUnordered && return_turn != kUnordered &&
                                 forth + return_turn <= 1;
    if (meets) return true;
    const bool shows_there = ShowsFirst(forth, return_turn, there, back);
    pair = shows_there ? there : back;
    const int64_t other_turn = shows_there ? return_turn : forth;
    if (other_turn != kUnordered) pair.later = (1 - other_turn) * copies_;
    return false;
  }
  // Chooses which of two directions to show, the first one or not: the one that nothing orders;
  // else the one that fails where the other holds at k = 0; else the one that program order
  // suggests.
  bool ShowsFirst(int64_t forth, int64_t return_turn, const Pair& there, const Pair& back) const {
    if ((forth == kUnordered) != (return_turn == kUnordered)) return forth == kUnordered;
    if ((forth <= 0) != (return_turn <= 0)) return return_turn <= 0;
    const auto& instructions = index_.graph().instructions;
    return instructions[there.first].program_order() <= instructions[back.first].program_order();
  }

  const GraphIndex& index_;
  const VectorClocks& clocks_;
  Lifetimes found_;
  std::vector<Lifetime>& lifetimes_ = found_.all();
  int64_t copies_ = 1;
  int64_t left_ = 0;  // of the budget
};

std::string BufferText(const GraphIndex& index, uint32_t instruction, uint32_t buffer) {
  std::string text = fmt::format("has buffer {}", buffer);
  const Graph& graph = index.graph();
  index.ForEachAccess(instruction, [&](uint32_t id, bool write) {
    const Value& value = graph.values[id];
    if (value.buffer() != buffer) return;
    const std::string name = value.name() == kNone ? "" : index.plan().names[value.name()];
    text = fmt::format("{} `%{}#{}` at {}+{}", write ? "writes" : "reads", name, id,
                       graph.buffers[buffer].offset(), value.offset());
  });
  return text;
}

}  // namespace

bool LivesInTurn(const GraphIndex& index, const Lists<Access>& accesses, const VectorClocks& clocks,
                 uint32_t buffer) {
  const Arena& arena = index.graph().arenas[index.graph().buffers[buffer].arena()];
  const bool is_ours = arena.space() == Space::slot || arena.space() == Space::scratch;
  return is_ours && ArenaReuse(index, accesses, clocks).InTurn(buffer, arena.copies());
}

Verdict CheckReuse(const GraphIndex& index, const Lists<Access>& accesses,
                   const VectorClocks& clocks, const std::string& graph_name) {
  const Graph& graph = index.graph();
  std::vector<std::vector<uint32_t>> buffers(graph.arenas.size());
  for (uint32_t buffer = 0; buffer < graph.buffers.size(); ++buffer) {
    const uint32_t arena = graph.buffers[buffer].arena();
    const Space space = graph.arenas[arena].space();
    if (space == Space::slot || space == Space::scratch) buffers[arena].push_back(buffer);
  }
  ArenaReuse reuse(index, accesses, clocks);
  for (uint32_t arena = 0; arena < graph.arenas.size(); ++arena) {
    if (buffers[arena].size() < 2) continue;
    ArenaReuse::Pair pair;
    const auto answer = reuse.Check(buffers[arena], graph.arenas[arena].copies(), pair);
    if (answer == ArenaReuse::Answer::kYes) continue;
    if (answer == ArenaReuse::Answer::kTooMany) {
      Verdict verdict;
      verdict.refusal = Refusal::kTooLarge;
      verdict.message = graph_name + ", rule 11: too many overlapping buffers to decide";
      return verdict;
    }
    return RefusePair(
        index, Refusal::kRace,
        fmt::format("{}, rule 11: two buffers share memory on {}, and nothing keeps "
                    "them apart",
                    graph_name, DeviceName(index.plan(), graph.arenas[arena].device())),
        pair.first, BufferText(index, pair.first, pair.first_buffer), pair.second,
        BufferText(index, pair.second, pair.second_buffer) + Later(pair.later));
  }
  return {};
}

}  // namespace cgraph::plan::prove
