#include "runtime/files/write_safetensors.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/files/safetensors.h"

namespace cgraph::files {
namespace {

constexpr size_t kAlignment = 8;  // of the first tensor's bytes, as the format asks for

std::string CodeOf(plan::DType dtype) {
  for (const auto& [code, known] : kSafetensorsDTypes) {
    if (known == dtype) return code;
  }
  return "";
}

// Returns the length and the JSON behind it.
std::string Header(const nlohmann::ordered_json& tensors) {
  std::string json = tensors.dump();
  json.resize((json.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  std::string header;
  for (int byte = 0; byte < 8; ++byte) {
    header.push_back(static_cast<char>(static_cast<uint64_t>(json.size()) >> (8 * byte)));
  }
  return header + json;
}

}  // namespace

Status AddSafetensors(OutputFiles& files, const std::string& path,
                      std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json entries = nlohmann::ordered_json::object();
  if (!metadata.empty()) entries["__metadata__"] = metadata;
  uint64_t end = 0;
  for (const NamedTensor& tensor : tensors) {
    if (entries.contains(tensor.name)) {
      return {StatusCode::kInvalid,
              fmt::format("{}: two tensors are called `{}`", path, tensor.name)};
    }
    const uint64_t begin = end;
    end += tensor.bytes.size();
    entries[tensor.name] = {
        {"dtype", CodeOf(tensor.dtype)}, {"shape", tensor.dims}, {"data_offsets", {begin, end}}};
  }
  const std::string header = Header(entries);
  std::vector<OutputFiles::Bytes> pieces = {
      {reinterpret_cast<const uint8_t*>(header.data()), header.size()}};
  for (const NamedTensor& tensor : tensors) pieces.push_back(tensor.bytes);
  return files.Add(path, pieces);
}

}  // namespace cgraph::files
