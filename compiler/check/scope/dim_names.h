// The dimension variables of one declaration: each one's name, whether anything binds it, and where
// it was used before that was known.
#ifndef CGRAPH_COMPILER_CHECK_SCOPE_DIM_NAMES_H_
#define CGRAPH_COMPILER_CHECK_SCOPE_DIM_NAMES_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/program/program.h"

namespace cgraph::check {

class DimNames {
 public:
  struct Use {
    program::DimVariableId id;
    Range range;
  };

  void Add(const std::string& name, program::DimVariableId id) { names_[name] = id; }
  std::optional<program::DimVariableId> Find(const std::string& name) const;
  void ListTo(std::vector<std::string>& names) const;

  void Bind(program::DimVariableId id) { bound_.insert(id); }
  void AddUse(program::DimVariableId id, Range range) { uses_.push_back({id, range}); }
  // Returns the first use of each variable that nothing has bound; they count as bound from now on.
  std::vector<Use> TakeUnbound();

 private:
  std::map<std::string, program::DimVariableId> names_;
  std::set<program::DimVariableId> bound_;
  std::vector<Use> uses_;
};

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_SCOPE_DIM_NAMES_H_
