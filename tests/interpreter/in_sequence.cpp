#include "tests/interpreter/in_sequence.h"

#include <algorithm>
#include <map>
#include <utility>

namespace cgraph::interpreter {
namespace {

using plan::kNone;

uint32_t Moved(uint32_t index, size_t by) {
  return index == kNone ? kNone : index + static_cast<uint32_t>(by);
}

// Appends one graph after the other; all indices of the next one are moved behind those that exist.
class GraphJoiner {
 public:
  explicit GraphJoiner(const plan::Plan& plan) : to_(std::make_unique<plan::Graph>()) {
    to_->name = "in sequence";
    // No slow caller, who would take a result only when all of the graphs have begun: an engine
    // keeps results for him, and no lane waits for that.
    to_->inflight = 0;
    lanes_.resize(plan.lanes.size());
  }

  void Add(const plan::Graph& from) {
    AddMemory(from);
    AddTransfers(from);
    AddInstructions(from);
    to_->events += from.events;
  }

  std::unique_ptr<plan::Graph> Finish() {
    for (const std::vector<plan::Instruction>& lane : lanes_) {
      to_->programs.emplace_back(static_cast<uint32_t>(to_->instructions.size()),
                                 static_cast<uint32_t>(lane.size()));
      to_->instructions.insert(to_->instructions.end(), lane.begin(), lane.end());
    }
    return std::move(to_);
  }

 private:
  void AddMemory(const plan::Graph& from) {
    const size_t symbols = to_->symbols.size(), dims = to_->dims.size();
    values_ = to_->values.size();
    std::vector<uint32_t> arena_of, buffer_of;
    for (const plan::Arena& arena : from.arenas) arena_of.push_back(AddArena(arena));
    for (plan::Buffer buffer : from.buffers) {
      buffer.mutate_arena(arena_of[buffer.arena()]);
      buffer_of.push_back(AddBuffer(buffer));
    }
    for (plan::Dim dim : from.dims) {
      dim.mutate_symbol(Moved(dim.symbol(), symbols));
      to_->dims.push_back(dim);
    }
    to_->symbols.insert(to_->symbols.end(), from.symbols.begin(), from.symbols.end());
    for (plan::Value value : from.values) {
      value.mutate_first_dim(Moved(value.first_dim(), dims));
      value.mutate_buffer(buffer_of[value.buffer()]);
      to_->values.push_back(value);
    }
    for (plan::Extent extent : from.extents) {
      extent.mutate_symbol(Moved(extent.symbol(), symbols));
      extent.mutate_value(Moved(extent.value(), values_));
      to_->extents.push_back(extent);
    }
    for (const plan::Constant& constant : from.constants) {
      to_->constants.emplace_back(buffer_of[constant.buffer()],
                                  constant.first() + to_->constant_data.size());
    }
    to_->constant_data.insert(to_->constant_data.end(), from.constant_data.begin(),
                              from.constant_data.end());
  }

  // Adds an arena. Graphs have arenas of their own, except for the states of an actor.
  uint32_t AddArena(const plan::Arena& arena) {
    const auto added = static_cast<uint32_t>(to_->arenas.size());
    if (arena.space() == plan::Space::state) {
      const auto [at, is_new] = state_of_.try_emplace(arena.owner(), added);
      if (!is_new) return at->second;
    }
    to_->arenas.push_back(arena);
    return added;
  }

  uint32_t AddBuffer(const plan::Buffer& buffer) {
    const auto added = static_cast<uint32_t>(to_->buffers.size());
    if (to_->arenas[buffer.arena()].space() == plan::Space::state) {
      const auto [at, is_new] =
          state_buffers_.try_emplace({buffer.arena(), buffer.offset()}, added);
      if (!is_new) return at->second;
    }
    to_->buffers.push_back(buffer);
    return added;
  }

  void AddTransfers(const plan::Graph& from) {
    channels_ = to_->channels.size();
    collectives_ = to_->collectives.size();
    to_->channels.insert(to_->channels.end(), from.channels.begin(), from.channels.end());
    for (const auto& collective : from.collectives) {
      to_->collectives.push_back(std::make_unique<plan::Collective>(*collective));
    }
  }

  void AddInstructions(const plan::Graph& from) {
    const size_t operands = to_->operands.size(), parts = to_->parts.size();
    const size_t waits = to_->waits.size(), calls = to_->calls.size();
    const size_t inputs = to_->inputs.size(), outputs = to_->outputs.size();
    for (uint32_t value : from.operands) to_->operands.push_back(Moved(value, values_));
    for (plan::CommPart part : from.parts) {
      const bool collective = part.part() == plan::Part::collective;
      part.mutate_subject(Moved(part.subject(), collective ? collectives_ : channels_));
      part.mutate_first(Moved(part.first(), operands));
      if (!collective) part.mutate_transfer(part.transfer() + transfers_);
      to_->parts.push_back(part);
      last_transfer_ = std::max(last_transfer_, part.transfer() + 1);
    }
    for (plan::Wait wait : from.waits) {
      wait.mutate_event(Moved(wait.event(), to_->events));
      to_->waits.push_back(wait);
    }
    for (plan::Call call : from.calls) {
      call.mutate_first_index(Moved(call.first_index(), to_->call_indices.size()));
      to_->calls.push_back(call);
    }
    to_->call_indices.insert(to_->call_indices.end(), from.call_indices.begin(),
                             from.call_indices.end());
    for (const auto& port : from.inputs) AddPort(*port, to_->inputs);
    for (const auto& port : from.outputs) AddPort(*port, to_->outputs);
    for (uint32_t lane = 0; lane < from.programs.size(); ++lane) {
      const plan::Range& range = from.programs[lane];
      for (uint32_t i = range.first(); i < range.first() + range.count(); ++i) {
        plan::Instruction at = from.instructions[i];
        switch (at.kind()) {
          case plan::Kind::wait: at.mutate_first(Moved(at.first(), waits)); break;
          case plan::Kind::comm: at.mutate_first(Moved(at.first(), parts)); break;
          default: at.mutate_first(Moved(at.first(), operands));
        }
        if (at.kind() == plan::Kind::signal) at.mutate_subject(Moved(at.subject(), to_->events));
        if (at.kind() == plan::Kind::input) at.mutate_subject(Moved(at.subject(), inputs));
        if (at.kind() == plan::Kind::output) at.mutate_subject(Moved(at.subject(), outputs));
        at.mutate_call(Moved(at.call(), calls));
        if (at.capture_id() != 0) at.mutate_capture_id(at.capture_id() + captures_);
        Later(at);
        lanes_[lane].push_back(at);
      }
    }
    first_order_ = last_order_;
    first_written_ = last_written_;
    transfers_ = last_transfer_;
    captures_ = last_capture_;
  }

  // Moves an instruction behind all existing ones, in program order and in the certificate.
  void Later(plan::Instruction& at) {
    at.mutate_certificate_position(at.certificate_position() + first_order_);
    at.mutate_program_order(at.program_order() + first_written_);
    last_order_ = std::max(last_order_, at.certificate_position() + 1);
    last_written_ = std::max(last_written_, at.program_order() + 1);
    last_capture_ = std::max(last_capture_, at.capture_id());
  }

  void AddPort(const plan::Port& port, std::vector<std::unique_ptr<plan::Port>>& to) const {
    auto& added = to.emplace_back(std::make_unique<plan::Port>());
    added->name = std::to_string(to.size()) + "." + port.name;
    added->value = Moved(port.value, values_);
  }

  std::unique_ptr<plan::Graph> to_;
  std::vector<std::vector<plan::Instruction>> lanes_;
  std::map<uint32_t, uint32_t> state_of_;  // actor -> its arena
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> state_buffers_;  // arena and offset -> buffer
  size_t values_ = 0, channels_ = 0, collectives_ = 0;  // before the graph that is added
  uint32_t first_order_ = 0, last_order_ = 0, first_written_ = 0, last_written_ = 0;
  uint32_t transfers_ = 0, last_transfer_ = 0, captures_ = 0, last_capture_ = 0;
};

}  // namespace

std::unique_ptr<plan::Plan> InSequence(const plan::Plan& plan,
                                       const std::vector<uint32_t>& graphs) {
  auto one = std::make_unique<plan::Plan>(plan);
  GraphJoiner sequence(plan);
  for (uint32_t graph : graphs) sequence.Add(*plan.graphs[graph]);
  one->graphs.clear();
  one->graphs.push_back(sequence.Finish());
  return one;
}

}  // namespace cgraph::interpreter
