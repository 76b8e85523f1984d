// Common mistakes about types and about parameters and states, which have them.
#include <fmt/format.h>

#include <string>

#include "compiler/syntax/errors/stumble.h"

namespace cgraph::syntax {
namespace {

class TypeMistakes : Stumble {
 public:
  using Stumble::Stumble;

  bool Report() {
    return TypeOfElements() || DTypeAsFunction() || CastWithoutDType() || DimsInParentheses() ||
           TypeBeforeName() || StateWithoutType() || WordBeforeName() || ParameterWithoutType();
  }

 private:
  // `x: tensor<f32>`, `x: f32<4>`, `x: list[f32]`, `-> Tensor[f32, 4]`
  bool TypeOfElements() {
    const bool angles = type() == Lexer::LT;
    const bool brackets = type() == Lexer::DTYPE && TypeAt(-1) == Lexer::LBRACKET;
    const ptrdiff_t word = brackets ? -2 : -1;
    const bool stands_for_type = TypeAt(word - 1) == Lexer::COLON ||
                                 TypeAt(word - 1) == Lexer::ARROW;
    const bool names = IsName(TypeAt(word)) || (angles && TypeAt(word) == Lexer::DTYPE);
    return (angles || brackets) && stands_for_type && names &&
           Say("the type of a tensor is a dtype and dimensions in brackets, f32[2, n]; that of a "
               "list has the type of its elements first, [f32[2, n]; 4]");
  }

  // `f16(x)`, `x.to(f16)`
  bool DTypeAsFunction() {
    if (type() != Lexer::DTYPE) return false;
    if (!Expects(Lexer::INT) && rule_ != Grammar::RuleArguments) return false;
    const std::string dtype = TextAt(0).str();
    const std::string message =
        fmt::format("a dtype is no value; cast<{0}>(x) converts, and zeros<{0}[4]>() makes a "
                    "tensor of it",
                    dtype);
    if (TypeAt(1) != Lexer::LPAREN) return Say(message);
    return SayWithFix(message, now().begin, now().end, "cast<" + dtype + ">");
  }

  // `cast(x)`
  bool CastWithoutDType() {
    return TypeAt(-1) == Lexer::CAST && Expects(Lexer::LT) &&
           Say("a cast names the dtype that it makes: cast<f16>(x)");
  }

  // `let y: f32(4)`
  bool DimsInParentheses() {
    return type() == Lexer::LPAREN && TypeAt(-1) == Lexer::DTYPE &&
           Say(fmt::format("the dimensions of a tensor stand in brackets: {}[4]",
                           TextAt(-1).str()));
  }

  // `state f32[2] w`, `graph g(f32[4] x)`, `fn f(f32[4])`
  bool TypeBeforeName() {
    if (type() != Lexer::DTYPE || TypeAt(1) == Lexer::COLON) return false;
    const bool state = TypeAt(-1) == Lexer::STATE || TypeAt(-1) == Lexer::PARAM;
    const bool parameter = rule_ == Grammar::RuleParameters &&
                           (TypeAt(-1) == Lexer::LPAREN || TypeAt(-1) == Lexer::COMMA);
    if (!state && !parameter) return false;
    ptrdiff_t after = 1;  // behind the type
    if (TypeAt(after) == Lexer::LBRACKET) {
      while (TypeAt(after) != Lexer::RBRACKET && TypeAt(after) != antlr4::Token::EOF) ++after;
      ++after;
    }
    const std::string name = IsName(TypeAt(after)) ? TextAt(after).str() : state ? "w" : "x";
    return Say(fmt::format("a name stands before its type: {}{}: {}[4]", state ? "state " : "",
                           name, TextAt(0).str()));
  }

  bool StateWithoutType() {
    if (rule_ != Grammar::RuleStateDecl) return false;
    if (Expects(Lexer::COLON) && type() == Lexer::DTYPE) {
      const uint32_t end = lexemes_[at_ - 1].end;
      return SayWithFix(fmt::format("a colon stands before a state's type: `state {}: {}...`",
                                    TextAt(-1).str(), TextAt(0).str()),
                        end, end, ":");
    }
    if (Expects(Lexer::COLON) && type() == Lexer::ASSIGN) {
      return Say(fmt::format("a state needs a type, which says how large it is: "
                             "`state {}: f32[2, 3] = ...`",
                             TextAt(-1).str()));
    }
    if (!Expects(Lexer::ASSIGN) || at_ == 0) return false;
    const uint32_t end = lexemes_[at_ - 1].end;
    errors_.ReportStructure(Code::kE0201, end, end,
                            "a state needs an initial value: `= zeros()`, `= normal(seed: 1)` or "
                            "`= load(\"file.safetensors\", \"tensor\")`");
    return true;
  }

  // `graph g(float x[4])`, `actor Layer(int n)`
  bool WordBeforeName() {
    if (rule_ != Grammar::RuleParameter || !Expects(Lexer::COLON) || !IsName(type())) return false;
    return Say(fmt::format("a name stands before its type: {0}: f32[4] for a tensor, {0}: int for "
                           "what is known while compiling",
                           TextAt(0).str()));
  }

  // `actor Layer(n)`, `method f(self)`
  bool ParameterWithoutType() {
    if (rule_ != Grammar::RuleParameter || !Expects(Lexer::COLON)) return false;
    const std::string name = TextAt(-1).str();
    if (name == "self") {
      return Say("a method has no `self`: its actor's states are names in its body");
    }
    return Say(fmt::format("a parameter needs a type: {0}: f32[4] for a tensor, {0}: int for what "
                           "is known while compiling",
                           name));
  }
};

}  // namespace

bool ReportTypeHabit(const ParseFailure& failure, SyntaxErrors& errors) {
  return TypeMistakes(failure, errors).Report();
}

}  // namespace cgraph::syntax
