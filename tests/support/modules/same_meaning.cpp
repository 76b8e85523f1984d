#include "runtime/plan/kinds.h"
#include "tests/support/modules/same_meaning.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

namespace cgraph::graph::testing {
namespace {

using Tag = uint64_t;
constexpr Tag kUnwritten = 0, kPort = 1, kExtent = 2, kStateBefore = 3, kConstant = 4, kPart = 5;

Tag Mix(Tag a, Tag b) {
  Tag x = (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 0xbf58476d1ce4e5b9;
  return x ^ (x >> 31);
}
Tag MixText(const std::string& text) { return std::hash<std::string>()(text); }

// Returns bytes [offset, offset + bytes) of the value that `tag` stands for, which has `whole`
// bytes.
Tag PartOf(Tag tag, uint64_t offset, uint64_t bytes, uint64_t whole) {
  return offset == 0 && bytes == whole ? tag : Mix(Mix(tag, kPart), Mix(offset, bytes));
}

struct Result {
  std::map<std::string, Tag> tags;  // "output 0", "state w of a"
  uint64_t ops = 0;
};

// ---- the graph --------------------------------------------------------------------------------

class GraphRun {
 public:
  GraphRun(const Module& module, const graph::Graph& graph) : module_(module), graph_(graph) {}

  Result Run() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      tags_[graph_.inputs[i].use.value] = Mix(kPort, i);
    }
    for (SymbolId symbol : graph_.symbols.Ids()) {
      const ValueId extent = graph_.symbols[symbol].extent;
      if (graph_.values[extent].storage == Value::kInput && !tags_.count(extent)) {
        tags_[extent] = Mix(kExtent, symbol.index);
      }
    }
    Result result;
    std::map<StateId, Tag> states;
    for (const Op& op : graph_.ops) {
      if (op.collective) {
        Collect(op);
        continue;
      }
      Tag tag = op.kernel == "copy" ? Get(op.operands[0].value) : Compute(op);
      for (ValueId id : op.results) {
        tags_[id] = tag;
        if (graph_.values[id].storage == Value::kState) states[graph_.values[id].state] = tag;
      }
      ++result.ops;
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      result.tags[fmt::format("output {}", i)] = Given(graph_.outputs[i].use.value);
    }
    for (const auto& [state, tag] : states) {
      const State& variable = module_.states[state];
      const auto& all = module_.instances[variable.instance].states;
      result.tags[fmt::format("state {} of actor {}",
                              std::find(all.begin(), all.end(), state) - all.begin(),
                              variable.instance.index)] = tag;
    }
    return result;
  }

 private:
  Tag Get(ValueId id) {
    const Value& value = graph_.values[id];
    if (value.base.valid()) {
      const auto whole = static_cast<uint64_t>(graph_.values[value.base].type.bytes());
      return PartOf(Get(value.base), value.offset, value.type.bytes(), whole);
    }
    if (value.storage == Value::kConstant) return kConstant;
    if (value.storage == Value::kState && !value.producer.valid()) {
      return Mix(kStateBefore, value.state.index);
    }
    return tags_[id];
  }
  // Collects the results of a collective: a participant's are made of the inputs of those from
  // which something flows to it.
  void Collect(const Op& op) {
    const Collective& collective = *op.collective;
    const CollectiveTraits& traits = TraitsOf(collective.kind);
    const size_t members = collective.participants.size();
    const bool each_gives = traits.from == CollectiveTraits::kEach;
    const bool each_gets = traits.to == CollectiveTraits::kEach;
    for (size_t i = 0; i < op.results.size(); ++i) {
      const size_t tensors = op.results.size() / (each_gets ? members : 1);
      Tag tag = Mix(MixText(op.name),
                    collective.reduction ? static_cast<Tag>(*collective.reduction) : 9);
      tag = Mix(tag, traits.divides() ? i / tensors : 0);
      for (size_t k = i % tensors; k < op.operands.size(); k += tensors) {
        tag = Mix(tag, Get(op.operands[k].value));
      }
      tags_[op.results[i]] = Mix(tag, each_gives ? members : 1);
    }
  }
  Tag AddExtents(Tag tag, ValueId id) {
    for (const Dim& dim : graph_.values[id].type.dims) {
      if (dim.symbol.valid()) tag = Mix(tag, Get(graph_.symbols[dim.symbol].extent));
    }
    return tag;
  }
  Tag Given(ValueId id) { return AddExtents(Get(id), id); }
  Tag Compute(const Op& op) {
    Tag tag = MixText("load");
    if (op.kernel != "load") {
      tag = MixText(op.kernel);
      for (const Attribute& attribute : op.attributes) {
        if (attribute.name == "id") tag = Mix(tag, std::get<int64_t>(attribute.value));
      }
    }
    for (const Use& use : op.operands) tag = AddExtents(Mix(tag, Get(use.value)), use.value);
    for (ValueId id : op.results) tag = AddExtents(tag, id);
    return tag;
  }

  const Module& module_;
  const graph::Graph& graph_;
  std::map<ValueId, Tag> tags_;
};

// ---- the plan ---------------------------------------------------------------------------------

class PlanRun {
 public:
  PlanRun(const plan::Plan& plan, const plan::Graph& graph)
      : plan_(plan), graph_(graph), buffers_(graph.buffers.size()) {}

  Result Run() {
    std::vector<uint32_t> order(graph_.instructions.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return graph_.instructions[a].program_order() < graph_.instructions[b].program_order();
    });
    for (uint32_t i : order) RunOne(i);
    for (uint32_t id = 0; id < graph_.buffers.size(); ++id) {
      const plan::Buffer& buffer = graph_.buffers[id];
      if (graph_.arenas[buffer.arena()].space() != plan::Space::state) continue;
      if (!buffers_[id].program_order) continue;
      result_.tags[fmt::format("state {} of actor {}", StateAt(buffer), OwnerOf(buffer))] =
          buffers_[id].tag;
    }
    return result_;
  }

 private:
  struct Memory {
    bool program_order = false;
    Tag tag = kUnwritten;
    uint64_t bytes = 0;
  };

  uint32_t OwnerOf(const plan::Buffer& state) const {
    return graph_.arenas[state.arena()].owner();
  }
  size_t StateAt(const plan::Buffer& buffer) const {
    const auto& states = plan_.actors[OwnerOf(buffer)]->states;
    size_t i = 0;
    while (states[i]->offset != buffer.offset()) ++i;
    return i;
  }
  uint32_t DeviceOf(uint32_t instruction) const {
    for (size_t lane = 0; lane < graph_.programs.size(); ++lane) {
      const plan::Range& range = graph_.programs[lane];
      if (instruction >= range.first() && instruction < range.first() + range.count()) {
        return plan_.lanes[lane].device();
      }
    }
    return plan::kNone;
  }

  Tag Read(uint32_t id) {
    const plan::Value& value = graph_.values[id];
    const Memory& memory = buffers_[value.buffer()];
    const plan::Buffer& buffer = graph_.buffers[value.buffer()];
    const plan::Space space = graph_.arenas[buffer.arena()].space();
    if (space == plan::Space::constant) {
      return PartOf(kConstant, value.offset(), value.bytes(), buffer.bytes());
    }
    if (space == plan::Space::state && !memory.program_order) {
      uint64_t number = StateAt(buffer);
      for (uint32_t a = 0; a < OwnerOf(buffer); ++a) number += plan_.actors[a]->states.size();
      return Mix(kStateBefore, number);
    }
    return PartOf(memory.tag, value.offset(), value.bytes(), memory.bytes);
  }
  void Write(uint32_t id, Tag tag) {
    const plan::Value& value = graph_.values[id];
    buffers_[value.buffer()] = {true, tag, value.bytes()};
  }
  Tag AddExtents(Tag tag, uint32_t id, uint32_t device) {
    const plan::Value& value = graph_.values[id];
    for (uint32_t d = 0; d < value.rank(); ++d) {
      const uint32_t symbol = graph_.dims[value.first_dim() + d].symbol();
      for (const plan::Extent& extent : graph_.extents) {
        const bool wanted = symbol != plan::kNone && extent.symbol() == symbol;
        if (wanted && extent.device() == device) tag = Mix(tag, Read(extent.value()));
      }
    }
    return tag;
  }

  void RunOne(uint32_t i) {
    const plan::Instruction& at = graph_.instructions[i];
    const uint32_t device = DeviceOf(i);
    const uint32_t* operands = graph_.operands.data() + at.first();
    switch (at.kind()) {
      case plan::Kind::input:
        Write(operands[0], Mix(kPort, at.subject()));
        for (uint32_t k = 1; k < at.outputs(); ++k) TakeExtent(operands[k]);
        break;
      case plan::Kind::output:
        result_.tags[fmt::format("output {}", at.subject())] =
            AddExtents(Read(operands[0]), operands[0], device);
        break;
      case plan::Kind::copy: Write(operands[1], Read(operands[0])); break;
      case plan::Kind::comm:
        if (graph_.parts[at.first()].part() == plan::Part::collective) {
          Meet(i, graph_.parts[at.first()]);
        } else {
          RunPart(graph_.parts[at.first()]);
        }
        break;
      case plan::Kind::call: case plan::Kind::load:
        RunOp(at, operands, device);
        result_.ops += !IsCollective(at);
        break;
      case plan::Kind::signal: case plan::Kind::wait: break;
    }
  }
  bool IsCollective(const plan::Instruction& at) const {
    return at.kind() == plan::Kind::call &&
           plan_.kernels[at.subject()]->body[0]->op == "collective";
  }
  void TakeExtent(uint32_t value) {
    for (const plan::Extent& extent : graph_.extents) {
      if (extent.value() == value) Write(value, Mix(kExtent, extent.symbol()));
    }
  }
  void RunPart(const plan::CommPart& part) {
    std::vector<Tag>& message = sent_[part.transfer()];
    for (uint32_t i = 0; i < part.inputs(); ++i) {
      message.push_back(Read(graph_.operands[part.first() + i]));
    }
    for (uint32_t i = 0; i < part.outputs(); ++i) {
      Write(graph_.operands[part.first() + i], message[i]);
    }
  }
  // Runs a part. The parts of a collective stand at one place of program order: the last one to
  // come makes all results.
  void Meet(uint32_t instruction, const plan::CommPart& part) {
    const plan::Collective& collective = *graph_.collectives[part.subject()];
    const plan::Communicator& group = plan_.communicators[collective.communicator];
    std::vector<const plan::CommPart*>& parts = met_[part.subject()];
    parts.resize(group.members());
    for (uint32_t m = 0; m < group.members(); ++m) {
      const plan::Range& lane = graph_.programs[plan_.members[group.first_member() + m]];
      const bool here = instruction >= lane.first() && instruction < lane.first() + lane.count();
      if (here) parts[m] = &part;
    }
    if (std::count(parts.begin(), parts.end(), nullptr) != 0) return;
    std::vector<Tag> given;
    size_t givers = 0;
    for (const plan::CommPart* p : parts) {
      givers += p->inputs() > 0;
      for (uint32_t k = 0; k < p->inputs(); ++k)
        given.push_back(Read(graph_.operands[p->first() + k]));
    }
    std::vector<uint32_t> results;
    for (const plan::CommPart* p : parts) {
      for (uint32_t k = 0; k < p->outputs(); ++k) {
        results.push_back(graph_.operands[p->first() + p->inputs() + k]);
      }
    }
    if ((part.flags() & plan::kIsMessage) != 0) {  // of the graph it is no collective
      for (size_t k = 0; k < results.size(); ++k) Write(results[k], given[k]);
      return;
    }
    const std::optional<Reduction> reduction = plan::ReductionOf(collective);
    Collect(plan::CollectiveName(collective), reduction ? ReductionName(*reduction) : "", given,
            givers, results);
  }
  void Collect(const std::string& kind, const std::string& reduction, const std::vector<Tag>& given,
               size_t givers, const std::vector<uint32_t>& results) {
    if (results.empty()) return;
    const size_t tensors = given.size() / givers;
    const bool cut = kind == "scatter" || kind == "reduce_scatter" || kind == "all_to_all";
    for (size_t i = 0; i < results.size(); ++i) {
      Tag tag = Mix(MixText(kind), reduction.empty() ? 9 : NumberOf(reduction));
      tag = Mix(tag, cut ? i / tensors : 0);
      for (size_t k = i % tensors; k < given.size(); k += tensors) tag = Mix(tag, given[k]);
      Write(results[i], Mix(tag, givers));
    }
  }
  static Tag NumberOf(const std::string& reduction) {
    const std::vector<std::string> all = {"sum", "prod", "min", "max", "avg"};
    return std::find(all.begin(), all.end(), reduction) - all.begin();
  }
  void RunCollectiveKernel(const plan::Instruction& at, const uint32_t* operands) {
    const auto& attributes = plan_.kernels[at.subject()]->body[0]->attributes;
    const auto find = [&](const std::string& name) -> const plan::Attribute& {
      return **std::find_if(attributes.begin(), attributes.end(),
                            [&](const auto& attribute) { return attribute->name == name; });
    };
    const std::string kind = find("kind").text;
    const bool one = kind == "broadcast" || kind == "scatter";
    std::vector<Tag> given;
    for (uint32_t k = 0; k < at.inputs(); ++k) given.push_back(Read(operands[k]));
    Collect(kind, find("reduction").text, given, one ? 1 : find("members").ints[0],
            {operands + at.inputs(), operands + at.inputs() + at.outputs()});
  }
  void RunOp(const plan::Instruction& at, const uint32_t* operands, uint32_t device) {
    const bool load = at.kind() == plan::Kind::load;
    Tag tag = MixText("load");
    if (!load) {
      const plan::Primitive& body = *plan_.kernels[at.subject()]->body[0];
      if (body.op == "collective") return RunCollectiveKernel(at, operands);
      if (body.op == "copy") return Write(operands[1], Read(operands[0]));
      tag = MixText(body.op);
      for (const auto& attribute : body.attributes) {
        if (attribute->name == "id") tag = Mix(tag, attribute->ints[0]);
      }
    }
    for (uint32_t k = 0; k < at.inputs(); ++k) {
      tag = AddExtents(Mix(tag, Read(operands[k])), operands[k], device);
    }
    for (uint32_t k = 0; k < at.outputs(); ++k) {
      tag = AddExtents(tag, operands[at.inputs() + k], device);
    }
    for (uint32_t k = 0; k < at.outputs(); ++k) Write(operands[at.inputs() + k], tag);
  }

  const plan::Plan& plan_;
  const plan::Graph& graph_;
  std::vector<Memory> buffers_;
  std::map<uint32_t, std::vector<Tag>> sent_;
  std::map<uint32_t, std::vector<const plan::CommPart*>> met_;  // by collective, then member
  Result result_;
};

}  // namespace

std::string DifferentMeaning(const Module& module, const graph::Graph& graph,
                             const plan::Plan& plan, const plan::Graph& planned) {
  const Result wanted = GraphRun(module, graph).Run();
  const Result got = PlanRun(plan, planned).Run();
  if (wanted.ops != got.ops) return fmt::format("{} ops instead of {}", got.ops, wanted.ops);
  for (const auto& [name, tag] : wanted.tags) {
    const auto found = got.tags.find(name);
    if (found == got.tags.end()) return name + " is not written";
    if (found->second != tag) return name + " differs";
  }
  if (wanted.tags.size() != got.tags.size()) return "writes more than the graph does";
  return "";
}

}  // namespace cgraph::graph::testing
