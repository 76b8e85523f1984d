#include "compiler/check/scope/dim_names.h"

namespace cgraph::check {

std::optional<program::DimVariableId> DimNames::Find(const std::string& name) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return std::nullopt;
  return found->second;
}

void DimNames::ListTo(std::vector<std::string>& names) const {
  for (const auto& [name, id] : names_) names.push_back(name);
}

std::vector<DimNames::Use> DimNames::TakeUnbound() {
  std::vector<Use> unbound;
  for (const Use& use : std::exchange(uses_, {})) {
    if (bound_.insert(use.id).second) unbound.push_back(use);
  }
  return unbound;
}

}  // namespace cgraph::check
