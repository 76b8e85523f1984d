// ANTLR and what it made of the grammar. Only files of this folder include this.
#ifndef CGRAPH_COMPILER_SYNTAX_ANTLR_H_
#define CGRAPH_COMPILER_SYNTAX_ANTLR_H_

#include "compiler/syntax/rule_node.h"
// The generated headers use what the headers above declare.
#include "CgraphLexer.h"
#include "CgraphParser.h"
#include "antlr4-runtime.h"

namespace cgraph::syntax {

using Lexer = ::CgraphLexer;
using Grammar = ::CgraphParser;

}  // namespace cgraph::syntax

#endif  // CGRAPH_COMPILER_SYNTAX_ANTLR_H_
