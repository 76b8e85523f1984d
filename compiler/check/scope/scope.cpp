#include "compiler/check/scope/scope.h"

namespace cgraph::check {

std::optional<program::GenericId> Scope::FindGeneric(const std::string& name) const {
  if (!signature || type_arguments) return std::nullopt;
  for (program::GenericId id : signature->generics.Ids()) {
    if (signature->generics[id].name == name) return id;
  }
  return std::nullopt;
}

const TypeArgument* Scope::FindTypeArgument(const std::string& name) const {
  if (!type_arguments) return nullptr;
  const auto found = type_arguments->find(name);
  return found == type_arguments->end() ? nullptr : &found->second;
}

program::StateId Scope::FindState(const std::string& name) const {
  if (optimizer.valid()) {
    for (program::StateId slot : program.optimizers[optimizer].slots) {
      if (program.states[slot].name == name) return slot;
    }
  }
  const auto state = checker.state_names.find({actor, name});
  return state == checker.state_names.end() ? program::StateId() : state->second;
}

StaticType Scope::Declared(program::TypeId type) const {
  StaticType known = StaticOf(program, type);
  if (known.kind == StaticType::kTensor) known.declared = {type, signature, names.rows()};
  return known;
}

Value Scope::Make(decltype(program::Expr::node) node, Range range, StaticType type) {
  return {program.exprs.Add({std::move(node), range}), std::move(type)};
}

}  // namespace cgraph::check
