#include "runtime/files/shards.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/base/read_file.h"
#include "runtime/base/text.h"
#include "runtime/files/file.h"

namespace cgraph::files {
namespace {

constexpr size_t kMostIndexBytes = 100'000'000;  // as the header of a .safetensors file

Status Invalid(const std::string& path, const std::string& why) {
  return {StatusCode::kInvalid, fmt::format("{}: {}", path, why)};
}

}  // namespace

Result<Shards> Shards::Read(const std::string& path) {
  std::string text;
  if (const std::error_code error = ReadFile(path, kMostIndexBytes, text)) {
    return Status(StatusCode::kNotFound, fmt::format("cannot read {}: {}", path, error.message()));
  }
  if (text.size() > kMostIndexBytes) return Invalid(path, "it has more than 100 MB");
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  if (const std::string lfs = LfsPointerText({bytes, text.size()}); !lfs.empty()) {
    return Invalid(path, lfs);
  }
  const nlohmann::json index = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!index.is_object()) return Invalid(path, "it is no index of shards: it is no JSON object");
  const auto map = index.find("weight_map");
  if (map == index.end() || !map->is_object()) {
    return Invalid(path, "it is no index of shards: it has no `weight_map`, which says for each "
                         "tensor in which file it is");
  }
  Shards shards;
  shards.path_ = path;
  for (const auto& [tensor, file] : map->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || name == ".." || std::filesystem::path(name).has_parent_path()) {
      return Invalid(path, fmt::format("the file of tensor `{}` is {}, and should be the name of "
                                       "one beside the index",
                                       tensor, file.dump().substr(0, 200)));
    }
    shards.files_[tensor] = name;
  }
  return shards;
}

Result<std::string> Shards::FileOf(const std::string& tensor) const {
  if (const auto found = files_.find(tensor); found != files_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, file] : files_) names.push_back(name);
  return Invalid(path_, fmt::format("its `weight_map` has no tensor `{}`{}", tensor,
                                    DidYouMeanHint(tensor, names)));
}

}  // namespace cgraph::files
