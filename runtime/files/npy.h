// NumPy's .npy files: a header and the bytes. Reads versions 1.0-3.0, C order and native byte order
// (others are refused by name); writes 1.0. A header's numbers are never believed before they are
// checked against the file's size.
#ifndef CGRAPH_RUNTIME_FILES_NPY_H_
#define CGRAPH_RUNTIME_FILES_NPY_H_

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/output_files.h"
#include "runtime/base/read_file.h"
#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace cgraph::files {

// A tensor that owns its bytes.
struct Array {
  plan::DType dtype = plan::DType::f32;
  std::vector<int64_t> dims;
  std::vector<uint8_t> bytes;
};

Result<Array> ParseNpy(std::span<const uint8_t> bytes);
// Reads a file; "-" is standard input. kTimeout when nothing has come out of a pipe for as long as
// `patience`.
Result<Array> ReadNpy(const std::string& path, Patience patience = kForever);
std::vector<uint8_t> FormatNpyHeader(plan::DType dtype, std::span<const int64_t> dims);
// Adds one more file to those that are written together.
Status AddNpy(OutputFiles& files, const std::string& path, plan::DType dtype,
              std::span<const int64_t> dims, std::span<const uint8_t> bytes);

}  // namespace cgraph::files

#endif  // CGRAPH_RUNTIME_FILES_NPY_H_
