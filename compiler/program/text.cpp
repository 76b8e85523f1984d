#include "compiler/program/text.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "runtime/base/text.h"

namespace cgraph::program {
namespace {

// What stands between the quotes of a string. Braces are doubled, since a single one opens an
// interpolation.
std::string Literal(const std::string& text) {
  std::string doubled;
  for (char c : Escaped(text)) {
    doubled += c;
    if (c == '{' || c == '}') doubled += c;
  }
  return doubled;
}

}  // namespace

std::string FloatText(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string TextPrinter::Name(LocalId id) const {
  return locals_ && locals_->Contains(id) ? (*locals_)[id].name : id.str();
}
std::string TextPrinter::Name(DimVariableId id) const {
  return signature_ && signature_->dim_variables.Contains(id) ? signature_->dim_variables[id].name
                                                              : id.str();
}
std::string TextPrinter::Name(GenericId id) const {
  return signature_ && signature_->generics.Contains(id) ? signature_->generics[id].name
                                                         : id.str();
}

// ---- types --------------------------------------------------------------------------------------

std::string TextPrinter::Text(const Dim& dim) const {
  switch (dim.kind) {
    case Dim::kExpr: {
      // `none` stands for what was reported.
      const bool known = !std::holds_alternative<NoneLiteral>(program_.exprs[dim.expr].node);
      return known ? Text(dim.expr) : "?";
    }
    case Dim::kVariable: return Name(dim.variable);
    case Dim::kBounded:
      return (dim.variable.valid() ? Name(dim.variable) : Text(dim.extent)) +
             " <= " + Text(dim.expr);
    case Dim::kRun: return "*" + (dim.variable.valid() ? Name(dim.variable) : Text(dim.expr));
    case Dim::kEach: return "each " + Name(dim.variable);
  }
  return "?";
}

std::string TextPrinter::Text(const std::vector<Dim>& dims) const {
  if (dims.empty()) return "";
  std::vector<std::string> texts;
  for (const Dim& dim : dims) texts.push_back(Text(dim));
  return "[" + llvm::join(texts, ", ") + "]";
}

std::string TextPrinter::Text(TypeId id) const { return Text(id, Names::kShort); }

std::string TextPrinter::Expanded(TypeId id) const { return Text(id, Names::kNone); }

std::string TextPrinter::Meaning(TypeId id) const {
  std::vector<TypeId> named;
  std::set<std::string> known;
  ListNamed(id, known, named);
  std::string text = Text(id);
  const char* before = " where ";
  for (TypeId part : named) {
    if (part != id) text += std::exchange(before, ", ") + program_.types[part].name;
    text += " = " + Text(part, Names::kOfParts);
  }
  return text;
}

// Lists the named types in a type, each name once, from outside in.
void TextPrinter::ListNamed(TypeId id, std::set<std::string>& known,
                            std::vector<TypeId>& named) const {
  const Type& type = program_.types[id];
  if (!type.name.empty() && known.insert(type.name).second) named.push_back(id);
  if (const auto* list = std::get_if<ListType>(&type.node)) ListNamed(list->element, known, named);
  if (const auto* tuple = std::get_if<TupleType>(&type.node)) {
    for (const TupleType::Field& field : tuple->fields) ListNamed(field.type, known, named);
  }
}

std::string TextPrinter::Text(TypeId id, Names names) const {
  const Type& type = program_.types[id];
  if (names == Names::kShort && !type.name.empty()) return type.name;
  const Names of_parts = names == Names::kNone ? Names::kNone : Names::kShort;
  return std::visit(llvm::makeVisitor(
                        [&](const TensorType& t) {
                          // `bool` as the type of a parameter would be the compile-time one.
                          bool scalar_bool = t.dtype == DType::kBool && t.dims.empty();
                          return (t.dtype ? std::string(DTypeName(*t.dtype)) : Name(t.generic)) +
                                 (scalar_bool ? "[]" : Text(t.dims));
                        },
                        [&](const CompileTimeType& t) { return std::string(Spelling(t.kind)); },
                        [&](const ListType& t) {
                          return "[" + Text(t.element, of_parts) + "; " + Text(t.length) + "]";
                        },
                        [&](const TupleType& t) {
                          std::vector<std::string> fields;
                          for (const TupleType::Field& field : t.fields) {
                            fields.push_back((field.name.empty() ? "" : field.name + ": ") +
                                             Text(field.type, of_parts));
                          }
                          return "(" + llvm::join(fields, ", ") + ")";
                        }),
                    type.node);
}

// ---- expressions --------------------------------------------------------------------------------

std::string TextPrinter::Text(const std::vector<Argument>& arguments) const {
  std::vector<std::string> texts;
  for (const Argument& argument : arguments) {
    texts.push_back((argument.label.empty() ? "" : argument.label + ": ") + Text(argument.value));
  }
  return llvm::join(texts, ", ");
}

std::string TextPrinter::Joined(const std::vector<ExprId>& ids) const {
  std::vector<std::string> texts;
  for (ExprId id : ids) texts.push_back(id.valid() ? Text(id) : ":");
  return llvm::join(texts, ", ");
}

std::string TextPrinter::Pattern(const std::vector<LocalId>& pattern, bool tuple) const {
  std::vector<std::string> names;
  for (LocalId id : pattern) names.push_back(Name(id));
  std::string text = llvm::join(names, ", ");
  return tuple ? "(" + text + ")" : text;
}

std::string TextPrinter::Grouped(ExprId id) const {
  const auto& node = program_.exprs[id].node;
  bool loose = std::holds_alternative<Chain>(node) || std::holds_alternative<Unary>(node) ||
               std::holds_alternative<If>(node) || std::holds_alternative<Via>(node) ||
               std::holds_alternative<On>(node) || std::holds_alternative<After>(node);
  return loose ? "(" + Text(id) + ")" : Text(id);
}

std::string TextPrinter::NodeText(const StringLiteral& node) const {
  std::string text = "\"";
  for (size_t i = 0; i < node.texts.size(); ++i) {
    text += Literal(node.texts[i]);
    if (i < node.exprs.size()) text += "{" + Text(node.exprs[i]) + "}";
  }
  return text + "\"";
}

std::string TextPrinter::NodeText(const Chain& node) const {
  std::string text = Grouped(node.operands[0]);
  for (size_t i = 0; i < node.operators.size(); ++i) {
    const char* space = node.operators[i] == BinaryOperator::kRange ? "" : " ";
    text += space + std::string(Spelling(node.operators[i])) + space;
    text += Grouped(node.operands[i + 1]);
  }
  return text;
}

std::string TextPrinter::NodeText(const DeviceRef& node) const {
  std::string device = kDeviceKindNames[static_cast<size_t>(node.kind)];
  std::string prefix = node.node.valid() ? "node[" + Text(node.node) + "]." : "";
  return prefix + device + "[" + Text(node.index) + "]";
}

std::string TextPrinter::NodeText(const Comprehension& node) const {
  std::string text = (node.makes_tuple ? "(" : "[") + Text(node.element);
  for (const Comprehension::Clause& clause : node.clauses) {
    text += " for " + Pattern(clause.pattern, clause.tuple_pattern) + " in " + Text(clause.list);
    if (clause.condition.valid()) text += " if " + Text(clause.condition);
  }
  return text + (node.makes_tuple ? ")" : "]");
}

std::string TextPrinter::NodeText(const Index& node) const {
  return Grouped(node.base) + "[" + Joined(node.subscripts) + "]";
}

std::string TextPrinter::NodeText(const CallOp& node) const {
  std::string type = node.type_argument.valid() ? "<" + Text(node.type_argument) + ">" : "";
  return program_.ops[node.op].name + type + "(" + Text(node.arguments) + ")";
}

std::string TextPrinter::NodeText(const CallCollective& node) const {
  std::vector<std::string> texts;
  const bool places_only = TraitsOf(node.kind).from == CollectiveTraits::kNobody;
  if (!places_only) texts.push_back(Text(node.values));
  if (node.reduction) texts.push_back(ReductionName(*node.reduction));
  if (node.root.valid()) texts.push_back("root: " + Text(node.root));
  if (node.places.valid()) texts.push_back((places_only ? "" : "to: ") + Text(node.places));
  if (node.dim.valid()) texts.push_back("dim: " + Text(node.dim));
  if (node.split_dim.valid()) texts.push_back("split_dim: " + Text(node.split_dim));
  if (node.concat_dim.valid()) texts.push_back("concat_dim: " + Text(node.concat_dim));
  return TraitsOf(node.kind).name + ("(" + llvm::join(texts, ", ") + ")");
}

std::string TextPrinter::Text(const Route& route) const {
  return route.declared.valid() ? program_.transports[route.declared].name
                                : TransportName(route.transport).str();
}

std::string TextPrinter::Text(ExprId id) const {
  return std::visit(
      llvm::makeVisitor(
          [&](const IntLiteral& e) { return std::to_string(e.value); },
          [&](const FloatLiteral& e) { return FloatText(e.value); },
          [&](const BoolLiteral& e) { return std::string(e.value ? "true" : "false"); },
          [&](const NoneLiteral&) { return std::string("none"); },
          [&](const LocalRef& e) { return Name(e.local); },
          [&](const StateRef& e) { return program_.states[e.state].name; },
          [&](const ConstRef& e) { return program_.consts[e.constant].name; },
          [&](const PlaceRef& e) { return program_.places[e.place].name; },
          [&](const DimRef& e) { return Name(e.variable); },
          [&](const GenericRef& e) { return Name(e.generic); },
          [&](const Unary& e) { return (e.is_not ? "not " : "-") + Grouped(e.operand); },
          [&](const Field& e) { return Grouped(e.base) + "." + e.name; },
          [&](const Tuple& e) {
            bool trailing = e.fields.size() == 1 && e.fields[0].label.empty();
            return "(" + Text(e.fields) + (trailing ? ",)" : ")");
          },
          [&](const List& e) { return "[" + Joined(e.items) + "]"; },
          [&](const If& e) {
            return "if " + Text(e.condition) + " { " + Text(e.then_value) + " } else { " +
                   Text(e.else_value) + " }";
          },
          [&](const Cast& e) { return "cast<" + Text(e.type) + ">(" + Text(e.operand) + ")"; },
          [&](const CallFn& e) {
            return program_.fns[e.fn].name + "(" + Text(e.arguments) + ")";
          },
          [&](const CallGraph& e) {
            return program_.graphs[e.graph].name + "(" + Text(e.arguments) + ")";
          },
          [&](const CallBuiltin& e) {
            return Spelling(e.builtin) + ("(" + Text(e.arguments) + ")");
          },
          [&](const CallMethod& e) {
            return Grouped(e.receiver) + "." + e.name + "(" + Text(e.arguments) + ")";
          },
          [&](const Via& e) { return Text(e.base) + " via " + Text(e.route); },
          [&](const On& e) { return Text(e.base) + " on " + Grouped(e.where); },
          [&](const After& e) { return Text(e.base) + " after " + Grouped(e.done); },
          [&](const auto& e) { return NodeText(e); }),
      program_.exprs[id].node);
}

std::string ArithmeticOfParts(BinaryOperator op, Parts a, Parts b) {
  const bool arithmetic = op >= BinaryOperator::kAdd && op <= BinaryOperator::kModulo;
  const Parts parts = std::max(a, b);
  if (!arithmetic || parts == Parts::kNone) return "";
  const bool of_two = a != Parts::kNone && b != Parts::kNone;
  const char* const values = of_two ? "a {0} b" : a != Parts::kNone ? "a {0} x" : "x {0} a";
  const std::string term = fmt::format(fmt::runtime(values), Spelling(op));
  const char* const names = of_two ? "(a, b)" : "a";
  if (parts == Parts::kTuple) {
    return fmt::format("of each field of a tuple it is written ({} for {} in {})", term, names,
                       of_two ? "zip(t, u)" : "t");
  }
  if (parts == Parts::kList) {
    return fmt::format("of each element of a list it is written [{} for {} in {}]", term, names,
                       of_two ? "zip(xs, ys)" : "xs");
  }
  return fmt::format("of each field of the tuples in a list it is written [({} for {} in {}) for "
                     "{}]",
                     term, names, of_two ? "zip(t, u)" : "t",
                     of_two ? "(t, u) in zip(ts, us)" : "t in ts");
}

std::string NegationOfParts(Parts operand) {
  switch (operand) {
    case Parts::kTuple: return "of each field it is written (-a for a in t)";
    case Parts::kList: return "of each element it is written [-a for a in xs]";
    case Parts::kListOfTuples: return "of each field it is written [(-a for a in t) for t in ts]";
    case Parts::kNone: break;
  }
  return "";
}

MeantLabel FindMeantLabel(const Optimizer& optimizer, bool of_update, const std::string& label) {
  struct Label {
    const char *theirs, *ours;
    const char* text;  // null: `ours` itself
  };
  static constexpr Label kLabels[] = {
      {"lr", "rate", nullptr},
      {"learning_rate", "rate", nullptr},
      {"weight_decay", "decay", nullptr},
      {"wd", "decay", nullptr},
      {"l2", "decay", nullptr},
      {"eps", "epsilon", nullptr},
      {"grad_scale", "scale", nullptr},
      {"inv_scale", "scale", nullptr},
      {"betas", "beta1", "`beta1` and `beta2`"},
      {"max_norm", "scale", "`scale: minimum(1.0, 1.0 / global_norm(g))`"},
      {"max_grad_norm", "scale", "`scale: minimum(1.0, 1.0 / global_norm(g))`"},
      {"clip_norm", "scale", "`scale: minimum(1.0, 1.0 / global_norm(g))`"},
  };
  const Label* const known = llvm::find_if(
      kLabels, [&](const Label& each) { return label == each.theirs; });
  const bool translated = known != std::end(kLabels);
  const std::string ours = translated ? known->ours : label;
  const auto has = [&](llvm::ArrayRef<Parameter> parameters) {
    return llvm::any_of(parameters, [&](const Parameter& each) { return each.name == ours; });
  };
  const auto given = llvm::ArrayRef(optimizer.signature.parameters).drop_front(2);
  if (translated && has(of_update ? given : llvm::ArrayRef(optimizer.parameters))) {
    if (known->text == nullptr) return {fmt::format(" (here it is `{}`)", ours), ours};
    return {fmt::format(" (here it is {})", known->text), ""};
  }
  if (!of_update && has(given)) {
    return {fmt::format("; `{0}` is given to each update: net.update(grad(loss, of: net), "
                        "{0}: {1})",
                        ours, ours == "rate" ? "0.001" : "..."),
            ""};
  }
  if (of_update && has(optimizer.parameters)) {
    return {fmt::format("; `{0}` is given where the place is declared: trained by {1}({0}: ...)",
                        ours, optimizer.name),
            ""};
  }
  return {};
}

}  // namespace cgraph::program
