#include "compiler/inspect/draw/facts/facts.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "compiler/base/byte_intervals.h"
#include "compiler/base/kernels.h"
#include "runtime/plan/graph_index.h"

namespace cgraph {
namespace {

// Source: which parts of the inputs a range of bytes was computed from.
struct Source {
  enum Kind : uint8_t {
    kNone,    // no part: state, constants, an input that is not cut
    kInput,   // a whole input, or a copy of one, which begins at `begin` and ends at `end`
    kPart,    // one part of the inputs
    kSeveral  // more than one
  };
  Kind kind = kNone;
  uint32_t part = plan::kNone;
  uint64_t begin = 0, end = 0;
};

Source PartSource(uint32_t part) { return {.kind = Source::kPart, .part = part}; }

// Returns the source of a value computed from both.
Source Combined(const Source& a, const Source& b) {
  if (a.kind == Source::kNone || a.kind == Source::kInput) return b;
  if (b.kind == Source::kNone || b.kind == Source::kInput) return a;
  if (a.kind == Source::kPart && b.kind == Source::kPart && a.part == b.part) return a;
  return {.kind = Source::kSeveral};
}

// Returns the number in "xs[2]"; kNone for the name of an input that is no element of a list.
uint32_t ElementOf(const std::string& name) {
  const size_t open = name.find('[');
  if (open == std::string::npos) return plan::kNone;
  uint32_t number = 0;
  size_t at = open + 1;
  for (; at < name.size() && std::isdigit(static_cast<unsigned char>(name[at])) && at < open + 9;
       ++at) {
    number = number * 10 + static_cast<uint32_t>(name[at] - '0');
  }
  return at > open + 1 && at < name.size() && name[at] == ']' ? number : plan::kNone;
}

class MicroBatchFinder {
 public:
  MicroBatchFinder(const plan::Plan& plan, const plan::Graph& graph)
      : plan_(plan), graph_(graph), index_(plan, graph), sources_(graph.buffers.size()),
        found_(graph.instructions.size()) {}

  std::vector<uint32_t> Find() {
    std::vector<uint32_t> order(graph_.instructions.size());
    std::iota(order.begin(), order.end(), 0);
    const auto program_order = [&](uint32_t i) { return graph_.instructions[i].program_order(); };
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return program_order(a) < program_order(b); });
    for (size_t i = 0; i < order.size();) {
      size_t end = i;
      while (end < order.size() && program_order(order[end]) == program_order(order[i])) ++end;
      Follow({order.data() + i, end - i});
      i = end;
    }
    std::vector<uint32_t> parts(found_.size(), plan::kNone);
    if (!AreMicroBatches()) return parts;
    const std::map<uint32_t, uint32_t> numbers = NumbersInReplicas();
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto number = numbers.find(found_[i].part);
      parts[i] = number == numbers.end() ? found_[i].part : number->second;
    }
    return parts;
  }

 private:
  // Follows instructions that happen at once, such as the parts of a collective.
  void Follow(std::span<const uint32_t> instructions) {
    Source collective;
    for (uint32_t i : instructions) {
      index_.ForEachOperand(i, [&](uint32_t operand, bool write, uint32_t part) {
        if (write) return;
        const Source source = Read(operand);
        found_[i] = Combined(found_[i], source);
        if (part == plan::kNone) return;
        const plan::CommPart& at = graph_.parts[part];
        if (at.part() == plan::Part::collective) {
          collective = Combined(collective, source);
        } else {
          sent_[at.transfer()].push_back(source);
        }
      });
    }
    std::map<uint32_t, size_t> received;  // by transfer: how many of its values
    for (uint32_t i : instructions) {
      const plan::Instruction& at = graph_.instructions[i];
      if (SplitsInput(i)) {
        const uint32_t first = at.first() + at.inputs();
        for (uint32_t k = 0; k < at.outputs(); ++k) {
          Write(graph_.operands[first + k], PartSource(k));
        }
        continue;  // the call itself works for all parts
      }
      const Source copied = at.kind() == plan::Kind::copy && at.inputs() == 1
                                ? Read(graph_.operands[at.first()])
                                : found_[i];
      index_.ForEachOperand(i, [&](uint32_t operand, bool write, uint32_t part) {
        if (!write) return;
        Source source = copied;
        if (part != plan::kNone) {
          const bool meets = graph_.parts[part].part() == plan::Part::collective;
          source = meets ? collective : Sent(graph_.parts[part].transfer(), received);
        }
        if (at.kind() == plan::Kind::input) source = TakenBy(at);
        Write(operand, source);
        found_[i] = Combined(found_[i], source);
      });
    }
  }

  // Returns whether a call outside of methods cuts a whole input into equal parts. What a method
  // splits, such as queries, keys and values, are no micro-batches.
  bool SplitsInput(uint32_t i) const {
    const plan::Instruction& at = graph_.instructions[i];
    if (at.kind() != plan::Kind::call || found_[i].kind != Source::kInput) return false;
    const bool in_method =
        at.call() != plan::kNone && graph_.calls[at.call()].place() != plan::kNone;
    return !in_method && plan_.kernels[at.subject()]->name == kSplitKernel;
  }

  // Returns the source of the next value that a transfer brings: they come in the order in which
  // they are sent.
  Source Sent(uint32_t transfer, std::map<uint32_t, size_t>& received) {
    const std::vector<Source>& sent = sent_[transfer];
    const size_t value = received[transfer]++;
    return value < sent.size() ? sent[value] : Source{.kind = Source::kSeveral};
  }

  Source TakenBy(const plan::Instruction& take) const {
    const uint32_t element = ElementOf(graph_.inputs[take.subject()]->name);
    return element == plan::kNone ? Source{.kind = Source::kInput} : PartSource(element);
  }

  bool IsState(const plan::Value& value) const {
    const plan::Space space = graph_.arenas[graph_.buffers[value.buffer()].arena()].space();
    return space == plan::Space::state || space == plan::Space::constant;
  }

  Source Read(uint32_t operand) const {
    const plan::Value& value = graph_.values[operand];
    Source all;
    if (IsState(value)) return all;
    const uint64_t begin = value.offset(), end = begin + value.bytes();
    sources_[value.buffer()].ForEach(begin, end, [&](const Source& source) {
      all = source.kind == Source::kInput && all.kind == Source::kNone
                ? source
                : Combined(all, source);
    });
    const bool cut = all.kind == Source::kInput && (begin > all.begin || end < all.end);
    if (!cut) return all;
    const uint64_t bytes = value.bytes();
    if (bytes == 0 || begin < all.begin || (begin - all.begin) % bytes != 0 ||
        (all.end - all.begin) % bytes != 0) {
      return {.kind = Source::kSeveral};
    }
    return PartSource(static_cast<uint32_t>((begin - all.begin) / bytes));
  }

  void Write(uint32_t operand, Source source) {
    const plan::Value& value = graph_.values[operand];
    if (IsState(value)) return;
    const uint64_t begin = value.offset(), end = begin + value.bytes();
    if (source.kind == Source::kInput) source.begin = begin, source.end = end;
    sources_[value.buffer()].Assign(begin, end, source);
  }

  // Calls `take(call, part)` for each instruction of a method that works for a part.
  template <typename Take>
  void ForEachCall(Take take) const {
    for (uint32_t i = 0; i < found_.size(); ++i) {
      const plan::Instruction& at = graph_.instructions[i];
      if (found_[i].kind != Source::kPart || at.call() == plan::kNone) continue;
      const plan::Call& call = graph_.calls[at.call()];
      if (at.kind() == plan::Kind::call && call.place() != plan::kNone) take(call, found_[i].part);
    }
  }

  // Returns whether one method of one actor is called for several parts.
  bool AreMicroBatches() const {
    std::map<std::pair<uint32_t, uint32_t>, std::set<uint32_t>> parts;
    bool several = false;
    ForEachCall([&](const plan::Call& call, uint32_t part) {
      std::set<uint32_t>& seen = parts[{call.place(), call.method()}];
      seen.insert(part);
      several |= seen.size() > 1;
    });
    return several;
  }

  // Returns parts by their numbers among those of their replica, where the actors are replicas: of
  // x[r][mb] the actors of one r never see the parts of another. Empty where they are none.
  std::map<uint32_t, uint32_t> NumbersInReplicas() const {
    std::map<uint32_t, std::set<uint32_t>> of_place;
    ForEachCall([&](const plan::Call& call, uint32_t part) {
      of_place[call.place()].insert(part);
    });
    std::set<std::set<uint32_t>> replicas;
    std::map<uint32_t, uint32_t> numbers;
    for (const auto& [place, parts] : of_place) {
      if (!replicas.insert(parts).second) continue;
      if (parts.size() != replicas.begin()->size()) return {};
      uint32_t number = 0;
      for (uint32_t part : parts) {
        if (!numbers.emplace(part, number++).second) return {};
      }
    }
    return numbers;
  }

  const plan::Plan& plan_;
  const plan::Graph& graph_;
  const plan::GraphIndex index_;
  std::vector<ByteIntervals<Source>> sources_;  // by buffer
  std::vector<Source> found_;                 // by instruction
  // By transfer, of each value; a send is written before its receive.
  std::map<uint32_t, std::vector<Source>> sent_;
};

}  // namespace

std::vector<uint32_t> FindMicroBatches(const plan::Plan& plan, const plan::Graph& graph) {
  return MicroBatchFinder(plan, graph).Find();
}

}  // namespace cgraph
