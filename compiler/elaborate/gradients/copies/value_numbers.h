// ValueNumbers: numbers that are equal where values of a graph must be equal: ops of equal operands
// make equal results, and an all_reduce gives every participant the same. Native code is taken for
// a function of its operands, but in the start graph, where nothing says that it is one.
#ifndef CGRAPH_COMPILER_ELABORATE_GRADIENTS_COPIES_VALUE_NUMBERS_H_
#define CGRAPH_COMPILER_ELABORATE_GRADIENTS_COPIES_VALUE_NUMBERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace cgraph::elaborate {

class ValueNumbers {
 public:
  // `states`: by StateId, the numbers of what states hold at the start, as another one (of the
  // start graph) has given them; without: each is a value of its own.
  explicit ValueNumbers(const graph::Graph& graph,
                        const std::vector<std::string>* states = nullptr);

  uint32_t operator[](graph::ValueId id) const { return numbers_[id.index]; }
  // Returns for each state what it holds in the end, as a text that is equal where that is.
  std::vector<std::string> StateTexts(size_t states) const;

 private:
  void NumberLeaf(graph::ValueId id, const std::vector<std::string>* states);
  void NumberResults(graph::OpId id);
  uint32_t Intern(const std::string& key);

  const graph::Graph& graph_;
  const bool starts_;              // it is the start graph
  std::vector<uint32_t> numbers_;  // by ValueId
  std::map<std::string, uint32_t> interned_;
};

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_GRADIENTS_COPIES_VALUE_NUMBERS_H_
