// Consts: evaluated when first used, with the values that -D gave to those of the named file.
#include <cmath>

#include "compiler/elaborate/arithmetic.h"
#include "compiler/elaborate/elaborator.h"
#include "fmt/format.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SaveAndRestore.h"
#include "runtime/status/spelling.h"

namespace cgraph::elaboration {
namespace {

// `-D NAME=text` in a message: a text may be long, and be a mistake as a whole.
std::string Shown(const std::string& name, const std::string& text) {
  constexpr size_t kMost = 60;
  const bool cut = text.size() > kMost;
  return fmt::format("-D {}={}{}", name, text.substr(0, kMost), cut ? "..." : "");
}

}  // namespace

void Elaborator::EvaluateConsts() {
  consts_.resize(program_.consts.size());
  std::vector<std::string> names;
  for (program::ConstId id : program_.consts.Ids()) {
    const program::Const& constant = program_.consts[id];
    if (constant.range.source != program_.main) continue;
    names.push_back(constant.name);
    const Value value = ConstValue(id);
    module_.parameters.emplace_back(constant.name, ScalarText(value));
  }
  for (const auto& [name, text] : options_.defines) {
    if (llvm::is_contained(names, name)) continue;
    Report(Code::kE0501, Range(),
           fmt::format("{}: the file has no const `{}`{}", Shown(name, text), name,
                       DidYouMeanHint(name, names)));
  }
}

Value Elaborator::ConstValue(program::ConstId id) {
  std::optional<Value>& known = consts_[id.index];
  if (known) return *known;
  llvm::SaveAndRestore<Mode> usual(mode_, Mode::kNormal);
  known = Value();  // Check has refused cycles; should one be left, it ends here
  const program::Const& constant = program_.consts[id];
  Frame frame("", nullptr, &constant.locals);
  Value value = Evaluate(constant.value, frame);
  auto define = options_.defines.find(constant.name);
  if (define != options_.defines.end() && constant.range.source == program_.main) {
    std::optional<Value> defined = Define(constant, define->second, value);
    if (defined) value = *defined;
  }
  if (constant.type.valid()) {
    value = Adapt(value, constant.type, frame, {"const", &constant.name, constant.range},
                  program_.exprs[constant.value].range);
  }
  known = value;
  return value;
}

// The value that `-D NAME=text` gives, of the kind that the const usually has.
std::optional<Value> Elaborator::Define(const program::Const& constant, const std::string& text,
                                        const Value& usual) {
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
  Report(Code::kE0502, constant.range,
         fmt::format("{}: `{}` is {} ({}), and the value given is not",
                     Shown(constant.name, text), constant.name, KindText(usual),
                     ScalarText(usual)));
  return std::nullopt;
}

}  // namespace cgraph::elaboration
