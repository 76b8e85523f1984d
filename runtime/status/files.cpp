#include "runtime/status/files.h"

#include <filesystem>
#include <map>
#include <sys/stat.h>
#include <system_error>

#include <fmt/format.h>

#include "runtime/status/output_files.h"
#include "runtime/status/read_file.h"

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
