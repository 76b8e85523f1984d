#include "compiler/check/schedules/rules.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/check/expressions/resolve.h"
#include "compiler/check/scope/scope.h"
#include "compiler/check/types/types.h"

namespace cgraph::check {

using namespace program;

namespace {

class RuleReader {
 public:
  RuleReader(Checker& checker, ScheduleId id)
      : checker_(checker),
        module_(*checker.schedules[id].module),
        decl_(*checker.schedules[id].decl),
        schedule_(checker.program.schedules[id]),
        scope_(checker, module_, Site::kSchedule, nullptr, &schedule_.locals) {}

  void Run() {
    schedule_.parameters = ResolveParameters(scope_, decl_.parameters);
    ResolveDefaults(scope_, decl_.parameters, schedule_.parameters);
    schedule_.index =
        DeclareLocal(scope_, {"index", decl_.name.range}, StaticType::Of(StaticType::kInt),
                     LocalKind::kFixed);
    if (!Fits()) return;
    std::set<LocalId> used;
    scope_.names.Watch(&used);
    // Keys and conditions are resolved last: the names that they introduce may not be used in
    // bounds.
    for (bool keys : {false, true}) {
      if (keys) scope_.call_variables = &schedule_.variables;
      for (const syntax::Rule& rule : decl_.rules) {
        if (std::holds_alternative<syntax::SortBy>(rule.node) != keys) continue;
        std::visit([&](const auto& node) { Read(node, rule.range); }, rule.node);
      }
    }
    for (const auto& [limit, condition] : conditions_) {
      schedule_.limits[limit].condition = ResolveCondition(scope_, condition).id;
      schedule_.limits[limit].variables = scope_.names.TakeUsed(schedule_.variables);
    }
    scope_.names.Watch(nullptr);
    schedule_.uses_index = used.count(schedule_.index) != 0;
    Rank();
  }

 private:
  struct Preference {
    KindId better, worse;
    Range range;  // of the worse one
  };

  Diagnostic& Report(Code code, Range range, std::string message) {
    return checker_.diagnostics.Report(code, range, std::move(message));
  }

  bool Fits() {
    size_t names = 0;
    for (const syntax::Rule& rule : decl_.rules) {
      if (const auto* prefer = std::get_if<syntax::Prefer>(&rule.node)) {
        names += prefer->kinds.size();
      }
      if (const auto* sort = std::get_if<syntax::SortBy>(&rule.node)) {
        names += sort->sortings.size();
      }
    }
    if (decl_.rules.size() <= kMaxScheduleRules && names <= kMaxKinds) return true;
    Report(Code::kE0424, decl_.name.range,
           fmt::format("a schedule has at most {} rules, and {} names to prefer and to order",
                       kMaxScheduleRules, kMaxKinds));
    return false;
  }

  KindId KindOf(const syntax::Name& name) {
    auto [known, added] = kinds_.emplace(name.text, KindId());
    if (added) known->second = schedule_.kinds.Add({name.text, 0, name.range});
    return known->second;
  }

  void Read(const syntax::Prefer& rule, Range) {
    for (size_t i = 0; i + 1 < rule.kinds.size(); ++i) {
      const KindId better = KindOf(rule.kinds[i]);
      preferences_.push_back({better, KindOf(rule.kinds[i + 1]), rule.kinds[i + 1].range});
    }
  }

  void Read(const syntax::SortBy& rule, Range range) {
    std::map<KindId, Range>& sorted = rule.strict ? ordered_ : ranked_;
    OrderRule order{{}, range};
    for (const syntax::SortBy::Sorting& sorting : rule.sortings) {
      const KindId kind = KindOf(sorting.kind);
      const auto [before, added] = sorted.emplace(kind, sorting.kind.range);
      if (!added) {
        Report(Code::kE0404, sorting.kind.range,
               fmt::format("`{}` is sorted twice; write all keys into one rule: by (a, b)",
                           sorting.kind.text))
            .AddNote(before->second, "the first time here");
        return;
      }
      std::optional<SortRule> sort = SortOf(kind, sorting.keys, range);
      if (!sort) return;
      order.sorts.push_back(std::move(*sort));
    }
    if (rule.strict) {
      schedule_.orders.push_back(std::move(order));
    } else {
      schedule_.rankings.push_back(std::move(order.sorts[0]));
    }
  }

  std::optional<SortRule> SortOf(KindId kind, syntax::ExprId written, Range range) {
    SortRule sort{kind, {}, {}, range};
    const syntax::Expr& expr = module_.file.exprs[written];
    const auto* keys = std::get_if<syntax::TupleExpr>(&expr.node);
    if (keys == nullptr) {
      sort.keys.push_back(ResolveInt(scope_, written, "a key").id);
    } else if (keys->fields.empty()) {
      Report(Code::kE0401, expr.range, "`by` takes at least one key");
      return std::nullopt;
    } else {
      for (const syntax::Argument& key : keys->fields) {
        sort.keys.push_back(ResolveInt(scope_, key.value, "a key").id);
      }
    }
    sort.variables = scope_.names.TakeUsed(schedule_.variables);
    return sort;
  }

  const syntax::Name* MethodName(syntax::ExprId id, syntax::Name& name) const {
    const syntax::Expr& expr = module_.file.exprs[id];
    const auto* word = std::get_if<syntax::NameExpr>(&expr.node);
    if (word == nullptr) return nullptr;
    name = {word->name, expr.range};
    return &name;
  }

  static const char* LimitMend(BinaryOperator op) {
    switch (op) {
      case BinaryOperator::kLess:
        return "a limit is written with `<=`, between ints: A - B < e is A - B <= e - 1";
      case BinaryOperator::kGreater:
        return "a limit is written with `>=`, between ints: A - B > e is A - B >= e + 1";
      default: return "a limit compares calls of two methods: A - B <= bound, or A - B >= bound";
    }
  }

  void Read(const syntax::Limit& rule, Range range) {
    const syntax::Expr& whole = module_.file.exprs[rule.inequality];
    const auto* compared = std::get_if<syntax::Chain>(&whole.node);
    const bool one = compared != nullptr && compared->operators.size() == 1;
    const BinaryOperator op = one ? compared->operators[0] : BinaryOperator::kAdd;
    const auto* left =
        one ? std::get_if<syntax::Chain>(&module_.file.exprs[compared->operands[0]].node) : nullptr;
    syntax::Name minuend, subtrahend;
    const bool difference = left != nullptr && left->operators.size() == 1 &&
                            left->operators[0] == BinaryOperator::kSubtract &&
                            MethodName(left->operands[0], minuend) != nullptr &&
                            MethodName(left->operands[1], subtrahend) != nullptr;
    if (!difference || (op != BinaryOperator::kLessEqual && op != BinaryOperator::kGreaterEqual)) {
      Report(Code::kE0428, whole.range, LimitMend(op));
      return;
    }
    if (minuend.text == subtrahend.text) {
      Report(Code::kE0428, whole.range,
             fmt::format("`{0}` - `{0}` is always 0; a limit compares two methods: forward - "
                         "backward <= 2 lets `forward` be two calls ahead",
                         minuend.text));
      return;
    }
    if (rule.condition.valid()) conditions_.emplace_back(schedule_.limits.size(), rule.condition);
    const KindId first = KindOf(minuend);
    schedule_.limits.push_back({first, KindOf(subtrahend), op == BinaryOperator::kLessEqual,
                                ResolveInt(scope_, compared->operands[1], "a limit").id, range});
  }

  void Read(const syntax::FuseRule& rule, Range range) {
    const FuseRule fuse{KindOf(rule.first), KindOf(rule.second), range};
    for (const FuseRule& other : schedule_.fusions) {
      const bool shares = other.first == fuse.first || other.second == fuse.second ||
                          other.first == fuse.second || other.second == fuse.first;
      if (!shares) continue;
      Report(Code::kE0404, range, "a call is fused with one other: a method stands in one `fuse`")
          .AddNote(other.range, "the first time here");
      return;
    }
    if (fuse.first == fuse.second) {
      Report(Code::kE0404, rule.second.range,
             fmt::format("`{}` cannot be fused with itself", rule.second.text))
          .AddNote(rule.first.range, "the first time here");
      return;
    }
    schedule_.fusions.push_back(fuse);
  }

  void Read(const syntax::MemoryRule& rule, Range range) {
    if (schedule_.memory) {
      Report(Code::kE0404, range, "`memory` is given twice")
          .AddNote(schedule_.memory->range, "the first time here");
      return;
    }
    schedule_.memory = {ResolveBytes(scope_, rule.bytes, "`memory`").id, range};
  }

  // Ranks kinds: a kind's rank is how many stand before it in the longest chain of preferences.
  void Rank() {
    std::vector<std::vector<const Preference*>> worse(schedule_.kinds.size());
    std::vector<size_t> better(schedule_.kinds.size(), 0);
    for (const Preference& preference : preferences_) {
      worse[preference.better.index].push_back(&preference);
      ++better[preference.worse.index];
    }
    std::queue<KindId> ready;
    for (KindId kind : schedule_.kinds.Ids()) {
      if (better[kind.index] == 0) ready.push(kind);
    }
    for (; !ready.empty(); ready.pop()) {
      const uint32_t rank = schedule_.kinds[ready.front()].rank;
      for (const Preference* preference : worse[ready.front().index]) {
        uint32_t& other = schedule_.kinds[preference->worse].rank;
        other = std::max(other, rank + 1);
        if (--better[preference->worse.index] == 0) ready.push(preference->worse);
      }
    }
    ReportCircle(better);
  }

  // `better`: for each kind, how many preferred kinds were not ranked.
  void ReportCircle(const std::vector<size_t>& better) {
    std::vector<const Preference*> above(better.size(), nullptr);
    const Preference* last = nullptr;
    for (const Preference& preference : preferences_) {
      const bool open = better[preference.better.index] > 0 && better[preference.worse.index] > 0;
      if (!open) continue;
      above[preference.worse.index] = &preference;
      last = &preference;
    }
    if (last == nullptr) return;
    // Going upwards from any kind leads into the circle, and then around it.
    std::vector<bool> seen(better.size(), false);
    while (!seen[last->better.index]) {
      seen[last->better.index] = true;
      last = above[last->better.index];
    }
    const std::string& name = schedule_.kinds[last->worse].name;
    if (last->better == last->worse) {
      Report(Code::kE0429, last->range, fmt::format("`{}` cannot be preferred to itself", name));
      return;
    }
    const Preference* next = above[last->better.index];
    Diagnostic& diagnostic =
        Report(Code::kE0429, last->range,
               fmt::format("`{}` is preferred to `{}` here, and the other way round by what "
                           "follows from other rules",
                           schedule_.kinds[last->better].name, name));
    diagnostic.AddNote(next->range, "one of them");
  }

  Checker& checker_;
  const Module& module_;
  const syntax::ScheduleDecl& decl_;
  Schedule& schedule_;
  Scope scope_;
  std::map<std::string, KindId> kinds_;
  std::map<KindId, Range> ranked_, ordered_;  // by `prefer K by`, by `order K by`
  std::vector<Preference> preferences_;
  std::vector<std::pair<size_t, syntax::ExprId>> conditions_;  // of limits
};

}  // namespace

void ReadRules(Checker& checker, ScheduleId id) { RuleReader(checker, id).Run(); }

}  // namespace cgraph::check
