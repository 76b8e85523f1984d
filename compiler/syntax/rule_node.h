// The class that ANTLR's rule contexts derive from: -DcontextSuperClass in compiler/CMakeLists.txt.
//
// A generated accessor such as `context->expr()` looks for children of one type. ANTLR asks each
// child with two dynamic_casts, which was a fifth of the time that reading a file takes. No context
// has a subclass, and all are of one binary, where a type has one type_info: comparing its address
// is enough.
#ifndef CGRAPH_COMPILER_SYNTAX_RULE_NODE_H_
#define CGRAPH_COMPILER_SYNTAX_RULE_NODE_H_

#include <typeinfo>
#include <vector>

#include "antlr4-runtime.h"

namespace cgraph::syntax {

class RuleNode : public antlr4::ParserRuleContext {
 public:
  using antlr4::ParserRuleContext::ParserRuleContext;

  // The i-th child of type T, or null. The names are ANTLR's: generated code calls them.
  template <typename T>
  T* getRuleContext(size_t i) {
    for (antlr4::tree::ParseTree* child : children) {
      if (&typeid(*child) == &typeid(T) && i-- == 0) return static_cast<T*>(child);
    }
    return nullptr;
  }

  template <typename T>
  std::vector<T*> getRuleContexts() {
    std::vector<T*> found;
    for (antlr4::tree::ParseTree* child : children) {
      if (&typeid(*child) == &typeid(T)) found.push_back(static_cast<T*>(child));
    }
    return found;
  }
};

}  // namespace cgraph::syntax

#endif  // CGRAPH_COMPILER_SYNTAX_RULE_NODE_H_
