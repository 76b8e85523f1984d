// Until: the condition of --until, OUTPUT==NUMBER, that ends the executions of a call; and what is
// said of a name that no port has.
#ifndef CGRAPH_RUNTIME_COMMAND_RUN_UNTIL_H_
#define CGRAPH_RUNTIME_COMMAND_RUN_UNTIL_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/command/messages.h"
#include "runtime/command/options.h"
#include "runtime/engine/engine.h"
#include "runtime/files/npy.h"
#include "runtime/plan/plan.h"

namespace cgraph::command {

// Ports: the inputs or the outputs of a graph.
using Ports = std::vector<std::unique_ptr<plan::Port>> plan::Graph::*;

// Returns the end of a message that a name is none of the ports of the graphs that are called:
// which name may be meant, if one is near, and which there are, each with its graph.
// "; did you mean `by`?; they have step.by, step.x".
std::string PortNames(const std::vector<const plan::Graph*>& graphs, Ports ports,
                      const std::string& name);

class Until {
 public:
  // Finds the output among those of the graphs that are called, and reads the number as one of its
  // dtype: 0.1 is f32's nearest of an f32, and 2.5 is none of an i64.
  static Problem Read(const std::vector<const plan::Graph*>& graphs, const Options& options,
                      Until& until);

  // Returns whether all elements of the output are the number. False where the graph lacks it.
  bool Holds(const std::string& graph, const Outputs& outputs) const;

  // Returns what a user is told whose call of the graph has ended without it; empty: nothing, as
  // of ints, for which the number of executions is a limit like another.
  std::string NoteOfNone(const GraphCall& call, const Options& options) const;

 private:
  struct Number {
    std::string output;   // without the graph's name
    files::Array number;  // of the output's dtype, without dimensions
  };
  std::map<std::string, Number> of_graphs_;  // of those that have the output
};

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_RUN_UNTIL_H_
