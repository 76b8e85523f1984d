#include "compiler/elaborate/rules/tables.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/steps.h"
#include "compiler/program/text.h"

namespace cgraph::elaborate {

void TableUses::Note(const program::SortRule& rule, program::ExprId key, Frame& frame) {
  const auto [known, is_new] = tables_.try_emplace(key, Table{&rule, {}, {}, {}});
  Table& table = known->second;
  if (is_new) {
    program::ExprId base = key;
    while (const auto* index =
               std::get_if<program::Index>(&elaboration_.program.exprs[base].node)) {
      table.subscripts.insert(table.subscripts.begin(), index->subscripts.begin(),
                              index->subscripts.end());
      base = index->base;
    }
    const auto* constant =
        std::get_if<program::ConstRef>(&elaboration_.program.exprs[base].node);
    if (constant == nullptr) table.subscripts.clear();
    else table.constant = constant->constant;
    table.used.resize(table.subscripts.size());
  }
  for (size_t i = 0; i < table.subscripts.size(); ++i) {
    const Value value = Evaluate(elaboration_, table.subscripts[i], frame);
    if (const int64_t* number = value.As<int64_t>()) table.used[i].insert(*number);
  }
}

void TableUses::Check() const {
  for (const auto& [key, table] : tables_) {
    if (!table.subscripts.empty() && IsTooLong(table)) return;
  }
}

bool TableUses::IsTooLong(const Table& table) const {
  Value value = ConstValue(elaboration_, table.constant);
  for (size_t i = 0; i < table.subscripts.size(); ++i) {
    const List* list = value.As<List>();
    if (list == nullptr || list->items->empty()) return false;
    if (table.used[i].size() < list->items->size()) {
      const program::TextPrinter printer(elaboration_.program, nullptr, &schedule_.locals);
      Report(elaboration_, Code::kW0508, use_.range,
             fmt::format("`{}` has {} elements by `{}`, of which the calls of `{}` use {}: it is a "
                         "table for more calls than there are",
                         elaboration_.program.consts[table.constant].name, list->items->size(),
                         printer.Text(table.subscripts[i]), schedule_.kinds[table.rule->kind].name,
                         table.used[i].size()))
          .AddNote(table.rule->range, "the rule");
      return true;
    }
    const Value first = list->items->front();
    value = first;
  }
  return false;
}

}  // namespace cgraph::elaborate
