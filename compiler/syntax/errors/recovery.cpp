#include "compiler/syntax/errors/recovery.h"

#include "llvm/ADT/STLExtras.h"

namespace cgraph::syntax {
namespace {

bool Opens(size_t type) {
  return type == Lexer::LPAREN || type == Lexer::LBRACKET || type == Lexer::LBRACE;
}
bool Closes(size_t type) {
  return type == Lexer::RPAREN || type == Lexer::RBRACKET || type == Lexer::RBRACE;
}

bool CanBeginStatement(size_t type) {
  return llvm::is_contained(kStatementWords, type) || type == Lexer::SEMICOLON || IsName(type);
}

// Returns whether a statement can be taken up again here. A name or an `if` may also stand inside
// an expression, so they count only at the beginning of a line.
bool ResumesStatement(const Lexeme& lexeme) {
  if (lexeme.type == Lexer::RBRACE) return true;
  if (!CanBeginStatement(lexeme.type)) return false;
  return lexeme.first_on_line || !(IsName(lexeme.type) || lexeme.type == Lexer::IF);
}

size_t RuleOf(antlr4::Parser* parser) { return parser->getContext()->getRuleIndex(); }

// Elements of the bodies other than blocks: the word that each begins with, and lexemes that can
// only be its beginning.
struct Elements {
  bool (*is_word)(size_t type);
  bool (*starts)(const Lexemes&, size_t);
};

bool IsMemberWord(size_t type) {
  return type == Lexer::STATE || type == Lexer::PARAM || type == Lexer::METHOD;
}
bool IsRuleWord(size_t type) {
  return type == Lexer::PREFER || type == Lexer::ORDER || type == Lexer::LIMIT ||
         type == Lexer::FUSE || type == Lexer::MEMORY;
}
bool IsPartWord(size_t type) {
  return type == Lexer::DEVICE || type == Lexer::RESOURCE || type == Lexer::LINK;
}

constexpr Elements kMembers = {IsMemberWord, StartsMember};
constexpr Elements kRules = {IsRuleWord, StartsRule};
constexpr Elements kParts = {IsPartWord, StartsPart};

const Elements* ElementsOf(size_t body) {
  switch (body) {
    case Grammar::RuleMembers: return &kMembers;
    case Grammar::RuleScheduleBody: return &kRules;
    case Grammar::RuleTopologyBody: return &kParts;
    default: return nullptr;
  }
}

// Returns whether the elements can be taken up again here. At the beginning of a line their word
// suffices, so that errors inside the next one are reported as well.
bool ResumesElement(const Elements& elements, const Lexemes& lexemes, size_t at) {
  return elements.starts(lexemes, at) ||
         (lexemes[at].first_on_line && elements.is_word(lexemes[at].type));
}

}  // namespace

void Recovery::reportError(antlr4::Parser* parser, const antlr4::RecognitionException& error) {
  if (in_error_) return;
  in_error_ = true;
  error_at_ = error.getOffendingToken()->getTokenIndex();
  // When prediction fails ahead of where it began, the expected tokens there are not known.
  antlr4::misc::IntervalSet expected;
  if (error_at_ == window_.index()) expected = error.getExpectedTokens();
  ReportUnexpected(window_.lexemes(), error_at_, expected, RuleOf(parser), errors_);
}

void Recovery::recover(antlr4::Parser* parser, std::exception_ptr error) {
  const antlr4::ParserRuleContext* context = parser->getContext();
  const size_t begin = context->start->getTokenIndex();
  switch (context->getRuleIndex()) {
    case Grammar::RuleStatement:
      SkipStatement(begin, std::max(error_at_, window_.index()));
      break;
    case Grammar::RuleMember:
      SkipElement(Grammar::RuleMembers, begin);
      break;
    case Grammar::RuleScheduleRule:
      SkipElement(Grammar::RuleScheduleBody, begin);
      break;
    case Grammar::RuleTopologyItem:
      SkipElement(Grammar::RuleTopologyBody, begin);
      break;
    case Grammar::RuleItem:
      SkipToDeclaration();
      break;
    default:
      std::rethrow_exception(error);
  }
  in_error_ = false;
}

// Called at every loop; only those over statements, members, rules and parts are ours to keep
// going. Text that begins with the right word is read as an element, so that its error is described
// from inside, at the lexeme that does not fit.
void Recovery::sync(antlr4::Parser* parser) {
  const size_t rule = RuleOf(parser);
  const bool block = rule == Grammar::RuleBlock;
  const Elements* elements = ElementsOf(rule);
  if (!block && elements == nullptr) return;
  while (true) {
    const size_t at = window_.index();
    const size_t type = window_.lexemes()[at].type;
    if (type == Lexer::RBRACE || type == antlr4::Token::EOF) return;
    if (block ? CanBeginStatement(type) : elements->is_word(type)) return;
    ReportUnexpected(window_.lexemes(), at, {}, rule, errors_);
    if (block) {
      SkipStatement(at, at);
    } else {
      SkipElement(rule, at);
    }
  }
}

void Recovery::SkipStatement(size_t begin, size_t error_at) {
  const Lexemes& lexemes = window_.lexemes();
  int depth = 0;
  size_t at = begin;
  for (; lexemes[at].type != antlr4::Token::EOF; ++at) {
    const Lexeme& lexeme = lexemes[at];
    if (depth == 0 && at > begin && at >= error_at && ResumesStatement(lexeme)) break;
    if (depth == 0 && lexeme.type == Lexer::RBRACE) break;
    if (Opens(lexeme.type)) ++depth;
    if (Closes(lexeme.type)) --depth;
  }
  window_.seek(at);
}

void Recovery::SkipElement(size_t body, size_t begin) {
  const Elements& elements = *ElementsOf(body);
  const Lexemes& lexemes = window_.lexemes();
  int depth = 0;
  size_t at = begin;
  for (; lexemes[at].type != antlr4::Token::EOF; ++at) {
    if (depth == 0 && at > begin && ResumesElement(elements, lexemes, at)) break;
    if (depth == 0 && lexemes[at].type == Lexer::RBRACE) break;
    if (Opens(lexemes[at].type)) ++depth;
    if (Closes(lexemes[at].type)) --depth;
  }
  window_.seek(at);
}

void Recovery::SkipToDeclaration() {
  const Lexemes& lexemes = window_.lexemes();
  int depth = 0;
  size_t at = window_.index();
  for (; lexemes[at].type != antlr4::Token::EOF; ++at) {
    if (depth <= 0 && StartsDeclaration(lexemes, at)) break;
    if (Opens(lexemes[at].type)) ++depth;
    if (Closes(lexemes[at].type)) --depth;
  }
  window_.seek(at);
}

}  // namespace cgraph::syntax
