// Graphs: each is elaborated by running its body; one that repeats becomes two.
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/elaborate/calls/calls.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/gradients/copies/copies.h"
#include "compiler/elaborate/gradients/halves.h"
#include "compiler/elaborate/gradients/tape.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/rules/call_variables.h"
#include "compiler/elaborate/statements/statements.h"
#include "compiler/elaborate/steps.h"
#include "compiler/elaborate/types/coerce.h"
#include "compiler/elaborate/values/make.h"
#include "compiler/graph/prune.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaborate {
namespace {

// Returns the `repeat` that a graph ends with; null: there is none.
const program::Repeat* RepeatOf(const program::Program& program, const program::Graph& graph) {
  if (graph.body.statements.empty()) return nullptr;
  return std::get_if<program::Repeat>(&program.statements[graph.body.statements.back()].node);
}

int64_t Inflight(ElaborationContext& elaboration, const program::Graph& source) {
  int64_t inflight = elaboration.options.inflight;
  Range range = source.range;
  if (inflight == 0) {
    if (!source.inflight.valid()) return 1;
    Frame frame(source.name, nullptr, &source.body.locals);
    range = elaboration.program.exprs[source.inflight].range;
    inflight = EvaluateInt(elaboration, source.inflight, frame, "inflight").value_or(1);
  }
  if (inflight > 1 && RepeatOf(elaboration.program, source) != nullptr) {
    Report(elaboration, Code::kE0525, range,
           fmt::format("`{}` repeats, and a round begins when the one before it is over: its "
                       "inflight is 1, not {}",
                       source.name, inflight));
    return 1;
  }
  if (inflight >= 1 && inflight <= kMaxInflight) return inflight;
  Report(elaboration, Code::kE0525, range,
         fmt::format("inflight is between 1 and {}, not {}", kMaxInflight, inflight));
  return 1;
}

// Marks the calls whose kept values are made again: of the methods that `recompute` names, where
// its condition holds.
void MarkRecomputed(ElaborationContext& elaboration, const program::Graph::Recompute& rule,
                    graph::Graph& graph) {
  Frame frame("recompute", nullptr, &rule.locals);
  for (graph::Call& call : graph.calls) {
    if (!call.instance.valid() || !llvm::is_contained(rule.methods, call.method)) continue;
    for (program::LocalId variable : rule.variables) {
      const std::string& name = rule.locals[variable].name;
      std::optional<int64_t> value = VariableOf(elaboration, call, name);
      if (!value) {
        Report(elaboration, Code::kE0533, rule.range,
               fmt::format("`recompute`: a call of `{}` has no loop variable, and no index of its "
                           "place, that is called `{}`",
                           call.method, name))
            .AddNote(call.site, "the call");
        return;
      }
      frame.locals[variable.index] = Value(*value);
    }
    if (!rule.condition.valid()) {
      call.recompute = true;
      continue;
    }
    const std::optional<bool> holds = EvaluateCondition(elaboration, rule.condition, frame);
    if (!holds) return;
    call.recompute = *holds;
  }
}

// Warns of an input with a default, which a run takes no account of.
void WarnOfDefault(ElaborationContext& elaboration, const program::Graph& graph,
                   const program::Parameter& parameter) {
  Report(elaboration, Code::kW0505, parameter.range,
         fmt::format("a run of `{0}` has to give `{1}`: the default of an input holds only "
                     "where another graph calls `{0}`; make `{1}` a const, or leave the default "
                     "out",
                     graph.name, parameter.name));
}

graph::Graph NewGraph(ElaborationContext& elaboration, const program::Graph& source) {
  graph::Graph graph;
  graph.name = source.name;
  graph.range = source.range;
  graph.overlap = source.overlap;
  graph.timeout_ps = source.timeout_ps;
  graph.inflight = Inflight(elaboration, source);
  return graph;
}

// Returns whether there are more than `errors` errors now, or the graph in work has any. An error
// that another graph has as well is listed once and found twice.
bool HasErrors(const ElaborationContext& elaboration, size_t errors) {
  return elaboration.diagnostics.errors() > errors ||
         elaboration.diagnostics.found_errors() > elaboration.errors_before_graph;
}

// Forgets what is known of the ops of another graph.
void BeginOps(ElaborationContext& elaboration) {
  elaboration.object_calls.clear();
}

// Adds the inputs of a graph, and binds its parameters to them.
void BindInputs(ElaborationContext& elaboration, const program::Graph& source, Frame& frame) {
  const std::vector<program::Parameter>& parameters = source.signature.parameters;
  for (const program::Parameter& parameter : parameters)
    BindInputSymbols(elaboration, parameter.type, frame);
  for (const program::Parameter& parameter : parameters) {
    const bool has_default = parameter.default_value.valid();
    const bool is_fixed = has_default && std::holds_alternative<program::CompileTimeType>(
                                             elaboration.program.types[parameter.type].node);
    frame.locals[parameter.local.index] =
        is_fixed ? Coerce(elaboration, Evaluate(elaboration, parameter.default_value, frame),
                          parameter.type, frame, {"parameter", &parameter.name, parameter.range},
                          parameter.range)
                 : AddInput(elaboration, parameter.type, parameter.name, frame, parameter.range);
  }
  for (const std::optional<BoundDims>& dims : frame.dims) frame.rigid.push_back(dims.has_value());
}

// Returns which elements of a tensor nothing reads although others are read, the first such part.
// `read`: what is read, in any order.
std::optional<IntRange> UnreadPart(std::vector<IntRange>& read, int64_t elements) {
  if (read.empty()) return std::nullopt;
  llvm::sort(read, [](const IntRange& a, const IntRange& b) { return a.begin < b.begin; });
  int64_t end = 0;
  for (const IntRange& part : read) {
    if (part.begin > end) return IntRange{end, part.begin};
    end = std::max(end, part.end);
  }
  return end < elements ? std::optional<IntRange>({end, elements}) : std::nullopt;
}

// Warns of inputs some of whose rows are dropped. Graphs that repeat are not looked at: their
// inputs are read by two graphs.
void ReportUnreadRows(ElaborationContext& elaboration, const graph::Graph& graph) {
  std::vector<std::vector<IntRange>> read(graph.values.size());  // by input
  const auto add = [&](const graph::Use& use) {
    const graph::ValueId root = graph::RootOf(graph, use.value);
    if (graph.values[root].storage != graph::Value::kInput) return;
    const graph::Value& part = graph.values[use.value];
    const int64_t width = DTypeBytes(part.type.dtype);
    read[root.index].push_back({part.offset / width, (part.offset + part.type.bytes()) / width});
  };
  for (const graph::Op& op : graph.ops) std::for_each(op.operands.begin(), op.operands.end(), add);
  for (const graph::Port& output : graph.outputs) add(output.use);
  for (const graph::Port& input : graph.inputs) {
    const graph::Value& value = graph.values[input.use.value];
    const bool varies = llvm::any_of(value.type.dims,
                                     [](const graph::Dim& dim) { return dim.symbol.valid(); });
    if (varies || value.type.dims.empty() || value.type.bytes() == 0) continue;
    if (input.name.front() == '_') continue;
    const int64_t elements = value.type.bytes() / DTypeBytes(value.type.dtype);
    const std::optional<IntRange> part = UnreadPart(read[input.use.value.index], elements);
    if (!part) continue;
    const int64_t row = elements / value.type.dims[0].extent;
    const int64_t first = part->begin / row, last = (part->end - 1) / row;
    const bool whole = part->begin % row == 0 && part->end % row == 0;
    Report(elaboration, Code::kW0512, value.range,
           fmt::format("nothing reads {}{} of `{}`, which has {} rows; a quotient of ints that is "
                       "rounded down leaves a rest. Where that is meant, begin the name with `_`",
                       whole ? "" : "a part of ",
                       first == last ? fmt::format("row {}", first)
                                     : fmt::format("rows {} to {}", first, last),
                       input.name, value.type.dims[0].extent));
  }
}

// Removes what nothing reads from a graph whose ops are there, and adds what its clauses say of its
// calls. Returns false where there are errors.
bool FinishGraph(ElaborationContext& elaboration, const program::Graph& source,
                 graph::Graph& graph, bool has_schedule) {
  const size_t errors = elaboration.diagnostics.errors();
  const std::vector<graph::Call> removed = Prune(graph);
  if (source.recompute) MarkRecomputed(elaboration, *source.recompute, graph);
  if (source.use && has_schedule) {
    graph.rules = ElaborateRules(elaboration, *source.use, graph, removed);
  }
  if (HasErrors(elaboration, errors)) return false;
  std::set<std::pair<uint32_t, uint32_t>> collectives;  // that are kept, by where they stand
  for (const graph::Op& op : graph.ops) {
    const Range& site = graph.calls[op.call].site;
    if (op.collective) collectives.emplace(site.begin, site.end);
  }
  for (const graph::Call& call : removed) {
    // A program may use the gradient of a loss alone, and `grad` may make what nothing reads.
    if (!call.forward_method.empty() || call.differentiated) continue;
    // Of a collective over columns the result of each rank is made by an op of its own.
    if (collectives.count({call.site.begin, call.site.end}) > 0) continue;
    Report(elaboration, Code::kW0501, call.site,
           fmt::format("nothing reads what `{}` makes, and it has no effect: it is removed",
                       call.instance.valid()
                           ? elaboration.module.instances[call.instance].name + "." + call.method
                           : call.method));
  }
  return true;
}

// Returns the row that a `yield` gave, as the graph's result is declared; adds it to the outputs.
void AddRow(ElaborationContext& elaboration, const program::Graph& source, Frame& frame) {
  if (!frame.result || !source.signature.result.valid()) return;
  const Value row = ResultOf(elaboration, source.signature, frame);
  AddOutputs(elaboration, Travelling(elaboration, source.signature, row, source.range), "",
             frame.result_range);
}

// Adds the condition of a loop to the outputs; returns which it is.
uint32_t AddDone(ElaborationContext& elaboration, const program::Repeat& loop, Frame& frame) {
  Value done = Evaluate(elaboration, loop.condition, frame);
  const Range range = elaboration.program.exprs[loop.condition].range;
  graph::Graph& graph = elaboration.builder->graph();
  const auto at = static_cast<uint32_t>(graph.outputs.size());
  if (const bool* known = done.As<bool>()) {
    const std::string byte(1, *known ? '\1' : '\0');
    done = Value(Tensor{elaboration.builder->AddConstant(DType::kBool, byte, "done")});
  }
  const Tensor* tensor = done.As<Tensor>();
  if (tensor != nullptr && elaboration.builder->type(tensor->value).dtype == DType::kBool) {
    const graph::Use use{tensor->value, tensor->via, range};
    CheckTransport(elaboration, use, kCaller);
    graph.outputs.push_back({"until", use});
  } else if (!done.poisoned()) {
    Report(elaboration, Code::kE0434, range,
           fmt::format("`until` asks a bool, which ends the rounds once all its elements are true; "
                       "this is {}",
                       Describe(elaboration, done)));
  }
  return at;
}

int64_t LimitOf(ElaborationContext& elaboration, const program::Repeat& loop, Frame& frame) {
  const std::optional<int64_t> limit = EvaluateInt(elaboration, loop.limit, frame, "a limit");
  if (!limit || (*limit >= 0 && *limit <= kMaxRounds)) return limit.value_or(0);
  Report(elaboration, Code::kE0545, elaboration.program.exprs[loop.limit].range,
         fmt::format("a limit is between 0 and {} rounds, not {}", kMaxRounds, *limit));
  return 0;
}

// Carrier: hands values from what stands before the rounds of a graph to each round, and from round
// to round, by inputs and outputs that the program does not see. Inputs of the graph are inputs of
// both parts, with equal ids; numbers and lists known while compiling are in both.
class Carrier {
 public:
  Carrier(ElaborationContext& elaboration, const program::Graph& source, GraphBuilder& before,
          GraphBuilder& round, graph::Repeat& repeat)
      : elaboration_(elaboration),
        source_(source),
        before_(before),
        round_(round),
        repeat_(repeat),
        inputs_(round.graph().values.size()),
        symbols_(round.graph().symbols.size()) {}

  // Gives the frame of a round what it reads of the frame before the rounds.
  void CarryIn(const program::Repeat& loop, const Frame& before, Frame& round) {
    for (size_t i = 0; i < round.dims.size(); ++i) {
      if (round.dims[i] || !before.dims[i]) continue;
      round.dims[i] = before.dims[i];
      for (graph::Dim& dim : round.dims[i]->dims) dim = InRound(dim, made_symbols_);
    }
    for (program::LocalId local : loop.reads) {
      const std::optional<Value>& value = before.locals[local.index];
      if (!value) continue;
      const bool goes_on = llvm::is_contained(loop.writes, local);
      if (!goes_on && round.locals[local.index]) continue;  // an input
      if (goes_on && !CheckGoesOn(local, *value)) continue;
      const size_t first = repeat_.carries.size();
      round.locals[local.index] =
          MapLeaves(elaboration_, RangeOf(local), *value, [&](const Value& leaf) {
            return LeafInRound(*leaf.As<Tensor>(), local, goes_on);
          });
      if (goes_on) going_on_.push_back({local, first, *round.locals[local.index]});
    }
  }

  // Gives the next round what this one has assigned to names from before the rounds.
  void CarryOn(const Frame& round) {
    for (const GoingOn& each : going_on_) {
      const std::optional<Value>& value = round.locals[each.local.index];
      size_t at = each.first;
      if (!value || !HandOn(each, each.start, *value, at)) return;
    }
  }

 private:
  struct GoingOn {
    program::LocalId local;
    size_t first;  // of its carries
    Value start;   // what a round is given
  };

  Range RangeOf(program::LocalId local) const { return source_.body.locals[local].range; }
  const std::string& NameOf(program::LocalId local) const {
    return source_.body.locals[local].name;
  }

  // A number, or a list with one, would be the same in every round.
  bool CheckGoesOn(program::LocalId local, const Value& value) {
    bool known = false;
    const auto look = [&](const Value& part, auto&& self) -> void {
      if (const List* list = part.As<List>()) {
        for (const Value& item : *list->items) self(item, self);
      } else if (const Tuple* tuple = part.As<Tuple>()) {
        for (const Value& item : tuple->items->values) self(item, self);
      } else {
        known |= !part.As<Tensor>() && !part.poisoned();
      }
    };
    look(value, look);
    if (!known) return true;
    Report(elaboration_, Code::kE0544, RangeOf(local),
           fmt::format("the rounds assign to `{0}`, which is {1}: it would be the same in every "
                       "round, since it is known while compiling; let it begin as a tensor, such "
                       "as `var {0} = zeros<i64>()`",
                       NameOf(local), Describe(elaboration_, value)));
    return false;
  }

  using Symbols = std::map<graph::SymbolId, graph::SymbolId>;

  // Extents of inputs are the same in both parts; `made` has those of others.
  graph::Dim InRound(graph::Dim dim, Symbols& made) {
    if (!dim.symbol.valid() || dim.symbol.index < symbols_) return dim;
    auto [known, is_new] = made.try_emplace(dim.symbol);
    if (is_new) {
      known->second = round_.AddInputSymbol(before_.graph().symbols[dim.symbol].name, dim.extent,
                                            source_.range);
    }
    return {dim.extent, known->second};
  }

  Value LeafInRound(const Tensor& leaf, program::LocalId local, bool goes_on) {
    const graph::Value& value = before_.value(leaf.value);
    if (!goes_on && value.storage == graph::Value::kConstant) {
      return Value(Tensor{round_.AddConstant(value.type.dtype, value.constant, value.name)});
    }
    const graph::ValueId root = graph::RootOf(before_.graph(), leaf.value);
    if (!goes_on && root.index < inputs_) {
      if (root == leaf.value) return Value(leaf);
      return Value(Tensor{round_.AddView(root, value.offset, value.type, value.range), leaf.via});
    }
    const auto known = carried_.find(leaf.value);
    if (!goes_on && known != carried_.end()) return Value(Tensor{known->second, leaf.via});
    graph::Type type = value.type;
    Symbols own;  // what goes on may later have other extents than a value that has equal ones now
    for (graph::Dim& dim : type.dims) dim = InRound(dim, goes_on ? own : made_symbols_);
    const std::string name =
        fmt::format("{} {}", NameOf(local), repeat_.carries.size() + 1);
    const graph::ValueId input = round_.AddInput(NameOf(local), std::move(type), RangeOf(local));
    const graph::Use use{leaf.value, {}, RangeOf(local)};
    repeat_.carries.push_back(
        {static_cast<uint32_t>(round_.graph().inputs.size()),
         static_cast<uint32_t>(before_.graph().outputs.size()), std::nullopt});
    round_.graph().inputs.push_back({name, {.value = input, .range = RangeOf(local)}});
    before_.graph().outputs.push_back({name, use});
    if (!goes_on) carried_.emplace(leaf.value, input);
    // The caller has it in between; what `via` says holds from there to where a round reads it.
    return Value(Tensor{input, leaf.via});
  }

  // Makes outputs of the tensors of `end`, each for the carry of the same tensor of `start`.
  bool HandOn(const GoingOn& each, const Value& start, const Value& end, size_t& at) {
    const std::vector<Value>* from = ItemsOf(start);
    const std::vector<Value>* to = ItemsOf(end);
    if (start.poisoned() || end.poisoned()) return false;
    if (from != nullptr && to != nullptr && from->size() == to->size()) {
      for (size_t i = 0; i < from->size(); ++i) {
        if (!HandOn(each, (*from)[i], (*to)[i], at)) return false;
      }
      return true;
    }
    const Tensor* before = start.As<Tensor>();
    const Tensor* after = end.As<Tensor>();
    const bool fits = before != nullptr && after != nullptr &&
                      Fits(round_.type(before->value), round_.type(after->value));
    if (!fits) {
      Report(elaboration_, Code::kE0544, RangeOf(each.local),
             fmt::format("`{}` is {} at the end of a round and {} at its beginning; what goes on "
                         "from round to round has one type, and where it begins with the extent of "
                         "an input, that extent",
                         NameOf(each.local), Describe(elaboration_, end),
                         Describe(elaboration_, start)));
      return false;
    }
    graph::Repeat::Carry& carry = repeat_.carries[at++];
    if (before->value == after->value) return true;  // no round changes it
    const graph::Use use{after->value, after->via, RangeOf(each.local)};
    CheckTransport(elaboration_, use, kCaller);
    carry.next = static_cast<uint32_t>(round_.graph().outputs.size());
    round_.graph().outputs.push_back({round_.graph().inputs[carry.input].name, use});
    return true;
  }

  static const std::vector<Value>* ItemsOf(const Value& value) {
    if (const List* list = value.As<List>()) return list->items.get();
    if (const Tuple* tuple = value.As<Tuple>()) return &tuple->items->values;
    return nullptr;
  }

  // An extent known only while running may be another one in each round, unless it is an input's.
  bool Fits(const graph::Type& start, const graph::Type& end) const {
    if (start.dtype != end.dtype || start.dims.size() != end.dims.size()) return false;
    Symbols matched;
    for (size_t i = 0; i < start.dims.size(); ++i) {
      const graph::Dim &from = start.dims[i], &to = end.dims[i];
      if (from.extent != to.extent || from.symbol.valid() != to.symbol.valid()) return false;
      if (!from.symbol.valid()) continue;
      const bool is_input = from.symbol.index < symbols_;
      if (is_input && from.symbol != to.symbol) return false;
      if (matched.try_emplace(from.symbol, to.symbol).first->second != to.symbol) return false;
    }
    return true;
  }

  ElaborationContext& elaboration_;
  const program::Graph& source_;
  GraphBuilder& before_;
  GraphBuilder& round_;
  graph::Repeat& repeat_;
  const size_t inputs_, symbols_;  // values and symbols that are inputs of both parts
  Symbols made_symbols_;
  std::map<graph::ValueId, graph::ValueId> carried_;
  std::vector<GoingOn> going_on_;
};

// Returns which input of a graph a parameter is.
std::optional<uint32_t> InputOf(const graph::Graph& graph, const Frame& frame,
                                program::LocalId parameter) {
  const std::optional<Value>& value = frame.locals[parameter.index];
  const Tensor* tensor = value ? value->As<Tensor>() : nullptr;
  for (size_t i = 0; tensor != nullptr && i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].use.value == tensor->value) return static_cast<uint32_t>(i);
  }
  return std::nullopt;
}

// Elaborates a graph that repeats as two: what stands before its rounds, if there is anything, and
// one round, which has the graph's name.
void ElaborateRepeating(ElaborationContext& elaboration, const program::Graph& source,
                        const program::Repeat& loop) {
  const size_t errors = elaboration.diagnostics.errors();
  const auto failed = [&] {
    return HasErrors(elaboration, errors) || elaboration.budget.stopped;
  };
  const bool records = elaboration.program.has_gradients;
  graph::Repeat repeat;
  graph::Graph round = NewGraph(elaboration, source);
  graph::Graph before = round;
  before.name += kBefore;
  BeginOps(elaboration);
  GraphBuilder before_builder(elaboration.module, before, elaboration.budget);
  llvm::SaveAndRestore<GraphBuilder*> building(elaboration.builder, &before_builder);
  Tape tape;
  llvm::SaveAndRestore<Tape*> recording(elaboration.tape, records ? &tape : nullptr);
  Frame frame(source.name, &source.signature, &source.body.locals);
  BindInputs(elaboration, source, frame);
  const std::vector<program::StatementId>& statements = source.body.statements;
  ExecuteBlock(elaboration, {statements.begin(), statements.end() - 1}, frame);
  repeat.limit = LimitOf(elaboration, loop, frame);
  repeat.inputs = before.inputs.size();
  if (failed()) return;
  repeat.before_yields = frame.result.has_value();
  AddRow(elaboration, source, frame);
  if (loop.asks_first) repeat.before_done = AddDone(elaboration, loop, frame);

  BeginOps(elaboration);
  GraphBuilder builder(elaboration.module, round, elaboration.budget);
  elaboration.builder = &builder;
  Tape of_round;
  if (records) elaboration.tape = &of_round;
  Frame inside(source.name, &source.signature, &source.body.locals);
  BindInputs(elaboration, source, inside);
  if (loop.most.valid()) repeat.limit_input = InputOf(round, inside, loop.most);
  Carrier carrier(elaboration, source, before_builder, builder, repeat);
  carrier.CarryIn(loop, frame, inside);
  ExecuteBlock(elaboration, loop.body, inside);
  if (failed()) return;
  AddRow(elaboration, source, inside);
  repeat.outputs = round.outputs.size();
  repeat.done = AddDone(elaboration, loop, inside);
  carrier.CarryOn(inside);
  if (failed()) return;

  if (!FinishGraph(elaboration, source, before, /*has_schedule=*/false)) return;
  if (!before.ops.empty() || !before.outputs.empty()) {
    repeat.before = static_cast<uint32_t>(elaboration.module.graphs.size());
    elaboration.module.graphs.push_back(std::move(before));
  }
  if (!FinishGraph(elaboration, source, round, /*has_schedule=*/true)) return;
  round.repeat = std::move(repeat);
  elaboration.module.graphs.push_back(std::move(round));
}

}  // namespace

void ElaborateGraph(ElaborationContext& elaboration, program::GraphId id) {
  const size_t errors = elaboration.diagnostics.errors();
  elaboration.errors_before_graph = elaboration.diagnostics.found_errors();
  const program::Graph& source = elaboration.program.graphs[id];
  llvm::SaveAndRestore<bool> halving(elaboration.halved,
                                     source.use && IsHalved(elaboration.program, *source.use));
  for (const program::Parameter& parameter : source.signature.parameters) {
    const bool is_fixed = std::holds_alternative<program::CompileTimeType>(
        elaboration.program.types[parameter.type].node);
    if (parameter.default_value.valid() && !is_fixed) WarnOfDefault(elaboration, source, parameter);
  }
  if (const program::Repeat* loop = RepeatOf(elaboration.program, source)) {
    ElaborateRepeating(elaboration, source, *loop);
    return;
  }
  graph::Graph graph = NewGraph(elaboration, source);
  BeginOps(elaboration);
  GraphBuilder builder(elaboration.module, graph, elaboration.budget);
  llvm::SaveAndRestore<GraphBuilder*> building(elaboration.builder, &builder);
  Tape tape;
  llvm::SaveAndRestore<Tape*> recording(elaboration.tape,
                                        elaboration.program.has_gradients ? &tape : nullptr);
  Frame frame(source.name, &source.signature, &source.body.locals);
  BindInputs(elaboration, source, frame);
  Value result = RunBody(elaboration, source.signature, source.body, frame, source.range);
  Range range = frame.result_range.valid() ? frame.result_range : source.range;
  if (source.signature.result.valid()) AddOutputs(elaboration, result, "", range);
  if (HasErrors(elaboration, errors)) return;
  if (FinishGraph(elaboration, source, graph, /*has_schedule=*/true)) {
    ReportUnreadRows(elaboration, graph);
    elaboration.module.graphs.push_back(std::move(graph));
  }
}

}  // namespace cgraph::elaborate
