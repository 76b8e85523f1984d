// Builder: turns ANTLR's tree of one item into rows of Syntax.
//
// Statements and members whose parsing failed are left out; the others are complete. The builder
// also decides what the grammar leaves open: which of `(a)` and `(a,)` is a tuple, how operators
// bind, which expressions may be statements. Throws TooDeep when a tree would be deeper than
// kMaxTreeDepth, so that later phases may recurse.
#ifndef CGRAPH_COMPILER_SYNTAX_BUILD_BUILDER_H_
#define CGRAPH_COMPILER_SYNTAX_BUILD_BUILDER_H_

#include <vector>

#include "compiler/syntax/antlr.h"
#include "compiler/syntax/errors/errors.h"
#include "compiler/syntax/syntax.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::syntax {

class Builder {
 public:
  Builder(File& file, SyntaxErrors& errors) : file_(file), errors_(errors) {}

  void BuildItem(Grammar::ItemContext* context);
  ExprId BuildExpr(Grammar::ExprContext* context);
  Using BuildUsing(Grammar::ScheduleContext* context);

 private:
  // build_declarations.cpp
  ImportDecl BuildImport(Grammar::ImportDeclContext* context);
  TypeDecl BuildTypeDecl(Grammar::TypeDeclContext* context);
  TransportDecl BuildTransport(Grammar::TransportDeclContext* context);
  FnDecl BuildFn(Grammar::FnDeclContext* context);
  OpDecl BuildOp(Grammar::OpDeclContext* context);
  void BuildOpClause(Grammar::OpClauseContext* context, OpDecl& op, uint64_t& seen);
  Gradient BuildGradient(Grammar::GradientContext* context);
  Name BuildGradientBy(Grammar::GradientByContext* context);
  ActorDecl BuildActor(Grammar::ActorDeclContext* context);
  OptimizerDecl BuildOptimizer(Grammar::OptimizerDeclContext* context);
  void BuildMembers(Grammar::MembersContext* context, std::vector<StateDecl>& states,
                    std::vector<MethodDecl>& methods);
  std::vector<Name> BuildAlong(Grammar::AlongContext* context);
  StateDecl BuildState(Grammar::StateDeclContext* context);
  MethodDecl BuildMethod(Grammar::MethodDeclContext* context);
  ExternBody BuildExtern(Grammar::ExternBodyContext* context, std::optional<Name>& gradient_by);
  void RefuseSecond(const antlr4::Token* keyword, const std::string& rule, uint64_t& seen);
  PlaceDecl BuildPlace(Grammar::PlaceDeclContext* context);
  GraphDecl BuildGraph(Grammar::GraphDeclContext* context);
  Attribute BuildAttribute(Grammar::AttributeContext* context);
  std::vector<Index> BuildIndices(Grammar::IndicesContext* context);
  std::vector<Generic> BuildGenerics(Grammar::GenericsContext* context);
  std::vector<Parameter> BuildParameters(Grammar::ParametersContext* context);
  Result BuildResult(Grammar::ResultContext* context);
  std::string PlainString(antlr4::tree::TerminalNode* literal);

  // build_schedules.cpp
  ScheduleDecl BuildSchedule(Grammar::ScheduleDeclContext* context);
  Rule BuildRule(Grammar::ScheduleRuleContext* context);

  // build_topologies.cpp
  TopologyDecl BuildTopology(Grammar::TopologyDeclContext* context);
  TopologyPart BuildTopologyPart(Grammar::TopologyItemContext* context);

  // build_types.cpp
  TypeId BuildType(Grammar::TypeContext* context);
  TypeId BuildNamedType(Grammar::TypeContext* context);
  TypeId BuildTupleType(Grammar::TypeContext* context);
  std::vector<Dim> BuildDims(Grammar::DimsContext* context);
  Name BuildName(Grammar::NameContext* context);

  // build_statements.cpp
  std::vector<StatementId> BuildBlock(Grammar::BlockContext* context);
  StatementId BuildStatement(Grammar::StatementContext* context);
  StatementId BuildIf(Grammar::IfStatementContext* context);
  StatementId BuildTarget(Grammar::TargetStatementContext* context);
  Pattern BuildPattern(Grammar::PatternContext* context);

  // build_expressions.cpp
  static bool IsTypedCall(Grammar::OperandContext* callee, Grammar::OperandContext* type,
                          Grammar::OperandContext* arguments);
  TypeId BuildTypeOf(Grammar::OperandContext* context);
  ExprId BuildOperand(Grammar::OperandContext* context, Grammar::OperandContext* type = nullptr,
                      Grammar::OperandContext* arguments = nullptr);
  ExprId BuildPrimary(Grammar::PrimaryContext* context);
  ExprId BuildPostfix(ExprId base, Range base_range, Grammar::PostfixContext* context);
  ExprId BuildPostfixes(ExprId base, Range range,
                        const std::vector<Grammar::PostfixContext*>& postfixes);
  ExprId BuildModifiers(ExprId base, Range range,
                        const std::vector<Grammar::ModifierContext*>& modifiers);
  ExprId BuildTuple(Grammar::TupleContext* context);
  ExprId BuildList(Grammar::ListContext* context);
  ExprId BuildComprehension(Grammar::ExprContext* element,
                            const std::vector<Grammar::ComprehensionContext*>& clauses, Range range,
                            bool makes_tuple);
  ExprId BuildLiteral(Grammar::LiteralContext* context);
  ExprId BuildNumber(antlr4::Token* token);
  ExprId BuildString(antlr4::Token* token);
  ExprId BuildHole(uint32_t begin, uint32_t end);
  std::vector<Argument> BuildArguments(const std::vector<Grammar::ArgumentContext*>& arguments);

  // A chain of operands and operators on its way to being folded by binding strength.
  struct Flat {
    struct Operand {
      ExprId expr;
      Range range;  // with the parentheses that `expr`'s own range leaves out
    };
    std::vector<Operand> operands;
    std::vector<BinaryOperator> operators;
    std::vector<Range> operator_ranges;
    size_t next = 0;
  };
  Flat::Operand Fold(Flat& flat, int strength);
  void CheckChain(const Chain& chain);

  ExprId Add(Expr expr);
  TypeId Add(Type type);
  StatementId Add(Statement statement);

  Range RangeOf(const antlr4::ParserRuleContext* context) const;
  Range RangeOf(const antlr4::Token* token) const;
  llvm::StringRef TextOf(const antlr4::Token* token) const;
  static Range Span(const Range& first, const Range& last) {
    return {first.source, first.begin, last.end};
  }

  File& file_;
  SyntaxErrors& errors_;
  // The depth of the tree below each row, by id.
  std::vector<int> expr_depths_, type_depths_, statement_depths_;
};

// The expressions inside strings are parsed by a parser of their own.
// Parses bytes [begin, end) as one expression and hands its tree to `use`, which it outlives not.
// After an error, which is reported, `use` is not called.
void ParseHole(uint32_t begin, uint32_t end, SyntaxErrors& errors,
               llvm::function_ref<void(Grammar::ExprContext*)> use);

}  // namespace cgraph::syntax

#endif  // CGRAPH_COMPILER_SYNTAX_BUILD_BUILDER_H_
