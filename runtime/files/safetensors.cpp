// The header is JSON of a fixed shape, {"name": {"dtype": "F32", "shape": [..], "data_offsets":
// [begin, end]}, ..., "__metadata__": {"key": "text"}}. It is parsed as a stream of events: nothing
// is built for parts that do not belong there, and nesting, duplicates and strange numbers are
// refused where they stand.
#include "runtime/files/safetensors.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/base/text.h"
#include "runtime/files/digest.h"
#include "runtime/plan/kinds.h"

namespace cgraph::files {
namespace {

using plan::DType;

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;  // the format's own limit
constexpr size_t kMaxSafetensorsRank = 64;

// One tensor as the header states it.
struct Stated {
  std::string name, dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> offsets;
  bool has_dtype = false, has_shape = false, has_offsets = false;
};

class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<Stated> tensors;
  Safetensors::Metadata metadata;
  std::string why;  // of a refusal

  bool start_object(size_t) override {
    if (array_ != nullptr || depth_ == 2) return Refuse("it has an object where none belongs");
    if (depth_ == 1) StartTensor();
    ++depth_;
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1 && !in_metadata_) {
      const Stated& tensor = tensors.back();
      if (!tensor.has_dtype || !tensor.has_shape || !tensor.has_offsets) {
        return Refuse(fmt::format("tensor `{}` lacks dtype, shape or data_offsets", tensor.name));
      }
    }
    return true;
  }
  bool key(std::string& name) override {
    key_ = name;
    if (depth_ == 1 && !names_.insert(name).second) {
      return Refuse(fmt::format("`{}` is there twice", name));
    }
    return true;
  }
  bool string(std::string& text) override {
    if (depth_ == 2 && in_metadata_) {
      metadata[key_] = text;
      return true;
    }
    if (depth_ != 2 || array_ != nullptr || key_ != "dtype" || tensors.back().has_dtype) {
      return Refuse("it has a text where none belongs");
    }
    tensors.back().has_dtype = true;
    tensors.back().dtype = text;
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ != 2 || in_metadata_ || array_ != nullptr) {
      return Refuse("it has a list where none belongs");
    }
    Stated& tensor = tensors.back();
    bool& seen = key_ == "shape" ? tensor.has_shape : tensor.has_offsets;
    if ((key_ != "shape" && key_ != "data_offsets") || seen) {
      return Refuse(fmt::format("tensor `{}` has a list `{}` that is unknown or there twice",
                                tensor.name, key_));
    }
    seen = true;
    array_ = key_ == "shape" ? &tensor.shape : &tensor.offsets;
    return true;
  }
  bool end_array() override {
    array_ = nullptr;
    return true;
  }
  bool number_unsigned(uint64_t number) override {
    if (array_ == nullptr) return Refuse("it has a number where none belongs");
    if (number > INT64_MAX) return Refuse("it has a number above 2^63");
    if (array_->size() == kMaxSafetensorsRank) {
      return Refuse(fmt::format("it has a list of more than {} numbers", kMaxSafetensorsRank));
    }
    array_->push_back(static_cast<int64_t>(number));
    return true;
  }
  bool number_integer(int64_t) override { return Refuse("it has a negative number"); }
  bool number_float(double, const std::string&) override { return Refuse("it has a fraction"); }
  bool null() override { return Refuse("it has a null"); }
  bool boolean(bool) override { return Refuse("it has a true or false"); }
  bool binary(nlohmann::json::binary_t&) override { return Refuse("it has binary data"); }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Refuse(fmt::format("it is no JSON at byte {}", position));
  }

 private:
  bool Refuse(std::string reason) {
    if (why.empty()) why = std::move(reason);
    return false;
  }
  void StartTensor() {
    in_metadata_ = key_ == "__metadata__";
    if (!in_metadata_) tensors.emplace_back().name = key_;
  }

  int depth_ = 0;
  bool in_metadata_ = false;  // inside __metadata__
  std::string key_;
  std::vector<int64_t>* array_ = nullptr;
  std::set<std::string> names_;
};

std::optional<DType> DTypeOf(const std::string& code) {
  for (const auto& [known, dtype] : kSafetensorsDTypes) {
    if (code == known) return dtype;
  }
  return std::nullopt;
}

// Checks that all bytes belong to exactly one tensor, as the format demands.
Status CheckOffsets(std::vector<Stated>& tensors, uint64_t data_bytes) {
  for (const Stated& tensor : tensors) {
    if (tensor.offsets.size() != 2 || tensor.offsets[0] > tensor.offsets[1]) {
      return {StatusCode::kInvalid,
              fmt::format("data_offsets of tensor `{}` are no begin and end", tensor.name)};
    }
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const Stated& a, const Stated& b) { return a.offsets < b.offsets; });
  uint64_t end = 0;
  for (const Stated& tensor : tensors) {
    if (static_cast<uint64_t>(tensor.offsets[0]) != end) {
      return {StatusCode::kInvalid,
              fmt::format("tensor `{}` begins at {}, but what stands before it ends at {}",
                          tensor.name, tensor.offsets[0], end)};
    }
    end = static_cast<uint64_t>(tensor.offsets[1]);
  }
  if (end == data_bytes) return Status::Ok();
  return {StatusCode::kInvalid,
          fmt::format("its tensors have {} bytes, and {} follow the header", end, data_bytes)};
}

}  // namespace

Result<std::unique_ptr<Safetensors>> Safetensors::Open(const std::string& path) {
  Result<File> file = File::Open(path);
  if (!file.ok()) return file.status();
  if (!file->size()) {
    return Status(StatusCode::kInvalid, fmt::format("{} is no regular file", path));
  }
  std::unique_ptr<Safetensors> opened(new Safetensors(std::move(*file)));
  const Status status = opened->ReadHeader();
  if (status.ok()) return opened;
  return Status(status.code(), fmt::format("{}: {}", path, status.message()));
}

Status Safetensors::ReadHeader() {
  const uint64_t size = *file_.size();
  uint8_t length_bytes[kLengthBytes];
  if (size < kLengthBytes) return {StatusCode::kInvalid, "it is no .safetensors file: too short"};
  CGRAPH_RETURN_IF_ERROR(file_.ReadAt(0, length_bytes));
  uint64_t length = 0;
  for (int i = kLengthBytes - 1; i >= 0; --i) length = length << 8 | length_bytes[i];
  if (length > kMaxSafetensorsHeader || length > size - kLengthBytes) {
    if (const std::string text = LfsPointerText(length_bytes); !text.empty()) {
      return {StatusCode::kInvalid, text};
    }
    if (length_bytes[0] == '{') {
      return {StatusCode::kInvalid,
              "it is no .safetensors file but JSON; the name of an index of shards ends in "
              ".safetensors.index.json"};
    }
    const bool zip = std::memcmp(length_bytes, "PK\3\4", 4) == 0;
    if (zip || (length_bytes[0] == 0x80 && length_bytes[1] <= 5)) {  // or a pickle
      return {StatusCode::kInvalid,
              "it is no .safetensors file but like those of torch.save() and numpy.savez(); write "
              "one with save_file() of safetensors.torch or safetensors.numpy"};
    }
    if (std::memcmp(length_bytes, "\x93NUMPY", 6) == 0) {
      return {StatusCode::kInvalid,
              "it is no .safetensors file but a .npy, which has one array and no names; write one "
              "with save_file({\"NAME\": array}) of safetensors.numpy"};
    }
    return {StatusCode::kInvalid,
            fmt::format("it is no .safetensors file: its header would have {} bytes", length)};
  }
  std::vector<uint8_t> text(length);
  CGRAPH_RETURN_IF_ERROR(file_.ReadAt(kLengthBytes, text));
  header_digest_ = Digest64(text);
  HeaderEvents events;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &events) || !events.why.empty()) {
    return {StatusCode::kInvalid, "its header is wrong: " + events.why};
  }
  metadata_ = std::move(events.metadata);
  const uint64_t data = kLengthBytes + length;
  CGRAPH_RETURN_IF_ERROR(CheckOffsets(events.tensors, size - data));
  for (Stated& tensor : events.tensors) {
    const std::optional<DType> dtype = DTypeOf(tensor.dtype);
    if (!dtype) {
      foreign_[tensor.name] = tensor.dtype;
      continue;
    }
    const auto begin = static_cast<uint64_t>(tensor.offsets[0]);
    const uint64_t bytes = static_cast<uint64_t>(tensor.offsets[1]) - begin;
    if (plan::TensorBytes(*dtype, tensor.shape) != bytes) {
      return {StatusCode::kInvalid,
              fmt::format("tensor `{}` has {} bytes, which its shape and dtype do not make",
                          tensor.name, bytes)};
    }
    entries_[tensor.name] = {*dtype, std::move(tensor.shape), data + begin, bytes};
  }
  return Status::Ok();
}

Status Safetensors::Missing(const std::string& tensor) const {
  if (const auto found = foreign_.find(tensor); found != foreign_.end()) {
    return {StatusCode::kInvalid, fmt::format("{}: tensor `{}` is {}, a dtype that cgraph lacks",
                                              file_.path(), tensor, found->second)};
  }
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  const std::string hint = DidYouMeanHint(tensor, names);
  constexpr size_t kShown = 10;
  const bool cut = names.size() > kShown;
  if (cut) names.resize(kShown);
  return {StatusCode::kInvalid,
          fmt::format("{} has no tensor `{}`{}; it has {}{}", file_.path(), tensor, hint,
                      names.empty() ? "none" : fmt::format("`{}`", fmt::join(names, "`, `")),
                      cut ? ", ..." : "")};
}

namespace {

// A slice as a sequence of runs of bytes: dimensions from `rank` on are taken whole and form one.
struct Runs {
  int rank = 0;             // dimensions [0, rank) are walked
  uint64_t bytes = 0;       // of one run
  std::vector<uint64_t> strides;
};

Runs RunsOf(const Safetensors::Entry& entry, std::span<const int64_t> count) {
  Runs runs;
  runs.strides.resize(entry.dims.size());
  uint64_t stride = static_cast<uint64_t>(plan::DTypeBytes(entry.dtype));
  for (size_t i = entry.dims.size(); i-- > 0;) {
    runs.strides[i] = stride;
    stride *= static_cast<uint64_t>(entry.dims[i]);
  }
  runs.rank = static_cast<int>(entry.dims.size());
  while (runs.rank > 0 && count[runs.rank - 1] == entry.dims[runs.rank - 1]) --runs.rank;
  // The innermost dimension that is not taken whole is still one run per index of those before it.
  if (runs.rank > 0) {
    --runs.rank;
    runs.bytes = runs.strides[runs.rank] * static_cast<uint64_t>(count[runs.rank]);
  } else {
    runs.bytes = stride;
  }
  return runs;
}

}  // namespace

Status Safetensors::Read(const std::string& tensor, std::span<const int64_t> first,
                         std::span<const int64_t> count, std::span<uint8_t> out) const {
  const auto found = entries_.find(tensor);
  if (found == entries_.end()) return Missing(tensor);
  const Entry& entry = found->second;
  const std::vector<int64_t> zeros(entry.dims.size(), 0);
  if (first.empty() && count.empty()) {
    first = zeros;
    count = entry.dims;
  }
  bool inside = first.size() == entry.dims.size() && count.size() == entry.dims.size();
  for (size_t i = 0; inside && i < entry.dims.size(); ++i) {
    inside = first[i] >= 0 && count[i] >= 0 && first[i] <= entry.dims[i] &&
             count[i] <= entry.dims[i] - first[i];
  }
  if (!inside) {
    return {StatusCode::kInvalid, fmt::format("{}: tensor `{}` is [{}], and the slice from [{}] of "
                                              "[{}] elements lies not inside", file_.path(), tensor,
                                              fmt::join(entry.dims, ", "), fmt::join(first, ", "),
                                              fmt::join(count, ", "))};
  }
  if (plan::TensorBytes(entry.dtype, count) != out.size()) {
    return {StatusCode::kInvalid, fmt::format("{}: tensor `{}` has {} bytes there, {} are wanted",
                                              file_.path(), tensor,
                                              *plan::TensorBytes(entry.dtype, count), out.size())};
  }
  const Runs runs = RunsOf(entry, count);
  std::vector<int64_t> index(static_cast<size_t>(runs.rank), 0);
  for (size_t done = 0; done < out.size(); done += runs.bytes) {
    uint64_t offset = entry.offset;
    for (size_t i = 0; i < entry.dims.size(); ++i) {
      const int64_t at = first[i] + (i < index.size() ? index[i] : 0);
      offset += static_cast<uint64_t>(at) * runs.strides[i];
    }
    CGRAPH_RETURN_IF_ERROR(file_.ReadAt(offset, out.subspan(done, runs.bytes)));
    for (size_t i = index.size(); i-- > 0;) {
      if (++index[i] < count[i]) break;
      index[i] = 0;
    }
  }
  if (plan::ValidElements(entry.dtype, out)) return Status::Ok();
  return {StatusCode::kInvalid, fmt::format("{}: tensor `{}` has {}", file_.path(), tensor,
                                            plan::kWrongBooleans)};
}

}  // namespace cgraph::files
