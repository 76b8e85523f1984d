#include "runtime/command/inputs/inputs.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/permutation.h"
#include "runtime/base/text.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/print.h"

namespace cgraph::command {
namespace {

// A batched file of this size or more is not read as a whole: it may be larger than the memory.
constexpr uint64_t kLargeFile = uint64_t{1} << 30;

std::string PortText(const plan::Plan& plan, const plan::Graph& graph, const plan::Port& port) {
  return fmt::format("{}: {}", port.name, plan::TypeText(plan, graph, port.value));
}

std::string PortsText(const plan::Plan& plan, const plan::Graph& graph) {
  std::string text;
  for (const auto& port : graph.inputs) {
    text += (text.empty() ? "" : ", ") + PortText(plan, graph, *port);
  }
  return text.empty() ? "none" : text;
}

// Says why dims do not fit a port. The leading dimension is not compared when the input is a batch.
std::string Misfit(const plan::Graph& graph, const plan::Value& type, const files::Array& array,
                   bool batched) {
  if (array.dims.size() != type.rank()) {
    return fmt::format("it has {}, expected {}", Counted(array.dims.size(), "dimension"),
                       type.rank());
  }
  for (size_t i = batched ? 1 : 0; i < array.dims.size(); ++i) {
    const plan::Dim& dim = graph.dims[type.first_dim() + i];
    if (dim.symbol() == plan::kNone ? array.dims[i] != dim.extent()
                                    : array.dims[i] > dim.extent()) {
      const bool fits = dim.symbol() != plan::kNone ||
                        (dim.extent() > 0 && array.dims[i] % dim.extent() == 0);
      const bool slices = i == 0 && array.dims[i] > dim.extent() && fits;
      return fmt::format(
          "dimension {} is {}, expected {}{}{}", i, array.dims[i],
          dim.symbol() == plan::kNone ? "" : "at most ", dim.extent(),
          slices ? "; if its rows are independent, --batch slices it over several executions" : "");
    }
  }
  return "";
}

// Returns whether a value begins as neither a number nor a list does.
bool MayBeFile(const std::string& value) { return value.find_first_of("0123456789[(+-") != 0; }

// A pipe may have any name: of what `<(...)` runs, a shell makes /dev/fd/63.
bool IsPipe(const std::string& value) {
  std::error_code error;
  const auto status = std::filesystem::status(value, error);
  return std::filesystem::is_fifo(status) || std::filesystem::is_character_file(status);
}

bool IsFile(const std::string& value) {
  return value == "-" || value.ends_with(".npy") || (MayBeFile(value) && IsPipe(value));
}

// Says what to do about a value that looks like a file name but is no .npy file, number or list.
std::string FileHint(const std::string& name, const std::string& value) {
  if (value.ends_with(".npz")) {
    return fmt::format(
        "{0} is an archive of arrays, and one array is wanted; save it by itself: "
        "np.save(\"{1}.npy\", np.load(\"{0}\")[\"{1}\"])",
        value, name);
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(value, error)) return "";
  return fmt::format(
      "{0} is a file of another kind; inputs are read from .npy, as "
      "np.save(\"{1}.npy\", x) writes it",
      value, name);
}

Result<files::Array> ReadValue(const std::string& name, const std::string& value, plan::DType dtype,
                               Patience patience) {
  if (IsFile(value)) return files::ReadNpy(value, patience);
  Result<files::Array> literal = ParseLiteral(value, dtype);
  if (literal.ok()) return literal;
  const std::string hint = FileHint(name, value);
  if (!hint.empty()) return Status(StatusCode::kInvalid, hint);
  if (!MayBeFile(value)) return literal;
  return Status(StatusCode::kInvalid,
                literal.status().message() + ", nor a file, whose name ends in .npy");
}

// Reads a value or, of a large file that is batched, its type alone: its rows are read from `file`
// when they are wanted.
Result<files::Array> ReadOrOpen(const plan::Port& port, plan::DType dtype, const std::string& value,
                                bool batched, Patience patience,
                                std::optional<files::NpyRows>& file) {
  std::error_code error;
  const bool large = batched && value.ends_with(".npy") &&
                     std::filesystem::is_regular_file(value, error) &&
                     std::filesystem::file_size(value, error) >= kLargeFile && !error;
  if (!large) return ReadValue(port.name, value, dtype, patience);
  Result<files::NpyRows> opened = files::NpyRows::Open(value);
  if (!opened.ok()) return opened.status();
  file = std::move(*opened);
  return files::Array{file->dtype(), file->dims(), {}};
}

Problem ReadOne(const plan::Plan& plan, const plan::Graph& graph, const plan::Port& port,
                const std::string& value, bool batched, Patience patience, files::Array& array,
                std::optional<files::NpyRows>& file) {
  const plan::Value& type = graph.values[port.value];
  Result<files::Array> read =
      ReadOrOpen(port, type.dtype(), value, batched, patience, file);
  if (!read.ok()) {
    return {IsFile(value) ? ExitCodeOf(read.status().code()) : kUsage,
            fmt::format("input {}: {}", PortText(plan, graph, port), read.status().message())};
  }
  if (read->dtype != type.dtype()) {
    return {kFailure,
            fmt::format("input {}: {} holds {}, and nothing is converted silently; save it "
                        "with x.astype({})",
                        PortText(plan, graph, port), value, plan::DTypeName(read->dtype),
                        plan::NumpyName(type.dtype(), "np"))};
  }
  if (const std::string why = Misfit(graph, type, *read, batched); !why.empty()) {
    // What a file holds is not seen in its name.
    const std::string held = IsFile(value) ? fmt::format(", {}[{}],", plan::DTypeName(read->dtype),
                                                         fmt::join(read->dims, ", "))
                                           : "";
    return {IsFile(value) ? kFailure : kUsage,
            fmt::format("input {}: {}{} does not fit: {}", PortText(plan, graph, port), value, held,
                        why)};
  }
  array = std::move(*read);
  return {};
}

const plan::Port* FindPort(const plan::Graph& graph, const std::string& name) {
  for (const auto& port : graph.inputs) {
    if (port->name == name) return port.get();
  }
  return nullptr;
}

// Checks that every name is a port's and that every port has its input.
Problem CheckNames(const plan::Plan& plan, const plan::Graph& graph, const Options& options,
                   std::span<const std::string> fed, const std::string& prefix) {
  const auto unknown = [&](const char* flag, const std::string& name) {
    std::vector<std::string> names;
    for (const auto& port : graph.inputs) names.push_back(port->name);
    return Problem{kUsage,
                   fmt::format("{} {}: graph {} has no such input{}; it has {}", flag, name,
                               graph.name, DidYouMeanHint(name, names), PortsText(plan, graph))};
  };
  for (const auto& [name, value] : options.inputs) {
    if (FindPort(graph, name) == nullptr) return unknown("--input", name);
  }
  for (const std::string& name : options.batch) {
    if (FindPort(graph, name) != nullptr) continue;
    const Problem problem = unknown("--batch", name);
    if (name.find_first_not_of("0123456789") != std::string::npos) return problem;
    return {kUsage, problem.message +
                        "; --batch names the input that is cut into slices, and how "
                        "many rows a slice has is what the graph takes"};
  }
  const auto is_input = [&](const std::string& name) {
    return std::any_of(options.inputs.begin(), options.inputs.end(),
                       [&](const NameAndValue& input) { return input.first == name; });
  };
  std::vector<std::string> missing, flags;
  for (const auto& port : graph.inputs) {
    if (is_input(port->name) || std::count(fed.begin(), fed.end(), port->name) > 0) continue;
    missing.push_back(PortText(plan, graph, *port));
    const bool scalar = graph.values[port->value].rank() == 0;
    flags.push_back(
        fmt::format("--input {}{}={}", prefix, port->name, scalar ? "NUMBER" : "PATH.npy"));
  }
  if (!missing.empty()) {
    return {kUsage, fmt::format("graph {} needs the input{} {}; give {}", graph.name,
                                missing.size() == 1 ? "" : "s", fmt::join(missing, ", "),
                                fmt::join(flags, " "))};
  }
  const auto from_stdin = [](const NameAndValue& input) { return input.second == "-"; };
  if (std::count_if(options.inputs.begin(), options.inputs.end(), from_stdin) > 1) {
    return {kUsage, "--input: only one of them can be read from standard input"};
  }
  return {};
}

}  // namespace

Problem Inputs::Read(const plan::Plan& plan, const plan::Graph& graph, const Options& options,
                     Inputs& inputs, std::span<const std::string> fed, const std::string& prefix) {
  Problem named = CheckNames(plan, graph, options, fed, prefix);
  if (!named.ok()) return named;
  for (const auto& [name, value] : options.inputs) {
    Given& given = inputs.given_.emplace_back();
    given.name = name;
    given.batched = std::count(options.batch.begin(), options.batch.end(), name) > 0;
    Problem problem = ReadOne(plan, graph, *FindPort(graph, name), value, given.batched,
                              options.engine.timeout, given.array, given.file);
    if (!problem.ok()) return problem;
    given.dims = given.array.dims;
    if (given.batched) given.collected.resize(graph.inflight);
  }
  inputs.seed_ = options.training.shuffle;
  inputs.is_batched_ = !options.batch.empty();
  return options.batch.empty() ? Problem{} : inputs.Cut(plan, graph, options);
}

Problem Inputs::Cut(const plan::Plan& plan, const plan::Graph& graph, const Options& options) {
  const std::string& leader = options.batch[0];
  for (const std::string& name : options.batch) {
    const plan::Port& port = *FindPort(graph, name);
    const plan::Value& type = graph.values[port.value];
    const Given& given =
        *std::find_if(given_.begin(), given_.end(), [&](const Given& g) { return g.name == name; });
    if (type.rank() == 0) {
      return {kUsage, fmt::format("--batch {}: {} has no dimension to slice", name,
                                  PortText(plan, graph, port))};
    }
    const plan::Dim& dim = graph.dims[type.first_dim()];
    if (name == leader) {
      rows_ = given.dims[0];
      per_slice_ = dim.extent();
    }
    if (given.dims[0] != rows_ || dim.extent() != per_slice_) {
      return {kFailure,
              fmt::format("--batch: {} has {}, {} at a time, but {} has {}, {} at a time", leader,
                          Counted(rows_, "row"), per_slice_, name, given.dims[0], dim.extent())};
    }
    if (per_slice_ == 0 && rows_ > 0) {
      return {kFailure, fmt::format("--batch {}: {} takes no rows at all", name,
                                    PortText(plan, graph, port))};
    }
    const bool whole = rows_ > 0 && rows_ % per_slice_ == 0;
    const bool cut = options.training.drop_last && rows_ > per_slice_;
    if (!whole && !cut && dim.symbol() == plan::kNone) {
      return {kFailure, fmt::format("--batch {}: {} cannot be cut into slices of {}; declare a "
                                    "bounded dimension, as n <= {}, for the last one{}",
                                    name, Counted(rows_, "row"), per_slice_, per_slice_,
                                    rows_ > per_slice_ ? ", or leave it out, by --drop-last" : "")};
    }
  }
  if (rows_ == 0) return {};
  executions_ = static_cast<size_t>((rows_ + per_slice_ - 1) / per_slice_);
  if (options.training.drop_last && rows_ > per_slice_) {
    executions_ = static_cast<size_t>(rows_ / per_slice_);
  }
  for (Given& given : given_) {
    const std::span<const int64_t> dims = given.array.dims;
    if (given.batched) given.row_bytes = *plan::TensorBytes(given.array.dtype, dims.subspan(1));
  }
  return {};
}

int64_t Inputs::RowsOf(uint64_t execution) const {
  const auto first = static_cast<int64_t>(execution % executions_) * per_slice_;
  return std::min(per_slice_, rows_ - first);
}

std::string Inputs::NoteOfLeftOut() const {
  const int64_t left_out = rows_ - static_cast<int64_t>(executions_) * per_slice_;
  if (left_out <= 0) return "";
  return fmt::format("--drop-last leaves out {} of {} in each epoch{}", left_out,
                     Counted(rows_, "row"), seed_ ? ", not always the same" : ", the last");
}

Result<std::span<const Input>> Inputs::Slice(uint64_t execution) {
  if (!is_batched_ && !slice_.empty()) return std::span<const Input>(slice_);  // always the same
  if (seed_) Shuffle(execution / executions_);
  const auto first = static_cast<int64_t>(execution % executions_) * per_slice_;
  slice_.clear();
  for (Given& given : given_) {
    const uint8_t* data = given.array.bytes.data();
    if (given.batched) {
      given.dims[0] = std::min(per_slice_, rows_ - first);
      data += given.row_bytes * static_cast<uint64_t>(first);
      if (seed_ || given.file) {
        std::vector<uint8_t>& to = given.collected[execution % given.collected.size()];
        CGRAPH_RETURN_IF_ERROR(Collect(given, first, given.dims[0], to));
        data = to.data();
      }
    }
    slice_.push_back({given.name, data, given.array.dtype, given.dims, /*lent=*/true});
  }
  return std::span<const Input>(slice_);
}

void Inputs::Shuffle(uint64_t epoch) {
  if (epoch == epoch_ && !order_.empty()) return;
  order_ = Permutation(rows_, *seed_, epoch);
  epoch_ = epoch;
}

// Copies rows of an input, those at these places of the order, or of the file.
Status Inputs::Collect(const Given& given, int64_t first, int64_t rows,
                       std::vector<uint8_t>& to) const {
  const uint64_t width = given.row_bytes;
  to.reserve(1);  // an input has an address, even if it has no bytes
  to.resize(static_cast<uint64_t>(rows) * width);
  if (!seed_) return given.file->Read(first, to);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t row = order_[static_cast<size_t>(first + i)];
    const std::span<uint8_t> out = std::span(to).subspan(static_cast<uint64_t>(i) * width, width);
    if (given.file) {
      CGRAPH_RETURN_IF_ERROR(given.file->Read(row, out));
    } else if (width > 0) {
      std::memcpy(out.data(), given.array.bytes.data() + static_cast<uint64_t>(row) * width, width);
    }
  }
  return Status::Ok();
}

}  // namespace cgraph::command
