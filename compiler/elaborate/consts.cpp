#include "compiler/elaborate/steps.h"

#include <algorithm>
#include <cmath>

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

// Shows `-D NAME=text` in a message; the text may be long, and be a mistake as a whole.
std::string Shown(const std::string& name, const std::string& text) {
  constexpr size_t kMaxShown = 60;
  const bool cut = text.size() > kMaxShown;
  return fmt::format("-D {}={}{}", name, text.substr(0, kMaxShown), cut ? "..." : "");
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
         fmt::format("{}: `{}` is {} ({}), and the value given is {}", Shown(constant.name, text),
                     constant.name, KindText(usual), ScalarText(usual),
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

}  // namespace

void EvaluateConsts(ElaborationContext& elaboration) {
  elaboration.consts.resize(elaboration.program.consts.size());
  std::vector<std::string> names;
  for (program::ConstId id : elaboration.program.consts.Ids()) {
    const program::Const& constant = elaboration.program.consts[id];
    if (constant.range.source != elaboration.program.main) continue;
    names.push_back(constant.name);
    const Value value = ConstValue(elaboration, id);
    elaboration.module.parameters.emplace_back(constant.name, ScalarText(value));
  }
  for (const program::NamedType& named : elaboration.program.named_types) {
    if (!named.is_dtype || named.range.source != elaboration.program.main) continue;
    const auto* type =
        std::get_if<program::TensorType>(&elaboration.program.types[named.type].node);
    names.push_back(named.name);
    elaboration.module.parameters.emplace_back(named.name, DTypeName(*type->dtype));
  }
  for (const auto& [name, text] : elaboration.options.defines) {
    if (llvm::is_contained(names, name)) continue;
    Report(elaboration, Code::kE0501, Range(),
           fmt::format("{}: the file has no const or dtype `{}`{}; it has {}", Shown(name, text),
                       name, DidYouMeanHint(name, names), Listed(names)));
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
  auto define = elaboration.options.defines.find(constant.name);
  if (define != elaboration.options.defines.end() &&
      constant.range.source == elaboration.program.main) {
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
