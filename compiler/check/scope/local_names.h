// The local names of one body, with what each means now, and its type.
//
// A name means a row of the declaration's table until its block ends. The table and the types grow
// only; a row without a name is a value that cannot be read.
#ifndef CGRAPH_COMPILER_CHECK_SCOPE_LOCAL_NAMES_H_
#define CGRAPH_COMPILER_CHECK_SCOPE_LOCAL_NAMES_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/check/static_types/static_type.h"

namespace cgraph::check {

class LocalNames {
 public:
  using Rows = Table<program::LocalId, program::Local>;

  explicit LocalNames(Rows* rows) : rows_(rows) {}

  const Rows* rows() const { return rows_; }
  Rows* mutable_rows() { return rows_; }
  const program::Local& row(program::LocalId id) const { return (*rows_)[id]; }
  const StaticType& type(program::LocalId id) const { return types_[id.index]; }
  void set_type(program::LocalId id, StaticType type) { types_[id.index] = std::move(type); }
  program::LocalId AddRow(program::Local row, StaticType type);

  std::optional<program::LocalId> Find(const std::string& name) const;
  // Sets what a name means until the end of the block.
  void SetMeaning(const std::string& name, program::LocalId id);
  void OpenBlock() { blocks_.push_back(undo_.size()); }
  void CloseBlock();
  void ListTo(std::vector<std::string>& names) const;

  void Use(program::LocalId id) {
    ++used_[id];
    if (watch_ != nullptr) watch_->insert(id);
  }
  // Adds to `used` what is used from now on; null ends it.
  void Watch(std::set<program::LocalId>* used) { watch_ = used; }
  // Returns those rows of `among` that were used since the last call.
  std::vector<program::LocalId> TakeUsed(const std::vector<program::LocalId>& among);
  bool IsUsed(program::LocalId id) const { return used_.count(id) != 0; }
  // Returns how often a row was used.
  size_t Uses(program::LocalId id) const {
    const auto found = used_.find(id);
    return found == used_.end() ? 0 : found->second;
  }

  // Hides the rows that exist now: only rows made from then on may be read, since a default or an
  // attribute stands outside of its declaration.
  void Hide(bool hide) { hidden_below_ = hide ? rows_->size() : 0; }
  bool IsHidden(program::LocalId id) const { return id.index < hidden_below_; }

 private:
  Rows* rows_;
  std::vector<StaticType> types_;  // by LocalId
  std::map<std::string, program::LocalId> names_;
  // The former meaning of each name, to be restored at the end of its block.
  std::vector<std::pair<std::string, std::optional<program::LocalId>>> undo_;
  std::vector<size_t> blocks_;  // the size of undo_ where each began
  std::map<program::LocalId, size_t> used_;  // how often
  std::set<program::LocalId>* watch_ = nullptr;
  size_t hidden_below_ = 0;
};

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_SCOPE_LOCAL_NAMES_H_
