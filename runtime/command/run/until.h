// Until: the condition of --until, OUTPUT==NUMBER, that ends the executions of a call.
#ifndef CGRAPH_RUNTIME_COMMAND_RUN_UNTIL_H_
#define CGRAPH_RUNTIME_COMMAND_RUN_UNTIL_H_

#include <map>
#include <string>
#include <vector>

#include "runtime/command/messages.h"
#include "runtime/command/options.h"
#include "runtime/engine/engine.h"
#include "runtime/files/npy.h"
#include "runtime/plan/plan.h"

namespace cgraph::command {

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
