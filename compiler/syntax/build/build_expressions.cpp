#include "compiler/syntax/build/builder.h"
#include "compiler/syntax/build/literals.h"

namespace cgraph::syntax {
namespace {

BinaryOperator OperatorOf(llvm::StringRef text) {
#define X(id, spelling, strength) \
  if (text == spelling) return BinaryOperator::id;
  CGRAPH_BINARY_OPERATORS(X)
#undef X
  llvm_unreachable("the grammar has an operator that CGRAPH_BINARY_OPERATORS lacks");
}

}  // namespace

ExprId Builder::BuildExpr(Grammar::ExprContext* context) {
  const std::vector<Grammar::OperandContext*> operands = context->operand();
  const std::vector<Grammar::BinaryContext*> binaries = context->binary();
  Flat flat;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool is_call = i + 2 < operands.size() && TextOf(binaries[i]->start) == "<" &&
                         TextOf(binaries[i + 1]->start) == ">" &&
                         IsTypedCall(operands[i], operands[i + 1], operands[i + 2]);
    if (is_call) {
      flat.operands.push_back({BuildOperand(operands[i], operands[i + 1], operands[i + 2]),
                               Span(RangeOf(operands[i]), RangeOf(operands[i + 2]))});
      i += 2;
    } else {
      flat.operands.push_back({BuildOperand(operands[i]), RangeOf(operands[i])});
    }
    if (i >= binaries.size()) break;
    flat.operators.push_back(OperatorOf(TextOf(binaries[i]->start)));
    flat.operator_ranges.push_back(RangeOf(binaries[i]));
  }
  const Flat::Operand folded = Fold(flat, 1);
  return BuildModifiers(folded.expr, folded.range, context->modifier());
}

// Reads operators from flat.next on that bind at least as strongly as `strength`.
Builder::Flat::Operand Builder::Fold(Flat& flat, int strength) {
  if (strength > kStrongest) return flat.operands[flat.next++];
  const Flat::Operand first = Fold(flat, strength + 1);
  Chain chain{{first.expr}, {}, {}};
  Range range = first.range;
  while (flat.next - 1 < flat.operators.size() &&
         Strength(flat.operators[flat.next - 1]) == strength) {
    chain.operators.push_back(flat.operators[flat.next - 1]);
    chain.operator_ranges.push_back(flat.operator_ranges[flat.next - 1]);
    const Flat::Operand operand = Fold(flat, strength + 1);
    chain.operands.push_back(operand.expr);
    range = Span(range, operand.range);
  }
  if (chain.operators.empty()) return first;
  CheckChain(chain);
  return {Add(Expr{std::move(chain), range}), range};
}

void Builder::CheckChain(const Chain& chain) {
  const int strength = Strength(chain.operators[0]);
  const bool comparison = strength == Strength(BinaryOperator::kEqual);
  if (chain.operators.size() < 2) return;
  if (!comparison && strength != Strength(BinaryOperator::kRange)) return;
  const Range& second = chain.operator_ranges[1];
  errors_
      .Report(Code::kE0206, second.begin, second.end,
              comparison ? "comparisons do not chain; join two of them with `and`"
                         : "a range has one `..`")
      .AddNote(chain.operator_ranges[0], "the first one");
}

ExprId Builder::BuildModifiers(ExprId base, Range range,
                               const std::vector<Grammar::ModifierContext*>& modifiers) {
  for (Grammar::ModifierContext* modifier : modifiers) {
    Modified::Kind kind = Modified::kVia;
    if (modifier->ON() != nullptr) kind = Modified::kOn;
    if (modifier->AFTER() != nullptr) kind = Modified::kAfter;
    const ExprId argument = BuildOperand(modifier->operand());
    range = Span(range, RangeOf(modifier));
    base = Add(Expr{Modified{base, kind, argument}, range});
  }
  return base;
}

// Whether `callee < type > arguments` is a call: zeros<Weight[4]>(). To the grammar the type in a
// call's < > begins with a dtype, and with a name they are two comparisons, which do not chain.
bool Builder::IsTypedCall(Grammar::OperandContext* callee, Grammar::OperandContext* type,
                          Grammar::OperandContext* arguments) {
  const auto begins_with_name = [](Grammar::OperandContext* operand) {
    return operand->primary()->name() != nullptr;
  };
  const auto has_sign = [](Grammar::OperandContext* operand) {
    return operand->children[0] != operand->primary();
  };
  const auto is_field = [](Grammar::PostfixContext* each) { return each->name() != nullptr; };
  std::vector<Grammar::PostfixContext*> rest = type->postfix();
  if (!rest.empty() && is_field(rest[0])) rest.erase(rest.begin());
  const bool is_type =
      begins_with_name(type) && !has_sign(type) && rest.size() <= 1 &&
      llvm::none_of(rest, [&](Grammar::PostfixContext* each) {
        return is_field(each) || each->DTYPE() != nullptr ||
               llvm::any_of(each->subscript(), [](Grammar::SubscriptContext* subscript) {
                 return subscript->expr() == nullptr;
               });
      });
  Grammar::TupleContext* tuple = arguments->primary()->tuple();
  return is_type && begins_with_name(callee) && llvm::all_of(callee->postfix(), is_field) &&
         !has_sign(arguments) && tuple != nullptr && tuple->comprehension().empty();
}

TypeId Builder::BuildTypeOf(Grammar::OperandContext* context) {
  NamedType named;
  named.name = BuildName(context->primary()->name());
  for (Grammar::PostfixContext* postfix : context->postfix()) {
    if (postfix->name() != nullptr) {
      named.qualifier = std::exchange(named.name, BuildName(postfix->name()));
    } else if (postfix->arguments() != nullptr) {
      named.arguments = BuildArguments(postfix->arguments()->argument());
      named.has_arguments = true;
    } else {
      for (Grammar::SubscriptContext* subscript : postfix->subscript()) {
        named.dims.push_back({BuildExpr(subscript->expr())});
      }
      named.has_dims = true;
    }
  }
  return Add(Type{std::move(named), RangeOf(context)});
}

// With `type` and `arguments` a call: see IsTypedCall.
ExprId Builder::BuildOperand(Grammar::OperandContext* context, Grammar::OperandContext* type,
                             Grammar::OperandContext* arguments) {
  const std::vector<Grammar::PostfixContext*> postfixes = context->postfix();
  const Range whole =
      arguments == nullptr ? RangeOf(context) : Span(RangeOf(context), RangeOf(arguments));
  Grammar::PrimaryContext* primary = context->primary();
  std::vector<antlr4::Token*> signs;
  for (antlr4::tree::ParseTree* child : context->children) {
    if (child == primary) break;
    signs.push_back(dynamic_cast<antlr4::tree::TerminalNode*>(child)->getSymbol());
  }
  // The one negative number whose absolute value is no int64.
  const bool lowest = !signs.empty() && signs.back()->getType() == Lexer::SUB &&
                      postfixes.empty() && primary->start->getType() == Lexer::INT &&
                      DecodeInt(TextOf(primary->start)) == uint64_t{1} << 63;
  ExprId expr;
  if (lowest) {
    expr = Add(Expr{IntLiteral{INT64_MIN}, Span(RangeOf(signs.back()), whole)});
    signs.pop_back();
  } else {
    expr = BuildPostfixes(BuildPrimary(primary), RangeOf(primary), postfixes);
    if (type != nullptr) {
      const Range range = Span(RangeOf(primary), RangeOf(arguments->primary()));
      CallExpr call{expr, BuildTypeOf(type),
                    BuildArguments(arguments->primary()->tuple()->argument())};
      expr = BuildPostfixes(Add(Expr{std::move(call), range}), range, arguments->postfix());
    }
  }
  for (size_t i = signs.size(); i-- > 0;) {
    const Range range = Span(RangeOf(signs[i]), whole);
    expr = Add(Expr{Unary{signs[i]->getType() == Lexer::NOT, expr}, range});
  }
  return expr;
}

ExprId Builder::BuildPostfixes(ExprId base, Range range,
                               const std::vector<Grammar::PostfixContext*>& postfixes) {
  for (Grammar::PostfixContext* postfix : postfixes) {
    range = Span(range, RangeOf(postfix));
    base = BuildPostfix(base, range, postfix);
  }
  return base;
}

ExprId Builder::BuildPostfix(ExprId base, Range range, Grammar::PostfixContext* context) {
  if (context->name() != nullptr) {
    return Add(Expr{FieldExpr{base, BuildName(context->name())}, range});
  }
  if (context->arguments() == nullptr) {
    IndexExpr index{base, {}};
    for (Grammar::SubscriptContext* subscript : context->subscript()) {
      index.subscripts.push_back(
          subscript->expr() == nullptr ? ExprId() : BuildExpr(subscript->expr()));
    }
    return Add(Expr{std::move(index), range});
  }
  CallExpr call{base, {}, {}};
  if (context->DTYPE() != nullptr) {
    const antlr4::Token* dtype = context->DTYPE()->getSymbol();
    Grammar::DimsContext* dims = context->dims();
    const Range type_range = dims == nullptr ? RangeOf(dtype) : Span(RangeOf(dtype), RangeOf(dims));
    call.type_argument = Add(Type{
        TensorType{*ParseDType(TextOf(dtype)), BuildDims(dims), dims != nullptr}, type_range});
  }
  call.arguments = BuildArguments(context->arguments()->argument());
  return Add(Expr{std::move(call), range});
}

std::vector<Argument> Builder::BuildArguments(
    const std::vector<Grammar::ArgumentContext*>& arguments) {
  std::vector<Argument> built;
  const Argument* labelled = nullptr;
  built.reserve(arguments.size());
  for (Grammar::ArgumentContext* context : arguments) {
    Argument argument;
    if (context->name() != nullptr) argument.label = BuildName(context->name());
    argument.value = BuildExpr(context->expr());
    if (!argument.label && labelled != nullptr) {
      const Range range = RangeOf(context);
      errors_
          .Report(Code::kE0213, range.begin, range.end,
                  "a positional argument after a labelled one; positional arguments come first")
          .AddNote(labelled->label->range, "the labelled one");
      labelled = nullptr;  // once per list
    }
    built.push_back(std::move(argument));
    if (built.back().label && labelled == nullptr) labelled = &built.back();
  }
  return built;
}

ExprId Builder::BuildPrimary(Grammar::PrimaryContext* context) {
  const Range range = RangeOf(context);
  if (context->name() != nullptr) {
    return Add(Expr{NameExpr{TextOf(context->start).str()}, range});
  }
  if (context->literal() != nullptr) return BuildLiteral(context->literal());
  if (auto* cast = context->cast()) {
    const TypeId type = BuildType(cast->type());
    return Add(Expr{CastExpr{type, BuildArguments(cast->arguments()->argument())}, range});
  }
  if (context->tuple() != nullptr) return BuildTuple(context->tuple());
  if (context->list() != nullptr) return BuildList(context->list());
  const std::vector<Grammar::ExprContext*> parts = context->ifExpr()->expr();
  const ExprId condition = BuildExpr(parts[0]);
  const ExprId then_value = BuildExpr(parts[1]);
  return Add(Expr{IfExpr{condition, then_value, BuildExpr(parts[2])}, range});
}

ExprId Builder::BuildTuple(Grammar::TupleContext* context) {
  const std::vector<Grammar::ArgumentContext*> fields = context->argument();
  const std::vector<Grammar::ComprehensionContext*> clauses = context->comprehension();
  if (!clauses.empty()) {
    if (fields[0]->name() != nullptr) {
      const Range range = RangeOf(fields[0]->name());
      errors_.ReportStructure(Code::kE0201, range.begin, range.end,
                              "the fields of a comprehension have the names of the tuple that it "
                              "goes over, and no others: (f(w) for w in weights)");
    }
    return BuildComprehension(fields[0]->expr(), clauses, RangeOf(context), /*makes_tuple=*/true);
  }
  const bool parentheses =
      fields.size() == 1 && fields[0]->name() == nullptr && context->COMMA().empty();
  if (parentheses) return BuildExpr(fields[0]->expr());
  return Add(Expr{TupleExpr{BuildArguments(fields)}, RangeOf(context)});
}

ExprId Builder::BuildList(Grammar::ListContext* context) {
  const std::vector<Grammar::ExprContext*> items = context->expr();
  const std::vector<Grammar::ComprehensionContext*> clauses = context->comprehension();
  if (clauses.empty()) {
    ListExpr list;
    for (Grammar::ExprContext* item : items) list.items.push_back(BuildExpr(item));
    return Add(Expr{std::move(list), RangeOf(context)});
  }
  return BuildComprehension(items[0], clauses, RangeOf(context), /*makes_tuple=*/false);
}

ExprId Builder::BuildComprehension(Grammar::ExprContext* element,
                                   const std::vector<Grammar::ComprehensionContext*>& clauses,
                                   Range range, bool makes_tuple) {
  Comprehension comprehension{BuildExpr(element), {}, makes_tuple};
  for (Grammar::ComprehensionContext* clause : clauses) {
    Pattern pattern = BuildPattern(clause->pattern());
    const std::vector<Grammar::ExprContext*> exprs = clause->expr();
    Comprehension::Clause built{std::move(pattern.names), pattern.tuple, BuildExpr(exprs[0]), {}};
    if (exprs.size() > 1) built.condition = BuildExpr(exprs[1]);
    comprehension.clauses.push_back(std::move(built));
  }
  return Add(Expr{std::move(comprehension), range});
}

ExprId Builder::BuildLiteral(Grammar::LiteralContext* context) {
  antlr4::Token* token = context->start;
  switch (token->getType()) {
    case Lexer::TRUE:
    case Lexer::FALSE:
      return Add(Expr{BoolLiteral{token->getType() == Lexer::TRUE}, RangeOf(token)});
    case Lexer::STRING:
      return BuildString(token);
    default:
      return BuildNumber(token);
  }
}

// Builds a number; one that cannot be read is reported and becomes 0.
ExprId Builder::BuildNumber(antlr4::Token* token) {
  const llvm::StringRef text = TextOf(token);
  const Range range = RangeOf(token);
  const auto refuse = [&](std::string why) {
    errors_.Report(Code::kE0207, range.begin, range.end, std::move(why));
    return Add(Expr{IntLiteral{0}, range});
  };
  switch (token->getType()) {
    case Lexer::INT: {
      const std::optional<uint64_t> value = DecodeInt(text);
      if (!value || *value > static_cast<uint64_t>(INT64_MAX)) {
        return refuse("this integer does not fit into 64 bits (at most 9223372036854775807)");
      }
      return Add(Expr{IntLiteral{static_cast<int64_t>(*value)}, range});
    }
    case Lexer::FLOAT: {
      const std::optional<double> value = DecodeFloat(text);
      if (!value) return refuse("this number is too large for a 64-bit float");
      return Add(Expr{FloatLiteral{*value}, range});
    }
    case Lexer::QUANTITY: {
      const size_t unit = text.find_first_not_of("0123456789_.");
      const std::optional<double> value = DecodeFloat(text.take_front(unit));
      if (!value) return refuse("this number is too large for a 64-bit float");
      return Add(Expr{QuantityLiteral{*value, text.drop_front(unit).str()}, range});
    }
    default: {
      const size_t unit = text.find_first_not_of("0123456789_.");
      if (text.drop_front(unit).equals_insensitive("f")) {
        const llvm::StringRef number = text.take_front(unit);
        return refuse("write `" + number.str() + (number.contains('.') ? "`" : ".0`") +
                      ": a number has no suffix for its dtype, and takes the dtype of what it "
                      "meets");
      }
      return refuse("`" + text.drop_front(unit).take_front(40).str() +
                    "` is no unit; there are ns us ms s min, B KiB MiB GiB KB MB GB, MB/s GB/s, "
                    "GFLOPS TFLOPS");
    }
  }
}

ExprId Builder::BuildString(antlr4::Token* token) {
  const Range range = RangeOf(token);
  DecodedString decoded = DecodeString(TextOf(token), range.begin, errors_);
  StringLiteral literal{std::move(decoded.texts), {}};
  for (const DecodedString::Hole& hole : decoded.holes) {
    literal.exprs.push_back(BuildHole(hole.begin, hole.end));
  }
  return Add(Expr{std::move(literal), range});
}

// Builds an expression inside a string; one that cannot be read is reported and becomes 0.
ExprId Builder::BuildHole(uint32_t begin, uint32_t end) {
  ExprId expr;
  ParseHole(begin, end, errors_, [&](Grammar::ExprContext* context) { expr = BuildExpr(context); });
  return expr.valid() ? expr : Add(Expr{IntLiteral{0}, errors_.At(begin, end)});
}

}  // namespace cgraph::syntax
