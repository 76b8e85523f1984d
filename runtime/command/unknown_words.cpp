#include "runtime/command/unknown_words.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "runtime/base/usage_text.h"
#include "runtime/plan/check.h"
#include "runtime/plan/load.h"

namespace cgraph::command {
namespace {

// Suggests `--input x=x.npy` for `--input x x.npy` and `--input x = x.npy`, whose last words belong
// to no flag; empty for other words.
std::string WithEquals(const std::string& word, const std::vector<std::string>& line) {
  for (size_t i = 0; i + 2 < line.size(); ++i) {
    const std::string &flag = line[i], &name = line[i + 1];
    if ((flag != "--input" && flag != "--output") || line[i + 2] != word) continue;
    const bool is_cut = word == "=" && i + 3 < line.size();  // the value is a word of its own
    const std::string value = is_cut ? line[i + 3] : word.substr(word.starts_with('='));
    const size_t equals = name.find('=');
    if (equals != std::string::npos && equals + 1 != name.size()) continue;
    if (value.empty() || value == "=" || (is_cut && value.starts_with("--"))) continue;
    return fmt::format("{0} {1} {2}{3}: write {0} {4}={5}, in one word", flag, name, word,
                       is_cut ? " " + value : "", name.substr(0, equals), value);
  }
  return "";
}

// Suggests `--input rate=0.1` for `--rate 0.1`, and `-D N=8` for `--N 8`, where the file of the
// command line has such an input or const; empty for other words.
std::string ProgramHint(const std::string& word, const std::vector<std::string>& line) {
  SourceNames names;
  for (const std::string& file : line) {
    if (file.ends_with(".cgraph")) names = ReadSourceNames(file);
    std::error_code error;
    if (!file.ends_with(".cgplan") || !std::filesystem::is_regular_file(file, error)) continue;
    const auto plan = plan::ReadFile(file);
    if (!plan.ok() || !plan::CheckPlan(**plan).ok()) continue;
    for (const auto& graph : (*plan)->graphs) {
      for (const auto& port : graph->inputs) names.inputs.push_back(port->name);
    }
  }
  const auto at = static_cast<size_t>(std::find(line.begin(), line.end(), word) - line.begin());
  if (at == line.size()) return "";
  const std::string input = NamedFlagHint(line, at, names.inputs, "--input");
  return input.empty() ? NamedFlagHint(line, at, names.consts, "-D") : input;
}

}  // namespace

std::string UnknownWordText(const std::vector<std::string>& unknown,
                            const std::vector<std::string>& line,
                            const std::vector<std::string>& flags) {
  if (unknown.empty()) return "unexpected arguments";
  const std::string& word = unknown.front();
  if (!word.starts_with('-')) {
    const std::string equals = WithEquals(word, line);
    if (!equals.empty()) return equals;
    return fmt::format("unexpected argument `{}`: cgrun takes one FILE", word);
  }
  const std::string flag = word.substr(0, word.find('='));
  for (const std::string& hint :
       {ProgramHint(word, line), ForeignFlagHint(flag), NearFlagHint(flag, flags)}) {
    if (!hint.empty()) return fmt::format("unknown flag `{}`{}", word, hint);
  }
  return fmt::format("unknown flag `{}`; `cgrun --help` lists them", word);
}

}  // namespace cgraph::command
