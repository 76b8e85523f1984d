// Print: the declarations of the named file, in source order, then the library's ops that they use.
#include "compiler/program/program.h"

#include <algorithm>
#include <functional>
#include <set>

#include "compiler/program/text.h"
#include "llvm/ADT/StringExtras.h"
#include "runtime/base/text.h"

namespace cgraph {

using namespace program;

namespace {

std::string ViaText(const TextPrinter& text, const std::optional<Route>& via) {
  return via ? " via " + text.Text(*via) : "";
}

class ProgramPrinter {
 public:
  ProgramPrinter(const Program& program, llvm::raw_ostream& out) : program_(program), out_(out) {}

  void Print() {
    // Items are printed in the order of the text, whatever their kind.
    std::vector<std::pair<uint32_t, std::function<void()>>> items;
    Collect(program_.consts, items, [this](const Const& c) { PrintConst(c); });
    Collect(program_.named_types, items, [this](const NamedType& t) { PrintNamedType(t); });
    Collect(program_.transports, items, [this](const NamedTransport& t) { PrintTransport(t); });
    Collect(program_.ops, items, [this](const Op& o) { PrintOp(o); });
    Collect(program_.fns, items, [this](const Fn& f) { PrintFn(f); });
    Collect(program_.actors, items, [this](const Actor& a) { PrintActor(a); });
    Collect(program_.optimizers, items, [this](const Optimizer& o) { PrintOptimizer(o); });
    Collect(program_.places, items, [this](const Place& p) { PrintPlace(p); });
    Collect(program_.graphs, items, [this](const Graph& g) { PrintGraph(g); });
    Collect(program_.topologies, items, [this](const Topology& t) { PrintTopology(t); });
    Collect(program_.schedules, items, [this](const Schedule& s) { PrintSchedule(s); });
    std::stable_sort(items.begin(), items.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [position, print] : items) print();
    for (OpId id : NamedLibraryOps()) PrintOp(program_.ops[id]);
  }

 private:
  template <typename Rows, typename Items, typename Function>
  void Collect(const Rows& rows, Items& items, Function print) {
    for (const auto& row : rows) {
      if (row.range.source != program_.main) continue;
      items.emplace_back(row.range.begin, [&row, print] { print(row); });
    }
  }

  // Returns the ops of other files that the named file calls by name.
  std::set<OpId> NamedLibraryOps() {
    std::set<OpId> ops;
    for (const Expr& expr : program_.exprs) {
      const auto* call = std::get_if<CallOp>(&expr.node);
      if (!call || expr.range.source != program_.main) continue;
      if (program_.ops[call->op].range.source != program_.main) ops.insert(call->op);
    }
    return ops;
  }

  std::string ParametersText(const TextPrinter& text, const std::vector<Parameter>& parameters) {
    std::vector<std::string> texts;
    for (const Parameter& p : parameters) {
      std::string value = p.default_value.valid() ? " = " + text.Text(p.default_value) : "";
      texts.push_back(p.name + ": " + text.Text(p.type) + value);
    }
    return "(" + llvm::join(texts, ", ") + ")";
  }

  std::string SignatureText(const TextPrinter& text, const Signature& signature) {
    std::vector<std::string> generics;
    for (const Generic& g : signature.generics) {
      const bool any = g.bound == DTypeBound::kAny && !g.of.valid();
      const std::string bound =
          g.of.valid() ? signature.generics[g.of].name : std::string(Spelling(g.bound));
      generics.push_back(any ? g.name : g.name + ": " + bound);
    }
    return (generics.empty() ? "" : "<" + llvm::join(generics, ", ") + ">") +
           ParametersText(text, signature.parameters) +
           (signature.result.valid() ? " -> " + text.Text(signature.result) : "") +
           ViaText(text, signature.via);
  }

  void PrintConst(const Const& c) {
    TextPrinter text(program_, nullptr, &c.locals);
    std::string type = c.type.valid() ? ": " + text.Text(c.type) : "";
    out_ << "const " << c.name << type << " = " << text.Text(c.value) << "\n";
  }

  void PrintNamedType(const NamedType& t) {
    const TextPrinter text(program_, nullptr, &t.locals);
    const std::string parameters = t.parameters.empty() ? "" : ParametersText(text, t.parameters);
    out_ << "type " << t.name << parameters << " = " << text.Text(t.type) << "\n";
  }

  void PrintTransport(const NamedTransport& t) {
    const TextPrinter text(program_, nullptr, &t.locals);
    out_ << "transport " << t.name << " = " << TransportName(t.base)
         << (t.options.empty() ? "" : "(" + text.Text(t.options) + ")") << "\n";
  }

  void PrintOp(const Op& op) {
    TextPrinter text(program_, &op.signature, &op.locals);
    out_ << "op " << op.name << SignatureText(text, op.signature);
    if (op.where.valid()) out_ << " where " << text.Text(op.where);
    if (op.inplace >= 0) out_ << " inplace " << op.signature.parameters[op.inplace].name;
    if (!op.effect.empty()) out_ << " effect " << op.effect;
    if (op.flops.valid()) out_ << "\n  flops " << text.Text(op.flops);
    if (op.bytes.valid()) out_ << "\n  bytes " << text.Text(op.bytes);
    out_ << "\n  kernel " << Quoted(op.kernel);
    std::vector<std::string> taken;
    for (int parameter : op.takes) taken.push_back(op.signature.parameters[parameter].name);
    if (!taken.empty()) out_ << "(" << llvm::join(taken, ", ") << ")";
    out_ << (op.fails ? " fails" : "") << (op.elementwise ? " elementwise" : "") << "\n";
    if (op.deprecated.valid()) out_ << "  deprecated " << text.Text(op.deprecated) << "\n";
    if (op.gradient) PrintGradient(text, *op.gradient);
  }

  void PrintGradient(const TextPrinter& text, const Gradient& gradient) {
    out_ << "  grad";
    if (gradient.y.valid()) out_ << " " << text.Name(gradient.y) << ",";
    if (gradient.gy.valid()) out_ << " " << text.Name(gradient.gy);
    std::vector<std::string> of;
    for (const Argument& argument : gradient.of) {
      of.push_back(argument.label + ": " + text.Text(argument.value));
    }
    out_ << " (" << llvm::join(of, ", ") << ")\n";
    PrintStatements(text, gradient.body, 2);
  }

  void PrintFn(const Fn& fn) {
    TextPrinter text(program_, &fn.signature, &fn.body.locals);
    out_ << "fn " << fn.name << SignatureText(text, fn.signature) << "\n";
    if (fn.deprecated.valid()) out_ << "  deprecated " << text.Text(fn.deprecated) << "\n";
    if (fn.gradient) PrintGradient(text, *fn.gradient);
    PrintStatements(text, fn.body.statements, 1);
  }

  void PrintActor(const Actor& actor) {
    TextPrinter text(program_, nullptr, &actor.locals);
    out_ << "actor " << actor.name << ParametersText(text, actor.parameters) << "\n";
    for (StateId id : actor.states) {
      const State& state = program_.states[id];
      out_ << (state.is_param ? "  param " : "  state ") << state.name << ": "
           << text.Text(state.type) << " = " << text.Text(state.value)
           << (state.along.empty() ? "" : " equal along " + llvm::join(state.along, ", ")) << "\n";
    }
    for (MethodId id : actor.methods) {
      const Method& method = program_.methods[id];
      TextPrinter body(program_, &method.signature, &method.body.locals);
      out_ << "  method " << method.name << SignatureText(body, method.signature) << "\n";
      if (!method.gradient_by.empty()) out_ << "    grad by " << method.gradient_by << "\n";
      PrintStatements(body, method.body.statements, 2);
      if (method.native) PrintExtern(body, *method.native);
    }
  }

  void PrintOptimizer(const Optimizer& optimizer) {
    const TextPrinter text(program_, nullptr, &optimizer.locals);
    const TextPrinter body(program_, &optimizer.signature, &optimizer.update.locals);
    out_ << "optimizer " << optimizer.name << ParametersText(text, optimizer.parameters) << "\n";
    for (StateId id : optimizer.slots) {
      const State& slot = program_.states[id];
      if (!slot.type.valid() || !slot.value.valid()) continue;  // of what was refused
      out_ << "  state " << slot.name << ": " << body.Text(slot.type) << " = "
           << body.Text(slot.value) << "\n";
    }
    out_ << "  method update" << SignatureText(body, optimizer.signature) << "\n";
    PrintStatements(body, optimizer.update.statements, 2);
  }

  void PrintExtern(const TextPrinter& text, const Extern& native) {
    out_ << "    extern " << Quoted(native.library + ":" + native.symbol);
    const auto print_states = [&](const char* clause, const std::vector<StateId>& states) {
      for (StateId id : states) {
        out_ << (id == states.front() ? clause : ", ") << program_.states[id].name;
      }
    };
    print_states(" reads ", native.reads);
    print_states(" writes ", native.writes);
    constexpr const char* kEffects[] = {"", " reads object", " adds object", " keyed",
                                        " writes object"};
    out_ << kEffects[static_cast<size_t>(native.effect)];
    for (ExprId key : native.keys) {
      out_ << (key == native.keys.front() ? " by " : ", ") << text.Text(key);
    }
    if (native.flops.valid()) out_ << " flops " << text.Text(native.flops);
    if (native.bytes.valid()) out_ << " bytes " << text.Text(native.bytes);
    out_ << "\n";
  }

  std::string IndicesText(const TextPrinter& text, const std::vector<IndexRange>& indices) {
    std::vector<std::string> texts;
    for (const IndexRange& index : indices) {
      texts.push_back(index.name + " in " + text.Text(index.range));
    }
    return texts.empty() ? "" : "[" + llvm::join(texts, ", ") + "]";
  }

  void PrintPlace(const Place& place) {
    TextPrinter text(program_, nullptr, &place.locals);
    const std::string actor = place.actor.valid() ? program_.actors[place.actor].name : "<error>";
    out_ << "place " << place.name
         << IndicesText(text, place.indices) << " = " << actor << "("
         << text.Text(place.arguments) << ") on " << text.Text(place.device)
         << (place.along.empty() ? "" : " equal along " + llvm::join(place.along, ", "));
    if (place.trained) {
      out_ << " trained by " << program_.optimizers[place.trained->optimizer].name << "("
           << text.Text(place.trained->arguments) << ")";
    }
    out_ << "\n";
  }

  void PrintGraph(const Graph& graph) {
    TextPrinter text(program_, &graph.signature, &graph.body.locals);
    out_ << "graph " << graph.name << SignatureText(text, graph.signature);
    if (graph.inflight.valid()) out_ << " inflight " << text.Text(graph.inflight);
    if (graph.overlap) out_ << " overlap " << (*graph.overlap ? "on" : "off");
    if (graph.timeout_ps != 0) out_ << " timeout " << graph.timeout_ps << "ps";
    if (graph.use) out_ << " using " << UsingText(*graph.use);
    if (graph.recompute) {
      const TextPrinter condition(program_, nullptr, &graph.recompute->locals);
      out_ << " recompute " << llvm::join(graph.recompute->methods, ", ");
      if (graph.recompute->condition.valid()) {
        out_ << " if " << condition.Text(graph.recompute->condition);
      }
    }
    out_ << "\n";
    PrintStatements(text, graph.body.statements, 1);
  }

  std::string UsingText(const Using& use) {
    if (!use.schedule.valid()) return use.reversed ? "reversed" : "auto";
    const Schedule& schedule = program_.schedules[use.schedule];
    const TextPrinter text(program_, nullptr, &use.locals);
    std::vector<std::string> renamings;
    for (KindId kind : schedule.kinds.Ids()) {
      std::vector<std::string> methods;
      for (const Using::Method& method : use.methods[kind]) {
        const bool any = !method.actor.valid();
        methods.push_back((any ? "" : program_.actors[method.actor].name + ".") + method.name);
      }
      const std::string& name = schedule.kinds[kind].name;
      const std::string list = llvm::join(methods, ", ");
      if (list == name) continue;
      renamings.push_back(name + " = " + (methods.size() == 1 ? list : "[" + list + "]"));
    }
    for (size_t i = 0; i < use.variables.size(); ++i) {
      if (!use.variables[i].value.valid()) continue;
      renamings.push_back(schedule.locals[schedule.variables[i]].name + " = " +
                          text.Text(use.variables[i].value));
    }
    std::string arguments = text.Text(use.arguments);
    const auto add = [&](const std::string& label, const std::string& value) {
      if (!value.empty()) arguments += (arguments.empty() ? "" : ", ") + label + value;
    };
    add("along: ", use.along);
    add("per: ", use.per.value.valid() ? text.Text(use.per.value) : "");
    return schedule.name + "(" + arguments + ")" +
           (renamings.empty() ? "" : " with (" + llvm::join(renamings, ", ") + ")");
  }

  void PrintSchedule(const Schedule& schedule) {
    const TextPrinter text(program_, nullptr, &schedule.locals);
    out_ << "schedule " << schedule.name << ParametersText(text, schedule.parameters) << "\n";
    const auto name = [&](KindId kind) { return schedule.kinds[kind].name; };
    for (const Kind& kind : schedule.kinds) {
      out_ << "  " << kind.name << " has rank " << kind.rank << "\n";
    }
    const auto sorting = [&](const SortRule& sort) {
      std::vector<std::string> keys;
      for (ExprId key : sort.keys) keys.push_back(text.Text(key));
      return name(sort.kind) + " by (" + llvm::join(keys, ", ") + ")";
    };
    for (const SortRule& sort : schedule.rankings) out_ << "  prefer " << sorting(sort) << "\n";
    for (const OrderRule& order : schedule.orders) {
      for (const SortRule& sort : order.sorts) {
        out_ << (&sort == &order.sorts.front() ? "  order " : ", ") << sorting(sort);
      }
      out_ << "\n";
    }
    for (const LimitRule& limit : schedule.limits) {
      out_ << "  limit " << name(limit.minuend) << " - " << name(limit.subtrahend)
           << (limit.at_most ? " <= " : " >= ") << text.Text(limit.bound);
      if (limit.condition.valid()) out_ << " if " << text.Text(limit.condition);
      out_ << "\n";
    }
    for (const FuseRule& fusion : schedule.fusions) {
      out_ << "  fuse " << name(fusion.first) << " " << name(fusion.second) << "\n";
    }
    if (schedule.memory) out_ << "  memory <= " << text.Text(schedule.memory->bytes) << "\n";
  }

  void PrintTopology(const Topology& topology) {
    const TextPrinter text(program_, nullptr, &topology.locals);
    out_ << "topology " << topology.name << ParametersText(text, topology.parameters) << "\n";
    for (const TopologyPart& part : topology.parts) {
      const std::string indices = IndicesText(text, part.indices);
      if (part.kind == kOfResource) {
        out_ << "  resource " << part.name << indices;
      } else {
        out_ << (part.kind == kOfLink ? "  link " : "  device ") << text.Text(part.device)
             << (part.to.valid() ? " -> " + text.Text(part.to) : "")
             << (indices.empty() ? "" : " ") << indices;
      }
      if (part.condition.valid()) out_ << " if " << text.Text(part.condition);
      out_ << "\n";
      for (const TopologyPart::Property& property : part.properties) {
        out_ << "    " << TraitsOf(property.property).name << " " << text.Text(property.value)
             << "\n";
      }
      for (const TopologyPart::Hop& hop : part.through) {
        std::vector<std::string> at;
        for (ExprId index : hop.indices) at.push_back(text.Text(index));
        out_ << "    through " << topology.parts[hop.resource].name
             << (at.empty() ? "" : "[" + llvm::join(at, ", ") + "]") << "\n";
      }
    }
  }

  void PrintStatements(const TextPrinter& text, const std::vector<StatementId>& ids, int depth) {
    for (StatementId id : ids) {
      std::visit([&](const auto& node) { PrintStatement(text, node, depth); },
                 program_.statements[id].node);
    }
  }

  llvm::raw_ostream& Line(int depth) { return out_.indent(2 * depth); }

  void PrintStatement(const TextPrinter& text, const Bind& node, int depth) {
    Line(depth) << (node.is_var ? "var " : "let ") << text.Pattern(node.pattern, node.tuple_pattern)
                << (node.type.valid() ? ": " + text.Text(node.type) : "")
                << ViaText(text, node.via)
                << " = " << text.Text(node.value) << "\n";
  }
  void PrintStatement(const TextPrinter& text, const For& node, int depth) {
    Line(depth) << "for " << text.Pattern(node.pattern, node.tuple_pattern) << " in "
                << text.Text(node.list) << "\n";
    PrintStatements(text, node.body, depth + 1);
  }
  void PrintStatement(const TextPrinter& text, const IfStatement& node, int depth) {
    Line(depth) << "if " << text.Text(node.condition) << "\n";
    PrintStatements(text, node.then_body, depth + 1);
    if (node.else_body.empty()) return;
    Line(depth) << "else\n";
    PrintStatements(text, node.else_body, depth + 1);
  }
  void PrintStatement(const TextPrinter& text, const Return& node, int depth) {
    Line(depth) << (node.yields ? "yield " : "return ") << text.Text(node.value) << "\n";
  }
  void PrintStatement(const TextPrinter& text, const Repeat& node, int depth) {
    Line(depth) << "repeat until " << text.Text(node.condition) << " limit "
                << (node.most.valid() ? text.Name(node.most) + " <= " : "") << text.Text(node.limit)
                << (node.asks_first ? ", asked before the first round, too" : "") << "\n";
    PrintStatements(text, node.body, depth + 1);
  }
  void PrintStatement(const TextPrinter& text, const Assign& node, int depth) {
    Line(depth) << (node.local.valid() ? text.Name(node.local) : program_.states[node.state].name);
    for (const Assign::Part& part : node.parts) {
      if (part.subscript.valid())
        out_ << "[" << text.Text(part.subscript) << "]";
      else
        out_ << "." << part.field;
    }
    out_ << " " << (node.compound ? Spelling(*node.compound) : "") << "= " << text.Text(node.value)
         << "\n";
  }
  void PrintStatement(const TextPrinter& text, const Evaluate& node, int depth) {
    Line(depth) << text.Text(node.call) << "\n";
  }

  const Program& program_;
  llvm::raw_ostream& out_;
};

// Returns the locals of the declaration that has this signature. The search is linear, since only
// messages ask.
const Table<LocalId, Local>* LocalsOf(const Program& program, const Signature& signature) {
  for (const Op& op : program.ops) {
    if (&op.signature == &signature) return &op.locals;
  }
  for (const Fn& fn : program.fns) {
    if (&fn.signature == &signature) return &fn.body.locals;
  }
  for (const Method& method : program.methods) {
    if (&method.signature == &signature) return &method.body.locals;
  }
  for (const Optimizer& optimizer : program.optimizers) {
    if (&optimizer.signature == &signature) return &optimizer.update.locals;
  }
  for (const Graph& graph : program.graphs) {
    if (&graph.signature == &signature) return &graph.body.locals;
  }
  return nullptr;
}

}  // namespace

void Print(const Program& program, llvm::raw_ostream& out) {
  ProgramPrinter(program, out).Print();
}

std::string TypeText(const Program& program, const Signature& signature, TypeId type) {
  return TextPrinter(program, &signature, LocalsOf(program, signature)).Expanded(type);
}

}  // namespace cgraph
