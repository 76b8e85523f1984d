#include "runtime/base/files.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/output_files.h"
#include "runtime/base/read_file.h"
#include "runtime/base/text.h"

namespace cgraph {

Result<std::string> ReadText(const std::string& path, int64_t most) {
  std::string text;
  if (const std::error_code error = ReadFile(path, most, text)) {
    return Status{StatusCode::kNotFound, fmt::format("cannot read {}: {}", path, error.message())};
  }
  if (static_cast<int64_t>(text.size()) <= most) return text;
  return Status{StatusCode::kInvalid, fmt::format("{} has more than {} bytes", path, most)};
}

Status WriteText(const std::string& path, const std::string& text) {
  OutputFiles files;
  CGRAPH_RETURN_IF_ERROR(files.Add(path, text));
  return files.Commit();
}

std::string NearFileHint(const std::string& path, std::initializer_list<std::string_view> endings) {
  const std::filesystem::path absent(path);
  const std::string name = absent.filename().string();
  std::vector<std::string> names;
  std::error_code error;
  const std::filesystem::path folder = absent.has_parent_path() ? absent.parent_path() : ".";
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::filesystem::path& file = entry.path();
    if (std::find(endings.begin(), endings.end(), file.extension().string()) == endings.end()) {
      continue;
    }
    names.push_back(file.filename().string());
  }
  std::sort(names.begin(), names.end());  // a folder has no order
  const auto same = std::find_if(names.begin(), names.end(), [&](const std::string& file) {
    const std::filesystem::path stem = std::filesystem::path(file).stem();
    return stem == name || stem == "lib" + name;
  });
  // Names alone are compared: of long texts only the first bytes count.
  const std::string near = same != names.end() ? *same : DidYouMean(name, names);
  if (near.empty()) return "";
  return fmt::format(" (did you mean `{}`?)", (absent.parent_path() / near).string());
}

namespace {

// Returns a key that is equal for two names of one file; empty where nothing can be lost.
std::string Identity(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0) {
    return S_ISREG(info.st_mode) ? fmt::format("{}:{}", info.st_dev, info.st_ino) : "";
  }
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
  return error ? path : real.lexically_normal().string();
}

// Returns the flag of a file: "--output x=" -> "--output x".
std::string Flag(const NamedFile& file) {
  return file.flag.substr(0, file.flag.find_last_not_of("= ") + 1);
}

}  // namespace

std::string Overwriting(std::span<const NamedFile> read, std::span<const NamedFile> written) {
  std::map<std::string, const NamedFile*> sources, results;
  for (const NamedFile& file : read) sources.emplace(Identity(file.path), &file);
  for (const NamedFile& file : written) {
    const std::string identity = Identity(file.path);
    if (identity.empty()) continue;
    if (const auto source = sources.find(identity); source != sources.end()) {
      const std::string by = Flag(*source->second);
      return fmt::format("{}{} is the file that is read{}; name another one", file.flag, file.path,
                         by.empty() ? "" : " as " + by);
    }
    const auto [first, is_new] = results.emplace(identity, &file);
    if (!is_new) {
      return fmt::format("{}{}: {} goes to that file already; name another one", file.flag,
                         file.path, Flag(*first->second));
    }
  }
  return "";
}

}  // namespace cgraph
