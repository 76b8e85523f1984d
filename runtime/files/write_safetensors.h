// Writes .safetensors files.
#ifndef CGRAPH_RUNTIME_FILES_WRITE_SAFETENSORS_H_
#define CGRAPH_RUNTIME_FILES_WRITE_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/output_files.h"
#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace cgraph::files {

// A tensor with its name, dense and row-major; the caller owns the bytes.
struct NamedTensor {
  std::string name;
  plan::DType dtype = plan::DType::f32;
  std::vector<int64_t> dims;
  std::span<const uint8_t> bytes;
};

// Adds one more file to those that are written together, with the tensors in this order, and what
// it says of itself (Safetensors::Metadata). kInvalid when two have one name.
Status AddSafetensors(OutputFiles& files, const std::string& path,
                      std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace cgraph::files

#endif  // CGRAPH_RUNTIME_FILES_WRITE_SAFETENSORS_H_
