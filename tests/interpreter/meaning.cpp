#include "tests/interpreter/meaning.h"

#include <algorithm>
#include <map>
#include <utility>

namespace cgraph::interpreter {
namespace {

using Kind = wire::CollectiveKind;

bool IsAnyOf(Kind kind, std::initializer_list<Kind> kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

struct Problem {
  uint32_t instruction;
  std::string text;
};

class Sequence {
 public:
  Sequence(const View& view, const std::vector<bool>& submitted)
      : view_(view), submitted_(submitted), blocks_(view.graph->buffers.size()) {
    order_.resize(view.instructions.size());
    for (uint32_t i = 0; i < order_.size(); ++i) {
      order_[i] = i;
    }
    std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
      return view.instructions[a].program_order < view.instructions[b].program_order;
    });
  }

  Meaning Run() {
    Meaning meaning;
    meaning.found.resize(submitted_.size());
    try {
      Forget(/*all=*/true);
      for (size_t execution = 0; execution < submitted_.size(); ++execution) {
        if (submitted_[execution]) {
          meaning.found[execution].assign(view_.instructions.size(), 0);
          Execute(static_cast<int64_t>(execution), meaning.found[execution]);
          Forget(/*all=*/false);
        }
      }
    } catch (const Problem& problem) {
      meaning.problem = problem.text;
      meaning.problem_instruction = problem.instruction;
    }
    meaning.buffers.resize(blocks_.size());
    for (size_t buffer = 0; buffer < blocks_.size(); ++buffer) {
      if (Lasts(buffer)) {
        meaning.buffers[buffer] = blocks_[buffer].All();
      }
    }
    return meaning;
  }

 private:
  bool Lasts(size_t buffer) const {
    const plan::Graph& graph = *view_.graph;
    const plan::Space space = graph.arenas[graph.buffers[buffer].arena()].space();
    return space == plan::Space::state || space == plan::Space::constant;
  }

  void Forget(bool all) {
    for (uint32_t buffer = 0; buffer < blocks_.size(); ++buffer) {
      if (all || !Lasts(buffer)) {
        blocks_[buffer] = Block(view_.graph->buffers[buffer].bytes());
        blocks_[buffer].Write(0, InitialContent(view_, buffer));
      }
    }
  }

  // Instructions that share a `program_order` happen at once: all of them read, then all write.
  void Execute(int64_t execution, std::vector<Tag>& found_hashes) {
    sent_.clear();
    given_.clear();
    numbers_.clear();
    for (size_t i = 0; i < order_.size();) {
      const uint32_t program_order = view_.instructions[order_[i]].program_order;
      std::vector<Observation> found;
      size_t end = i;
      for (; end < order_.size() && view_.instructions[order_[end]].program_order == program_order;
           ++end) {
        found.push_back(Find(order_[end]));
        FindNumbers(order_[end], /*made=*/false);
        found_hashes[order_[end]] = found.back().hash();
        Offer(order_[end], found.back());
      }
      const size_t begin = i;
      for (size_t k = 0; i < end; ++i, ++k) {
        Leave(order_[i], execution, found[k]);
      }
      for (size_t k = begin; k < end; ++k) {
        FindNumbers(order_[k], /*made=*/true);
      }
    }
  }

  Content Read(uint32_t instruction, const Touch& touch) const {
    const uint64_t base = view_.graph->buffers[touch.buffer].offset();
    Content content = blocks_[touch.buffer].Read(touch.begin - base, touch.end - base);
    if (HasUnwritten(content)) {
      throw Problem{instruction, "reads bytes that nothing has written"};
    }
    return content;
  }

  Observation Find(uint32_t index) const {
    const InstructionView& instruction = view_.instructions[index];
    Observation found;
    for (const Operand& input : instruction.inputs) {
      found.inputs.push_back(Read(index, input.touch));
    }
    for (const Touch& extent : instruction.extents) {
      found.extents.push_back(Read(index, extent));
    }
    return found;
  }

  // Checks that a symbol is one number in an execution, whoever reads it.
  void FindNumbers(uint32_t index, bool made) {
    for (const SymbolView& symbol : view_.instructions[index].symbols) {
      if (symbol.made != made) {
        continue;
      }
      const Tag number = ValueHash(Read(index, symbol.at));
      if (numbers_.try_emplace(symbol.symbol, number).first->second != number) {
        throw Problem{index, "finds another number for a symbol than others do"};
      }
    }
  }

  void Offer(uint32_t index, const Observation& found) {
    const InstructionView& instruction = view_.instructions[index];
    for (const PartView& part : instruction.parts) {
      const auto first = found.inputs.begin() + part.first_input;
      const std::vector<Content> inputs(first, first + part.inputs);
      if (part.part == plan::Part::send) {
        sent_[{part.subject, part.transfer}] = inputs;
      } else if (part.part == plan::Part::collective) {
        const uint32_t communicator = view_.graph->collectives[part.subject]->communicator;
        const uint32_t member = MemberOf(view_, communicator, instruction.lane);
        if (member == plan::kNone) {
          throw Problem{index, "takes part in a collective of others"};
        }
        auto& given = given_[part.subject];
        given.resize(Members(view_, communicator));
        given[member] = inputs;
      }
    }
  }

  void Leave(uint32_t index, int64_t execution, const Observation& found) {
    const InstructionView& instruction = view_.instructions[index];
    if (instruction.kind == plan::Kind::comm) {
      for (const PartView& part : instruction.parts) {
        LeavePart(index, execution, part);
      }
    } else if (!instruction.outputs.empty()) {
      const std::vector<Content> produced = Produce(instruction, execution, found);
      for (size_t i = 0; i < produced.size(); ++i) {
        Write(index, execution, instruction.outputs[i].touch, produced[i]);
      }
    }
  }

  void LeavePart(uint32_t index, int64_t execution, const PartView& part) {
    const InstructionView& instruction = view_.instructions[index];
    if (part.part == plan::Part::send) {
      return;
    }
    const std::vector<Content> received =
        part.part == plan::Part::recv ? Received(index, part) : Collected(index, part);
    if (received.size() != part.outputs) {
      throw Problem{index, "receives another number of values than were sent"};
    }
    for (uint32_t i = 0; i < part.outputs; ++i) {
      Write(index, execution, instruction.outputs[part.first_output + i].touch, received[i]);
    }
  }

  std::vector<Content> Received(uint32_t index, const PartView& part) const {
    const auto message = sent_.find({part.subject, part.transfer});
    if (message == sent_.end()) {
      throw Problem{index, "receives what has not been sent"};
    }
    return message->second;
  }

  std::vector<Content> Collected(uint32_t index, const PartView& part) const {
    const InstructionView& instruction = view_.instructions[index];
    const plan::Collective& collective = *view_.graph->collectives[part.subject];
    std::vector<uint64_t> lengths;
    for (uint32_t i = 0; i < part.outputs; ++i) {
      const Touch& touch = instruction.outputs[part.first_output + i].touch;
      lengths.push_back(touch.end - touch.begin);
    }
    return CollectiveOutputs(collective,
                             MemberOf(view_, collective.communicator, instruction.lane),
                             given_.at(part.subject), lengths);
  }

  void Write(uint32_t index, int64_t execution, const Touch& touch, const Content& content) {
    if (Length(content) != touch.end - touch.begin) {
      throw Problem{index, "moves a value into one of another size"};
    }
    blocks_[touch.buffer].Write(touch.begin - view_.graph->buffers[touch.buffer].offset(),
                                WrittenBy(Writer(view_.instructions[index], execution), content));
  }

  const View& view_;
  const std::vector<bool>& submitted_;
  std::vector<uint32_t> order_;
  std::vector<Block> blocks_;  // by buffer
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Content>> sent_;  // by channel and transfer
  std::map<uint32_t, std::vector<std::vector<Content>>> given_;  // by collective, then member
  std::map<uint32_t, Tag> numbers_;                   // by symbol: of this execution
};

}  // namespace

Tag Observation::hash() const {
  Tag hash = 3;
  for (const Content& content : inputs) {
    hash = Mix(hash, Hash(content));
  }
  for (const Content& content : extents) {
    hash = Mix(hash, Hash(content));
  }
  return hash;
}

Tag Writer(const InstructionView& instruction, int64_t execution) {
  return Mix(Mix(instruction.lane, instruction.program_order), static_cast<Tag>(execution));
}

std::vector<Content> Produce(const InstructionView& instruction, int64_t execution,
                             const Observation& found) {
  std::vector<Content> outputs;
  if (instruction.kind == plan::Kind::copy) {
    return found.inputs;
  }
  Tag origin = Mix(static_cast<Tag>(instruction.kind), instruction.subject);
  origin =
      Mix(Mix(Mix(origin, instruction.program_order), static_cast<Tag>(execution)), found.hash());
  for (size_t i = 0; i < instruction.outputs.size(); ++i) {
    const Touch& touch = instruction.outputs[i].touch;
    outputs.push_back(Whole(Mix(origin, i), touch.end - touch.begin));
  }
  return outputs;
}

bool Flows(const plan::Collective& collective, uint32_t from, uint32_t to) {
  const uint32_t root = static_cast<uint32_t>(collective.root);
  if (IsAnyOf(collective.kind, {Kind::broadcast, Kind::scatter})) {
    return from == root;
  }
  return !IsAnyOf(collective.kind, {Kind::reduce, Kind::gather}) || to == root;
}

std::vector<Content> CollectiveOutputs(const plan::Collective& collective, uint32_t member,
                                       const std::vector<std::vector<Content>>& given,
                                       const std::vector<uint64_t>& lengths) {
  const auto root = static_cast<size_t>(collective.root);
  if (collective.kind == Kind::broadcast && root < given.size() &&
      given[root].size() >= lengths.size()) {
    return {given[root].begin(), given[root].begin() + lengths.size()};
  }
  Tag origin = 11;
  for (uint32_t from = 0; from < given.size(); ++from) {
    if (Flows(collective, from, member)) {
      origin = Mix(Mix(origin, from), Observation{given[from], {}}.hash());
    }
  }
  if (IsAnyOf(collective.kind, {Kind::scatter, Kind::reduce_scatter, Kind::all_to_all})) {
    origin = Mix(origin, member);
  }
  std::vector<Content> outputs;
  for (size_t i = 0; i < lengths.size(); ++i) {
    outputs.push_back(Whole(Mix(origin, i), lengths[i]));
  }
  return outputs;
}

uint32_t Members(const View& view, uint32_t communicator) {
  return view.plan->communicators[communicator].members();
}

uint32_t MemberOf(const View& view, uint32_t communicator, uint32_t lane) {
  const plan::Communicator& group = view.plan->communicators[communicator];
  for (uint32_t member = 0; member < group.members(); ++member) {
    if (view.plan->members[group.first_member() + member] == lane) {
      return member;
    }
  }
  return plan::kNone;
}

Content InitialContent(const View& view, uint32_t buffer_index) {
  const plan::Graph& graph = *view.graph;
  const plan::Buffer& buffer = graph.buffers[buffer_index];
  const plan::Space space = graph.arenas[buffer.arena()].space();
  if (space == plan::Space::state) {
    return {{buffer.bytes(), Mix(13, buffer.arena()), buffer.offset()}};
  }
  if (space == plan::Space::constant) {
    for (const plan::Constant& constant : graph.constants) {
      if (constant.buffer() == buffer_index) {
        Tag origin = 17;  // equal constants have the same
        for (uint64_t at = 0; at < buffer.bytes(); ++at) {
          origin = Mix(origin, graph.constant_data[constant.first() + at]);
        }
        return {{buffer.bytes(), origin, 0}};
      }
    }
  }
  return {{buffer.bytes(), kUnwritten, 0}};
}

Meaning FindMeaning(const View& view, const std::vector<bool>& submitted) {
  return Sequence(view, submitted).Run();
}

}  // namespace cgraph::interpreter
