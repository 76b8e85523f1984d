// Shards: which file of a checkpoint has each tensor, as Hugging Face's index says it,
// {"weight_map": {"layers.0.weight": "model-00001-of-00002.safetensors", ...}, "metadata": {...}}.
#ifndef CGRAPH_RUNTIME_FILES_SHARDS_H_
#define CGRAPH_RUNTIME_FILES_SHARDS_H_

#include <map>
#include <string>

#include "runtime/base/status.h"

namespace cgraph::files {

class Shards {
 public:
  // Reads an index. kNotFound where it cannot be read, kInvalid where it is none.
  static Result<Shards> Read(const std::string& path);

  // Returns the name of the file that has a tensor, which lies beside the index; kInvalid where the
  // index has no such tensor.
  Result<std::string> FileOf(const std::string& tensor) const;

 private:
  std::string path_;
  std::map<std::string, std::string> files_;  // by tensor
};

}  // namespace cgraph::files

#endif  // CGRAPH_RUNTIME_FILES_SHARDS_H_
