#include "compiler/check/calls/deprecated.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <type_traits>

#include <fmt/format.h>

#include "compiler/check/calls/calls.h"
#include "compiler/check/names.h"
#include "compiler/syntax/children.h"

namespace cgraph::check {
namespace {

// Returns what a name means by itself in a file; null where it means nothing there, or several
// things.
const Symbol* Meaning(const Module& module, const std::string& name) {
  const auto own = module.names.find(name);
  if (own != module.names.end()) return &own->second;
  const Symbol* meaning = nullptr;
  for (const Import& import : module.imports) {
    const auto found = import.module->names.find(name);
    if (!import.unqualified || found == import.module->names.end()) continue;
    if (meaning != nullptr && meaning != &found->second) return nullptr;
    meaning = &found->second;
  }
  return meaning;
}

// Writes what a declaration says to write instead, with a call's arguments for its parameters.
class InsteadWriter {
  using ExprId = syntax::ExprId;

 public:
  InsteadWriter(const Scope& scope, const syntax::CallExpr& call, const Deprecation& declared,
                const Arguments& given)
      : scope_(scope), call_(call), declared_(declared), given_(given) {
    const syntax::Expr& callee = scope.Written(call.callee);
    if (const auto* field = std::get_if<syntax::FieldExpr>(&callee.node)) {
      qualifier_ = TextOf(scope.module.file, field->base) + ".";
    }
  }

  // Returns nothing where an argument is missing.
  std::optional<std::string> Run() {
    // What stands around the call binds no part of what is written.
    const std::string text = Bound(declared_.instead, /*is_operand=*/true);
    return complete_ ? std::optional<std::string>(std::move(text)) : std::nullopt;
  }

 private:
  struct Written {
    const syntax::File* file = nullptr;  // null: nowhere
    ExprId id;
  };

  std::string TextOf(const syntax::File& file, ExprId id) const {
    return scope_.checker.sources.Text(file.exprs[id].range);
  }

  const syntax::Expr& Instead(ExprId id) const { return declared_.module.file.exprs[id]; }

  // Returns the argument of the parameter that an expression names, if it names one, or its
  // default.
  std::optional<Written> Argument(ExprId id) const {
    const auto* name = std::get_if<syntax::NameExpr>(&Instead(id).node);
    for (size_t i = 0; name != nullptr && i < declared_.parameters.size(); ++i) {
      const syntax::Parameter& parameter = declared_.parameters[i];
      if (parameter.name.text != name->name) continue;
      for (size_t at = 0; at < given_.arguments.size(); ++at) {
        if (given_.arguments[at].parameter != static_cast<int>(i)) continue;
        return Written{&scope_.module.file, call_.arguments[at].value};
      }
      if (!parameter.default_value.valid()) return Written{};
      return Written{&declared_.module.file, parameter.default_value};
    }
    return std::nullopt;
  }

  // Returns the number that is written, with its sign.
  static std::optional<int64_t> Number(const Written& written) {
    const syntax::Expr& expr = written.file->exprs[written.id];
    if (const auto* literal = std::get_if<syntax::IntLiteral>(&expr.node)) return literal->value;
    if (const auto* unary = std::get_if<syntax::Unary>(&expr.node)) {
      const std::optional<int64_t> operand = Number({written.file, unary->operand});
      return operand && !unary->is_not ? std::optional<int64_t>(-*operand) : std::nullopt;
    }
    return std::nullopt;
  }

  // Returns the sum that is written instead where its parts are numbers: of `dim + 1`, 2 where
  // `dim` is 1.
  std::optional<int64_t> Sum(ExprId id) const {
    const auto* chain = std::get_if<syntax::Chain>(&Instead(id).node);
    if (chain == nullptr || chain->operators[0] != BinaryOperator::kAdd) return std::nullopt;
    int64_t sum = 0;
    for (size_t i = 0; i < chain->operands.size(); ++i) {
      if (i > 0 && chain->operators[i - 1] != BinaryOperator::kAdd) return std::nullopt;
      Written part{&File(), chain->operands[i]};
      if (const auto argument = Argument(part.id)) part = *argument;
      const auto number = part.file != nullptr ? Number(part) : std::nullopt;
      if (!number || __builtin_add_overflow(sum, *number, &sum)) return std::nullopt;
    }
    return sum;
  }

  static bool IsLoose(const syntax::Expr& expr) {
    return std::holds_alternative<syntax::Chain>(expr.node) ||
           std::holds_alternative<syntax::Unary>(expr.node) ||
           std::holds_alternative<syntax::Modified>(expr.node);
  }

  // Returns the text of an expression, of a parameter its argument, in parentheses where it is an
  // operand and they are needed.
  std::string Bound(ExprId id, bool is_operand) {
    const std::optional<Written> argument = Argument(id);
    complete_ &= !argument || argument->file != nullptr;
    if (!complete_) return "";
    const std::string text = argument ? TextOf(*argument->file, argument->id) : Text(id);
    const bool loose = argument ? IsLoose(argument->file->exprs[argument->id])
                                : IsLoose(Instead(id)) && id == declared_.instead;
    return is_operand && loose ? "(" + text + ")" : text;
  }

  // Returns a name that stands in the declaring file as the calling file writes it: with a
  // qualifier where it would mean something else by itself, such as the file's own `embedding`.
  // What the calling file has no name for, such as a dimension of the declaration, makes the text
  // incomplete.
  std::string Named(const std::string& name) {
    if (bound_.contains(name)) return name;
    const Symbol* const symbol = Meaning(declared_.module, name);
    const Module& here = scope_.module;
    const bool builtin = FindBuiltin(name) || ParseCollective(name);
    if (symbol == nullptr && builtin && !HasName(here, name)) return name;
    const auto has_it = [&](const Import& import) {
      const auto found = import.module->names.find(name);
      return found != import.module->names.end() && &found->second == symbol;
    };
    const auto as_written = [&](const Import& import) {
      return import.qualifier + "." == qualifier_ && has_it(import);
    };
    if (symbol != nullptr && std::ranges::any_of(here.imports, as_written)) {
      return qualifier_ + name;
    }
    if (symbol != nullptr && Meaning(here, name) == symbol) return name;
    const auto import = std::ranges::find_if(here.imports, has_it);
    complete_ &= symbol != nullptr && import != here.imports.end();
    return complete_ ? import->qualifier + "." + name : "";
  }

  std::string Operand(const syntax::Expr& parent, ExprId id) {
    const auto* call = std::get_if<syntax::CallExpr>(&parent.node);
    if (call != nullptr && call->callee == id) return Text(id);
    return Bound(id, IsLoose(parent) || std::holds_alternative<syntax::IndexExpr>(parent.node) ||
                         std::holds_alternative<syntax::FieldExpr>(parent.node));
  }

  std::string Text(ExprId id) {
    if (const auto sum = Sum(id)) return std::to_string(*sum);
    const syntax::Expr& expr = Instead(id);
    if (const auto* name = std::get_if<syntax::NameExpr>(&expr.node)) return Named(name->name);
    if (const auto* each = std::get_if<syntax::Comprehension>(&expr.node)) {
      for (const syntax::Comprehension::Clause& clause : each->clauses) {
        for (const syntax::Name& name : clause.pattern) bound_.insert(name.text);
      }
    }
    std::vector<ExprId> operands;
    syntax::ForEachChild(expr, [&](auto child) {
      if constexpr (std::is_same_v<decltype(child), ExprId>) operands.push_back(child);
    });
    std::sort(operands.begin(), operands.end(),
              [&](ExprId a, ExprId b) { return Instead(a).range.begin < Instead(b).range.begin; });
    std::string text;
    Range rest = expr.range;
    for (ExprId operand : operands) {
      const Range range = Instead(operand).range;
      text += scope_.checker.sources.Text({rest.source, rest.begin, range.begin});
      text += Operand(expr, operand);
      rest.begin = range.end;
    }
    return text + scope_.checker.sources.Text(rest);
  }

  const syntax::File& File() const { return declared_.module.file; }

  const Scope& scope_;
  const syntax::CallExpr& call_;
  const Deprecation& declared_;
  const Arguments& given_;
  std::string qualifier_;         // of the callee, with its dot
  std::set<std::string> bound_;  // by comprehensions in what is written instead
  bool complete_ = true;
};

// Returns whether a comment stands between the arguments: what is written instead would lose it.
bool HasComment(const Scope& scope, const syntax::CallExpr& node, Range call) {
  std::string between;
  uint32_t begin = call.begin;
  for (const syntax::Argument& argument : node.arguments) {
    const Range value = scope.Written(argument.value).range;
    between += scope.checker.sources.Text({call.source, begin, value.begin});
    begin = value.end;
  }
  between += scope.checker.sources.Text({call.source, begin, call.end});
  return between.find("//") != std::string::npos || between.find("/*") != std::string::npos;
}

}  // namespace

void WarnOfDeprecated(Scope& scope, const syntax::CallExpr& node, const Deprecation& declared,
                      const Arguments& given, Range call) {
  if (!declared.instead.valid()) return;
  const syntax::Expr& callee = scope.Written(node.callee);
  const auto* field = std::get_if<syntax::FieldExpr>(&callee.node);
  const Range instead = declared.module.file.exprs[declared.instead].range;
  Diagnostic& diagnostic =
      scope.Report(Code::kW0304, field != nullptr ? field->name.range : callee.range,
                   fmt::format("`{}` is deprecated; `{}` is written instead", declared.name,
                               scope.checker.sources.Text(instead)));
  constexpr size_t kMostBytes = size_t{16} << 20;
  const bool small =
      scope.checker.deprecated_bytes <= kMostBytes && call.end - call.begin <= kMostBytes;
  if (!small || node.type_argument.valid() || HasComment(scope, node, call)) return;
  if (auto text = InsteadWriter(scope, node, declared, given).Run()) {
    scope.checker.deprecated_bytes += text->size();
    diagnostic.AddFix(call, std::move(*text));
  }
}

}  // namespace cgraph::check
