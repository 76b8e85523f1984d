// Common mistakes about the order of the clauses of a declaration.
#include <fmt/format.h>

#include "compiler/syntax/errors/stumble.h"

namespace cgraph::syntax {
namespace {

class ClauseMistakes : Stumble {
 public:
  using Stumble::Stumble;

  bool Report() { return ClauseOfPlace() || ClauseOutOfOrder(); }

 private:
  // `place net = Net() trained by adamw() on gpu[0]`, `place net on gpu[0] = Net()`,
  // `place net = Net() on gpu[0] trained by adamw() equal along d`
  bool ClauseOfPlace() {
    const bool copies = type() == Lexer::EQUAL && TypeAt(1) == Lexer::ALONG;
    const bool trains = type() == Lexer::TRAINED && TypeAt(1) == Lexer::BY;
    const bool early = Expects(Lexer::ASSIGN) || Expects(Lexer::ON);
    const bool behind = rule_ == Grammar::RuleItem || rule_ == Grammar::RuleFile;
    if (rule_ == Grammar::RulePlaceDecl && early && (copies || trains || type() == Lexer::ON)) {
      return Say(fmt::format("`{}` stands behind {}: place net[d in 0..2] = Net() on gpu[d] equal "
                             "along d trained by adamw()",
                             copies ? "equal along" : trains ? "trained by" : "on",
                             copies || trains ? "the device" : "the actor"));
    }
    if (!behind || (!copies && !trains) || !EndsOperand(TypeAt(-1))) return false;
    if (trains) return Say("a place is trained by one optimizer");
    return Say("`equal along` stands once, before `trained by`: place net[d in 0..2] = Net() on "
               "gpu[d] equal along d trained by adamw()");
  }

  // A clause of another head that stands before or behind its place there.
  bool ClauseOutOfOrder() {
    if (type() == Lexer::EQUAL && rule_ == Grammar::RuleStateDecl && Expects(Lexer::ASSIGN)) {
      return Say("`equal along` stands behind the initial value: param w: f32[4] = ones() equal "
                 "along d");
    }
    if (type() == Lexer::DEPRECATED && HeadWord() == Lexer::FN && Expects(Lexer::LBRACE)) {
      return Say("`deprecated` stands before `grad`, directly behind the result");
    }
    const bool before_extern = TypeAt(-1) == Lexer::ASSIGN || Expects(Lexer::ASSIGN);
    if (type() == Lexer::COST && before_extern && HeadWord() == Lexer::METHOD) {
      return Say("the clauses of a native method stand behind its name: = extern \"libmine.so:f\" "
                 "cost(flops: n)");
    }
    const bool behind_body = rule_ == Grammar::RuleMembers && TypeAt(-1) == Lexer::RBRACE;
    if (behind_body && type() == Lexer::COST && TypeAt(1) == Lexer::LPAREN) {
      return Say("only native methods and ops state their `cost`; that of a body follows from its "
                 "ops");
    }
    if (behind_body && type() == Lexer::GRAD && TypeAt(1) == Lexer::BY) {
      return Say("`grad by` stands before the body: method f(x: f32[n]) -> f32[n] grad by back "
                 "{ ... }");
    }
    if (TypeAt(-1) == Lexer::LIMIT && TypeAt(-2) == Lexer::REPEAT) {
      return Say("the condition of rounds stands before their limit: repeat until done limit 20 "
                 "{ ... }");
    }
    // `graph g(x: f32) inflight 4 -> f32`
    if (type() != Lexer::ARROW) return false;
    const size_t word = HeadWord();
    const bool has_result = word == Lexer::FN || word == Lexer::GRAPH || word == Lexer::METHOD;
    const bool of_op = rule_ == Grammar::RuleItem || rule_ == Grammar::RuleFile;
    return (has_result || (of_op && LineWord() == Lexer::OP)) &&
           Say("a result stands directly behind the parameters, before the other clauses: "
               "(x: f32) -> f32");
  }
};

}  // namespace

bool ReportClauseHabit(const ParseFailure& failure, SyntaxErrors& errors) {
  return ClauseMistakes(failure, errors).Report();
}

}  // namespace cgraph::syntax
