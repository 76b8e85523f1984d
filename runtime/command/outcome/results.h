// The outputs of the executions: kept, concatenated when the input was a batch, written, printed.
#ifndef CGRAPH_RUNTIME_COMMAND_OUTCOME_RESULTS_H_
#define CGRAPH_RUNTIME_COMMAND_OUTCOME_RESULTS_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "runtime/command/options.h"
#include "runtime/engine/engine.h"
#include "runtime/status/output_files.h"

namespace cgraph::command {

class Results {
 public:
  // `concatenate`: outputs are joined along dim 0, single numbers become one dimension. Otherwise
  // those of the last execution are kept.
  explicit Results(bool concatenate) : concatenate_(concatenate) {}

  // kInvalid when an output differs from those before it in more than its first dimension.
  Status Add(const Outputs& outputs);

  // The .npy files, by name of an output, or of a list, whose elements are stacked. kInvalid when
  // they differ in their types.
  Status Add(OutputFiles& files, const std::vector<NameAndValue>& paths) const;
  std::string Text() const;
  // By name: type, dtype, dims, and the data or the file that it was written to.
  nlohmann::ordered_json Json(const std::vector<NameAndValue>& paths) const;

 private:
  struct Joined {
    std::vector<int64_t> dims;
    std::vector<uint8_t> bytes;
  };
  Status AddStacked(OutputFiles& files, const std::string& name, const std::string& path,
                    std::span<const size_t> elements) const;
  size_t size() const { return last_ ? last_->size() : 0; }
  device::Tensor Tensor(size_t i) const;

  const bool concatenate_;
  std::optional<Outputs> last_;
  std::vector<Joined> joined_;
};

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_OUTCOME_RESULTS_H_
