// Operands of instructions: rule 4 (nothing is read that the same execution did not write), the
// part of rule 5 about one instruction (its operands overlap only where its kernel works in place),
// and rule 7 (extents that are known, captures that are whole).
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "runtime/plan/check/check_internal.h"
#include "runtime/plan/print.h"

namespace cgraph::plan::check {
namespace {

// Checks an input: it makes its port's value, then extents of symbols that occur in it, in
// dimension order.
Status CheckTakenExtents(const Context& context, const GraphIndex& index, uint32_t id) {
  const Graph& graph = context.graph;
  const Instruction& take = graph.instructions[id];
  const uint32_t* outputs = graph.operands.data() + take.first();
  const Value& port = graph.values[outputs[0]];
  uint32_t dim = 0;
  for (uint32_t i = 1; i < take.outputs(); ++i) {
    while (dim < port.rank() && index.ExtentValue(graph.dims[port.first_dim() + dim].symbol(),
                                                  index.device(id)) != outputs[i]) {
      ++dim;
    }
    if (dim++ >= port.rank()) {
      return Refuse(context, 7,
                    fmt::format("{} makes {}, which is no extent of its port", At(context, id),
                                ValueText(context, outputs[i])));
    }
  }
  return Status::Ok();
}

// The address of an operand. Sorted by address; of two at one address the output comes first.
struct OperandAddress {
  uint32_t arena;
  uint64_t begin, end;
  bool input;
  uint32_t buffer;
  uint32_t position;  // among the inputs or the outputs of a call
  uint32_t value;
  bool operator<(const OperandAddress& other) const {
    return std::tie(arena, begin, input, end) <
           std::tie(other.arena, other.begin, other.input, other.end);
  }
};

// Finds two operands of one instruction that overlap and must not; null where there are none.
// `kernel`: of a call. The operands are sorted. Of those that it has passed it keeps the output and
// the input that reach furthest. Those are enough: outputs never overlap, and inputs that do
// overlap share a buffer.
std::pair<const OperandAddress*, const OperandAddress*> FindOverlap(
    const Kernel* kernel, std::span<const OperandAddress> operands) {
  const OperandAddress *output = nullptr, *input = nullptr;
  const auto reaches = [](const OperandAddress* before, const OperandAddress& next) {
    return before != nullptr && before->arena == next.arena && before->end > next.begin;
  };
  const auto may_share = [&](const OperandAddress& next) {
    if (kernel == nullptr || !next.input || next.buffer != output->buffer ||
        next.begin != output->begin || next.end != output->end) {
      return false;
    }
    return std::any_of(kernel->inplace.begin(), kernel->inplace.end(), [&](const Inplace& pair) {
      return pair.input() == next.position && pair.output() == output->position;
    });
  };
  for (const OperandAddress& next : operands) {
    if (next.begin == next.end) continue;
    if (reaches(output, next) && !may_share(next)) return {output, &next};
    if (reaches(input, next) && !(next.input && next.buffer == input->buffer)) {
      return {input, &next};
    }
    const OperandAddress*& kept = next.input ? input : output;
    if (!reaches(kept, next) || next.end > kept->end) kept = &next;
  }
  return {nullptr, nullptr};
}

bool LivesForOneExecution(Space space) { return space != Space::state && space != Space::constant; }

// Checks that reads are covered by earlier writes. Accesses stand in program order, and reads come
// before writes of the same position: so a write that covers a read was made strictly before it. A
// write that is scaled by extents covers only reads that are scaled alike.
class WrittenBefore {
 public:
  explicit WrittenBefore(const Graph& graph) : graph_(graph) {}

  // Returns a read that is not covered; null where there is none.
  const Access* Check(std::span<const Access> accesses) {
    CutIntoPieces(accesses, ends_);
    next_.resize(ends_.size());
    std::iota(next_.begin(), next_.end(), 0u);
    scaled_.clear();
    for (const Access& access : accesses) {
      if (access.begin == access.end) continue;
      std::vector<uint64_t> scaled;
      if (!graph_.symbols.empty()) scaled = ScaledBy(graph_, access);
      if (access.write) {
        if (scaled.empty())
          Write(access);
        else
          scaled_.insert(std::move(scaled));
      } else if (!Covers(access) && (scaled.empty() || scaled_.count(scaled) == 0)) {
        return &access;
      }
    }
    return nullptr;
  }

 private:
  void Write(const Access& access) {
    const uint32_t end = Piece(access.end);
    for (uint32_t at = Gap(Piece(access.begin)); at < end; at = Gap(at)) next_[at] = at + 1;
  }
  bool Covers(const Access& access) { return Gap(Piece(access.begin)) >= Piece(access.end); }
  uint32_t Piece(uint64_t at) const { return static_cast<uint32_t>(PieceAt(ends_, at)); }
  // Returns the first piece from `at` on that was not written.
  uint32_t Gap(uint32_t at) {
    while (next_[at] != at) at = next_[at] = next_[next_[at]];
    return at;
  }

  const Graph& graph_;
  std::vector<uint64_t> ends_;  // of pieces
  std::vector<uint32_t> next_;  // by piece: itself, or behind it if it was written
  std::set<std::vector<uint64_t>> scaled_;
};

}  // namespace

Status CheckExtents(const Context& context, const GraphIndex& index) {
  const Graph& graph = context.graph;
  if (graph.symbols.empty() && graph.inputs.empty()) return Status::Ok();
  for (uint32_t id = 0; id < graph.instructions.size(); ++id) {
    if (graph.instructions[id].kind() == Kind::input) {
      CGRAPH_RETURN_IF_ERROR(CheckTakenExtents(context, index, id));
    }
    const bool comm = graph.instructions[id].kind() == Kind::comm;
    std::vector<uint32_t> made;
    uint32_t unknown = kNone, unmade = kNone;
    if (comm) {
      index.ForEachOperand(id, [&](uint32_t value, bool write, uint32_t) {
        if (write) made.push_back(value);
      });
      std::sort(made.begin(), made.end());
    }
    index.ForEachSymbol(id, [&](uint32_t symbol, uint32_t value, uint32_t) {
      const uint32_t extent = index.ExtentValue(symbol, index.device(id));
      if (extent == kNone)
        unknown = value;
      else if (std::binary_search(made.begin(), made.end(), extent))
        unmade = value;
    });
    if (unknown != kNone) {
      return Refuse(context, 7,
                    fmt::format("{} touches {}, and its device has no extent for it",
                                At(context, id), ValueText(context, unknown)));
    }
    if (unmade != kNone) {
      return Refuse(context, 7,
                    fmt::format("{} moves {} with its own extent, so that its size is not "
                                "known before: it must be at the bound",
                                At(context, id), ValueText(context, unmade)));
    }
  }
  return Status::Ok();
}

Status CheckOperands(const Context& context, const GraphIndex& index) {
  const Graph& graph = context.graph;
  std::vector<OperandAddress> places;
  for (uint32_t id = 0; id < graph.instructions.size(); ++id) {
    const Instruction& instruction = graph.instructions[id];
    places.clear();
    uint32_t inputs = 0, outputs = 0;
    index.ForEachAccess(id, [&](uint32_t operand, bool write) {
      const Value& value = graph.values[operand];
      const Buffer& buffer = graph.buffers[value.buffer()];
      const uint64_t begin = buffer.offset() + value.offset();
      const uint32_t position = write ? outputs++ : inputs++;
      const bool extent = !write && position >= instruction.inputs();  // read without being named
      places.push_back({buffer.arena(), begin, begin + value.bytes(), !write, value.buffer(),
                        extent ? kNone : position, operand});
    });
    if (outputs == 0 && inputs < 2) continue;
    std::sort(places.begin(), places.end());
    const bool call = instruction.kind() == Kind::call;
    const auto [overlapped, by] =
        FindOverlap(call ? context.plan.kernels[instruction.subject()].get() : nullptr, places);
    if (overlapped == nullptr) continue;
    return Refuse(
        context, 5,
        fmt::format(
            "{}: its operands {} and {} overlap, and {}", At(context, id),
            ValueText(context, overlapped->value), ValueText(context, by->value),
            call ? "its kernel does not work in place there" : "only a call may work in place"));
  }
  return Status::Ok();
}

Status CheckWrittenBeforeRead(const Context& context, const GraphIndex& index) {
  const Graph& graph = context.graph;
  const auto accesses = AccessesByBuffer(index);
  WrittenBefore written(graph);
  for (uint32_t buffer = 0; buffer < graph.buffers.size(); ++buffer) {
    if (!LivesForOneExecution(graph.arenas[graph.buffers[buffer].arena()].space())) continue;
    const Access* read = written.Check(accesses.of(buffer));
    if (read == nullptr) continue;
    return Refuse(context, 4,
                  fmt::format("{} reads {}, and nothing has written all of it before in "
                              "program order",
                              At(context, read->instruction), ValueText(context, read->value)));
  }
  return Status::Ok();
}

Status CheckCaptures(const Context& context, const GraphIndex& index) {
  const Graph& graph = context.graph;
  struct Seen {
    uint32_t device, lane;
  };
  std::map<uint32_t, Seen> captures;
  for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
    const Range& program = graph.programs[lane];
    uint32_t before = 0;
    for (uint32_t id = program.first(); id < program.first() + program.count(); ++id) {
      const uint32_t capture = graph.instructions[id].capture_id();
      if (capture != 0 && capture != before) {
        const uint32_t device = index.device(id);
        const auto [found, first] = captures.emplace(capture, Seen{device, lane});
        if (!first && found->second.device != device) {
          return Refuse(context, 7,
                        fmt::format("capture {} is on {} and on {}", capture,
                                    DeviceName(context.plan, found->second.device),
                                    DeviceName(context.plan, device)));
        }
        if (!first && found->second.lane == lane) {
          return Refuse(context, 7,
                        fmt::format("capture {} is not contiguous in {}: {} is outside", capture,
                                    LaneName(context.plan, lane), At(context, id - 1)));
        }
        found->second.lane = lane;
      }
      before = capture;
    }
  }
  return Status::Ok();
}

}  // namespace cgraph::plan::check
