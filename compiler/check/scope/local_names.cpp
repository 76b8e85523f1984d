#include "compiler/check/scope/local_names.h"

namespace cgraph::check {

using program::LocalId;

LocalId LocalNames::AddRow(program::Local row, StaticType type) {
  const LocalId id = rows_->Add(std::move(row));
  types_.resize(rows_->size());
  types_[id.index] = std::move(type);
  return id;
}

std::optional<LocalId> LocalNames::Find(const std::string& name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? std::nullopt : std::optional<LocalId>(found->second);
}

void LocalNames::SetMeaning(const std::string& name, LocalId id) {
  undo_.emplace_back(name, Find(name));
  names_[name] = id;
}

void LocalNames::CloseBlock() {
  while (undo_.size() > blocks_.back()) {
    const auto& [name, before] = undo_.back();
    if (before) {
      names_[name] = *before;
    } else {
      names_.erase(name);
    }
    undo_.pop_back();
  }
  blocks_.pop_back();
}

std::vector<LocalId> LocalNames::TakeUsed(const std::vector<LocalId>& among) {
  std::vector<LocalId> used;
  for (LocalId id : among) {
    if (IsUsed(id)) used.push_back(id);
  }
  used_.clear();
  return used;
}

void LocalNames::ListTo(std::vector<std::string>& names) const {
  for (const auto& [name, id] : names_) names.push_back(name);
}

}  // namespace cgraph::check
