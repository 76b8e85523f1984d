// Inputs of a graph: the values given on the command line, and how they are cut into executions.
#ifndef CGRAPH_RUNTIME_COMMAND_INPUTS_INPUTS_H_
#define CGRAPH_RUNTIME_COMMAND_INPUTS_INPUTS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/command/messages.h"
#include "runtime/command/options.h"
#include "runtime/engine/engine.h"
#include "runtime/files/npy.h"
#include "runtime/plan/plan.h"

namespace cgraph::command {

class Inputs {
 public:
  // Reads every --input of the graph and compares it with its port. Ports in `fed` need none.
  static Problem Read(const plan::Plan& plan, const plan::Graph& graph, const Options& options,
                      Inputs& inputs, std::span<const std::string> fed = {});

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

// Values written on the command line: 3, 1.5, true, [1, 2, 3], [[1, 2], [3, 4]].
//
// Parses `text` as a tensor of this dtype, with the shape that the brackets say. Integers must be
// exact and in range; floats may also be inf and nan. Returns kInvalid with the position when the
// text is no literal, when rows differ in length, or when brackets nest deeper than tensors have
// dimensions.
Result<files::Array> ParseLiteral(std::string_view text, plan::DType dtype);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_INPUTS_INPUTS_H_
