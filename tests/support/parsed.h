// A text parsed for a test, with everything a test asks about it.
#ifndef CGRAPH_TESTS_SUPPORT_PARSED_H_
#define CGRAPH_TESTS_SUPPORT_PARSED_H_

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/syntax/parse.h"
#include "compiler/syntax/syntax.h"

namespace cgraph::testing {

struct Parsed {
  explicit Parsed(std::string text) : diagnostics(sources) {
    file = Parse(sources.Add("test.cgraph", std::move(text)), diagnostics);
    Validate(file);
  }
  Parsed(const Parsed&) = delete;

  std::string dump() const {
    std::string text;
    llvm::raw_string_ostream out(text);
    Print(file, out);
    return out.str();
  }
  std::string errors() const { return diagnostics.Text(); }
  // Returns the lines and codes of all diagnostics, by position: "3:E0201 8:E0202".
  std::string where() const {
    std::vector<std::pair<uint32_t, std::string>> found;
    for (const Diagnostic& diagnostic : diagnostics.all()) {
      const LineColumn at = sources.Locate(diagnostic.range.source, diagnostic.range.begin);
      found.emplace_back(at.line, CodeName(diagnostic.code).str());
    }
    std::sort(found.begin(), found.end());
    std::string text;
    for (const auto& [line, code] : found) {
      text += (text.empty() ? "" : " ") + std::to_string(line) + ":" + code;
    }
    return text;
  }

  Sources sources;
  Diagnostics diagnostics;
  syntax::File file;
};

inline std::string ReadText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Returns every .cgraph file below these folders of the repository, in a stable order.
inline std::vector<std::filesystem::path> Programs(const std::vector<std::string>& folders) {
  std::vector<std::filesystem::path> found;
  for (const std::string& folder : folders) {
    const std::filesystem::path root = std::filesystem::path(CGRAPH_SOURCE_DIR) / folder;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() == ".cgraph") found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace cgraph::testing

#endif  // CGRAPH_TESTS_SUPPORT_PARSED_H_
