// ForEachChild: the children of a node, for code that walks the tree whatever its nodes mean.
#ifndef CGRAPH_COMPILER_SYNTAX_CHILDREN_H_
#define CGRAPH_COMPILER_SYNTAX_CHILDREN_H_

#include "compiler/syntax/syntax.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::syntax {

// Calls visit(ExprId) and visit(TypeId) for each child that is there, in source order where the
// node keeps it.
template <typename Visit>
void ForEachChild(const Expr& expr, Visit visit) {
  const auto each = [&](ExprId id) {
    if (id.valid()) visit(id);
  };
  const auto arguments = [&](const std::vector<Argument>& list) {
    for (const Argument& argument : list) each(argument.value);
  };
  std::visit(
      llvm::makeVisitor(
          [&](const StringLiteral& node) { llvm::for_each(node.exprs, each); },
          [&](const Unary& node) { each(node.operand); },
          [&](const Chain& node) { llvm::for_each(node.operands, each); },
          [&](const CallExpr& node) {
            each(node.callee);
            if (node.type_argument.valid()) visit(node.type_argument);
            arguments(node.arguments);
          },
          [&](const FieldExpr& node) { each(node.base); },
          [&](const IndexExpr& node) {
            each(node.base);
            llvm::for_each(node.subscripts, each);
          },
          [&](const CastExpr& node) {
            visit(node.type);
            arguments(node.arguments);
          },
          [&](const TupleExpr& node) { arguments(node.fields); },
          [&](const ListExpr& node) { llvm::for_each(node.items, each); },
          [&](const Comprehension& node) {
            each(node.element);
            for (const Comprehension::Clause& clause : node.clauses) {
              each(clause.list);
              each(clause.condition);
            }
          },
          [&](const IfExpr& node) {
            each(node.condition);
            each(node.then_value);
            each(node.else_value);
          },
          [&](const Modified& node) {
            each(node.base);
            each(node.argument);
          },
          [](const auto&) {}),
      expr.node);
}

template <typename Visit>
void ForEachChild(const Type& type, Visit visit) {
  const auto dims = [&](const std::vector<Dim>& list) {
    for (const Dim& dim : list) visit(dim.expr);
  };
  std::visit(llvm::makeVisitor([&](const TensorType& node) { dims(node.dims); },
                               [&](const NamedType& node) {
                                 dims(node.dims);
                                 for (const Argument& argument : node.arguments) {
                                   visit(argument.value);
                                 }
                               },
                               [&](const ListType& node) {
                                 visit(node.element);
                                 visit(node.length);
                               },
                               [&](const TupleType& node) {
                                 for (const TupleType::Field& field : node.fields) {
                                   visit(field.type);
                                 }
                               },
                               [&](const BytesType& node) { visit(node.bound); }),
             type.node);
}

// Also calls visit(StatementId).
template <typename Visit>
void ForEachChild(const Statement& statement, Visit visit) {
  const auto each = [&](auto id) {
    if (id.valid()) visit(id);
  };
  std::visit(llvm::makeVisitor(
                 [&](const Let& node) {
                   each(node.type);
                   each(node.via);
                   each(node.value);
                 },
                 [&](const Var& node) {
                   each(node.type);
                   each(node.value);
                 },
                 [&](const For& node) {
                   each(node.list);
                   llvm::for_each(node.body, each);
                 },
                 [&](const If& node) {
                   each(node.condition);
                   llvm::for_each(node.then_body, each);
                   llvm::for_each(node.else_body, each);
                 },
                 [&](const Return& node) { each(node.value); },
                 [&](const Repeat& node) {
                   each(node.condition);
                   each(node.limit);
                   llvm::for_each(node.body, each);
                 },
                 [&](const Assign& node) {
                   each(node.target);
                   each(node.value);
                 },
                 [&](const Evaluate& node) { each(node.call); }),
             statement.node);
}

}  // namespace cgraph::syntax

#endif  // CGRAPH_COMPILER_SYNTAX_CHILDREN_H_
