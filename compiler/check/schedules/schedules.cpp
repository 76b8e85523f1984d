// Schedules: their rules, and the graphs that use them.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "compiler/base/derived_calls.h"
#include "compiler/check/calls/arguments.h"
#include "compiler/check/calls/calls.h"
#include "compiler/check/expressions/resolve.h"
#include "compiler/check/names.h"
#include "compiler/check/schedules/rules.h"
#include "compiler/check/scope/scope.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/base/text.h"

namespace cgraph::check {

using namespace program;

namespace {

constexpr const char* kAlong = "along";
constexpr const char* kPer = "per";

class UsingReader {
 public:
  UsingReader(Checker& checker, const Module& module, const syntax::Using& written, Using& use)
      : checker_(checker), module_(module), written_(written), use_(use) {}

  void Run() {
    use_.range = written_.range;
    const bool automatic = written_.path.size() == 1 && written_.path[0].text == "auto";
    if (automatic) return ReadAuto();
    const std::optional<ScheduleId> id = FindSchedule();
    if (!id) return;
    use_.schedule = *id;
    ReadArguments();
    for (const Kind& kind : schedule().kinds) use_.methods.Add({{{}, kind.name, written_.range}});
    use_.variables.resize(schedule().variables.size());
    ReadPlacing(module_, written_);
    // A flag's schedule takes the graph's `along`, which another schedule may need.
    if (use_.along.empty() || schedule().uses_index) return;
    Report(Code::kW0515, written_.range,
           fmt::format("`along: {}` has no effect: it says what `index` is, and no rule of `{}` "
                       "names that; leave it out",
                       use_.along, schedule().name))
        .AddNote(schedule().range, "the schedule");
  }

  // Reads `along: p` and `per: m`, unless they are known: no parameters of the schedule, they say
  // which index of places is a position, and what counts micro-batches.
  void ReadPlacing(const Module& module, const syntax::Using& written) {
    if (!use_.schedule.valid()) return;
    for (const syntax::Argument& argument : written.arguments) {
      if (!IsPlacing(argument)) continue;
      if (argument.label->text == kPer) ReadPer(module, *argument.label, argument.value);
      else ReadAlong(module, argument.value);
    }
  }

  // `lenient`: names that the schedule lacks are left out instead of reported.
  void Rename(const Module& module, const std::vector<syntax::Using::Renaming>& renamings,
              bool lenient) {
    if (!use_.schedule.valid()) return;
    Scope scope(checker_, module, Site::kConst, nullptr, &use_.locals);
    std::vector<LocalId> variables;
    scope.call_variables = &variables;
    std::map<std::string, Range> seen;
    for (const syntax::Using::Renaming& renaming : renamings) {
      auto [first, added] = seen.emplace(renaming.name.text, renaming.name.range);
      if (!added) {
        Report(Code::kE0323, renaming.name.range,
               fmt::format("`{}` is renamed twice", renaming.name.text))
            .AddNote(first->second, "the first time here");
        continue;
      }
      if (RenameMethod(module, renaming)) continue;
      if (RenameVariable(scope, renaming)) continue;
      if (renaming.name.text == kMicrobatch) {
        ReadPer(module, renaming.name, renaming.value);
        continue;
      }
      if (lenient) continue;
      ReportNoSuchName(renaming.name);
    }
  }

  void CheckMethods() {
    if (!use_.schedule.valid()) return;
    std::map<std::pair<ActorId, std::string>, KindId> kinds;
    for (KindId kind : use_.methods.Ids()) {
      for (const Using::Method& method : use_.methods[kind]) {
        auto [first, added] = kinds.emplace(std::pair(method.actor, method.name), kind);
        if (!added) {
          ReportNamedTwice(method, first->second, kind);
        } else if (!Exists(method) && !IsDerived(kind, method)) {
          ReportNoMethod(kind, method);
        }
      }
    }
  }

 private:
  const Schedule& schedule() const { return checker_.program.schedules[use_.schedule]; }
  Diagnostic& Report(Code code, Range range, std::string message) {
    return checker_.diagnostics.Report(code, range, std::move(message));
  }

  void ReadAuto() {
    if (!written_.arguments.empty()) {
      const Range at = module_.file.exprs[written_.arguments[0].value].range;
      Report(Code::kE0402, at, "`auto` takes no arguments");
    }
    if (!written_.renamings.empty()) {
      Report(Code::kE0323, written_.renamings[0].name.range, "`auto` has no names to rename");
    }
  }

  std::optional<ScheduleId> FindSchedule() {
    const syntax::Name& name = written_.path.back();
    const Found found = FindPath(checker_, module_, written_.path);
    if (found.reported) return std::nullopt;
    if (found.symbol) {
      if (const auto* id = std::get_if<ScheduleId>(&found.symbol->node)) return *id;
      Report(Code::kE0321, name.range,
             fmt::format("`using` takes a schedule, and `{}` is none", name.text))
          .AddNote(found.symbol->range, "declared here");
      return std::nullopt;
    }
    if (checker_.names_missing) return std::nullopt;
    const std::vector<std::string> library = LibrarySchedules(checker_);
    if (written_.path.size() > 1 && IsQualifier(module_, written_.path[0].text)) {
      ReportUndeclared(written_.path[0].text, name);
      return std::nullopt;
    }
    if (std::find(library.begin(), library.end(), name.text) == library.end()) {
      std::vector<std::string> names = {"auto"};
      for (const Schedule& schedule : checker_.program.schedules) names.push_back(schedule.name);
      for (const std::string& known : library) {
        if (std::find(names.begin(), names.end(), known) == names.end()) names.push_back(known);
      }
      Diagnostic& diagnostic = Report(Code::kE0321, name.range,
                                      fmt::format("there is no schedule `{}`", name.text));
      if (!checker_.Translate(diagnostic, name.range, name.text)) {
        checker_.Suggest(diagnostic, name.range, name.text, names);
      }
      if (diagnostic.fixes.empty()) {
        diagnostic.message += fmt::format("; there are {}", fmt::join(names, ", "));
      }
    } else {
      Report(Code::kE0321, name.range,
             fmt::format("there is no schedule `{}` here; `import std.schedules` declares one",
                         name.text));
    }
    return std::nullopt;
  }

  // Reports a schedule that the file behind a qualifier does not declare.
  void ReportUndeclared(const std::string& qualifier, const syntax::Name& name) {
    std::vector<std::string> names;
    for (const std::string& each : QualifiedNames(module_, qualifier)) {
      const Found found = FindQualified(checker_, module_, qualifier, each, name.range);
      if (found.symbol && std::holds_alternative<ScheduleId>(found.symbol->node)) {
        names.push_back(each);
      }
    }
    Diagnostic& diagnostic =
        Report(Code::kE0321, name.range,
               fmt::format("{} declares no schedule `{}`", ShownModule(module_, qualifier),
                           name.text));
    checker_.Suggest(diagnostic, name.range, name.text, names);
    if (diagnostic.fixes.empty() && !names.empty()) {
      diagnostic.message += fmt::format("; it has {}", fmt::join(names, ", "));
    }
  }

  static bool IsPlacing(const syntax::Argument& argument) {
    return argument.label && (argument.label->text == kAlong || argument.label->text == kPer);
  }

  void ReadArguments() {
    std::vector<syntax::Argument> arguments = written_.arguments;
    std::erase_if(arguments, IsPlacing);
    Scope scope(checker_, module_, Site::kConst, nullptr, &use_.locals);
    Arguments given = ResolveArguments(scope, arguments);
    CheckArguments(scope, given,
                   {"schedule `" + schedule().name + "`", &schedule().parameters, nullptr,
                    &schedule().locals, schedule().range},
                   written_.range);
    use_.arguments = std::move(given.arguments);
  }

  void ReadAlong(const Module& module, syntax::ExprId id) {
    if (!use_.along.empty()) return;
    const syntax::Expr& value = module.file.exprs[id];
    if (const auto* name = std::get_if<syntax::NameExpr>(&value.node)) {
      use_.along = name->name;
    } else {
      Report(Code::kE0406, value.range,
             "`along` names an index of an array of places, such as p of "
             "s[d in 0..D, p in 0..P]");
    }
  }

  void ReadPer(const Module& module, const syntax::Name& name, syntax::ExprId id) {
    if (use_.per.value.valid()) {
      const Range known = checker_.program.exprs[use_.per.value].range;
      if (known.source != name.range.source) return;  // a flag's goes before the graph's
      Report(Code::kE0323, name.range, "what counts micro-batches is said twice")
          .AddNote(known, "the first time here");
      return;
    }
    Scope scope(checker_, module, Site::kConst, nullptr, &use_.locals);
    std::vector<LocalId> variables;
    scope.call_variables = &variables;
    const ExprId value = ResolveInt(scope, id, "what counts micro-batches").id;
    use_.per = {value, scope.names.TakeUsed(variables)};
  }

  bool RenameMethod(const Module& module, const syntax::Using::Renaming& renaming) {
    for (KindId kind : schedule().kinds.Ids()) {
      if (schedule().kinds[kind].name != renaming.name.text) continue;
      const syntax::Expr& value = module.file.exprs[renaming.value];
      std::vector<Using::Method>& methods = use_.methods[kind];
      methods.clear();
      if (const auto* list = std::get_if<syntax::ListExpr>(&value.node)) {
        for (syntax::ExprId item : list->items) {
          methods.push_back(ReadMethod(module, renaming.name, item, kind));
        }
        if (methods.empty()) {
          Report(Code::kE0323, value.range,
                 fmt::format("`{}` means no method here; name at least one", renaming.name.text))
              .AddNote(schedule().kinds[kind].range, "the rule");
        }
      } else {
        methods.push_back(ReadMethod(module, renaming.name, renaming.value, kind));
      }
      return true;
    }
    return false;
  }

  Using::Method ReadMethod(const Module& module, const syntax::Name& name, syntax::ExprId id,
                           KindId kind) {
    const syntax::Expr& value = module.file.exprs[id];
    Using::Method method{{}, name.text, value.range};
    if (const auto* own = std::get_if<syntax::NameExpr>(&value.node)) {
      method.name = own->name;
    } else if (const auto* field = std::get_if<syntax::FieldExpr>(&value.node)) {
      Scope scope(checker_, module, Site::kConst, nullptr, &use_.locals);
      method.name = field->name.text;
      method.actor = ResolveActorName(scope, field->base).value_or(ActorId());
    } else {
      Report(Code::kE0323, value.range,
             fmt::format("`{0}` is a method: write the name of one, Actor.name, or a list of "
                         "these, [attend, feed], where `{0}` is several calls",
                         name.text))
          .AddNote(schedule().kinds[kind].range, "the rule");
    }
    return method;
  }

  bool RenameVariable(Scope& scope, const syntax::Using::Renaming& renaming) {
    for (size_t i = 0; i < use_.variables.size(); ++i) {
      if (schedule().locals[schedule().variables[i]].name != renaming.name.text) continue;
      const ExprId value = ResolveInt(scope, renaming.value, "a variable of a schedule").id;
      use_.variables[i] = {value, scope.names.TakeUsed(*scope.call_variables)};
      return true;
    }
    return false;
  }

  void ReportNoSuchName(const syntax::Name& name) {
    std::vector<std::string> names;
    for (const Kind& kind : schedule().kinds) names.push_back(kind.name);
    for (LocalId variable : schedule().variables) {
      names.push_back(schedule().locals[variable].name);
    }
    const std::string known = names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
    Diagnostic& diagnostic =
        Report(Code::kE0323, name.range,
               fmt::format("the rules of `{}` do not name `{}`; they name {}", schedule().name,
                           name.text, known));
    checker_.Suggest(diagnostic, name.range, name.text, names)
        .AddNote(schedule().range, "the schedule is declared here");
  }

  bool Exists(const Using::Method& method) const {
    const Program& program = checker_.program;
    if (method.actor.valid()) {
      return FindMethod(program, method.actor, method.name).valid() ||
             (method.name == kUpdateMethod && IsTrained(program, method.actor));
    }
    const auto is_trained = [](const Place& place) { return place.trained.has_value(); };
    const bool is_update =
        method.name == kUpdateMethod &&
        std::any_of(program.places.begin(), program.places.end(), is_trained);
    return is_update ||
           std::any_of(program.methods.begin(), program.methods.end(),
                       [&](const Method& other) { return other.name == method.name; });
  }

  // Returns whether a name means the calls that `grad` derives: those of the schedule's own
  // `forward`, whatever it is called here, or those of a method by their name.
  bool IsDerived(KindId kind, const Using::Method& method) const {
    if (!checker_.program.has_gradients) return false;
    const bool renamed = method.range.begin != written_.range.begin;
    const std::optional<DerivedFrom> own = ParseDerivedName(schedule().kinds[kind].name);
    if (!renamed && own && own->method == "forward") return true;
    const std::optional<DerivedFrom> of = ParseDerivedName(method.name);
    return of && Exists({method.actor, of->method, method.range});
  }

  std::string KindNames() const {
    std::vector<std::string> names;
    for (const Kind& kind : schedule().kinds) names.push_back("`" + kind.name + "`");
    return fmt::format("{}", fmt::join(names, " and "));
  }

  // Whether each of these methods is one that the schedule names already, so that none is left for
  // a name that nothing has.
  bool LeavesNoMethod(const std::vector<std::string>& methods) const {
    return std::all_of(methods.begin(), methods.end(), [&](const std::string& name) {
      const auto is_named = [&](const Using::Method& method) { return method.name == name; };
      return std::any_of(use_.methods.begin(), use_.methods.end(), [&](const auto& of_kind) {
        return std::any_of(of_kind.begin(), of_kind.end(), is_named);
      });
    });
  }

  void ReportNamedTwice(const Using::Method& method, KindId first, KindId second) {
    const std::string& name = schedule().kinds[second].name;
    const std::string why =
        first == second
            ? fmt::format("`{}` stands twice among the methods of `{}`", method.name, name)
            : fmt::format("`{0}` is the method that `{1}` calls `{2}` already, and two of its "
                          "names cannot mean one method; `with ({3} = NAME)` takes another",
                          method.name, schedule().name, schedule().kinds[first].name, name);
    Report(Code::kE0323, method.range, why);
  }

  void ReportNoMethod(KindId kind, const Using::Method& method) {
    if (checker_.names_missing) return;
    std::vector<std::string> names;
    for (const Method& other : checker_.program.methods) {
      if (!method.actor.valid() || other.actor == method.actor) names.push_back(other.name);
    }
    const Kind& row = schedule().kinds[kind];
    const bool renamed = method.range.begin != written_.range.begin;
    std::string mend;
    if (!renamed) {
      mend = LeavesNoMethod(names)
                 ? fmt::format("; `{}` is for graphs with calls of {}: one without needs another "
                               "schedule, or none",
                               schedule().name, KindNames())
                 : fmt::format("; `with ({} = NAME)` says what it is called here", row.name);
      const bool is_derived =
          !checker_.program.has_gradients && ParseDerivedName(row.name).has_value();
      if (is_derived) mend += fmt::format("; `grad(loss, of: ...)` makes calls of `{}`", row.name);
    }
    Diagnostic& diagnostic =
        Report(Code::kE0322, method.range,
               fmt::format("no actor has a method `{}`, of which `{}` has rules{}", method.name,
                           schedule().name, mend));
    if (renamed) {
      checker_.Suggest(diagnostic, method.range, method.name, names);
    } else if (const std::string near = DidYouMean(method.name, names); !near.empty()) {
      diagnostic.message += fmt::format(" (did you mean `{}`?)", near);
    }
    diagnostic.AddNote(row.range, "the rule");
  }

  Checker& checker_;
  const Module& module_;
  const syntax::Using& written_;
  Using& use_;
};

void ReadUsing(Checker& checker, GraphId id) {
  const auto& [module, decl] = checker.graphs[id];
  for (size_t i = 1; i < decl->usings.size(); ++i) {
    checker.diagnostics
        .Report(Code::kE0404, decl->usings[i].range, "`using` is given twice")
        .AddNote(decl->usings[0].range, "the first time here");
  }
  const syntax::Using* own = decl->usings.empty() ? nullptr : &decl->usings[0];
  const bool flagged = checker.flag.chosen && module->file.source == checker.program.main;
  if (flagged && checker.flag.reversed) {
    Using use;
    use.reversed = true;
    use.range = decl->name.range;
    checker.program.graphs[id].use = std::move(use);
    return;
  }
  const syntax::Using* written = flagged ? (checker.flag.use ? &*checker.flag.use : nullptr) : own;
  if (written == nullptr) return;
  Using use;
  const Module& from = flagged ? *checker.flag.module : *module;
  UsingReader reader(checker, from, *written, use);
  const size_t errors = checker.diagnostics.errors();
  reader.Run();
  // A flag that gives no names, or no places, means those that the graph gives.
  if (flagged && own != nullptr) reader.ReadPlacing(*module, *own);
  const bool inherits = flagged && written->renamings.empty() && own != nullptr;
  reader.Rename(inherits ? *module : from, inherits ? own->renamings : written->renamings,
                inherits);
  reader.CheckMethods();
  if (checker.diagnostics.errors() == errors) checker.program.graphs[id].use = std::move(use);
}

}  // namespace

void ResolveSchedules(Checker& checker) {
  for (ScheduleId id : checker.program.schedules.Ids()) ReadRules(checker, id);
  for (GraphId id : checker.program.graphs.Ids()) ReadUsing(checker, id);
}

}  // namespace cgraph::check
