#include "compiler/elaborate/steps.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/types/coerce.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"
#include "runtime/base/text.h"

namespace cgraph::elaborate {
namespace {

// Returns whether the text is a whole number, of however many digits.
bool IsWhole(llvm::StringRef text) {
  text.consume_front("-");
  return !text.empty() && text.find_first_not_of("0123456789") == llvm::StringRef::npos;
}

// Returns the value that `-D NAME=text` gives, of the kind that the const usually has.
std::optional<Value> DefinedValue(ElaborationContext& elaboration, const program::Const& constant,
                                  const std::string& text, const Value& usual) {
  std::string digits = text;
  llvm::erase_value(digits, '_');
  int64_t integer = 0;
  double real = 0;
  bool is_int = !llvm::StringRef(digits).getAsInteger(10, integer);
  bool is_float = !llvm::StringRef(digits).getAsDouble(real) && std::isfinite(real);
  if (usual.poisoned()) return std::nullopt;
  if (usual.As<int64_t>() && is_int) return Value(integer);
  if (usual.As<double>() && is_float) return Value(real);
  if (usual.As<bool>() && (text == "true" || text == "false")) return Value(text == "true");
  if (usual.As<std::string>()) return Value(text);
  Report(elaboration, Code::kE0502, constant.range,
         fmt::format("{}: `{}` is {} ({}), and the value given is {}",
                     ShownDefine(constant.option, text), constant.name, KindText(usual),
                     ScalarText(usual),
                     usual.As<int64_t>() && IsWhole(digits) ? "beyond 64 bits" : "not"));
  return std::nullopt;
}

// Lists the first few names.
std::string Listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 12;
  if (names.empty()) return "none";
  const auto end = names.begin() + static_cast<ptrdiff_t>(std::min(names.size(), kMost));
  return fmt::format("{}{}", fmt::join(names.begin(), end, ", "),
                     names.size() > kMost ? ", ..." : "");
}

// Returns the consts and the names for dtypes that the files of an alias declare.
std::vector<std::string> NamesOf(const program::Program& program, const program::Alias& alias) {
  std::vector<std::string> names;
  std::set<std::string> known;  // two files may declare the same name
  const auto add = [&](const auto& row) {
    const bool is_of_alias = llvm::is_contained(alias.sources, row.range.source);
    if (row.option.empty() || !is_of_alias || !known.insert(row.name).second) return;
    names.push_back(row.name);
  };
  llvm::for_each(program.consts, add);
  llvm::for_each(program.named_types, add);
  return names;
}

// Reports a -D that names nothing. What a file that has an alias declares is meant behind a dot.
void ReportUnknown(ElaborationContext& elaboration, const std::string& name,
                   const std::string& text, std::vector<std::string> names) {
  std::string file = "the file", kinds = "const, dtype or alias", rest = name;
  for (const program::Alias& alias : elaboration.program.aliases) {
    const std::string prefix = alias.name + ".";
    if (!llvm::StringRef(name).startswith(prefix)) continue;
    const bool is_of_one = alias.imports.size() == 1;
    const std::string& module = is_of_one ? alias.imports[0].module : alias.name;
    file = fmt::format("`{}`", alias.chosen.empty() ? module : alias.chosen);
    kinds = "const or dtype";
    rest = name.substr(prefix.size());
    names = NamesOf(elaboration.program, alias);
  }
  const auto qualified =
      llvm::find_if(names, [&](auto& each) { return llvm::StringRef(each).endswith("." + name); });
  Report(elaboration, Code::kE0501, Range(),
         fmt::format("{}: {} has no {} `{}`{}; it has {}", ShownDefine(name, text), file, kinds,
                     rest,
                     qualified != names.end() ? fmt::format(" (did you mean `{}`?)", *qualified)
                                              : DidYouMeanHint(rest, names),
                     Listed(names)));
}

}  // namespace

void EvaluateConsts(ElaborationContext& elaboration) {
  const program::Program& program = elaboration.program;
  elaboration.consts.resize(program.consts.size());
  std::vector<std::string> names;
  // Returns whether the plan says what it was made with: always of the named file, of others where
  // -D says it.
  const auto is_parameter = [&](Range declared, const std::string& option) {
    if (option.empty()) return false;
    names.push_back(option);
    return declared.source == program.main || elaboration.options.defines.count(option) > 0;
  };
  for (program::ConstId id : program.consts.Ids()) {
    const program::Const& constant = program.consts[id];
    if (!is_parameter(constant.range, constant.option)) continue;
    const Value value = ConstValue(elaboration, id);
    elaboration.module.parameters.emplace_back(constant.option, ScalarText(value));
  }
  for (const program::NamedType& named : program.named_types) {
    if (!is_parameter(named.range, named.option)) continue;
    const auto* type = std::get_if<program::TensorType>(&program.types[named.type].node);
    elaboration.module.parameters.emplace_back(named.option, DTypeName(*type->dtype));
  }
  for (const program::Alias& alias : program.aliases) {
    names.push_back(alias.name);
    if (!alias.chosen.empty()) {
      elaboration.module.parameters.emplace_back(alias.name, alias.chosen);
    }
  }
  for (const auto& [name, text] : elaboration.options.defines) {
    if (!llvm::is_contained(names, name)) ReportUnknown(elaboration, name, text, names);
  }
}

Value ConstValue(ElaborationContext& elaboration, program::ConstId id) {
  std::optional<Value>& known = elaboration.consts[id.index];
  if (known) return *known;
  llvm::SaveAndRestore<ArithmeticMode> usual(elaboration.arithmetic, ArithmeticMode::kNormal);
  known = Value();  // Check has refused cycles; should one be left, it ends here
  const program::Const& constant = elaboration.program.consts[id];
  Frame frame("", nullptr, &constant.locals);
  Value value = Evaluate(elaboration, constant.value, frame);
  if (const auto define = elaboration.options.defines.find(constant.option);
      !constant.option.empty() && define != elaboration.options.defines.end()) {
    std::optional<Value> defined = DefinedValue(elaboration, constant, define->second, value);
    if (defined) value = *defined;
  }
  if (constant.type.valid()) {
    value =
        Coerce(elaboration, value, constant.type, frame, {"const", &constant.name, constant.range},
               elaboration.program.exprs[constant.value].range);
  }
  known = value;
  return value;
}

}  // namespace cgraph::elaborate
