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
  if (written.reads) native.reads = StatesOf(checker, method.actor, *written.reads);
  if (written.writes) native.writes = StatesOf(checker, method.actor, *written.writes);
  if (!written.reads && !written.writes) {
    native.writes = checker.program.actors[method.actor].states;
  }
  llvm::erase_if(native.reads, [&](StateId state) {  // what is written is read, too
    return llvm::is_contained(native.writes, state);
  });
  ResolveCost(*checker.method_scopes[id], written.cost, native.flops, native.bytes);
  method.native = std::move(native);
  TakeLibrary(checker, method);
  TakeClass(checker, method);
}

}  // namespace cgraph::check
