#include "runtime/load/poison/poison.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/load/frames.h"
#include "runtime/plan/node_parts.h"

namespace cgraph::engine {
namespace {

constexpr uint64_t kMaxChecks = 1ull << 26;

// One write of bytes that a poisoned execution leaves undefined.
struct Writer {
  uint32_t program_order;
  uint32_t poison_flag;
  uint64_t first;  // bytes of the buffer
  uint64_t last;
};

class Finder {
 public:
  explicit Finder(const plan::GraphIndex& index) : index_(index), graph_(index.graph()) {}

  Result<PoisonFlags> Find() {
    poison_flags_.of_instruction.assign(graph_.instructions.size(), plan::kNone);
    poison_flags_.of_part.assign(graph_.parts.size(), plan::kNone);
    poison_flags_.checks_of_instruction.resize(graph_.instructions.size());
    poison_flags_.checks_of_part.resize(graph_.parts.size());
    NumberPoisonFlags();
    writers_ = {graph_.buffers.size(), [this](auto add) { ForWrites(add); }};
    FindChecks();
    if (total_ > kMaxChecks) {
      return Status(StatusCode::kUnsupported,
                    fmt::format("too many instructions write what one instruction reads; this "
                                "engine follows errors through at most {} pairs of them",
                                kMaxChecks));
    }
    GatherCalls();
    FindSetters();
    FindFailing();
    return std::move(poison_flags_);
  }

 private:
  using Instruction = plan::Instruction;

  static bool InCall(const Instruction& instruction) {
    return instruction.call() != plan::kNone &&
           (instruction.kind() == plan::Kind::call || instruction.kind() == plan::Kind::load ||
            (instruction.kind() == plan::Kind::copy &&
             (instruction.flags() & plan::kCommitsState) != 0));
  }

  void NumberPoisonFlags() {
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      const Instruction& instruction = graph_.instructions[i];
      if (instruction.kind() == plan::Kind::comm) {
        for (uint32_t p = 0; p < instruction.inputs(); ++p) {
          const uint32_t part = instruction.first() + p;
          if (graph_.parts[part].outputs() != 0)
            poison_flags_.of_part[part] = poison_flags_.count++;
        }
      } else if (InCall(instruction)) {
        auto [at, added] =
            calls_.try_emplace({instruction.call(), index_.lane(i)}, poison_flags_.count);
        poison_flags_.count += added;
        poison_flags_.of_instruction[i] = at->second;
      } else if (instruction.kind() != plan::Kind::signal &&
                 instruction.kind() != plan::Kind::wait) {
        poison_flags_.of_instruction[i] = poison_flags_.count++;
      }
    }
  }

  // Calls visit(buffer, writer) for every write, in the order of the instructions.
  template <typename Visit>
  void ForWrites(Visit&& visit) const {
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      const Instruction& instruction = graph_.instructions[i];
      if (instruction.kind() == plan::Kind::comm) {
        for (uint32_t p = 0; p < instruction.inputs(); ++p) {
          const plan::CommPart& part = graph_.parts[instruction.first() + p];
          VisitWrites(part.first() + part.inputs(), part.outputs(), instruction.program_order(),
                      poison_flags_.of_part[instruction.first() + p], visit);
        }
      } else if (poison_flags_.of_instruction[i] != plan::kNone) {
        VisitWrites(instruction.first() + instruction.inputs(), instruction.outputs(),
                    instruction.program_order(), poison_flags_.of_instruction[i], visit);
      }
    }
  }

  template <typename Visit>
  void VisitWrites(uint32_t first, uint32_t count, uint32_t program_order, uint32_t poison_flag,
                   Visit&& visit) const {
    for (uint32_t o = first; o < first + count; ++o) {
      const plan::Value& value = graph_.values[graph_.operands[o]];
      const plan::Space space = graph_.arenas[graph_.buffers[value.buffer()].arena()].space();
      if (space != plan::Space::slot && space != plan::Space::scratch &&
          space != plan::Space::output) {
        continue;
      }
      visit(value.buffer(), Writer{program_order, poison_flag, value.offset(),
                                   value.offset() + value.bytes()});
    }
  }

  void FindChecks() {
    for (uint32_t i = 0; i < graph_.instructions.size() && total_ <= kMaxChecks; ++i) {
      const Instruction& instruction = graph_.instructions[i];
      if (instruction.kind() == plan::Kind::comm) {
        for (uint32_t p = instruction.first(); p < instruction.first() + instruction.inputs();
             ++p) {
          const plan::CommPart& part = graph_.parts[p];
          AddOperands(part, i, poison_flags_.of_part[p], poison_flags_.checks_of_part[p]);
        }
      } else if (poison_flags_.of_instruction[i] != plan::kNone) {
        AddOperands(instruction, i, poison_flags_.of_instruction[i],
                    poison_flags_.checks_of_instruction[i]);
      }
    }
  }

  // Adds the values that an instruction, or a part of a comm, reads, and the extents of all that it
  // touches.
  void AddOperands(const auto& at, uint32_t instruction, uint32_t own,
                   std::vector<uint32_t>& checks) {
    const uint32_t program_order = graph_.instructions[instruction].program_order();
    for (uint32_t o = 0; o < uint32_t{at.inputs()} + at.outputs(); ++o) {
      const uint32_t id = graph_.operands[at.first() + o];
      if (o < at.inputs()) AddValue(id, program_order, own, checks);
      const plan::Value& value = graph_.values[id];
      for (uint32_t d = value.first_dim(); d < value.first_dim() + value.rank(); ++d) {
        const uint32_t symbol = graph_.dims[d].symbol();
        if (symbol == plan::kNone) continue;
        const uint32_t extent = index_.ExtentValue(symbol, index_.device(instruction));
        if (extent != plan::kNone) AddValue(extent, program_order, own, checks);
      }
    }
    std::sort(checks.begin(), checks.end());
    checks.erase(std::unique(checks.begin(), checks.end()), checks.end());
  }

  void AddValue(uint32_t index, uint32_t program_order, uint32_t own,
                std::vector<uint32_t>& checks) {
    const plan::Value& value = graph_.values[index];
    for (const Writer& writer : writers_.of(value.buffer())) {
      if (++total_ > kMaxChecks) return;
      const bool overlaps =
          writer.first < value.offset() + value.bytes() && value.offset() < writer.last;
      if (writer.program_order < program_order && writer.poison_flag != own && overlaps) {
        checks.push_back(writer.poison_flag);
      }
    }
  }

  // The first instruction of a call, in its lane, checks the flags of all instructions of the call.
  void GatherCalls() {
    std::vector<uint32_t> firsts(poison_flags_.count, plan::kNone);  // instructions, by flag
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      if (!InCall(graph_.instructions[i])) continue;
      uint32_t& first = firsts[poison_flags_.of_instruction[i]];
      if (first == plan::kNone) {
        first = i;
        continue;
      }
      std::vector<uint32_t>& all = poison_flags_.checks_of_instruction[first];
      const std::vector<uint32_t>& more = poison_flags_.checks_of_instruction[i];
      all.insert(all.end(), more.begin(), more.end());
    }
    for (uint32_t instruction : firsts) {
      if (instruction == plan::kNone) continue;
      std::vector<uint32_t>& all = poison_flags_.checks_of_instruction[instruction];
      std::sort(all.begin(), all.end());
      all.erase(std::unique(all.begin(), all.end()), all.end());
    }
  }

  // Calls visit(flag, instruction, checks) for every instruction and part that has a flag.
  template <typename Visit>
  void ForFlags(Visit&& visit) const {
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      const Instruction& instruction = graph_.instructions[i];
      if (instruction.kind() != plan::Kind::comm) {
        const uint32_t flag = poison_flags_.of_instruction[i];
        if (flag != plan::kNone) visit(flag, i, poison_flags_.checks_of_instruction[i]);
        continue;
      }
      for (uint32_t p = instruction.first(); p < instruction.first() + instruction.inputs(); ++p) {
        const uint32_t flag = poison_flags_.of_part[p];
        if (flag != plan::kNone) visit(flag, i, poison_flags_.checks_of_part[p]);
      }
    }
  }

  void FindSetters() {
    poison_flags_.setters.assign(poison_flags_.count, plan::kNone);
    ForFlags([&](uint32_t flag, uint32_t instruction, const std::vector<uint32_t>&) {
      poison_flags_.setters[flag] = index_.device(instruction);
    });
  }

  // Finds the flags that a kernel which fails, or an extent beyond its bound, may set, and those
  // that follow from them. An extent that an input gives was compared with its bound already.
  void FindFailing() {
    const std::vector<bool> given = GivenSymbols(graph_);
    std::vector<std::vector<uint32_t>> followers(poison_flags_.count);
    std::vector<bool>& may_fail = poison_flags_.may_fail;
    may_fail.assign(poison_flags_.count, false);
    ForFlags([&](uint32_t flag, uint32_t i, const std::vector<uint32_t>& checks) {
      may_fail[flag] = may_fail[flag] || MayReportError(index_, given, i);
      for (uint32_t check : checks) followers[check].push_back(flag);
    });
    FollowMessages(followers);
    MarkPoisonOfOtherNodes();
    std::vector<uint32_t> open;
    for (uint32_t flag = 0; flag < may_fail.size(); ++flag) {
      if (may_fail[flag]) open.push_back(flag);
    }
    while (!open.empty()) {
      const uint32_t flag = open.back();
      open.pop_back();
      for (uint32_t follower : followers[flag]) {
        if (may_fail[follower]) continue;
        may_fail[follower] = true;
        open.push_back(follower);
      }
    }
  }

  // Marks what other nodes send. In a part of a plan their instructions are missing; the flag of a
  // part says whether its value may be poisoned.
  void MarkPoisonOfOtherNodes() {
    std::vector<bool>& may_fail = poison_flags_.may_fail;
    for (uint32_t channel = 0; channel < graph_.channels.size(); ++channel) {
      const auto sends = index_.sends(channel), receives = index_.receives(channel);
      for (size_t m = 0; m < std::min(sends.size(), receives.size()); ++m) {
        if (MayBePoisoned(sends[m].part)) may_fail[poison_flags_.of_part[receives[m].part]] = true;
      }
    }
    const std::span<const plan::CollectivePart> parts = index_.collective_parts();
    for (size_t first = 0; first < parts.size();) {
      const auto members =
          parts.subspan(first, index_.plan().communicators[parts[first].communicator].members());
      const bool may_be = std::any_of(
          members.begin(), members.end(),
          [&](const plan::CollectivePart& member) { return MayBePoisoned(member.part); });
      for (const plan::CollectivePart& to : members) {
        const uint32_t flag = poison_flags_.of_part[to.part];
        if (may_be && flag != plan::kNone) may_fail[flag] = true;
      }
      first += members.size();
    }
  }
  bool MayBePoisoned(uint32_t part) const {
    return (graph_.parts[part].flags() & plan::kMayBePoisoned) != 0;
  }

  // A message is poisoned where what was sent is; the result of a collective where any member's
  // part is.
  void FollowMessages(std::vector<std::vector<uint32_t>>& followers) const {
    for (uint32_t channel = 0; channel < graph_.channels.size(); ++channel) {
      const auto sends = index_.sends(channel), receives = index_.receives(channel);
      for (size_t m = 0; m < std::min(sends.size(), receives.size()); ++m) {
        for (uint32_t check : poison_flags_.checks_of_part[sends[m].part]) {
          followers[check].push_back(poison_flags_.of_part[receives[m].part]);
        }
      }
    }
    const std::span<const plan::CollectivePart> parts = index_.collective_parts();
    for (size_t first = 0; first < parts.size();) {
      const auto members =
          parts.subspan(first, index_.plan().communicators[parts[first].communicator].members());
      for (const plan::CollectivePart& from : members) {
        for (uint32_t check : poison_flags_.checks_of_part[from.part]) {
          for (const plan::CollectivePart& to : members) {
            const uint32_t flag = poison_flags_.of_part[to.part];
            if (flag != plan::kNone) followers[check].push_back(flag);
          }
        }
      }
      first += members.size();
    }
  }

  const plan::GraphIndex& index_;
  const plan::Graph& graph_;
  PoisonFlags poison_flags_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> calls_;  // (call, lane) -> poison flag
  plan::Lists<Writer> writers_;                              // by buffer
  uint64_t total_ = 0;
};

}  // namespace

bool MayReportError(const plan::GraphIndex& index, const std::vector<bool>& given, uint32_t i) {
  const plan::Instruction& instruction = index.graph().instructions[i];
  bool may = instruction.kind() == plan::Kind::load ||
             (instruction.kind() == plan::Kind::call &&
              index.plan().kernels[instruction.subject()]->fails);
  index.ForEachSymbol(i, [&](uint32_t symbol, uint32_t, uint32_t) { may |= !given[symbol]; });
  return may;
}

Result<PoisonFlags> FindPoisonFlags(const plan::GraphIndex& index) { return Finder(index).Find(); }

}  // namespace cgraph::engine
