#include "compiler/syntax/lexer_table.h"

namespace cgraph::syntax {

int32_t LexerTable::IdOf(const antlr4::dfa::DFAState* state) {
  auto [known, added] = ids_.emplace(state, static_cast<int32_t>(states_.size()));
  if (added) states_.emplace_back(state);
  return known->second;
}

int32_t LexerTable::Next(int32_t state, unsigned char byte) {
  if (byte >= kBytes) return kUnknown;
  int32_t next = states_[state].next[byte];
  if (next != kUnknown) return next;
  const auto& edges = states_[state].antlr->edges;
  const auto edge = edges.find(byte);
  if (edge == edges.end()) return kUnknown;
  const bool error = edge->second == antlr4::atn::ATNSimulator::ERROR.get();
  next = error ? kNone : IdOf(edge->second);
  states_[state].next[byte] = next;
  return next;
}

LexerTable::Token LexerTable::Find(llvm::StringRef text, Lexer& lexer) {
  if (states_.empty()) {
    const auto* dfas = lexer.getInterpreter<antlr4::atn::LexerATNSimulator>();
    const antlr4::dfa::DFAState* start = dfas->_decisionToDFA[Lexer::DEFAULT_MODE].s0;
    if (start == nullptr) return {};  // nothing was read so far
    IdOf(start);
  }
  Token token;
  int32_t state = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    state = Next(state, static_cast<unsigned char>(text[i]));
    if (state == kUnknown) return {};
    if (state == kNone) return token;
    const antlr4::dfa::DFAState& reached = *states_[state].antlr;
    if (!reached.isAcceptState) continue;
    token = {reached.prediction, i + 1, reached.lexerActionExecutor != nullptr};
  }
  return {};
}

}  // namespace cgraph::syntax
