#include "runtime/command/outcome/results.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/base/kinds/limits.h"
#include "runtime/device/tensor.h"
#include "runtime/files/npy.h"
#include "runtime/files/write_safetensors.h"
#include "runtime/plan/kinds.h"

namespace cgraph::command {
namespace {

using device::Tensor;
using nlohmann::ordered_json;

// Returns the file that an output goes to: its own, or the file of the list that it is an element
// of, or that of all outputs.
const std::string* PathOf(const std::vector<NameAndValue>& paths, const std::string& name) {
  const std::string list = name.substr(0, name.find('['));
  for (const std::string& wanted : {name, list, std::string()}) {
    for (const NameAndValue& path : paths) {
      if (path.first == wanted) return &path.second;
    }
  }
  return nullptr;
}

// Prints NaN and the infinities as the strings that JavaScript and Python's float() read: JSON has
// no numbers for them.
ordered_json FloatJson(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

ordered_json ElementJson(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype) {
    case plan::DType::bool_: return tensor.as<uint8_t>()[i] != 0;
    case plan::DType::i8: return tensor.as<int8_t>()[i];
    case plan::DType::u8: return tensor.as<uint8_t>()[i];
    case plan::DType::i32: return tensor.as<int32_t>()[i];
    case plan::DType::i64: return tensor.as<int64_t>()[i];
    default: return FloatJson(device::ElementAsDouble(tensor, i));
  }
}

// Nested lists, as NumPy's tolist().
ordered_json DataJson(const Tensor& tensor, int dim, int64_t first) {
  if (dim == tensor.rank) return ElementJson(tensor, first);
  int64_t row = 1;
  for (int i = dim + 1; i < tensor.rank; ++i) row *= tensor.dims[i];
  ordered_json list = ordered_json::array();
  for (int64_t i = 0; i < tensor.dims[dim]; ++i) {
    list.push_back(DataJson(tensor, dim + 1, first + i * row));
  }
  return list;
}

}  // namespace

Status Results::Add(const Outputs& outputs, const std::string& graph) {
  const std::string prefix = graph.empty() ? "" : graph + ".";
  auto part = std::find_if(parts_.begin(), parts_.end(),
                           [&](const Part& known) { return known.prefix == prefix; });
  if (part == parts_.end()) part = parts_.insert(parts_.end(), {prefix, std::nullopt, {}, 0});
  part->last = outputs;
  return keep_ == Keep::kLast ? Status::Ok() : Join(outputs, *part);
}

void Results::AddNoRows(const plan::Plan& plan, uint32_t graph) {
  if (!parts_.empty()) return;
  const plan::Graph& round = *plan.graphs[graph];
  for (uint32_t i = 0; i < round.repeat->outputs; ++i) {
    const plan::Value& value = round.values[round.outputs[i]->value];
    if (round.outputs[i]->name == left_out_) continue;
    Entry& entry = without_rows_.emplace_back();
    entry.name = round.outputs[i]->name;
    entry.tensor.dtype = value.dtype();
    entry.tensor.rank = static_cast<uint8_t>(std::min<int>(value.rank() + 1, kMaxRank));
    for (uint8_t d = 1; d < entry.tensor.rank; ++d) {
      entry.tensor.dims[d] = round.dims[value.first_dim() + d - 1].extent();
    }
  }
}

std::string LineOf(const device::Tensor& tensor) { return DataJson(tensor, 0, 0).dump(); }

Status Results::Join(const Outputs& outputs, Part& part) {
  const bool first = part.joined.empty();
  part.joined.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs.name(i) == left_out_) continue;
    const device::Tensor& tensor = outputs[i];
    std::vector<int64_t> dims(tensor.dims, tensor.dims + tensor.rank);
    const bool stacks = keep_ == Keep::kStacked || keep_ == Keep::kPasses;
    if (stacks && dims.size() == kMaxRank) {
      return {StatusCode::kInvalid,
              fmt::format("output {} has {} dimensions, and a list of it has one too many",
                          part.prefix + outputs.name(i), dims.size())};
    }
    if (keep_ == Keep::kStacked || dims.empty()) dims.insert(dims.begin(), 1);
    Joined& joined = part.joined[i];
    if (first) {
      joined.dims = dims;
    } else {
      if (!std::equal(dims.begin() + 1, dims.end(), joined.dims.begin() + 1, joined.dims.end())) {
        return {StatusCode::kInvalid,
                fmt::format("output {}: {} cannot be joined to [{}] along its first dimension",
                            part.prefix + outputs.name(i), device::TensorTypeText(tensor),
                            fmt::join(joined.dims, ", "))};
      }
      joined.dims[0] += dims[0];
    }
    const uint8_t* data = tensor.as<uint8_t>();
    joined.bytes.insert(joined.bytes.end(), data, data + tensor.bytes());
  }
  ++part.executions;
  const bool ends = keep_ == Keep::kPasses && part.executions % slices_ == 0;
  return ends ? EndPass(part) : Status::Ok();
}

// Checks that the pass that has ended has as many rows of each output as the first.
Status Results::EndPass(Part& part) const {
  const int64_t passes = static_cast<int64_t>(part.executions / slices_);
  for (size_t i = 0; i < part.joined.size(); ++i) {
    Joined& joined = part.joined[i];
    if (passes == 1) joined.rows = joined.dims[0];
    if (joined.dims[0] == passes * joined.rows) continue;
    return {StatusCode::kInvalid,
            fmt::format("--every: output {} has {} rows in pass {} and {} in the first",
                        part.prefix + part.last->name(i),
                        joined.dims[0] - (passes - 1) * joined.rows, passes, joined.rows)};
  }
  return Status::Ok();
}

std::vector<Results::Entry> Results::Entries() const {
  std::vector<Entry> entries = without_rows_;
  for (const Part& part : parts_) {
    for (size_t i = 0; i < part.last->size(); ++i) {
      if (part.last->name(i) == left_out_) continue;
      Entry& entry = entries.emplace_back(Entry{part.prefix + part.last->name(i), (*part.last)[i]});
      if (keep_ == Keep::kLast) continue;
      const Joined& joined = part.joined[i];
      std::vector<int64_t> dims = joined.dims;
      if (keep_ == Keep::kPasses) {
        dims[0] = joined.rows;
        dims.insert(dims.begin(), static_cast<int64_t>(part.executions / slices_));
      }
      entry.tensor.data = const_cast<uint8_t*>(joined.bytes.data());
      entry.tensor.rank = static_cast<uint8_t>(dims.size());
      std::copy(dims.begin(), dims.end(), entry.tensor.dims);
    }
  }
  return entries;
}

Status Results::Add(OutputFiles& files, const std::vector<NameAndValue>& paths) const {
  const std::vector<Entry> entries = Entries();
  for (const auto& [name, path] : paths) {
    if (name.empty()) {
      CGRAPH_RETURN_IF_ERROR(AddAll(files, path));
      continue;
    }
    std::vector<size_t> elements;
    bool whole = false;
    for (size_t i = 0; i < entries.size(); ++i) {
      const std::string& each = entries[i].name;
      if (each == name) whole = true;
      if (each == name || each.starts_with(name + "[")) elements.push_back(i);
    }
    if (elements.empty()) continue;  // no execution has ended
    if (!whole) {
      CGRAPH_RETURN_IF_ERROR(AddStacked(files, name, path, elements));
      continue;
    }
    const device::Tensor& tensor = entries[elements[0]].tensor;
    CGRAPH_RETURN_IF_ERROR(files::AddNpy(files, path, tensor.dtype,
                                         std::span(tensor.dims, tensor.rank),
                                         std::span(tensor.as<uint8_t>(), tensor.bytes())));
  }
  return Status::Ok();
}

Status Results::AddAll(OutputFiles& files, const std::string& path) const {
  std::vector<files::NamedTensor> tensors;
  const std::vector<Entry> entries = Entries();
  for (const auto& [name, tensor] : entries) {
    tensors.push_back({name, tensor.dtype, {tensor.dims, tensor.dims + tensor.rank},
                       {tensor.as<uint8_t>(), tensor.bytes()}});
  }
  return tensors.empty() ? Status::Ok() : files::AddSafetensors(files, path, tensors);
}

// Writes the elements of a list as one tensor, stacked along a new first dimension.
Status Results::AddStacked(OutputFiles& files, const std::string& name, const std::string& path,
                           std::span<const size_t> elements) const {
  const std::vector<Entry> entries = Entries();
  const device::Tensor& first = entries[elements[0]].tensor;
  std::vector<int64_t> dims = {static_cast<int64_t>(elements.size())};
  dims.insert(dims.end(), first.dims, first.dims + first.rank);
  std::vector<uint8_t> bytes;
  for (const size_t i : elements) {
    const device::Tensor& tensor = entries[i].tensor;
    const bool nested = entries[i].name.find('[', name.size() + 1) != std::string::npos;
    if (nested || tensor.dtype != first.dtype ||
        !std::equal(first.dims, first.dims + first.rank, tensor.dims, tensor.dims + tensor.rank)) {
      return {StatusCode::kInvalid,
              fmt::format("--output {0}={1}: {0} is a list, and {2}; write each of them: --output "
                          "'{3}={3}.npy'",
                          name, path,
                          nested ? "its elements are lists"
                                 : "its elements have different types",
                          entries[i].name)};
    }
    bytes.insert(bytes.end(), tensor.as<uint8_t>(), tensor.as<uint8_t>() + tensor.bytes());
  }
  return files::AddNpy(files, path, first.dtype, dims, bytes);
}

std::string Results::Text() const {
  std::string text;
  for (const auto& [name, tensor] : Entries()) {
    const std::string elements = device::FormatTensor(tensor);
    text += fmt::format("{}: {}{}{}\n", name, device::TensorTypeText(tensor),
                        elements.find('\n') == std::string::npos ? " = " : " =\n", elements);
  }
  return text;
}

std::vector<std::string> Results::Absent(const std::vector<NameAndValue>& paths) const {
  const std::vector<Entry> entries = Entries();
  std::vector<std::string> absent;
  for (const auto& [name, path] : paths) {
    const bool has = std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
      return name.empty() || entry.name == name || entry.name.starts_with(name + "[");
    });
    if (!has) absent.push_back(path);
  }
  return absent;
}

ordered_json Results::Json(const std::vector<NameAndValue>& paths, bool written) const {
  ordered_json outputs = ordered_json::object();
  for (const auto& [name, tensor] : Entries()) {
    if (!written && PathOf(paths, name) != nullptr) continue;
    ordered_json output = {
        {"type", device::TensorTypeText(tensor)},
        {"dtype", plan::DTypeName(tensor.dtype)},
        {"dims", std::vector<int64_t>(tensor.dims, tensor.dims + tensor.rank)}};
    if (const std::string* path = PathOf(paths, name)) output["file"] = *path;
    else output["data"] = DataJson(tensor, 0, 0);
    outputs[name] = std::move(output);
  }
  return outputs;
}

}  // namespace cgraph::command
