// The outputs of the executions: kept, concatenated when the input was a batch, written, printed.
#ifndef CGRAPH_RUNTIME_COMMAND_OUTCOME_RESULTS_H_
#define CGRAPH_RUNTIME_COMMAND_OUTCOME_RESULTS_H_

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "runtime/command/options.h"
#include "runtime/engine/engine.h"

namespace cgraph::command {

class Results {
 public:
  // `concatenate`: outputs are joined along dim 0, single numbers become one dimension. Otherwise
  // those of the last execution are kept.
  explicit Results(bool concatenate) : concatenate_(concatenate) {}

  // kInvalid when an output differs from those before it in more than its first dimension.
  Status Add(const Outputs& outputs);

  Status Write(const std::vector<NameAndValue>& paths) const;
  std::string Text() const;
  // By name: type, dtype, dims, and the data or the file that it was written to.
  nlohmann::ordered_json Json(const std::vector<NameAndValue>& paths) const;

 private:
  struct Joined {
    std::vector<int64_t> dims;
    std::vector<uint8_t> bytes;
  };
  size_t size() const { return last_ ? last_->size() : 0; }
  device::Tensor Tensor(size_t i) const;

  const bool concatenate_;
  std::optional<Outputs> last_;
  std::vector<Joined> joined_;
};

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_OUTCOME_RESULTS_H_
