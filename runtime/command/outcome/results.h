// The outputs of the executions: kept or joined, written, printed.
#ifndef CGRAPH_RUNTIME_COMMAND_OUTCOME_RESULTS_H_
#define CGRAPH_RUNTIME_COMMAND_OUTCOME_RESULTS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "runtime/base/output_files.h"
#include "runtime/command/options.h"
#include "runtime/engine/engine.h"

namespace cgraph::command {

enum class Keep : uint8_t {
  kLast,          // the outputs of the last execution
  kConcatenated,  // of all, joined along dimension 0; single numbers become one dimension
  kStacked,       // of all, along a new first dimension
  kPasses,        // those of each pass joined along dimension 0, the passes stacked
};

class Results {
 public:
  // `slices`: the executions of a pass, for kPasses.
  Results(Keep keep, uint64_t slices) : keep_(keep), slices_(slices) {}

  // Returns kInvalid when an output differs from the earlier ones in more than its first dimension,
  // has no dimension left to stack along, or has more rows in one pass than in another. Where
  // several graphs are executed, `graph` is the name of the one, and its outputs are called
  // "decode.token".
  Status Add(const Outputs& outputs, const std::string& graph = "");

  // Writes .npy files, and .safetensors files with all outputs, whose names are empty. A path is
  // named by an output, or by a list, whose elements are stacked.
  // Returns kInvalid when the elements differ in their types.
  Status Add(OutputFiles& files, const std::vector<NameAndValue>& paths) const;
  // Of a graph that repeats, and gave no row: its outputs have none.
  void AddNoRows(const plan::Plan& plan, uint32_t graph);
  // Leaves out an output, which is printed as it comes: it need not have one shape.
  void LeaveOut(const std::string& output) { left_out_ = output; }
  std::string Text() const;
  // Returns those of the paths that Add() writes nothing to, since there are no such results.
  std::vector<std::string> Absent(const std::vector<NameAndValue>& paths) const;
  // Returns, by name: type, dtype, dims, and the data or the file that the data was written to;
  // without `written`, what has a path is left out.
  nlohmann::ordered_json Json(const std::vector<NameAndValue>& paths, bool written) const;

 private:
  struct Joined {
    std::vector<int64_t> dims;
    std::vector<uint8_t> bytes;
    int64_t rows = 0;  // of the first pass
  };
  // Part: what one graph has given.
  struct Part {
    std::string prefix;
    std::optional<Outputs> last;
    std::vector<Joined> joined;
    uint64_t executions = 0;  // that are joined
  };
  // One tensor of all parts.
  struct Entry {
    std::string name;
    device::Tensor tensor;
  };
  Status Join(const Outputs& outputs, Part& part);
  Status EndPass(Part& part) const;
  Status AddAll(OutputFiles& files, const std::string& path) const;
  Status AddStacked(OutputFiles& files, const std::string& name, const std::string& path,
                    std::span<const size_t> elements) const;
  std::vector<Entry> Entries() const;

  const Keep keep_;
  const uint64_t slices_;
  std::vector<Part> parts_;
  std::vector<Entry> without_rows_;
  std::string left_out_;
};

// Returns the elements of a tensor on one line, as JSON: 3, [0.5, 1.5], [[1, 2], [3, 4]].
std::string LineOf(const device::Tensor& tensor);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_OUTCOME_RESULTS_H_
