#include "runtime/load/weights/weights.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "runtime/device/memory.h"
#include "runtime/plan/kinds.h"

namespace cgraph::engine {
namespace {

// How the name of an index ends that stands in the place of a file: that of model.safetensors is
// model.safetensors.index.json.
constexpr const char* kIndexEnding = ".index.json";

// WeightSource: a slice of a weight file, read when the start graph runs.
class WeightSource : public device::Source {
 public:
  explicit WeightSource(std::function<Status(std::span<uint8_t>)> read) : read_(std::move(read)) {}
  Status Read(std::span<uint8_t> to) override { return read_(to); }

 private:
  const std::function<Status(std::span<uint8_t>)> read_;
};

Result<std::string> WeightPath(const std::string& dir, const std::string& name) {
  const std::filesystem::path path(name);
  bool inside = !path.empty() && path.is_relative();
  for (const auto& part : path) inside &= part != "..";
  if (!inside) {
    return Status(
        StatusCode::kInvalid,
        fmt::format("the plan loads `{}`, which is not below the weights directory", name));
  }
  return (std::filesystem::path(dir) / path).string();
}

// Says how to mend a program that declares another type than the tensor of its file has.
std::string SliceMend(plan::DType dtype, const std::vector<int64_t>& dims,
                      const device::OperandType& out) {
  const bool reversed = dims.size() == 2 && out.rank == 2 && dims[0] == out.dims[1] &&
                        dims[1] == out.dims[0] && dims[0] != dims[1];
  if (reversed) {
    return fmt::format(
        "declare the state as the file has it, {}[{}], and multiply by "
        "matmul(x, w, transpose_b: true), or transpose the tensor in the file",
        plan::DTypeName(dtype), fmt::join(dims, ", "));
  }
  const bool same_shape = std::equal(dims.begin(), dims.end(), out.dims, out.dims + out.rank);
  if (same_shape) {
    return fmt::format(
        "declare the state as {0} and cast where it is used, cast<{1}>(w), or save "
        "the tensor as {1}",
        plan::DTypeName(dtype), plan::DTypeName(out.dtype));
  }
  return "declare the state as the file has it, or name another tensor in `load`";
}

}  // namespace

Status CheckSlice(const files::Safetensors::Entry& entry, const plan::WeightFile& slice,
                  const device::OperandType& out, const std::string& path) {
  const std::vector<int64_t>& dims = slice.count.empty() ? entry.dims : slice.count;
  if (entry.dtype == out.dtype &&
      std::equal(dims.begin(), dims.end(), out.dims, out.dims + out.rank)) {
    return Status::Ok();
  }
  return Status(
      StatusCode::kInvalid,
      fmt::format("`{}` in {} is {}[{}], and the program declares {}[{}]; {}", slice.tensor, path,
                  plan::DTypeName(entry.dtype), fmt::join(dims, ", "), plan::DTypeName(out.dtype),
                  fmt::join(out.dims, out.dims + out.rank, ", "),
                  SliceMend(entry.dtype, dims, out)));
}

Result<std::string> Weights::PathOf(const plan::WeightFile& slice) {
  auto path = WeightPath(dir_, slice.name);
  if (!path.ok()) return path;
  std::string index = *path;
  if (!index.ends_with(kIndexEnding)) {
    index = *path + kIndexEnding;
    std::error_code ignored;
    if (std::filesystem::exists(*path, ignored) || !std::filesystem::exists(index, ignored)) {
      return path;
    }
  }
  auto known = indices_.find(index);
  if (known == indices_.end()) {
    auto shards = files::Shards::Read(index);
    if (!shards.ok()) return shards.status();
    known = indices_.emplace(index, std::move(*shards)).first;
  }
  auto file = known->second.FileOf(slice.tensor);
  if (!file.ok()) return file;
  return (std::filesystem::path(index).parent_path() / *file).string();
}

Result<std::shared_ptr<files::Safetensors>> Weights::Open(const plan::WeightFile& slice) {
  const auto where = [&](const Status& status) {
    if (status.code() != StatusCode::kNotFound) return status;
    return Status(StatusCode::kNotFound,
                  fmt::format("{}; weight files are looked up below `{}` (cgrun --weights DIR)",
                              status.message(), dir_));
  };
  auto path = PathOf(slice);
  if (!path.ok()) return where(path.status());
  std::shared_ptr<files::Safetensors>& file = files_[*path];
  if (file != nullptr) return file;
  auto opened = files::Safetensors::Open(*path);
  if (!opened.ok()) return where(opened.status());
  file = std::move(*opened);
  return file;
}

Result<std::unique_ptr<device::Source>> Weights::SourceOf(uint32_t weight,
                                                          const plan::WeightFile& slice,
                                                          const device::OperandType& out) {
  if (slice.name.empty()) {
    return std::unique_ptr<device::Source>(
        std::make_unique<WeightSource>([](std::span<uint8_t> to) {
          std::fill(to.begin(), to.end(), uint8_t{0});
          return Status::Ok();
        }));
  }
  auto opened = Open(slice);
  if (ask_) {
    auto sent = ask_(weight, slice, out, opened.ok() ? opened->get() : nullptr);
    if (!sent.ok()) return sent.status();
    if (*sent) {
      sent_bytes_ += (*sent)->size();
      sent_.push_back(std::make_unique<std::vector<uint8_t>>(std::move(**sent)));
      return std::unique_ptr<device::Source>(
          std::make_unique<WeightSource>([&bytes = *sent_.back()](std::span<uint8_t> to) {
            if (to.size() != bytes.size()) {
              return Status(StatusCode::kInternal,
                            "a slice of weights has another size than was sent");
            }
            device::CopyBytes(to.data(), bytes.data(), bytes.size());
            return Status::Ok();
          }));
    }
  }
  if (!opened.ok()) return opened.status();
  const files::Safetensors& file = **opened;
  const auto entry = file.entries().find(slice.tensor);
  if (entry == file.entries().end()) return file.Missing(slice.tensor);
  CGRAPH_RETURN_IF_ERROR(CheckSlice(entry->second, slice, out, file.path()));
  read_bytes_ += plan::TensorBytes(out.dtype, std::span(out.dims, out.rank)).value_or(0);
  return std::unique_ptr<device::Source>(std::make_unique<WeightSource>(
      [this, &slice, file = std::move(*opened)](std::span<uint8_t> to) {
        Status status = file->Read(slice.tensor, slice.first, slice.count, to);
        if (status.code() == StatusCode::kNotFound) unreadable_ = true;
        return status;
      }));
}

}  // namespace cgraph::engine
