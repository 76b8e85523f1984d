// Validate: the promises of Parse about the tables, checked from the items down.
#include "compiler/syntax/syntax.h"

#include "compiler/base/check.h"
#include "compiler/syntax/children.h"

namespace cgraph {
namespace syntax {
namespace {

constexpr const char* kPhase = "parse";

class Validator {
 public:
  explicit Validator(const File& file)
      : file_(file),
        seen_exprs_(file.exprs.size()),
        seen_types_(file.types.size()),
        seen_statements_(file.statements.size()) {}

  void Run() {
    for (const Item& item : file_.items) {
      CheckRange(item.range, item.range);
      parent_ = item.range;
      std::visit([&](const auto& node) { Roots(node); }, item.node);
    }
  }

  void operator()(ExprId id) {
    const Expr& expr = Reach(file_.exprs, seen_exprs_, id);
    if (const auto* chain = std::get_if<Chain>(&expr.node)) CheckChain(*chain, id);
    if (const auto* string = std::get_if<StringLiteral>(&expr.node)) {
      Expect(string->texts.size() == string->exprs.size() + 1, id, "texts and expressions");
    }
    Descend(expr);
  }
  void operator()(TypeId id) { Descend(Reach(file_.types, seen_types_, id)); }
  void operator()(StatementId id) { Descend(Reach(file_.statements, seen_statements_, id)); }

 private:
  static void Expect(bool holds, const char* who, const char* what) {
    CGRAPH_CHECK(holds, kPhase, std::string(who) + ": " + what);
  }
  template <typename IdType>  // its text is made only where the property does not hold
  static void Expect(bool holds, IdType id, const char* what) {
    if (!holds) Expect(false, id.str().c_str(), what);
  }

  template <typename IdType, typename Row>
  const Row& Reach(const Table<IdType, Row>& table, std::vector<bool>& seen, IdType id) {
    Expect(table.Contains(id), id, "is in no table");
    Expect(!seen[id.index], id, "is reached twice");
    seen[id.index] = true;
    CheckRange(table[id].range, parent_);
    return table[id];
  }

  template <typename Row>
  void Descend(const Row& row) {
    const Range outer = parent_;
    parent_ = row.range;
    ForEachChild(row, [&](auto id) { (*this)(id); });
    parent_ = outer;
  }

  void CheckRange(const Range& range, const Range& outer) {
    CGRAPH_CHECK(range.source == file_.source && range.begin <= range.end &&
                     outer.begin <= range.begin && range.end <= outer.end,
                 kPhase,
                 "bytes " + std::to_string(range.begin) + ".." + std::to_string(range.end) +
                     " are not inside their parent's " + std::to_string(outer.begin) + ".." +
                     std::to_string(outer.end));
  }

  void CheckChain(const Chain& chain, ExprId id) {
    Expect(!chain.operators.empty(), id, "is a chain without operators");
    Expect(chain.operands.size() == chain.operators.size() + 1 &&
               chain.operator_ranges.size() == chain.operators.size(),
           id, "operands and operators do not match");
    for (BinaryOperator op : chain.operators) {
      Expect(Strength(op) == Strength(chain.operators[0]), id, "mixes binding strengths");
    }
  }

  // ---- what an item holds directly --------------------------------------------------------------

  template <typename Id>
  void Maybe(Id id) {
    if (id.valid()) (*this)(id);
  }
  void Arguments(const std::vector<Argument>& arguments) {
    for (const Argument& argument : arguments) (*this)(argument.value);
  }
  void Body(const std::vector<StatementId>& body) {
    for (StatementId id : body) (*this)(id);
  }
  void Signature(const std::vector<Parameter>& parameters, const Result& result) {
    for (const Parameter& parameter : parameters) {
      (*this)(parameter.type);
      Maybe(parameter.default_value);
    }
    Maybe(result.type);
    Maybe(result.via);
  }

  void Roots(const ImportDecl& node) {
    Expect(!node.path.empty(), "an import", "has no path");
  }
  void Roots(const ConstDecl& node) {
    Maybe(node.type);
    (*this)(node.value);
  }
  void Roots(const TypeDecl& node) {
    Signature(node.parameters, {});
    (*this)(node.type);
  }
  void Roots(const TransportDecl& node) { Arguments(node.arguments); }
  void Roots(const FnDecl& node) {
    Signature(node.parameters, node.result);
    Maybe(node.deprecated);
    Gradients(node.gradient);
    Body(node.body);
  }
  void Roots(const OpDecl& node) {
    Signature(node.parameters, node.result);
    Maybe(node.where);
    Arguments(node.cost);
    Maybe(node.deprecated);
    Gradients(node.gradient);
  }
  void Gradients(const std::optional<Gradient>& node) {
    if (!node) return;
    Arguments(node->arguments);
    Body(node->body);
  }
  void Roots(const ActorDecl& node) {
    Signature(node.parameters, {});
    Members(node.states, node.methods);
  }
  void Roots(const OptimizerDecl& node) {
    Signature(node.parameters, {});
    Members(node.states, node.methods);
  }
  void Members(const std::vector<StateDecl>& states, const std::vector<MethodDecl>& methods) {
    const Range actor = parent_;
    for (const StateDecl& state : states) {
      CheckRange(state.range, actor);
      parent_ = state.range;
      (*this)(state.type);
      (*this)(state.value);
    }
    for (const MethodDecl& method : methods) {
      CheckRange(method.range, actor);
      parent_ = method.range;
      Signature(method.parameters, method.result);
      Body(method.body);
      if (method.native) Arguments(method.native->cost);
    }
    parent_ = actor;
  }
  void Roots(const PlaceDecl& node) {
    for (const Index& index : node.indices) (*this)(index.range);
    (*this)(node.actor);
    (*this)(node.device);
    Maybe(node.trained_by);
  }
  void Roots(const GraphDecl& node) {
    Signature(node.parameters, node.result);
    for (const Attribute& attribute : node.attributes) {
      (*this)(attribute.value);
      Maybe(attribute.condition);
    }
    for (const Using& use : node.usings) {
      Arguments(use.arguments);
      for (const Using::Renaming& renaming : use.renamings) (*this)(renaming.value);
    }
    Body(node.body);
  }
  void Roots(const ScheduleDecl& node) {
    Signature(node.parameters, {});
    const Range schedule = parent_;
    for (const Rule& rule : node.rules) {
      CheckRange(rule.range, schedule);
      parent_ = rule.range;
      if (const auto* sort = std::get_if<SortBy>(&rule.node)) {
        for (const SortBy::Sorting& sorting : sort->sortings) (*this)(sorting.keys);
      }
      if (const auto* limit = std::get_if<Limit>(&rule.node)) {
        (*this)(limit->inequality);
        if (limit->condition.valid()) (*this)(limit->condition);
      }
      if (const auto* memory = std::get_if<MemoryRule>(&rule.node)) (*this)(memory->bytes);
    }
    parent_ = schedule;
  }
  void Roots(const TopologyDecl& node) {
    Signature(node.parameters, {});
    const Range topology = parent_;
    for (const TopologyPart& part : node.parts) {
      CheckRange(part.range, topology);
      CheckRange(part.properties_range, part.range);
      parent_ = part.range;
      if (const auto* device = std::get_if<DevicePart>(&part.node)) (*this)(device->device);
      if (const auto* link = std::get_if<LinkPart>(&part.node)) {
        (*this)(link->from);
        (*this)(link->to);
        Maybe(link->condition);
      }
      for (const Index& index : part.indices) (*this)(index.range);
      for (const Property& property : part.properties) (*this)(property.value);
    }
    parent_ = topology;
  }

  const File& file_;
  std::vector<bool> seen_exprs_, seen_types_, seen_statements_;
  Range parent_;
};

}  // namespace
}  // namespace syntax

void Validate(const syntax::File& file) { syntax::Validator(file).Run(); }

}  // namespace cgraph
