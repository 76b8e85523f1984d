#include "runtime/plan/state_names.h"

#include <algorithm>

#include "runtime/base/kinds/native.h"

namespace cgraph::plan {

bool IsAmong(std::string_view place, std::string_view copies) {
  for (const char c : copies) {
    if (c != '*') {
      if (place.empty() || place.front() != c) return false;
      place.remove_prefix(1);
      continue;
    }
    if (!place.empty() && place.front() == '-') place.remove_prefix(1);
    const size_t digits = std::min(place.find_first_not_of("0123456789"), place.size());
    if (digits == 0) return false;
    place.remove_prefix(digits);
  }
  return place.empty();
}

StateNames::StateNames(const Plan& plan) {
  for (uint32_t a = 0; a < plan.actors.size(); ++a) {
    for (const auto& state : plan.actors[a]->states) {
      if (state->name == kNativeObjectState) continue;
      const size_t number = states_.size();
      const size_t first =
          state->copies.empty()
              ? number
              : variables_.try_emplace({state->name, state->copies}, number).first->second;
      states_.push_back({a, state.get(), first});
      by_name_.emplace(plan.actors[a]->name + "." + state->name, number);
    }
  }
}

std::optional<size_t> StateNames::Find(std::string_view name) const {
  const auto own = by_name_.find(name);
  if (own != by_name_.end()) return own->second;
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string state(name.substr(dot + 1));
  for (auto at = variables_.lower_bound({state, ""});
       at != variables_.end() && at->first.first == state; ++at) {
    if (IsAmong(name.substr(0, dot), at->first.second)) return at->second;
  }
  return std::nullopt;
}

bool StateNames::HasCopiesAt(std::string_view place) const {
  return std::any_of(variables_.begin(), variables_.end(), [&](const auto& variable) {
    return IsAmong(place, variable.first.second);
  });
}

std::vector<size_t> StateNames::CopiesOf(size_t state) const {
  std::vector<size_t> copies;
  for (size_t other = 0; other < states_.size(); ++other) {
    if (states_[other].first == states_[state].first) copies.push_back(other);
  }
  return copies;
}

}  // namespace cgraph::plan
