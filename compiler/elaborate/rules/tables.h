// TableUses: which elements of a table the keys of calls are, `order forward by table[s][mb]`. One
// that is longer than it is used was made for another pipeline.
#ifndef CGRAPH_COMPILER_ELABORATE_RULES_TABLES_H_
#define CGRAPH_COMPILER_ELABORATE_RULES_TABLES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

class TableUses {
 public:
  TableUses(ElaborationContext& elaboration, const program::Using& use,
            const program::Schedule& schedule)
      : elaboration_(elaboration), use_(use), schedule_(schedule) {}

  // Notes which element a key is for a call whose variables `frame` holds.
  void Note(const program::SortRule& rule, program::ExprId key, Frame& frame);

  // Warns, once for a rule, where a table has more rows or columns than were noted.
  void Check() const;

 private:
  struct Table {
    const program::SortRule* rule;
    program::ConstId constant;
    std::vector<program::ExprId> subscripts;  // the first dimension's first
    std::vector<std::set<int64_t>> used;      // by subscript
  };

  bool IsTooLong(const Table& table) const;

  ElaborationContext& elaboration_;
  const program::Using& use_;
  const program::Schedule& schedule_;
  std::map<program::ExprId, Table> tables_;  // by key
};

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_RULES_TABLES_H_
