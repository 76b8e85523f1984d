// A Graph as text: one line per device's instance, state, input, op and output.
//
//   %12 f32[16, 64] = matmul(%3, %5 via nccl) transpose_a=true  @stage[0].backward mb=3
//
// A value is named by its id; what is not made by an op is listed where it is first read.
#include "compiler/graph/graph.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "compiler/graph/names.h"

namespace cgraph {
namespace {

using graph::Value;
using graph::ValueId;

std::string AttributeText(const graph::Attribute& attribute) {
  struct Text {
    std::string operator()(int64_t value) { return std::to_string(value); }
    std::string operator()(double value) { return fmt::format("{}", value); }
    std::string operator()(bool value) { return value ? "true" : "false"; }
    std::string operator()(const std::string& value) { return '"' + value + '"'; }
    std::string operator()(const std::vector<int64_t>& values) {
      return fmt::format("[{}]", fmt::join(values, ","));
    }
    std::string operator()(DType value) { return std::string(DTypeName(value)); }
  };
  return attribute.name + "=" + std::visit(Text(), attribute.value);
}

class GraphPrinter {
 public:
  GraphPrinter(const graph::Module& module, const graph::Graph& graph, llvm::raw_ostream& out)
      : module_(module), graph_(graph), out_(out), introduced_(graph.values.size()) {}

  void Run() {
    out_ << "graph " << graph_.name;
    if (graph_.inflight != 1) out_ << " inflight " << graph_.inflight;
    if (graph_.overlap) out_ << (*graph_.overlap ? " overlap on" : " overlap off");
    out_ << "\n";
    if (graph_.rules) PrintRules(*graph_.rules);
    if (graph_.repeat) PrintRepeat(*graph_.repeat);
    for (const graph::Port& port : graph_.inputs) {
      introduced_[port.use.value.index] = true;
      out_ << "  input  " << port.name << ": " << Declared(port.use.value) << "\n";
      for (const graph::Dim& dim : graph_.values[port.use.value].type.dims) {
        if (dim.symbol.valid()) Introduce(graph_.symbols[dim.symbol].extent);
      }
    }
    for (graph::OpId id : graph_.ops.Ids()) {
      const graph::Op& op = graph_.ops[id];
      for (const graph::Use& operand : op.operands) Introduce(operand.value);
      const bool is_first = id.index == 0 || graph_.ops[graph::OpId(id.index - 1)].call != op.call;
      PrintOp(op, is_first);
    }
    for (const graph::Bucket& bucket : graph_.buckets) PrintBucket(bucket);
    for (const graph::Port& port : graph_.outputs) {
      Introduce(port.use.value);
      out_ << "  output " << port.name << ": " << Text(port.use) << " "
           << TypeText(graph_, graph_.values[port.use.value].type) << "\n";
    }
  }

 private:
  void PrintRepeat(const graph::Repeat& repeat) {
    out_ << "  repeat until " << graph_.outputs[repeat.done].name << " limit ";
    if (repeat.limit_input) out_ << graph_.inputs[*repeat.limit_input].name << " <= ";
    out_ << repeat.limit << "\n";
    if (!repeat.before) return;
    const graph::Graph& before = module_.graphs[*repeat.before];
    out_ << "  behind " << before.name;
    if (repeat.before_yields) out_ << ", which gives a row";
    if (repeat.before_done) out_ << ", unless its " << before.outputs[*repeat.before_done].name;
    out_ << "\n";
    for (const graph::Repeat::Carry& carry : repeat.carries) {
      out_ << "  carry  " << graph_.inputs[carry.input].name
           << (carry.next ? ", made anew in each round" : "") << "\n";
    }
  }

  void PrintBucket(const graph::Bucket& bucket) {
    const graph::DeviceId from = graph_.values[bucket.values[0]].home;
    out_ << "  bucket " << DeviceName(module_.devices[from]) << " -> "
         << DeviceName(module_.devices[bucket.to]) << " via " << TransportText(bucket.via) << ":";
    for (ValueId value : bucket.values) out_ << " " << Name(value);
    out_ << "\n";
  }

  void PrintRules(const graph::Rules& rules) {
    out_ << "  using " << rules.name << "\n";
    for (const graph::Kind& kind : rules.kinds) {
      if (kind.partial) continue;
      out_ << "    " << kind.name << " rank " << kind.rank;
      if (kind.order != graph::kNoOrder) out_ << " in order " << kind.order;
      out_ << "\n";
    }
    for (const graph::Limit& limit : rules.limits) {
      out_ << "    limit " << rules.kinds[limit.minuend].name << " - "
           << rules.kinds[limit.subtrahend].name << (limit.at_most ? " <=" : " >=")
           << PerDevice(limit.bounds);
      if (rules.kinds[limit.minuend].partial) {
        out_ << fmt::format(" counting {} - {} calls", Counted(rules, limit.minuend),
                            Counted(rules, limit.subtrahend));
      }
      out_ << "\n";
    }
    if (!rules.memory.empty()) out_ << "    memory <=" << PerDevice(rules.memory) << "\n";
    std::map<uint32_t, uint32_t> calls;  // by action: how many it has
    for (const graph::CallRule& rule : rules.calls) ++calls[rule.action];
    for (graph::CallId id : graph_.calls.Ids()) {
      const graph::CallRule& rule = rules.calls[id.index];
      const bool is_part = rule.action != graph::kNoAction && calls[rule.action] > 1;
      if (rule.ranking.empty() && rule.sequence.empty() && !rule.fused.valid() && !is_part) {
        continue;
      }
      out_ << "   ";
      PrintIndexed(graph_.calls[id]);
      if (is_part) out_ << fmt::format(" of action {}", rule.action);
      if (!rule.ranking.empty()) out_ << fmt::format(" prefer ({})", fmt::join(rule.ranking, ", "));
      if (!rule.sequence.empty()) {
        out_ << fmt::format(" order ({})", fmt::join(rule.sequence, ", "));
      }
      if (rule.fused.valid()) {
        out_ << " fused with";
        PrintIndexed(graph_.calls[rule.fused]);
      }
      out_ << "\n";
    }
  }

  // Returns how many calls count for a kind that counts only some of its calls.
  static int64_t Counted(const graph::Rules& rules, uint32_t kind) {
    return std::count_if(
        rules.calls.begin(), rules.calls.end(), [&](const graph::CallRule& rule) {
          return std::find(rule.counted.begin(), rule.counted.end(), kind) != rule.counted.end();
        });
  }

  std::string PerDevice(const std::vector<std::optional<int64_t>>& values) const {
    std::string text;
    for (graph::DeviceId id : module_.devices.Ids()) {
      const std::optional<int64_t>& value = values[id.index];
      if (!value) continue;
      text += fmt::format("{} {} {}", text.empty() ? "" : ",", DeviceName(module_.devices[id]),
                          *value);
    }
    return text;
  }

  std::string Name(ValueId id) const {
    const Value& value = graph_.values[id];
    if (value.storage == Value::kConstant) return value.name;
    return "%" + std::to_string(id.index);
  }
  std::string Text(const graph::Use& use) const {
    if (use.via == TransportRequest()) return Name(use.value);
    return Name(use.value) + " via " + TransportText(use.via);
  }
  std::string Declared(ValueId id) const {
    return Name(id) + " " + TypeText(graph_, graph_.values[id].type);
  }

  // Views, states and extents stand on lines of their own before their first reader.
  void Introduce(ValueId id) {
    const Value& value = graph_.values[id];
    if (introduced_[id.index] || value.storage == Value::kConstant) return;
    introduced_[id.index] = true;
    if (value.base.valid()) {
      Introduce(value.base);
      out_ << "  " << Declared(id) << " = part of " << Name(value.base) << " at byte "
           << value.offset << "\n";
    } else if (value.storage == Value::kState && !value.producer.valid()) {
      out_ << "  " << Declared(id) << " = state " << value.name << "\n";
    } else if (value.storage == Value::kInput) {
      out_ << "  " << Declared(id) << " = extent " << value.name << "\n";
    }
  }

  void PrintOp(const graph::Op& op, bool is_first) {
    out_ << "  ";
    for (size_t i = 0; i < op.results.size(); ++i) {
      introduced_[op.results[i].index] = true;
      out_ << (i > 0 ? ", " : "") << Declared(op.results[i]);
    }
    if (!op.results.empty()) out_ << " = ";
    out_ << op.name << "(";
    for (size_t i = 0; i < op.operands.size(); ++i) {
      out_ << (i > 0 ? ", " : "") << Text(op.operands[i]);
    }
    out_ << ")";
    for (const graph::Attribute& attribute : op.attributes) out_ << " " << AttributeText(attribute);
    if (op.collective) PrintCollective(*op.collective);
    PrintSteps(op);
    for (ValueId result : op.results) {
      const Value& value = graph_.values[result];
      if (value.storage == Value::kState) out_ << " -> " << value.name;
    }
    PrintCall(graph_.calls[op.call]);
    if (is_first) PrintDerivation(graph_.calls[op.call]);
    out_ << "\n";
  }

  void PrintCollective(const graph::Collective& collective) {
    if (collective.reduction) out_ << " " << ReductionName(*collective.reduction);
    if (TraitsOf(collective.kind).rooted()) out_ << " root=" << collective.root;
    if (collective.via != TransportKind::kAuto) out_ << " via " << TransportName(collective.via);
    out_ << " of";
    for (graph::DeviceId id : collective.participants) {
      out_ << " " << DeviceName(module_.devices[id]);
    }
  }

  // Prints the steps of a fused op: t0 is the result of its first step.
  void PrintSteps(const graph::Op& op) {
    for (size_t i = 0; i < op.steps.size(); ++i) {
      const graph::FusedStep& step = op.steps[i];
      out_ << (i > 0 ? ", " : " { ") << step.kernel << "(";
      for (size_t k = 0; k < step.operands.size(); ++k) {
        const int at = step.operands[k];
        out_ << (k > 0 ? ", " : "")
             << (at < 0 ? "t" + std::to_string(-1 - at) : Name(op.operands[at].value));
      }
      out_ << ")";
      for (const graph::Attribute& attribute : step.attributes) {
        out_ << " " << AttributeText(attribute);
      }
    }
    if (!op.steps.empty()) out_ << " }";
  }

  void PrintCaller(const graph::Call& call) {
    out_ << " @";
    if (call.instance.valid()) {
      out_ << module_.instances[call.instance].name << "." << call.method;
    } else {
      out_ << DeviceName(module_.devices[call.device]);
    }
  }

  void PrintIndexed(const graph::Call& call) {
    PrintCaller(call);
    for (size_t i = 0; i < call.indices.size(); ++i) {
      out_ << " " << call.index_names[i] << "=" << call.indices[i];
    }
  }

  void PrintCall(const graph::Call& call) {
    out_ << " ";
    PrintIndexed(call);
    for (graph::CallId before : call.after) {
      out_ << " after";
      PrintCaller(graph_.calls[before]);
    }
  }

  // Prints at the first op of a method call what `grad` and `recompute` say of all of it. The call
  // that it is derived of has its place and its indices.
  void PrintDerivation(const graph::Call& call) {
    if (!call.instance.valid()) return;
    if (call.recompute) out_ << " recompute";
    if (call.half == Half::kInput) out_ << " input half";
    if (call.half == Half::kWeight) out_ << " weight half";
    if (call.forward_method.empty()) return;
    out_ << " derived of " << call.forward_method;
    if (!call.derived_from.valid()) out_ << ", which is removed";
  }

  const graph::Module& module_;
  const graph::Graph& graph_;
  llvm::raw_ostream& out_;
  std::vector<bool> introduced_;
};

}  // namespace

void Print(const graph::Module& module, llvm::raw_ostream& out) {
  for (const auto& [name, value] : module.parameters) {
    out << "const " << name << " = " << value << "\n";
  }
  for (const graph::Instance& instance : module.instances) {
    out << "place " << instance.name << " = " << instance.actor << " on "
        << DeviceName(module.devices[instance.device]) << "\n";
    for (graph::StateId id : instance.states) {
      const graph::State& state = module.states[id];
      out << "  state " << state.name << ": " << TypeText(module.start, state.type)
          << (state.copies.empty() ? "" : ", a copy of " + state.copies) << "\n";
    }
  }
  GraphPrinter(module, module.start, out).Run();
  for (const graph::Graph& graph : module.graphs) GraphPrinter(module, graph, out).Run();
}

}  // namespace cgraph
