// Inputs of a graph: the values given on the command line, and how they are cut into executions.
#ifndef CGRAPH_RUNTIME_COMMAND_INPUTS_INPUTS_H_
#define CGRAPH_RUNTIME_COMMAND_INPUTS_INPUTS_H_

#include <optional>
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
  // `prefix`: what stands before an input's name on the command line, "accuracy.".
  static Problem Read(const plan::Plan& plan, const plan::Graph& graph, const Options& options,
                      Inputs& inputs, std::span<const std::string> fed = {},
                      const std::string& prefix = "");

  // Executions of one pass: 1, or with --batch as many as slices.
  size_t executions() const { return executions_; }
  bool is_batched() const { return is_batched_; }
  int64_t rows() const { return rows_; }            // of --batch; without it 0
  int64_t per_slice() const { return per_slice_; }  // as many as the graph takes at once
  // Rows of --batch of an execution.
  int64_t RowsOf(uint64_t execution) const;
  // What is to be said of rows that no execution has; empty: there are none.
  std::string NoteOfLeftOut() const;

  // The inputs of an execution, the first of which is number 0; those of later passes follow those
  // of the first. They are valid until the next call, and their data, which is lent, until the call
  // for the execution that is `inflight` of the graph later: the Inputs must outlive the engine.
  // Fails where a file that is read meanwhile has become shorter or cannot be read.
  Result<std::span<const Input>> Slice(uint64_t execution);

 private:
  struct Given {
    std::string name;
    files::Array array;
    std::optional<files::NpyRows> file;  // instead of the array's bytes: of a large file
    bool batched = false;
    std::vector<int64_t> dims;           // of the slice
    // Rows that do not lie one behind the other in memory are collected, by turns in each of these.
    std::vector<std::vector<uint8_t>> collected;
    uint64_t row_bytes = 0;
  };
  Problem Cut(const plan::Plan& plan, const plan::Graph& graph, const Options& options);
  void Shuffle(uint64_t epoch);
  Status Collect(const Given& given, int64_t first, int64_t rows, std::vector<uint8_t>& to) const;

  std::vector<Given> given_;
  std::vector<Input> slice_;
  bool is_batched_ = false;
  size_t executions_ = 1;
  int64_t rows_ = 0;      // of a batched input in total
  int64_t per_slice_ = 0;
  std::optional<uint64_t> seed_;  // of the order of rows; none: as they stand
  std::vector<int64_t> order_;    // of the epoch in which the last slice was
  uint64_t epoch_ = 0;            // this one
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
