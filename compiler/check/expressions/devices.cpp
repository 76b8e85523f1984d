#include "compiler/check/expressions/resolve.h"

#include "compiler/check/expressions/resolve.h"
#include "compiler/check/scope/lookup.h"
#include "compiler/check/scope/scope.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/kinds/logical_device.h"

namespace cgraph::check {

using namespace program;

namespace {

// Returns whether the name has another meaning than a device: a value's, or that of a declaration
// other than a topology's or a type's, which are no values.
bool HasOtherMeaning(const Module& module, const std::string& name) {
  const auto means = [&](const Module& in) {
    const auto found = in.names.find(name);
    return found != in.names.end() && !std::holds_alternative<TopologyId>(found->second.node) &&
           !std::holds_alternative<NamedTypeId>(found->second.node);
  };
  return means(module) || llvm::any_of(module.imports, [&](const Import& import) {
           return import.unqualified && means(*import.module);
         });
}

}  // namespace

bool IsDeviceWord(const Scope& scope, const std::string& name) {
  return (DeviceKindOf(name) || name == "node") && !IsOwnName(scope, name) &&
         !HasOtherMeaning(scope.module, name);
}

std::optional<Value> ResolveDevice(Scope& scope, const syntax::IndexExpr& node, Range range) {
  const syntax::Expr& base = scope.Written(node.base);
  const auto* word = std::get_if<syntax::NameExpr>(&base.node);
  const auto* field = std::get_if<syntax::FieldExpr>(&base.node);
  const syntax::IndexExpr* on_node = nullptr;
  if (field) {
    on_node = std::get_if<syntax::IndexExpr>(&scope.Written(field->base).node);
    if (!on_node) return std::nullopt;
    word = std::get_if<syntax::NameExpr>(&scope.Written(on_node->base).node);
    if (!word || word->name != "node") return std::nullopt;
  }
  if (!word || !IsDeviceWord(scope, word->name)) return std::nullopt;
  const std::string& kind = field ? field->name.text : word->name;
  bool one_each = node.subscripts.size() == 1 && node.subscripts[0].valid() &&
                  (!on_node || (on_node->subscripts.size() == 1 && on_node->subscripts[0].valid()));
  const std::optional<DeviceKind> known = DeviceKindOf(kind);
  if (!known || !one_each) {
    scope.Report(Code::kE0421, range,
                 kind == "node"
                     ? "node[j] is a machine; its devices are " + DevicesText("and", "node[j].")
                     : "a device is " + DevicesText("or"));
    return scope.Poison(range);
  }
  DeviceRef device;
  device.kind = *known;
  if (on_node) device.node = ResolveInt(scope, on_node->subscripts[0], "the number of a node").id;
  device.index = ResolveInt(scope, node.subscripts[0], "the number of a device").id;
  return scope.Make(device, range, StaticType::Of(StaticType::kDevice));
}

}  // namespace cgraph::check
