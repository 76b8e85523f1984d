// .safetensors files: an 8-byte length, a JSON header, the bytes.
#ifndef CGRAPH_RUNTIME_FILES_SAFETENSORS_H_
#define CGRAPH_RUNTIME_FILES_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/files/file.h"
#include "runtime/plan/plan.h"

namespace cgraph::files {

// The names of dtypes in .safetensors files.
inline constexpr std::pair<const char*, plan::DType> kSafetensorsDTypes[] = {
    {"BOOL", plan::DType::bool_}, {"I8", plan::DType::i8},   {"U8", plan::DType::u8},
    {"I32", plan::DType::i32},    {"I64", plan::DType::i64}, {"F16", plan::DType::f16},
    {"BF16", plan::DType::bf16},  {"F32", plan::DType::f32}, {"F64", plan::DType::f64},
};

// Safetensors: one open file. The header is read and checked when the file is opened (length,
// nesting, duplicates, offsets inside the file without gaps, sizes that match dtype and shape);
// tensors are read when asked for.
class Safetensors {
 public:
  // What a file says of itself, beside its tensors: names and texts, `__metadata__` of the format.
  using Metadata = std::map<std::string, std::string>;
  struct Entry {
    plan::DType dtype = plan::DType::f32;
    std::vector<int64_t> dims;
    uint64_t offset = 0;  // in the file
    uint64_t bytes = 0;
  };
  // Identity: what files on two machines have alike if they are the same, to all appearances.
  struct Identity {
    uint64_t bytes = 0;
    int64_t modified_ns = 0;
    uint64_t header = 0;  // a digest of it

    bool operator==(const Identity&) const = default;
  };
  static Result<std::unique_ptr<Safetensors>> Open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  Identity identity() const { return {*file_.size(), file_.modified_ns(), header_digest_}; }

  // Returns the tensors whose dtypes the plan has.
  const std::map<std::string, Entry>& entries() const { return entries_; }
  const Metadata& metadata() const { return metadata_; }

  // Returns the error for a tensor that is not there, with the names of those that are.
  Status Missing(const std::string& tensor) const;

  // Reads the slice that starts at `first` and has `count` elements per dimension (both empty: all)
  // into `out`, which has exactly its size. kInvalid when there is no such tensor or slice.
  Status Read(const std::string& tensor, std::span<const int64_t> first,
              std::span<const int64_t> count, std::span<uint8_t> out) const;

 private:
  explicit Safetensors(File file) : file_(std::move(file)) {}
  Status ReadHeader();

  File file_;
  uint64_t header_digest_ = 0;
  std::map<std::string, Entry> entries_;
  Metadata metadata_;
  std::map<std::string, std::string> foreign_;  // tensors of other dtypes: their dtype
};

}  // namespace cgraph::files

#endif  // CGRAPH_RUNTIME_FILES_SAFETENSORS_H_
