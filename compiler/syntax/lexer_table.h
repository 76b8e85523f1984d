// The lexer's DFA as a table.
//
// ANTLR builds the DFA of the grammar's tokens as texts need it, and follows it with a lock and a
// look into a hash map for every byte. Here the edges that it has built are copied into rows of a
// table, once each. What the table lacks ANTLR reads, which adds the edge.
#ifndef CGRAPH_COMPILER_SYNTAX_LEXER_TABLE_H_
#define CGRAPH_COMPILER_SYNTAX_LEXER_TABLE_H_

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "compiler/syntax/antlr.h"
#include "llvm/ADT/StringRef.h"

namespace cgraph::syntax {

class LexerTable {
 public:
  struct Token {
    size_t type = antlr4::Token::INVALID_TYPE;  // no token: ANTLR has to read it
    size_t length = 0;
    bool hidden = false;  // a space or a comment
  };

  // The longest token that `text` begins with. None where the table is not complete, and where the
  // token reaches the end of the text, which only ANTLR knows as a character.
  Token Find(llvm::StringRef text, Lexer& lexer);

 private:
  static constexpr int32_t kUnknown = -2;  // not looked up, or ANTLR has no such edge so far
  static constexpr int32_t kNone = -1;     // no token goes on with this byte
  static constexpr size_t kBytes = 128;    // ANTLR builds edges for ASCII

  struct State {
    explicit State(const antlr4::dfa::DFAState* antlr) : antlr(antlr) { next.fill(kUnknown); }
    const antlr4::dfa::DFAState* antlr;
    std::array<int32_t, kBytes> next;
  };

  int32_t IdOf(const antlr4::dfa::DFAState* state);
  int32_t Next(int32_t state, unsigned char byte);

  std::vector<State> states_;
  std::unordered_map<const antlr4::dfa::DFAState*, int32_t> ids_;
};

}  // namespace cgraph::syntax

#endif  // CGRAPH_COMPILER_SYNTAX_LEXER_TABLE_H_
