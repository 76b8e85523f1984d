// Checked: a program checked for a test: its text, the standard library, and files to import.
//
// Expectations stand in the text itself: a comment `//^ E0301 words` under a line expects that code
// there with these words in its message, and a text without any expects no diagnostics.
#ifndef CGRAPH_TESTS_SUPPORT_CHECKED_H_
#define CGRAPH_TESTS_SUPPORT_CHECKED_H_

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/check/check.h"
#include "compiler/program/program.h"
#include "compiler/syntax/parse.h"

namespace cgraph::testing {

// A folder of this process's own, removed at the end.
class TempFolder {
 public:
  TempFolder() {
    path_ = std::filesystem::temp_directory_path() /
            ("cgraph_check_" + std::to_string(getpid()) + "_" + std::to_string(count_++));
    std::filesystem::create_directories(path_);
  }
  TempFolder(const TempFolder&) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }
  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }

 private:
  static inline int count_ = 0;
  std::filesystem::path path_;
};

struct Checked {
  explicit Checked(std::string text, std::string path = "test.cgraph",
                   std::vector<std::string> import_dirs = {},
                   std::string library = CGRAPH_SOURCE_DIR "/stdlib")
      : diagnostics(sources) {
    CheckOptions options;
    options.library_dir = std::move(library);
    options.import_dirs = std::move(import_dirs);
    main = sources.Add(std::move(path), std::move(text));
    program = Check(Parse(main, diagnostics), sources, options, diagnostics);
    if (!diagnostics.has_errors()) Validate(program);
  }
  Checked(const Checked&) = delete;

  std::string dump() const {
    std::string text;
    llvm::raw_string_ostream out(text);
    Print(program, out);
    return out.str();
  }
  std::string errors() const { return diagnostics.Text(); }

  // Returns the diagnostics that were expected and did not come, and those that came unexpected;
  // empty: all is well.
  std::string Surprises() const {
    std::vector<Expected> expected = ReadExpected();
    std::string surprises;
    for (const Diagnostic& diagnostic : diagnostics.all()) {
      uint32_t line = diagnostic.range.source == main
                          ? sources.Locate(main, diagnostic.range.begin).line
                          : 0;
      std::string code = CodeName(diagnostic.code).str();
      auto found = std::find_if(expected.begin(), expected.end(), [&](const Expected& e) {
        return e.line == line && e.code == code &&
               diagnostic.message.find(e.words) != std::string::npos;
      });
      if (found != expected.end()) {
        expected.erase(found);
      } else {
        surprises +=
            "came: " + std::to_string(line) + ": " + code + " " + diagnostic.message + "\n";
      }
    }
    for (const Expected& e : expected) {
      surprises += "missed: " + std::to_string(e.line) + ": " + e.code + " " + e.words + "\n";
    }
    return surprises;
  }

  Sources sources;
  Diagnostics diagnostics;
  SourceId main;
  program::Program program;

 private:
  struct Expected {
    uint32_t line;
    std::string code, words;
  };

  std::vector<Expected> ReadExpected() const {
    std::vector<Expected> expected;
    std::istringstream text(sources[main].text);
    std::string line;
    uint32_t number = 0, last = 0;
    while (std::getline(text, line)) {
      ++number;
      size_t mark = line.find("//^ ");
      if (mark == std::string::npos) {
        last = number;
        continue;
      }
      size_t code = mark + 4, words = line.find(' ', code);
      expected.push_back({last,
                          line.substr(code, words == std::string::npos ? words : words - code),
                          words == std::string::npos ? "" : line.substr(words + 1)});
    }
    return expected;
  }
};

}  // namespace cgraph::testing

#endif  // CGRAPH_TESTS_SUPPORT_CHECKED_H_
