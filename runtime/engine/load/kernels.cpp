#include "runtime/engine/load/kernels.h"

#include <fmt/format.h>

#include <filesystem>

#include "runtime/engine/load/operand_type.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/print.h"

namespace cgraph::engine {
namespace {

// A slice of a weight file, read when the start graph runs.
class WeightSource : public device::Source {
 public:
  WeightSource(std::shared_ptr<files::Safetensors> file, const plan::WeightFile& slice,
               std::atomic<bool>* unreadable)
      : file_(std::move(file)), slice_(slice), unreadable_(unreadable) {}

  Status Read(std::span<uint8_t> to) override {
    Status status = file_->Read(slice_.tensor, slice_.first, slice_.count, to);
    if (status.code() == StatusCode::kNotFound) *unreadable_ = true;
    return status;
  }

 private:
  std::shared_ptr<files::Safetensors> file_;
  const plan::WeightFile& slice_;
  std::atomic<bool>* const unreadable_;
};

// Returns the path of a weight file. A plan names it and is not trusted, so the path must lie below
// the directory that the user named.
Result<std::string> WeightPath(const std::string& dir, const std::string& name) {
  const std::filesystem::path path(name);
  bool inside = !path.empty() && path.is_relative();
  for (const auto& part : path) inside &= part != "..";
  if (!inside) {
    return Status(StatusCode::kInvalid,
                  fmt::format("the plan loads `{}`, which is not below the weights directory",
                              name));
  }
  return (std::filesystem::path(dir) / path).string();
}

// Says how to mend a program that declares another type than the tensor of its file has.
std::string SliceMend(plan::DType dtype, const std::vector<int64_t>& dims,
                      const device::OperandType& out) {
  const bool reversed = dims.size() == 2 && out.rank == 2 && dims[0] == out.dims[1] &&
                        dims[1] == out.dims[0] && dims[0] != dims[1];
  if (reversed) {
    return fmt::format("declare the state as the file has it, {}[{}], and multiply by "
                       "matmul(x, w, transpose_b: true), or transpose the tensor in the file",
                       plan::DTypeName(dtype), fmt::join(dims, ", "));
  }
  const bool same_shape = std::equal(dims.begin(), dims.end(), out.dims, out.dims + out.rank);
  if (same_shape) {
    return fmt::format("declare the state as {0} and cast where it is used, cast<{1}>(w), or save "
                       "the tensor as {1}",
                       plan::DTypeName(dtype), plan::DTypeName(out.dtype));
  }
  return "declare the state as the file has it, or name another tensor in `load`";
}

Status CheckSlice(const files::Safetensors& file, const plan::WeightFile& slice,
                  const device::OperandType& out, const std::string& path) {
  auto entry = file.entries().find(slice.tensor);
  if (entry == file.entries().end()) {
    return file.Missing(slice.tensor);
  }
  const std::vector<int64_t>& dims = slice.count.empty() ? entry->second.dims : slice.count;
  if (entry->second.dtype != out.dtype ||
      !std::equal(dims.begin(), dims.end(), out.dims, out.dims + out.rank)) {
    return Status(
        StatusCode::kInvalid,
        fmt::format("`{}` in {} is {}[{}], and the program declares {}[{}]; {}", slice.tensor, path,
                    plan::DTypeName(entry->second.dtype), fmt::join(dims, ", "),
                    plan::DTypeName(out.dtype), fmt::join(out.dims, out.dims + out.rank, ", "),
                    SliceMend(entry->second.dtype, dims, out)));
  }
  return Status::Ok();
}

void AppendType(std::string& key, const device::OperandType& type) {
  key.append(reinterpret_cast<const char*>(&type.dtype), sizeof(type.dtype));
  key.append(reinterpret_cast<const char*>(&type.rank), sizeof(type.rank));
  key.append(reinterpret_cast<const char*>(type.dims), sizeof(int64_t) * type.rank);
  key.append(reinterpret_cast<const char*>(type.dynamic), type.rank);
}

}  // namespace

Result<device::Executable*> Kernels::For(const plan::Graph& graph, uint32_t instruction,
                                         uint32_t device) {
  const plan::Instruction& at = graph.instructions[instruction];
  std::vector<device::OperandType> types;
  std::string key = fmt::format("{} {} {} {}:", static_cast<int>(at.kind()), at.subject(), device,
                                at.inputs());
  for (uint32_t o = at.first(); o < at.first() + at.inputs() + at.outputs(); ++o) {
    types.push_back(OperandTypeOf(graph, graph.operands[o]));
    AppendType(key, types.back());
    if (o >= at.first() + at.inputs()) key.push_back(types.back().in_state ? 's' : '-');
  }
  if (auto found = made_.find(key); found != made_.end()) return found->second;
  auto made = Make(at, device, types);
  if (made.ok() || at.call() == plan::kNone) return Keep(std::move(made), key);
  const std::string site = plan::SiteText(*plan_, graph.calls[at.call()].site());
  return Status(made.status().code(),
                fmt::format("{}{}: {}", plan::CallName(*plan_, graph, at.call()),
                            site.empty() ? "" : " (" + site + ")", made.status().message()));
}

Result<std::unique_ptr<device::Executable>> Kernels::Make(
    const plan::Instruction& at, uint32_t device, std::span<const device::OperandType> types) {
  if (at.kind() == plan::Kind::load) {
    return MakeLoad(*plan_->weights[at.subject()], device, types.back());
  }
  const plan::Kernel& kernel = *plan_->kernels[at.subject()];
  most_scratch_ = std::max(most_scratch_, kernel.scratch);
  if (!kernel.library.empty()) {
    return MakeNative(kernel, device, types.first(at.inputs()), types.subspan(at.inputs()));
  }
  return (*devices_)[device]->MakeKernel(kernel, types.first(at.inputs()),
                                         types.subspan(at.inputs()));
}

Result<std::unique_ptr<device::Executable>> Kernels::MakeNative(
    const plan::Kernel& kernel, uint32_t device, std::span<const device::OperandType> inputs,
    std::span<const device::OperandType> outputs) {
  if (!(*devices_)[device]->host_reaches_memory()) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("`{}` of {} is native code, which runs on CPU threads only so far; "
                              "place its actor on a cpu",
                              kernel.symbol, kernel.library));
  }
  auto made = native::MakeKernel(kernel, inputs, outputs, native_);
  if (!made.ok()) return made.status();
  return std::unique_ptr<device::Executable>(std::move(*made));
}

Result<std::unique_ptr<device::Executable>> Kernels::MakeLoad(const plan::WeightFile& slice,
                                                              uint32_t device,
                                                              const device::OperandType& out) {
  auto path = WeightPath(weights_dir_, slice.name);
  if (!path.ok()) return path.status();
  std::shared_ptr<files::Safetensors>& file = files_[*path];
  if (file == nullptr) {
    auto opened = files::Safetensors::Open(*path);
    if (!opened.ok() && opened.status().code() != StatusCode::kNotFound) return opened.status();
    if (!opened.ok()) {
      return Status(StatusCode::kNotFound,
                    fmt::format("{}; weight files are looked up below `{}` (cgrun --weights DIR)",
                                opened.status().message(), weights_dir_));
    }
    file = std::move(*opened);
  }
  CGRAPH_RETURN_IF_ERROR(CheckSlice(*file, slice, out, *path));
  return (*devices_)[device]->MakeUpload(std::make_unique<WeightSource>(file, slice, &unreadable_));
}

Result<device::Executable*> Kernels::Keep(Result<std::unique_ptr<device::Executable>> kernel,
                                          const std::string& key) {
  if (!kernel.ok()) return kernel.status();
  owned_.push_back(std::move(*kernel));
  made_[key] = owned_.back().get();
  return owned_.back().get();
}

}  // namespace cgraph::engine
