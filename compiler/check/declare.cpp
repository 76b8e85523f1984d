// Declare: a row and a name for everything that a file declares.
//
// All rows are made first, so that the order of declarations never matters. A second declaration of
// a name keeps its row, and is checked like any other, but the name stays with the first.
#include <fmt/format.h>

#include "compiler/check/calls/overloads.h"
#include "compiler/check/checker.h"
#include "llvm/ADT/StringExtras.h"

namespace cgraph::check {

using namespace program;

namespace {

// Whether a type stands for a dtype: `type Weight = f16`.
bool IsDType(const syntax::File& file, const syntax::TypeDecl& decl) {
  const auto* tensor = std::get_if<syntax::TensorType>(&file.types[decl.type].node);
  return tensor != nullptr && !tensor->has_dims && decl.parameters.empty();
}

class Declarer {
 public:
  Declarer(Checker& checker, Module& module) : checker_(checker), module_(module) {}

  void Run() {
    for (const syntax::Item& item : module_.file.items) {
      std::visit([&](const auto& decl) { Visit(decl, item.range); }, item.node);
    }
  }

 private:
  void Visit(const syntax::ImportDecl&, Range) {}

  void Visit(const syntax::ConstDecl& decl, Range) {
    const ConstId id = AddRow(checker_.program.consts, checker_.consts, decl);
    checker_.const_types.Add(StaticType());
    checker_.const_uses.Add({});
    checker_.program.consts[id].option = OptionOf(decl.name.text);
    AddName(decl.name, {id, decl.name.range});
  }

  void Visit(const syntax::TypeDecl& decl, Range) {
    const NamedTypeId id = AddRow(checker_.program.named_types, checker_.named_types, decl);
    checker_.named_type_progress.Add(Checker::Progress::kNew);
    if (IsDType(module_.file, decl)) {
      checker_.program.named_types[id].option = OptionOf(decl.name.text);
    }
    const bool is_known = decl.name.text == "int" || decl.name.text == "float" ||
                          decl.name.text == "str" || decl.name.text == "bytes";
    if (is_known) {
      checker_.diagnostics.Report(
          Code::kE0318, decl.name.range,
          fmt::format("`{}` is a type of the language; choose another name", decl.name.text));
      return;
    }
    AddName(decl.name, {id, decl.name.range});
  }

  void Visit(const syntax::FnDecl& decl, Range) {
    AddFunction(decl.name, {AddRow(checker_.program.fns, checker_.fns, decl), decl.name.range,
                            decl.deprecated.valid()});
  }

  void Visit(const syntax::OpDecl& decl, Range) {
    AddFunction(decl.name, {AddRow(checker_.program.ops, checker_.ops, decl), decl.name.range,
                            decl.deprecated.valid()});
  }

  void Visit(const syntax::OptimizerDecl& decl, Range) {
    const OptimizerId id = AddRow(checker_.program.optimizers, checker_.optimizers, decl);
    AddName(decl.name, {id, decl.name.range});
    std::map<std::string, Range> names;
    for (const syntax::StateDecl& slot : decl.states) {
      checker_.program.optimizers[id].slots.push_back(
          AddRow(checker_.program.states, checker_.states, slot));
      auto [first, added] = names.emplace(slot.name.text, slot.name.range);
      if (!added) ReportTwice(slot.name, first->second);
    }
  }

  void Visit(const syntax::ActorDecl& decl, Range) {
    const ActorId id = AddRow(checker_.program.actors, checker_.actors, decl);
    AddName(decl.name, {id, decl.name.range});
    for (const syntax::StateDecl& state : decl.states) DeclareState(id, state);
    std::map<std::string, Range> names;
    for (const syntax::MethodDecl& method : decl.methods) DeclareMethod(id, method, names);
  }

  void DeclareState(ActorId actor, const syntax::StateDecl& decl) {
    const StateId id = AddRow(checker_.program.states, checker_.states, decl);
    State& row = checker_.program.states[id];
    row.actor = actor;
    row.is_param = decl.is_param;
    for (const syntax::Name& index : decl.along) row.along.push_back(index.text);
    auto [first, added] = checker_.state_names.emplace(std::pair(actor, decl.name.text), id);
    if (!added) ReportTwice(decl.name, checker_.program.states[first->second].range);
    checker_.program.actors[actor].states.push_back(id);
  }

  void DeclareMethod(ActorId actor, const syntax::MethodDecl& decl,
                     std::map<std::string, Range>& names) {
    const MethodId id = AddRow(checker_.program.methods, checker_.methods, decl);
    checker_.program.methods[id].actor = actor;
    auto [first, added] = names.emplace(decl.name.text, decl.name.range);
    if (!added) ReportTwice(decl.name, first->second);
    checker_.program.actors[actor].methods.push_back(id);
    checker_.program.actors[actor].method_names.emplace(decl.name.text, id);
  }

  void Visit(const syntax::PlaceDecl& decl, Range) {
    AddName(decl.name, {AddRow(checker_.program.places, checker_.places, decl), decl.name.range});
  }

  void Visit(const syntax::GraphDecl& decl, Range) {
    AddName(decl.name, {AddRow(checker_.program.graphs, checker_.graphs, decl), decl.name.range});
  }

  void Visit(const syntax::ScheduleDecl& decl, Range) {
    Schedule row;
    row.name = decl.name.text;
    row.range = decl.name.range;
    ScheduleId id = checker_.program.schedules.Add(std::move(row));
    checker_.schedules.Add({&module_, &decl});
    if (decl.name.text == "auto" || decl.name.text == "program") {
      checker_.diagnostics.Report(
          Code::kE0318, decl.name.range,
          fmt::format("`{}` is a schedule of the language; choose another name", decl.name.text));
      return;
    }
    AddName(decl.name, {id, decl.name.range});
  }

  void Visit(const syntax::TransportDecl& decl, Range) {
    const TransportId id = AddRow(checker_.program.transports, checker_.transports, decl);
    if (ParseTransport(decl.name.text)) {
      checker_.diagnostics.Report(
          Code::kE0318, decl.name.range,
          fmt::format("`{}` is a transport of the language; choose another name", decl.name.text));
      return;
    }
    AddName(decl.name, {id, decl.name.range});
  }

  void Visit(const syntax::TopologyDecl& decl, Range) {
    const TopologyId id = AddRow(checker_.program.topologies, checker_.topologies, decl);
    AddName(decl.name, {id, decl.name.range});
  }

  // Returns the NAME of -D NAME=VALUE for a declaration of this module: `N` in the named file,
  // `m.N` in one that it imports as `m`, empty elsewhere. Of several aliases it is the first.
  std::string OptionOf(const std::string& name) const {
    const Module& main = *checker_.modules[0];
    if (&module_ == &main) return name;
    for (const Import& import : main.imports) {
      if (import.module == &module_ && !import.unqualified) return import.qualifier + "." + name;
    }
    return "";
  }

  // Adds a row with nothing but its name and where it was written.
  template <typename Id, typename Row, typename Decl>
  Id AddRow(Table<Id, Row>& rows, Table<Id, Written<Decl>>& written, const Decl& decl) {
    Row row;
    row.name = decl.name.text;
    row.range = decl.name.range;
    written.Add({&module_, &decl});
    return rows.Add(std::move(row));
  }

  void AddName(const syntax::Name& name, Symbol symbol) {
    if (name.text == "none") {
      checker_.diagnostics.Report(Code::kE0318, name.range,
                                  "`none` fills a list element that is not yet assigned and "
                                  "cannot be declared; choose another name");
      return;
    }
    auto [first, added] = module_.names.emplace(name.text, std::move(symbol));
    if (!added) ReportTwice(name, first->second.range);
  }

  // Adds an op or a fn. It may share its name with others where no call could mean two of them.
  void AddFunction(const syntax::Name& name, Symbol symbol) {
    const auto known = module_.names.find(name.text);
    if (known == module_.names.end() || WrittenParameters(checker_, known->second) == nullptr) {
      return AddName(name, std::move(symbol));
    }
    const auto& parameters = *WrittenParameters(checker_, symbol);
    std::vector<const Symbol*> others = {&known->second};
    for (const Symbol& overload : known->second.overloads) others.push_back(&overload);
    for (const Symbol* other : others) {
      if (TakeTheSame(parameters, *WrittenParameters(checker_, *other))) {
        return ReportTwice(name, other->range, "; some calls could mean either");
      }
    }
    known->second.overloads.push_back(std::move(symbol));
  }

  void ReportTwice(const syntax::Name& name, Range first, const char* why = "") {
    checker_.diagnostics
        .Report(Code::kE0302, name.range, fmt::format("`{}` is declared twice{}", name.text, why))
        .AddNote(first, "the first declaration is here");
  }

  Checker& checker_;
  Module& module_;
};

// DefineReader: finds the const or the name for a dtype that each -D NAME=VALUE gives. A NAME that
// two files declare changes neither, and of two NAMEs for one declaration none changes it.
class DefineReader {
 public:
  explicit DefineReader(Checker& checker)
      : checker_(checker), defines_(checker.options.defines) {}

  void Run() {
    const Module& main = *checker_.modules[0];
    for (const auto& [option, value] : defines_) Read(option, main, option);
    for (const Import& import : main.imports) {
      if (import.unqualified) continue;
      const std::string prefix = import.qualifier + ".";
      for (auto define = defines_.lower_bound(prefix);
           define != defines_.end() && llvm::StringRef(define->first).startswith(prefix);
           ++define) {
        Read(define->first, *import.module, define->first.substr(prefix.size()));
      }
    }
    for (const auto& [option, given] : given_) {
      if (!given.is_wrong && given.dtype.valid()) Choose(option, given.dtype);
    }
  }

 private:
  struct Given {
    const Module* module = nullptr;
    NamedTypeId dtype;              // invalid: it is a const
    Range range;
    std::string* option = nullptr;  // of its row
    bool is_wrong = false;          // which is reported

    const char* kind() const { return dtype.valid() ? "dtype" : "const"; }
  };

  // Reads the option that names `name` of a module, if the module declares it.
  void Read(const std::string& option, const Module& module, const std::string& name) {
    const auto found = module.names.find(name);
    if (found == module.names.end()) return;
    Given given{.module = &module, .range = found->second.range};
    if (const auto* constant = std::get_if<ConstId>(&found->second.node)) {
      given.option = &checker_.program.consts[*constant].option;
    } else if (const auto* type = std::get_if<NamedTypeId>(&found->second.node)) {
      given.dtype = *type;
      given.option = &checker_.program.named_types[*type].option;
    }
    if (given.option == nullptr || given.option->empty()) return;  // no const, no name for a dtype
    const auto [known, is_new] = given_.try_emplace(option, given);
    if (!is_new) {
      if (known->second.option != given.option) ReportOfTwo(option, known->second, given);
      return;
    }
    const auto [first, is_first] = used_.try_emplace(given.option, option);
    if (is_first) {
      *given.option = option;
    } else {
      ReportTwice(first->second, option, name);
    }
  }

  void ReportOfTwo(const std::string& option, Given& first, const Given& second) {
    if (first.is_wrong) return;
    first.is_wrong = true;
    const bool same = first.dtype.valid() == second.dtype.valid();
    checker_.diagnostics
        .Report(Code::kE0501, Range(),
                fmt::format("{}: `{}` is a {} of {} and {}of {}; give them two aliases",
                            ShownDefine(option, defines_.at(option)), option, first.kind(),
                            first.module->name, same ? "" : fmt::format("a {} ", second.kind()),
                            second.module->name))
        .AddNote(first.range, fmt::format("the {} of {}", first.kind(), first.module->name))
        .AddNote(second.range, fmt::format("the {} of {}", second.kind(), second.module->name));
  }

  void ReportTwice(const std::string& first, const std::string& second, const std::string& name) {
    Given& given = given_.at(first);
    given.is_wrong = given_.at(second).is_wrong = true;
    checker_.diagnostics
        .Report(Code::kE0501, Range(),
                fmt::format("{} and {} give one {}, `{}` of {}; leave one out",
                            ShownDefine(first, defines_.at(first)),
                            ShownDefine(second, defines_.at(second)), given.kind(), name,
                            given.module->name))
        .AddNote(given.range, "declared here");
  }

  // Lets -D say which dtype a name stands for.
  void Choose(const std::string& option, NamedTypeId id) {
    NamedType& named = checker_.program.named_types[id];
    const std::string& value = defines_.at(option);
    named.chosen = ParseDType(value);
    if (named.chosen) return;
    const Written<syntax::TypeDecl>& written = checker_.named_types[id];
    const auto& type = written.module->file.types[written.decl->type];
    std::vector<std::string_view> all;
    for (const DTypeTraits& each : kDTypeTraits) all.push_back(each.name);
    checker_.diagnostics.Report(
        Code::kE0502, named.range,
        fmt::format("{}: `{}` stands for a dtype ({}), and the value given is none; there are {}",
                    ShownDefine(option, value), named.name,
                    DTypeName(std::get<syntax::TensorType>(type.node).dtype),
                    fmt::join(all, " ")));
  }

  Checker& checker_;
  const std::map<std::string, std::string>& defines_;
  std::map<std::string, Given> given_;              // by the option
  std::map<const std::string*, std::string> used_;  // the first option of a row
};

// Returns the op of std.tensor with that name; `missing` gets the names that do not exist.
OpId FindOp(const Checker& checker, const char* name, std::vector<std::string>& missing) {
  auto found = checker.tensor->names.find(name);
  if (found != checker.tensor->names.end()) {
    if (const auto* op = std::get_if<OpId>(&found->second.node)) return *op;
  }
  missing.push_back(name);
  return OpId();
}

}  // namespace

void Declare(Checker& checker) {
  for (auto& module : checker.modules) Declarer(checker, *module).Run();
  DefineReader(checker).Run();
  // Flags are read as if they stood in the named file.
  const Module& main = *checker.modules[0];
  for (Module* flag : {checker.flag.module, checker.topology_flag.module}) {
    if (flag == nullptr) continue;
    flag->names = main.names;
    flag->imports.insert(flag->imports.end(), main.imports.begin(), main.imports.end());
  }
}

void FindOperatorOps(Checker& checker) {
  Program& program = checker.program;
  const std::pair<BinaryOperator, const char*> kOperators[] = {
      {BinaryOperator::kOr, "logical_or"},
      {BinaryOperator::kAnd, "logical_and"},
      {BinaryOperator::kEqual, "equal"},
      {BinaryOperator::kNotEqual, "not_equal"},
      {BinaryOperator::kLess, "less"},
      {BinaryOperator::kLessEqual, "less_equal"},
      {BinaryOperator::kGreater, "greater"},
      {BinaryOperator::kGreaterEqual, "greater_equal"},
      {BinaryOperator::kAdd, "add"},
      {BinaryOperator::kSubtract, "subtract"},
      {BinaryOperator::kMultiply, "multiply"},
      {BinaryOperator::kDivide, "divide"},
      {BinaryOperator::kModulo, "modulo"},
      {BinaryOperator::kMatmul, "matmul"},
  };
  std::vector<std::string> missing;
  for (auto [op, name] : kOperators) program.operator_ops[op] = FindOp(checker, name, missing);
  program.negate_op = FindOp(checker, "negate", missing);
  program.not_op = FindOp(checker, "logical_not", missing);
  program.cast_op = FindOp(checker, "cast", missing);
  program.stack_op = FindOp(checker, "stack", missing);
  program.copy_op = FindOp(checker, "copy", missing);
  program.permute_op = FindOp(checker, "permute", missing);
  if (program.has_gradients) {
    program.zeros_op = FindOp(checker, "zeros", missing);
    program.ones_op = FindOp(checker, "ones", missing);
    program.sum_to_op = FindOp(checker, "sum_to", missing);
    program.shaped_op = FindOp(checker, "shaped", missing);
    program.update_op = FindOp(checker, "update", missing);
    program.sqrt_op = FindOp(checker, "sqrt", missing);
  }
  const std::pair<NumberFunction, const char*> kFunctions[] = {
      {NumberFunction::kSquareRoot, "sqrt"}, {NumberFunction::kExp, "exp"},
      {NumberFunction::kLog, "log"},         {NumberFunction::kPow, "pow"},
      {NumberFunction::kMinimum, "minimum"}, {NumberFunction::kMaximum, "maximum"},
  };
  for (auto [function, name] : kFunctions) {
    const OpId id = FindOp(checker, name, missing);
    if (id.valid()) program.ops[id].on_numbers = function;
  }
  if (missing.empty() || checker.names_missing) return;
  checker.diagnostics.Report(
      Code::kE0317, Range{checker.tensor->file.source, 0, 0},
      fmt::format("std.tensor does not declare what operators and gradients stand for: {}",
                  llvm::join(missing, ", ")));
}

}  // namespace cgraph::check
