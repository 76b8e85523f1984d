// What the graph is executed with: the inputs as given, and how they are cut into executions.
#ifndef CGRAPH_RUNTIME_COMMAND_INPUTS_INPUTS_H_
#define CGRAPH_RUNTIME_COMMAND_INPUTS_INPUTS_H_

#include <span>
#include <string>
#include <vector>

#include "runtime/command/options.h"
#include "runtime/command/problem.h"
#include "runtime/engine/engine.h"
#include "runtime/files/npy.h"
#include "runtime/plan/plan.h"

namespace cgraph::command {

class Inputs {
 public:
  // Reads every --input of the graph and compares it with its port.
  static Problem Read(const plan::Plan& plan, const plan::Graph& graph, const Options& options,
                      Inputs& inputs);

  // Executions of one pass: 1, or with --batch as many as slices.
  size_t executions() const { return executions_; }
  // The inputs of the i-th execution; valid until the next call. Their data lie where they were
  // read, and are lent: the Inputs must outlive the engine.
  std::span<const Input> Slice(size_t i);

 private:
  struct Given {
    std::string name;
    files::Array array;
    bool batched = false;
    std::vector<int64_t> dims;  // of the slice
  };
  Problem Cut(const plan::Plan& plan, const plan::Graph& graph, const Options& options);

  std::vector<Given> given_;
  std::vector<Input> slice_;
  size_t executions_ = 1;
  int64_t rows_ = 0;      // of a batched input in total
  int64_t per_slice_ = 0;
};

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_INPUTS_INPUTS_H_
