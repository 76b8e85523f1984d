// Types, names, and the rows of the tables themselves.
#include "compiler/base/limits.h"
#include "compiler/syntax/build/builder.h"
#include "compiler/syntax/children.h"

namespace cgraph::syntax {
namespace {

struct DepthOf {
  const std::vector<int>& exprs;
  const std::vector<int>& types;
  const std::vector<int>& statements;
  int& depth;

  void operator()(ExprId id) { depth = std::max(depth, exprs[id.index] + 1); }
  void operator()(TypeId id) { depth = std::max(depth, types[id.index] + 1); }
  void operator()(StatementId id) { depth = std::max(depth, statements[id.index] + 1); }
};

}  // namespace

#define CGRAPH_ADD_ROW(IdType, RowType, table, depths)                                       \
  IdType Builder::Add(RowType row) {                                                         \
    int depth = 1;                                                                           \
    ForEachChild(row, DepthOf{expr_depths_, type_depths_, statement_depths_, depth});        \
    if (depth > kMaxTreeDepth) throw TooDeep{row.range.begin, row.range.end};                \
    depths.push_back(depth);                                                                 \
    return file_.table.Add(std::move(row));                                                  \
  }
CGRAPH_ADD_ROW(ExprId, Expr, exprs, expr_depths_)
CGRAPH_ADD_ROW(TypeId, Type, types, type_depths_)
CGRAPH_ADD_ROW(StatementId, Statement, statements, statement_depths_)
#undef CGRAPH_ADD_ROW

Range Builder::RangeOf(const antlr4::ParserRuleContext* context) const {
  return Span(RangeOf(context->start), RangeOf(context->stop));
}

Range Builder::RangeOf(const antlr4::Token* token) const {
  return errors_.At(static_cast<uint32_t>(token->getStartIndex()),
                    static_cast<uint32_t>(token->getStopIndex() + 1));
}

llvm::StringRef Builder::TextOf(const antlr4::Token* token) const {
  return errors_.text().slice(token->getStartIndex(), token->getStopIndex() + 1);
}

Name Builder::BuildName(Grammar::NameContext* context) {
  return {TextOf(context->start).str(), RangeOf(context)};
}

TypeId Builder::BuildType(Grammar::TypeContext* context) {
  const Range range = RangeOf(context);
  Grammar::DimsContext* dims = context->dims();
  if (context->DTYPE() != nullptr) {
    const std::optional<DType> dtype = ParseDType(TextOf(context->start));
    return Add(Type{TensorType{*dtype, BuildDims(dims), dims != nullptr}, range});
  }
  if (!context->name().empty()) return BuildNamedType(context);
  if (context->SEMICOLON() != nullptr) {
    const TypeId element = BuildType(context->type());
    return Add(Type{ListType{element, BuildExpr(context->expr())}, range});
  }
  if (context->BYTES() != nullptr) return Add(Type{BytesType{BuildExpr(context->expr())}, range});
  return BuildTupleType(context);
}

TypeId Builder::BuildNamedType(Grammar::TypeContext* context) {
  const std::vector<Grammar::NameContext*> names = context->name();
  NamedType named;
  if (names.size() > 1) named.qualifier = BuildName(names[0]);
  named.name = BuildName(names.back());
  named.dims = BuildDims(context->dims());
  named.has_dims = context->dims() != nullptr;
  if (context->arguments() != nullptr) {
    named.arguments = BuildArguments(context->arguments()->argument());
    named.has_arguments = true;
  }
  return Add(Type{std::move(named), RangeOf(context)});
}

TypeId Builder::BuildTupleType(Grammar::TypeContext* context) {
  const std::vector<Grammar::TypeFieldContext*> written = context->typeField();
  const bool parentheses =
      written.size() == 1 && written[0]->name() == nullptr && context->COMMA().empty();
  if (parentheses) return BuildType(written[0]->type());
  TupleType tuple;
  for (Grammar::TypeFieldContext* field : written) {
    std::optional<Name> name;
    if (field->name() != nullptr) name = BuildName(field->name());
    tuple.fields.push_back({std::move(name), BuildType(field->type())});
  }
  return Add(Type{std::move(tuple), RangeOf(context)});
}

std::vector<Dim> Builder::BuildDims(Grammar::DimsContext* context) {
  std::vector<Dim> dims;
  if (context == nullptr) return dims;
  for (Grammar::DimContext* dim : context->dim()) {
    if (dim->EACH() != nullptr) {
      Name name = BuildName(dim->name());
      const Range range = name.range;
      dims.push_back({Add(Expr{NameExpr{std::move(name.text)}, range}), false, true});
    } else {
      dims.push_back({BuildExpr(dim->expr()), dim->MUL() != nullptr});
    }
  }
  return dims;
}

}  // namespace cgraph::syntax
