// The memory of a running graph: every arena in its copies, and which instructions are touching it
// right now.
#ifndef CGRAPH_TESTS_INTERPRETER_MEMORY_H_
#define CGRAPH_TESTS_INTERPRETER_MEMORY_H_

#include <cstdint>
#include <vector>

#include "tests/interpreter/meaning.h"
#include "tests/interpreter/symbolic.h"
#include "tests/interpreter/view.h"

namespace cgraph::interpreter {

class ArenaMemory {
 public:
  // Memory for executions from -`longest_lag` on.
  ArenaMemory(const View& view, int64_t longest_lag) : view_(view), longest_lag_(longest_lag) {
    arenas_.resize(view.graph->arenas.size());
  }

  Content Read(const Touch& touch, int64_t execution) {
    return BlockOf(touch.arena, execution).Read(touch.begin, touch.end);
  }
  void Write(const Touch& touch, int64_t execution, const Content& content) {
    BlockOf(touch.arena, execution).Write(touch.begin, content);
  }
  // Returns the block of the arena that an execution works in.
  uint64_t InstanceOf(uint32_t arena, int64_t execution) const {
    const uint64_t from_first = static_cast<uint64_t>(execution + longest_lag_);
    const uint64_t copies = view_.graph->arenas[arena].copies();
    if (copies == 0) {
      return from_first;  // a fresh one for each execution
    }
    const int64_t rest = execution % static_cast<int64_t>(copies);
    return static_cast<uint64_t>(rest < 0 ? rest + static_cast<int64_t>(copies) : rest);
  }

 private:
  Block& BlockOf(uint32_t arena, int64_t execution) {
    const uint64_t instance = InstanceOf(arena, execution);
    std::vector<Block>& blocks = arenas_[arena];
    while (blocks.size() <= instance) {
      blocks.push_back(Fresh(arena));
    }
    return blocks[instance];
  }

  Block Fresh(uint32_t arena) const {
    const plan::Graph& graph = *view_.graph;
    Block block(graph.arenas[arena].bytes());
    const plan::Space space = graph.arenas[arena].space();
    if (space == plan::Space::state || space == plan::Space::constant) {
      for (uint32_t buffer = 0; buffer < graph.buffers.size(); ++buffer) {
        if (graph.buffers[buffer].arena() == arena) {
          block.Write(graph.buffers[buffer].offset(), InitialContent(view_, buffer));
        }
      }
    }
    return block;
  }

  const View& view_;
  const int64_t longest_lag_;
  std::vector<std::vector<Block>> arenas_;  // by arena, then instance
};

}  // namespace cgraph::interpreter

#endif  // CGRAPH_TESTS_INTERPRETER_MEMORY_H_
