#include "compiler/syntax/syntax.h"

#include <fmt/format.h>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "runtime/base/text.h"

namespace cgraph {
namespace syntax {
namespace {

// Printer: a node is a line; its parts are lines below it, two columns further in. Where a part's
// role is not plain from its place, the line begins with it: `via name nccl`.
class Printer {
 public:
  Printer(const File& file, llvm::raw_ostream& out) : file_(file), out_(out) {}

  void PrintFile() {
    Line("file");
    In([&] {
      for (const Item& item : file_.items) {
        std::visit([&](const auto& node) { PrintItem(node); }, item.node);
      }
    });
  }

 private:
  void Line(const llvm::Twine& text) {
    out_.indent(2 * depth_) << role_ << text << "\n";
    role_.clear();
  }
  template <typename Body>
  void In(Body body) {
    ++depth_;
    body();
    --depth_;
  }
  // Prints one part of the node above.
  template <typename Id>
  void Part(llvm::StringRef role, Id id) {
    if (!id.valid()) return;
    role_ = role.empty() ? "" : (role + " ").str();
    In([&] { Node(id); });
  }

  // ---- declarations ---------------------------------------------------------------------------

  void PrintItem(const ImportDecl& node) {
    std::string path;
    for (const Name& name : node.path) path += (path.empty() ? "" : ".") + name.text;
    Line("import " + path + (node.alias ? " as " + node.alias->text : ""));
  }
  void PrintItem(const ConstDecl& node) {
    Line("const " + node.name.text);
    Part("type", node.type);
    Part("", node.value);
  }
  void PrintItem(const TypeDecl& node) {
    Line("type " + node.name.text);
    In([&] { Parameters(node.parameters); });
    Part("", node.type);
  }
  void PrintItem(const TransportDecl& node) {
    Line("transport " + node.name.text + " = " + node.base.text);
    In([&] { Arguments(node.arguments); });
  }
  void PrintItem(const FnDecl& node) {
    Line("fn " + node.name.text);
    In([&] {
      Generics(node.generics);
      Signature(node.parameters, node.result);
      if (node.deprecated.valid()) Labelled("deprecated", node.deprecated);
      if (node.gradient) PrintGradient(*node.gradient);
      Body("", node.body);
    });
  }
  void PrintItem(const OpDecl& node) {
    Line("op " + node.name.text);
    In([&] {
      Generics(node.generics);
      Signature(node.parameters, node.result);
      if (node.where.valid()) Labelled("where", node.where);
      if (!node.cost.empty()) {
        Line("cost");
        In([&] { Arguments(node.cost); });
      }
      if (!node.kernel.empty()) Line("kernel " + Quoted(node.kernel));
      for (const Name& name : node.takes) Line("takes " + name.text);
      if (node.effect) Line("effect " + node.effect->text);
      if (node.inplace) Line("inplace " + node.inplace->text);
      if (node.fails) Line("fails");
      if (node.elementwise) Line("elementwise");
      if (node.deprecated.valid()) Labelled("deprecated", node.deprecated);
      if (node.gradient) PrintGradient(*node.gradient);
    });
  }
  void PrintGradient(const Gradient& node) {
    Line("grad" + (node.names.empty() ? "" : " " + Names(node.names, false)));
    In([&] { node.has_body ? Body("", node.body) : Arguments(node.arguments); });
  }
  void PrintItem(const ActorDecl& node) {
    Line("actor " + node.name.text);
    In([&] {
      Parameters(node.parameters);
      Members(node.states, node.methods);
    });
  }
  void PrintItem(const OptimizerDecl& node) {
    Line("optimizer " + node.name.text);
    In([&] {
      Generics(node.generics);
      Parameters(node.parameters);
      Members(node.states, node.methods);
    });
  }
  void Along(const std::vector<Name>& names) {
    if (!names.empty()) Line("equal along " + Names(names, false));
  }
  void Members(const std::vector<StateDecl>& states, const std::vector<MethodDecl>& methods) {
    for (const StateDecl& state : states) {
      Line((state.is_param ? "param " : "state ") + state.name.text);
      Part("type", state.type);
      Part("", state.value);
      In([&] { Along(state.along); });
    }
    for (const MethodDecl& method : methods) {
      Line("method " + method.name.text);
      In([&] {
        Signature(method.parameters, method.result);
        if (method.gradient_by) Line("grad by " + method.gradient_by->text);
        method.native ? Extern(*method.native) : Body("", method.body);
      });
    }
  }
  void PrintItem(const PlaceDecl& node) {
    Line("place " + node.name.text);
    In([&] {
      Indices(node.indices);
    });
    Part("actor", node.actor);
    Part("on", node.device);
    In([&] { Along(node.along); });
    Part("trained by", node.trained_by);
  }
  void PrintItem(const GraphDecl& node) {
    Line("graph " + node.name.text);
    In([&] {
      Signature(node.parameters, node.result);
      for (const Attribute& attribute : node.attributes) {
        Labelled("attribute " + attribute.name.text, attribute.value);
        if (!attribute.more.empty()) Line("and " + Names(attribute.more, false));
        Part("if", attribute.condition);
      }
      for (const Using& use : node.usings) PrintUsing(use);
      Body("", node.body);
    });
  }
  void PrintUsing(const Using& use) {
    Line("using " + (use.path.size() > 1 ? use.path[0].text + "." : "") + use.path.back().text);
    In([&] {
      Arguments(use.arguments);
      for (const Using::Renaming& renaming : use.renamings) {
        Labelled("with " + renaming.name.text, renaming.value);
      }
    });
  }
  void PrintItem(const ScheduleDecl& node) {
    Line("schedule " + node.name.text);
    In([&] {
      Parameters(node.parameters);
      for (const Rule& rule : node.rules) {
        std::visit([&](const auto& kind) { PrintRule(kind); }, rule.node);
      }
    });
  }
  void PrintRule(const Prefer& rule) { Line("prefer " + Names(rule.kinds, false)); }
  void PrintRule(const SortBy& rule) {
    for (const SortBy::Sorting& sorting : rule.sortings) {
      const bool first = &sorting == &rule.sortings.front();
      Line((!first ? "and " : rule.strict ? "order " : "prefer ") + sorting.kind.text);
      Part("by", sorting.keys);
    }
  }
  void PrintRule(const Limit& rule) {
    Line("limit");
    Part("", rule.inequality);
    Part("if", rule.condition);
  }
  void PrintRule(const FuseRule& rule) {
    Line("fuse " + rule.first.text + ", " + rule.second.text);
  }
  void PrintRule(const MemoryRule& rule) {
    Line("memory");
    Part("<=", rule.bytes);
  }
  void PrintItem(const TopologyDecl& node) {
    Line("topology " + node.name.text);
    In([&] {
      Parameters(node.parameters);
      for (const TopologyPart& part : node.parts) {
        std::visit([&](const auto& kind) { PrintPart(kind); }, part.node);
        In([&] {
          Indices(part.indices);
          for (const Property& property : part.properties) {
            Labelled(property.name.text + ":", property.value);
          }
        });
      }
    });
  }
  void PrintPart(const DevicePart& part) {
    Line("device");
    Part("", part.device);
  }
  void PrintPart(const ResourcePart& part) { Line("resource " + part.name.text); }
  void PrintPart(const LinkPart& part) {
    Line("link");
    Part("", part.from);
    Part("->", part.to);
    Part("if", part.condition);
  }
  void Indices(const std::vector<Index>& indices) {
    for (const Index& index : indices) {
      Line("index " + index.name.text);
      Part("", index.range);
    }
  }

  void Generics(const std::vector<Generic>& generics) {
    for (const Generic& generic : generics) {
      Line("generic " + generic.name.text + (generic.bound ? ": " + generic.bound->text : ""));
    }
  }
  void Parameters(const std::vector<Parameter>& parameters) {
    for (const Parameter& parameter : parameters) {
      Line("parameter " + parameter.name.text);
      Part("", parameter.type);
      Part("default", parameter.default_value);
    }
  }
  void Signature(const std::vector<Parameter>& parameters, const Result& result) {
    Parameters(parameters);
    if (!result.type.valid()) return;
    Line("result");
    Part("", result.type);
    Part("via", result.via);
  }
  template <typename Id>
  void Labelled(const std::string& label, Id id) {
    role_ = label + " ";
    Node(id);
  }
  void Arguments(const std::vector<Argument>& arguments) {
    for (const Argument& argument : arguments) {
      if (argument.label) role_ = argument.label->text + ": ";
      Node(argument.value);
    }
  }
  void Extern(const ExternBody& native) {
    Line("extern " + Quoted(native.library + ":" + native.symbol));
    In([&] {
      const auto states = [&](const char* clause, const std::optional<std::vector<Name>>& list) {
        if (!list) return;
        std::string names;
        for (const Name& name : *list) names += (names.empty() ? " " : ", ") + name.text;
        Line(clause + names);
      };
      states("reads", native.reads);
      states("writes", native.writes);
      states("adds", native.adds);
      if (native.keys.valid()) {
        Line("keyed by");
        In([&] { Node(native.keys); });
      }
      if (native.cost.empty()) return;
      Line("cost");
      In([&] { Arguments(native.cost); });
    });
  }
  void Body(llvm::StringRef title, const std::vector<StatementId>& body) {
    Line(title.empty() ? "body" : title);
    In([&] {
      for (StatementId id : body) Node(id);
    });
  }

  // ---- types ----------------------------------------------------------------------------------

  void Node(TypeId id) {
    std::visit([&](const auto& node) { PrintType(node); }, file_.types[id].node);
  }
  void PrintType(const TensorType& node) {
    Line("tensor " + std::string(DTypeName(node.dtype)) +
         (node.has_dims && node.dims.empty() ? "[]" : ""));
    Dims(node.dims);
  }
  void PrintType(const NamedType& node) {
    Line("type " + (node.qualifier ? node.qualifier->text + "." : "") + node.name.text +
         (node.has_dims && node.dims.empty() ? "[]" : ""));
    Dims(node.dims);
    In([&] { Arguments(node.arguments); });
  }
  void PrintType(const syntax::ListType& node) {
    Line("list type");
    Part("", node.element);
    Part("length", node.length);
  }
  void PrintType(const TupleType& node) {
    Line("tuple type");
    for (const TupleType::Field& field : node.fields) {
      Part(field.name ? field.name->text + ":" : "", field.type);
    }
  }
  void PrintType(const BytesType& node) {
    Line("bytes");
    Part("<=", node.bound);
  }
  void Dims(const std::vector<Dim>& dims) {
    for (const Dim& dim : dims) Part(dim.run ? "run" : dim.each ? "each" : "dim", dim.expr);
  }

  // ---- expressions ----------------------------------------------------------------------------

  void Node(ExprId id) {
    std::visit([&](const auto& node) { PrintExpr(node); }, file_.exprs[id].node);
  }
  void PrintExpr(const IntLiteral& node) { Line("int " + llvm::Twine(node.value)); }
  void PrintExpr(const FloatLiteral& node) { Line(fmt::format("float {}", node.value)); }
  void PrintExpr(const QuantityLiteral& node) {
    Line(fmt::format("quantity {} {}", node.value, node.unit));
  }
  void PrintExpr(const BoolLiteral& node) { Line(node.value ? "bool true" : "bool false"); }
  void PrintExpr(const StringLiteral& node) {
    std::string texts = Quoted(node.texts[0]);
    for (size_t i = 1; i < node.texts.size(); ++i) texts += " {} " + Quoted(node.texts[i]);
    Line("string " + texts);
    for (ExprId expr : node.exprs) Part("", expr);
  }
  void PrintExpr(const NameExpr& node) { Line("name " + node.name); }
  void PrintExpr(const Unary& node) {
    Line(node.is_not ? "not" : "negate");
    Part("", node.operand);
  }
  void PrintExpr(const Chain& node) {
    Line("chain");
    Part("", node.operands[0]);
    for (size_t i = 0; i < node.operators.size(); ++i) {
      Part(Spelling(node.operators[i]), node.operands[i + 1]);
    }
  }
  void PrintExpr(const CallExpr& node) {
    Line("call");
    Part("", node.callee);
    Part("type", node.type_argument);
    In([&] { Arguments(node.arguments); });
  }
  void PrintExpr(const FieldExpr& node) {
    Line("field " + node.name.text);
    Part("", node.base);
  }
  void PrintExpr(const IndexExpr& node) {
    Line("index");
    Part("", node.base);
    for (ExprId subscript : node.subscripts) {
      if (subscript.valid()) {
        Part("at", subscript);
      } else {
        In([&] { Line("all"); });
      }
    }
  }
  void PrintExpr(const CastExpr& node) {
    Line("cast");
    Part("", node.type);
    In([&] { Arguments(node.arguments); });
  }
  void PrintExpr(const TupleExpr& node) {
    Line("tuple");
    In([&] { Arguments(node.fields); });
  }
  void PrintExpr(const ListExpr& node) {
    Line("list");
    for (ExprId item : node.items) Part("", item);
  }
  void PrintExpr(const Comprehension& node) {
    Line(node.makes_tuple ? "comprehension of a tuple" : "comprehension");
    Part("", node.element);
    In([&] {
      for (const Comprehension::Clause& clause : node.clauses) {
        Line("for " + Names(clause.pattern, clause.tuple_pattern));
        Part("in", clause.list);
        Part("if", clause.condition);
      }
    });
  }
  void PrintExpr(const IfExpr& node) {
    Line("if");
    Part("", node.condition);
    Part("then", node.then_value);
    Part("else", node.else_value);
  }
  void PrintExpr(const Modified& node) {
    static constexpr const char* kKinds[] = {"via", "on", "after"};
    Line("modified");
    Part("", node.base);
    Part(kKinds[node.kind], node.argument);
  }

  // ---- statements -----------------------------------------------------------------------------

  static std::string Names(const std::vector<Name>& names, bool tuple) {
    std::string text;
    for (const Name& name : names) text += (text.empty() ? "" : ", ") + name.text;
    return tuple ? "(" + text + ")" : text;
  }
  static std::string Names(const Pattern& pattern) { return Names(pattern.names, pattern.tuple); }

  void Node(StatementId id) {
    std::visit([&](const auto& node) { PrintStatement(node); }, file_.statements[id].node);
  }
  void PrintStatement(const Let& node) {
    Line("let " + Names(node.pattern));
    Part("type", node.type);
    Part("via", node.via);
    Part("", node.value);
  }
  void PrintStatement(const Var& node) {
    Line("var " + Names(node.pattern));
    Part("type", node.type);
    Part("", node.value);
  }
  void PrintStatement(const For& node) {
    Line("for " + Names(node.pattern));
    Part("in", node.list);
    In([&] { Body("", node.body); });
  }
  void PrintStatement(const If& node) {
    Line("if");
    Part("", node.condition);
    In([&] {
      Body("then", node.then_body);
      if (!node.else_body.empty()) Body("else", node.else_body);
    });
  }
  void PrintStatement(const Return& node) {
    Line(node.yields ? "yield" : "return");
    Part("", node.value);
  }
  void PrintStatement(const Repeat& node) {
    Line("repeat");
    Part("until", node.condition);
    Part("limit", node.limit);
    In([&] { Body("", node.body); });
  }
  void PrintStatement(const Assign& node) {
    Line(node.compound ? std::string("assign ") + Spelling(*node.compound) + "=" : "assign");
    Part("", node.target);
    Part("", node.value);
  }
  void PrintStatement(const Evaluate& node) {
    Line("evaluate");
    Part("", node.call);
  }

  const File& file_;
  llvm::raw_ostream& out_;
  unsigned depth_ = 0;
  std::string role_;
};

}  // namespace
}  // namespace syntax

void Print(const syntax::File& file, llvm::raw_ostream& out) {
  syntax::Printer(file, out).PrintFile();
}

}  // namespace cgraph
