#include "compiler/check/clauses.h"

#include <fmt/format.h>

#include "compiler/check/expressions/resolve.h"
#include "compiler/check/scope/scope.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/kinds/native.h"

namespace cgraph::check {

using namespace program;

namespace {

// Returns the states that a clause names; those that the actor lacks are reported.
std::vector<StateId> StatesOf(Checker& checker, ActorId actor,
                              const std::vector<syntax::Name>& names) {
  std::vector<StateId> states;
  for (const syntax::Name& name : names) {
    const auto found = checker.state_names.find({actor, name.text});
    if (found == checker.state_names.end()) {
      std::vector<std::string> candidates;
      for (StateId id : checker.program.actors[actor].states) {
        candidates.push_back(checker.program.states[id].name);
      }
      Diagnostic& diagnostic = checker.diagnostics.Report(
          Code::kE0301, name.range,
          fmt::format("`{}` has no state `{}`; `reads` and `writes` name states of the actor",
                      checker.program.actors[actor].name, name.text));
      checker.Suggest(diagnostic, name.range, name.text, candidates);
    } else if (llvm::is_contained(states, found->second)) {
      checker.diagnostics.Report(Code::kE0404, name.range,
                                 fmt::format("`{}` is given twice", name.text));
    } else {
      states.push_back(found->second);
    }
  }
  return states;
}

// An actor has one object in native code, so its methods are of one library.
void TakeLibrary(Checker& checker, const Method& method) {
  Actor& actor = checker.program.actors[method.actor];
  const std::string& library = method.native->library;
  if (actor.library.empty()) actor.library = library;
  if (actor.library == library) return;
  Diagnostic& diagnostic = checker.diagnostics.Report(
      Code::kE0424, method.native->range,
      fmt::format("`{}` is of {}, and other methods of `{}` are of {}; the native methods of an "
                  "actor share one object, so they are of one library",
                  method.name, library, actor.name, actor.library));
  for (MethodId id : actor.methods) {
    const std::optional<Extern>& other = checker.program.methods[id].native;
    if (!other || other->library != actor.library) continue;
    diagnostic.AddNote(other->range, "the first one is here");
    break;
  }
}

// The object of a place is of one class.
void TakeClass(Checker& checker, const Method& method) {
  if (method.native->library != kPythonLibrary) return;
  const auto class_of = [](const Extern& native) {
    const auto symbol = ReadPythonSymbol(native.symbol);
    return symbol && !symbol->class_name.empty()
               ? fmt::format("{}:{}", symbol->module, symbol->class_name)
               : std::string();
  };
  const std::string mine = class_of(*method.native);
  const Actor& actor = checker.program.actors[method.actor];
  for (MethodId id : actor.methods) {
    const std::optional<Extern>& other = checker.program.methods[id].native;
    const std::string first = other && !mine.empty() ? class_of(*other) : "";
    if (first.empty() || first == mine) continue;
    checker.diagnostics
        .Report(
            Code::kE0424, method.native->range,
            fmt::format("`{}` is of the class {}, and other methods of `{}` are of {}; a place "
                        "has one object, so the methods in Python of an actor are of one class, "
                        "or functions without one",
                        method.name, mine, actor.name, first))
        .AddNote(other->range, "the first one is here");
    return;
  }
}

// ObjectClauses: what the clauses of a method say of the place's object: `reads object`, `adds
// object`, `writes object`, `keyed by (mb)`. A state that is called `object` is a state.
class ObjectClauses {
 public:
  ObjectClauses(Checker& checker, const Method& method, const syntax::ExternBody& written)
      : checker_(checker), method_(method), written_(written) {}

  // Returns the other names of a clause; nothing where it has only named the object.
  std::optional<std::vector<syntax::Name>> Take(
      const std::optional<std::vector<syntax::Name>>& names, Effect effect) {
    if (!names) return std::nullopt;
    std::vector<syntax::Name> others;
    for (const syntax::Name& name : *names) {
      const bool is_state = checker_.state_names.count({method_.actor, name.text}) != 0;
      if (name.text == kObject && !is_state) Note(effect, name.range);
      else others.push_back(name);
    }
    if (others.empty() && !names->empty()) return std::nullopt;
    return others;
  }

  void Resolve(Scope& scope, Extern& native) {
    const std::optional<std::vector<syntax::Name>> added = Take(written_.adds, Effect::kAdds);
    for (const syntax::Name& name : added.value_or(std::vector<syntax::Name>())) {
      checker_.diagnostics.Report(
          Code::kE0301, name.range,
          fmt::format("`adds` is about the object: `adds object`; `writes {}` is about a state",
                      name.text));
    }
    if (stated_) native.effect = stated_->first;
    if (!written_.keys.valid()) return;
    if (stated_ && stated_->first == Effect::kWrites) Contradict(stated_->second, "`keyed by`");
    native.effect = Effect::kKeyed;
    native.keys = KeysOf(scope);
  }

 private:
  static constexpr const char* kObject = "object";

  void Note(Effect effect, Range range) {
    if (stated_) Contradict(range, "another clause");
    stated_ = {effect, range};
  }
  void Contradict(Range range, const char* other) {
    checker_.diagnostics.Report(
        Code::kE0404, range,
        fmt::format("what `{}` does to the object is said twice, here and by {}; it reads, adds or "
                    "writes it, or keeps something for a key",
                    method_.name, other));
  }

  std::vector<ExprId> KeysOf(Scope& scope) {
    const auto& node = scope.module.file.exprs[written_.keys].node;
    std::vector<ExprId> keys;
    const auto add = [&](syntax::ExprId id) {
      keys.push_back(ResolveInt(scope, id, "a key").id);
    };
    if (const auto* tuple = std::get_if<syntax::TupleExpr>(&node)) {
      for (const syntax::Argument& part : tuple->fields) add(part.value);
    } else {
      add(written_.keys);
    }
    return keys;
  }

  Checker& checker_;
  const Method& method_;
  const syntax::ExternBody& written_;
  std::optional<std::pair<Effect, Range>> stated_;
};

}  // namespace

void ResolveCost(Scope& scope, const std::vector<syntax::Argument>& cost, ExprId& flops,
                 ExprId& bytes) {
  Checker& checker = scope.checker;
  for (const syntax::Argument& part : cost) {
    Value value = ResolveInt(scope, part.value, "a cost");
    std::string label = part.label ? part.label->text : "";
    Range at = part.label ? part.label->range : checker.program.exprs[value.id].range;
    if (label != "flops" && label != "bytes") {
      checker.diagnostics.Report(Code::kE0315, at, "a cost has the parts `flops:` and `bytes:`");
      continue;
    }
    ExprId& slot = label == "flops" ? flops : bytes;
    if (slot.valid()) {
      checker.diagnostics.Report(Code::kE0404, at, fmt::format("`{}` is given twice", label))
          .AddNote(checker.program.exprs[slot].range, "the first time here");
    }
    slot = value.id;
  }
}

void ResolveExtern(Checker& checker, MethodId id) {
  const syntax::ExternBody& written = *checker.methods[id].decl->native;
  Method& method = checker.program.methods[id];
  Extern native;
  native.library = written.library;
  native.symbol = written.symbol;
  native.range = written.range;
  ObjectClauses clauses(checker, method, written);
  const auto reads = clauses.Take(written.reads, Effect::kReads);
  const auto writes = clauses.Take(written.writes, Effect::kWrites);
  clauses.Resolve(*checker.method_scopes[id], native);
  if (reads) native.reads = StatesOf(checker, method.actor, *reads);
  if (writes) native.writes = StatesOf(checker, method.actor, *writes);
  if (!reads && !writes) native.writes = checker.program.actors[method.actor].states;
  llvm::erase_if(native.reads, [&](StateId state) {  // what is written is read, too
    return llvm::is_contained(native.writes, state);
  });
  ResolveCost(*checker.method_scopes[id], written.cost, native.flops, native.bytes);
  method.native = std::move(native);
  TakeLibrary(checker, method);
  TakeClass(checker, method);
}

}  // namespace cgraph::check
