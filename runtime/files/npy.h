// NumPy's .npy files: a header and the bytes. Reads versions 1.0-3.0, C order and native byte order
// (others are refused by name); writes 1.0. A header's numbers are never believed before they are
// checked against the file's size.
#ifndef CGRAPH_RUNTIME_FILES_NPY_H_
#define CGRAPH_RUNTIME_FILES_NPY_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/output_files.h"
#include "runtime/base/read_file.h"
#include "runtime/base/status.h"
#include "runtime/files/file.h"
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

// NpyRows: an .npy file that stays open and is read a few rows at a time; a row is what it has at
// one index of its first dimension. Its booleans are not checked.
class NpyRows {
 public:
  // Opens a regular file. Errors are those of ReadNpy().
  static Result<NpyRows> Open(const std::string& path);

  plan::DType dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  uint64_t row_bytes() const { return row_bytes_; }
  // Reads as many rows as `out` holds; they must exist. kInvalid when the file has become shorter.
  Status Read(int64_t first, std::span<uint8_t> out) const {
    return file_.ReadAt(offset_ + static_cast<uint64_t>(first) * row_bytes_, out);
  }

 private:
  explicit NpyRows(File file) : file_(std::move(file)) {}

  File file_;
  plan::DType dtype_ = plan::DType::f32;
  std::vector<int64_t> dims_;
  uint64_t offset_ = 0, row_bytes_ = 0;
};

std::vector<uint8_t> FormatNpyHeader(plan::DType dtype, std::span<const int64_t> dims);
// Adds one more file to those that are written together.
Status AddNpy(OutputFiles& files, const std::string& path, plan::DType dtype,
              std::span<const int64_t> dims, std::span<const uint8_t> bytes);

}  // namespace cgraph::files

#endif  // CGRAPH_RUNTIME_FILES_NPY_H_
