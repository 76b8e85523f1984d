// Rule 11. A lifetime is a write of some bytes, and the reads of what it wrote. Of two lifetimes
// that share bytes there must be an integer k such that the first (of execution e) is through
// before the second (of e + k * copies) begins, and the second before the first of the execution
// that follows in the same copy.
//
// A lifetime is summed up by its first and last access in each lane. Most buffers are written once
// or live as one, so all accesses of a buffer are tried as one lifetime. Where lifetimes follow one
// another, "is through before" is transitive, so a sweep over the arena in the order of a round
// asks only about neighbours. Should a neighbour fail, all pairs of true lifetimes are asked, for
// any k.
// What runs once has one execution: there one buffer's accesses all come first.
#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "runtime/plan/print.h"
#include "runtime/plan/prove/race.h"
#include "runtime/plan/prove/step.h"

namespace cgraph::plan::prove {
namespace {

constexpr uint64_t kPairBudget = 50'000'000;

// A lifetime's earliest and latest access in one lane, along the lane's endless list.
struct LaneSpan {
  uint32_t lane, first, last;
};

struct Lifetime {
  uint32_t buffer = 0;
  uint64_t begin = 0, end = 0;  // in its arena
  uint32_t phase = 0;           // lag of its first access, modulo copies
  uint32_t order = 0;           // and that access's position in the certificate
  int64_t turns = 0;            // lag divided by copies
  uint32_t first_span = 0, spans = 0;
};

class ArenaReuse {
 public:
  ArenaReuse(const GraphIndex& index, const AccessTable& accesses, const Clocks& clocks)
      : index_(index), accesses_(accesses), clocks_(clocks) {}

  struct Pair {
    uint32_t first = kNone, second = kNone;  // instructions
    uint32_t first_buffer = 0, second_buffer = 0;
    int64_t later = 0;  // executions: the first should be before the second of so much later
  };
  enum class Answer { kYes, kNo, kTooMany };

  Answer Check(std::vector<uint32_t>& buffers, uint32_t copies, Pair& pair) {
    copies_ = copies;
    lifetimes_.clear();
    spans_.clear();
    for (uint32_t buffer : buffers) AddLifetime(buffer);
    if (!AnyOverlap() || SweepRound()) return Answer::kYes;
    lifetimes_.clear();
    spans_.clear();
    spent_ = 0;
    for (uint32_t buffer : buffers) AddTrueLifetimes(buffer);
    return spent_ > kPairBudget ? Answer::kTooMany : CheckAllPairs(pair, false);
  }

  // Of one buffer: each write is before its reads, and none of its lifetimes falls into another,
  // nor into itself in the execution that follows in the same copy.
  bool InTurn(uint32_t buffer, uint32_t copies) {
    copies_ = copies;
    lifetimes_.clear();
    spans_.clear();
    spent_ = 0;
    Pair pair;
    if (!AddTrueLifetimes(buffer) || CheckAllPairs(pair, true) != Answer::kYes) return false;
    return index_.runs_once() ||
           std::all_of(lifetimes_.begin(), lifetimes_.end(), [&](const Lifetime& lifetime) {
             return LeastTurn(lifetime, lifetime) <= 1;
           });
  }

 private:
  // All that a buffer goes through, as one.
  void AddLifetime(uint32_t buffer) {
    const Buffer& at = index_.graph().buffers[buffer];
    users_.clear();
    for (const Access& access : accesses_.of(buffer)) users_.push_back(access.instruction);
    Add(buffer, 0, at.bytes());
  }

  // Bytes between two neighbouring ends of accesses have the same users. False when writes are not
  // before their reads, or program order does not say whose they are.
  bool AddTrueLifetimes(uint32_t buffer) {
    const auto accesses = accesses_.of(buffer);
    std::vector<uint64_t> ends;
    for (const Access& access : accesses) {
      ends.push_back(access.begin);
      ends.push_back(access.end);
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    bool ordered = true;
    for (size_t i = 0; i + 1 < ends.size() && spent_ <= kPairBudget; ++i) {
      spent_ += accesses.size();
      piece_.clear();
      for (const Access& access : accesses) {
        if (access.begin <= ends[i] && access.end > ends[i]) piece_.push_back(&access);
      }
      FindBeginnings();
      ordered = AddLifetimesOfPiece(buffer, ends[i], ends[i + 1]) && ordered;
    }
    return ordered && spent_ <= kPairBudget;
  }

  bool AddLifetimesOfPiece(uint32_t buffer, uint64_t begin, uint64_t end) {
    bool ordered = true;
    users_.clear();
    for (size_t i = 0; i < piece_.size(); ++i) {
      const Access& access = *piece_[i];
      if (begins_[i] != 0) {
        Add(buffer, begin, end);
        users_.clear();
      }
      users_.push_back(access.instruction);
      const Access* before = i > 0 ? piece_[i - 1] : nullptr;
      const bool same_place = before != nullptr && before->written == access.written &&
                              before->instruction != access.instruction &&
                              (before->write || access.write);
      const bool in_its_life =
          begins_[i] != 0 ||
          (!access.write && clocks_.Before(users_.front(), access.instruction, 0));
      ordered = ordered && !same_place && in_its_life;
    }
    Add(buffer, begin, end);
    return ordered;
  }

  // Which writes of a piece begin a lifetime: those that leave nothing there that anybody reads
  // from then on. A write whose size depends on extents leaves what lies behind them, so it begins
  // one only for reads that end at the same extents. Found from behind.
  void FindBeginnings() {
    begins_.assign(piece_.size(), 0);
    const Graph& graph = index_.graph();
    bool read = false, alike = true;  // what follows, up to the next beginning
    std::vector<uint64_t> extents;    // by which all of that is scaled
    for (size_t i = piece_.size(); i-- > 0;) {
      std::vector<uint64_t> scaled = ScaledBy(graph, *piece_[i]);
      if (piece_[i]->write) {
        begins_[i] = scaled.empty() || !read || (alike && scaled == extents) ? 1 : 0;
        if (begins_[i] != 0) read = false, alike = true;
      } else {
        alike = alike && (!read || scaled == extents);
        read = true;
        extents = std::move(scaled);
      }
    }
  }

  // A lifetime of bytes [begin, end) of the buffer, touched by `users_`.
  void Add(uint32_t buffer, uint64_t begin, uint64_t end) {
    const Graph& graph = index_.graph();
    if (users_.empty() || begin == end) return;
    Lifetime lifetime;
    lifetime.buffer = buffer;
    lifetime.begin = graph.buffers[buffer].offset() + begin;
    lifetime.end = graph.buffers[buffer].offset() + end;
    lifetime.first_span = static_cast<uint32_t>(spans_.size());
    points_.clear();
    std::tuple<uint32_t, uint32_t> earliest(kNone, kNone);
    for (uint32_t user : users_) {
      const Instruction& instruction = graph.instructions[user];
      const uint32_t lane = index_.lane(user);
      points_.emplace_back(
          lane, index_.position(user) + uint64_t{instruction.lag()} * index_.length(lane), user);
      earliest = std::min(earliest, std::tuple(uint32_t{instruction.lag()}, instruction.order()));
    }
    std::sort(points_.begin(), points_.end());
    for (const auto& [lane, along, instruction] : points_) {
      if (spans_.size() == lifetime.first_span || spans_.back().lane != lane) {
        spans_.push_back({lane, instruction, instruction});
      }
      spans_.back().last = instruction;
    }
    lifetime.spans = static_cast<uint32_t>(spans_.size()) - lifetime.first_span;
    lifetime.phase = std::get<0>(earliest) % copies_;
    lifetime.turns = std::get<0>(earliest) / copies_;
    lifetime.order = std::get<1>(earliest);
    lifetimes_.push_back(lifetime);
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

  // The least k such that all of `a` is before all of `b` at k * copies; kUnordered for none.
  // `pair`, when given, gets the accesses that ask for the most.
  int64_t LeastTurn(const Lifetime& a, const Lifetime& b, Pair* pair = nullptr) const {
    int64_t least = std::numeric_limits<int64_t>::min();
    for (uint32_t i = a.first_span; i < a.first_span + a.spans; ++i) {
      for (uint32_t j = b.first_span; j < b.first_span + b.spans; ++j) {
        // What works in place ends one lifetime of its buffer and begins the next.
        const bool in_place = spans_[i].last == spans_[j].first && a.buffer == b.buffer && &a < &b;
        const int64_t shift =
            in_place ? 0 : clocks_.LeastShift(spans_[i].last, spans_[j].first);
        const int64_t copies = copies_;
        const int64_t turn = shift == kUnordered ? kUnordered
                             : shift >= 0        ? (shift + copies - 1) / copies
                                                 : -(-shift / copies);
        if (turn > least && pair != nullptr) {
          *pair = {spans_[i].last, spans_[j].first, a.buffer, b.buffer, 0};
        }
        least = std::max(least, turn);
      }
    }
    return least;
  }

  // Lifetimes in the order in which a round goes through one copy, twice over: each must find its
  // bytes left behind by those that had them before.
  bool SweepRound() {
    std::sort(lifetimes_.begin(), lifetimes_.end(), [](const Lifetime& a, const Lifetime& b) {
      return std::tie(a.phase, a.order, a.buffer) < std::tie(b.phase, b.order, b.buffer);
    });
    std::map<uint64_t, const Lifetime*> holders;  // from this byte on; null: nobody
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
        // In the second round what was met is not met again.
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

  // Of lifetimes in different buffers, or of those in one buffer.
  Answer CheckAllPairs(Pair& pair, bool in_one_buffer) {
    std::vector<const Lifetime*> by_begin;
    for (const Lifetime& lifetime : lifetimes_) by_begin.push_back(&lifetime);
    std::sort(by_begin.begin(), by_begin.end(),
              [](const Lifetime* a, const Lifetime* b) { return a->begin < b->begin; });
    for (size_t i = 0; i < by_begin.size(); ++i) {
      for (size_t j = i + 1; j < by_begin.size() && by_begin[j]->begin < by_begin[i]->end; ++j) {
        spent_ += 1 + uint64_t{by_begin[i]->spans} * by_begin[j]->spans;
        if (spent_ > kPairBudget) return Answer::kTooMany;
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
    // What runs once meets only itself: one of the two comes first.
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
  // Which of two directions to show, the first one or not: what nothing orders; else the one that
  // is not met where the other is at k = 0; else what program order suggests.
  bool ShowsFirst(int64_t forth, int64_t return_turn, const Pair& there, const Pair& back) const {
    if ((forth == kUnordered) != (return_turn == kUnordered)) return forth == kUnordered;
    if ((forth <= 0) != (return_turn <= 0)) return return_turn <= 0;
    const auto& instructions = index_.graph().instructions;
    return instructions[there.first].written() <= instructions[back.first].written();
  }

  const GraphIndex& index_;
  const AccessTable& accesses_;
  const Clocks& clocks_;
  int64_t copies_ = 1;
  std::vector<Lifetime> lifetimes_;
  std::vector<LaneSpan> spans_;
  uint64_t spent_ = 0;
  std::vector<const Access*> piece_;                              // who touches some bytes
  std::vector<uint8_t> begins_;                                   // of them, a lifetime
  std::vector<uint32_t> users_;                                   // of one lifetime
  std::vector<std::tuple<uint32_t, uint64_t, uint32_t>> points_;  // and where they are
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

bool LivesInTurn(const GraphIndex& index, const AccessTable& accesses, const Clocks& clocks,
                 uint32_t buffer) {
  const Arena& arena = index.graph().arenas[index.graph().buffers[buffer].arena()];
  const bool is_ours = arena.space() == Space::slot || arena.space() == Space::scratch;
  return is_ours && ArenaReuse(index, accesses, clocks).InTurn(buffer, arena.copies());
}

Verdict CheckReuse(const GraphIndex& index, const AccessTable& accesses, const Clocks& clocks,
                   const std::string& graph_name) {
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
