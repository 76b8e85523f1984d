#include "runtime/base/usage_text.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/read_file.h"
#include "runtime/base/text.h"

namespace cgraph {
namespace {

// A bound that no number reaches is not printed.
constexpr std::ptrdiff_t kMostDigits = 10;

std::string OutOfRange(const std::smatch& m) {
  const std::string upper = m[4].length() > kMostDigits ? "on" : "to " + m[4].str();
  return fmt::format("{} {}: expected a number from {} {}", m[1].str(), m[2].str(), m[3].str(),
                     upper);
}

std::string NotInSet(const std::smatch& m) {
  std::vector<std::string> names;
  const std::string all = m[3];
  for (size_t begin = 0; begin <= all.size();) {
    const size_t end = std::min(all.find(',', begin), all.size());
    names.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return fmt::format("{0} {1}: there is no `{1}`{2}; it is one of {3}", m[1].str(), m[2].str(),
                     DidYouMeanHint(m[2].str(), names), fmt::join(names, ", "));
}

// Handles `--repeat: 1 required UINT:UINT in [1 - 1024] missing`.
std::string WithoutValue(const std::smatch& m) {
  const std::string value = m[2];
  const bool number = value.starts_with("UINT") || value.starts_with("INT") ||
                      value.starts_with("FLOAT") || value.starts_with("N:");
  return value == "TEXT" ? fmt::format("{} needs a value", m[1].str())
         : number        ? fmt::format("{} needs a number", m[1].str())
                         : fmt::format("{} needs a value: {}", m[1].str(), value);
}

struct Form {
  const char* pattern;
  std::string (*text)(const std::smatch&);
};

const Form kForms[] = {
    {"(\\S+): Value (.*) not in range (\\S+) to (\\S+)", OutOfRange},
    {"(\\S+): (.*) not in \\{(.*)\\}", NotInSet},
    {"(\\S+): \\d+ required (.+) missing", WithoutValue},
    {"(\\S+) is required", [](const std::smatch& m) { return "name a " + m[1].str(); }},
    {"A subcommand is required", [](const std::smatch&) { return std::string("name a command"); }},
    {"(\\S+): At Most 1 required but received (\\d+)",
     [](const std::smatch& m) {
       const std::string name = m[1];
       if (!name.starts_with('-')) return fmt::format("name one {}, and not {}", name, m[2].str());
       return fmt::format("{} is given {} times; give it once", name, m[2].str());
     }},
    {"Could not convert: (\\S+) = (.*)",
     [](const std::smatch& m) {
       return fmt::format("{} {}: expected a number", m[1].str(), m[2].str());
     }},
    {"(\\S+) excludes (\\S+)",
     [](const std::smatch& m) {
       return fmt::format("{} and {} exclude each other", m[1].str(), m[2].str());
     }},
};

}  // namespace

std::string NumberRangeText(uint64_t least, uint64_t most) {
  return fmt::format("expected a number from {} to {}", least, most);
}

std::string ProcessesText(uint64_t most) {
  return fmt::format("expected `device`, for one process for each device, or a number from 1 to {}",
                     most);
}

std::string UsageText(const std::string& message) {
  constexpr size_t kLongest = 1000;  // std::regex is recursive: a long value stays as it is
  std::smatch match;
  for (const Form& form : kForms) {
    if (message.size() <= kLongest && std::regex_match(message, match, std::regex(form.pattern))) {
      return form.text(match);
    }
  }
  return message;
}

std::string ForeignFlagHint(std::string_view flag) {
  struct Foreign {
    std::vector<std::string_view> flags;
    const char* hint;
  };
  static const Foreign kForeign[] = {
      {{"--batch-size", "--batch_size", "--bs"},
       "; how many rows a graph takes stands in the program, and cgrun --batch NAME cuts a longer "
       "input into slices of them"},
      {{"-j", "--jobs", "--threads", "--num-threads", "--num-workers"}, "; give cgrun --workers N"},
      {{"--device", "--devices", "--gpu", "--gpus"},
       "; give --device-map, as gpu[0]=cpu:0: where calls run stands in the program"},
      {{"--iters", "--iterations", "--runs", "--steps"}, "; give cgrun -n N"},
      {{"--epochs"}, "; give cgrun --epochs N"},
      {{"--checkpoint-every", "--save-steps", "--checkpoint-interval"},
       "; give cgrun --save-every N, with --save-state FILE.safetensors"},
      {{"--resume", "--resume-from", "--checkpoint", "--from-checkpoint"},
       "; give cgrun --load-state FILE.safetensors, with --epochs to go on where it was saved"},
      {{"--evaluate-every", "--eval-steps", "--eval-interval"},
       "; give cgrun --eval-every N"},
      {{"--log-interval", "--logging-steps"}, "; give cgrun --log-every N"},
      {{"--seed"},
       "; cgrun --shuffle SEED orders rows, and numbers of the program have their seeds there, as "
       "normal(seed: 1)"},
      {{"--each", "--all", "--all-outputs"},
       "; cgrun --every gives the outputs of every execution"},
      {{"--define", "--param", "--params", "--set"}, "; give -D NAME=VALUE"},
      {{"--include", "--include-dir"}, "; give -I DIR"},
      {{"-w", "--no-warnings", "--no-warning", "--disable-warning", "--suppress", "--ignore"},
       "; give --no-warn CODE, as --no-warn W0504, or -q, for errors only"},
  };
  if (flag.starts_with("-Wno-")) flag = "-w";
  for (const Foreign& foreign : kForeign) {
    for (const std::string_view known : foreign.flags) {
      if (flag == known) return foreign.hint;
    }
  }
  const bool level = flag.starts_with("-O") && flag.size() <= 3;
  if (!level && flag != "--opt-level" && flag != "--optimize") return "";
  return "; there are no levels of optimisation, and cgc --effort N says how long `auto` looks for "
         "an order";
}

std::string NearFlagHint(std::string_view flag, std::span<const std::string> flags) {
  const auto bare = [](std::string_view word) {
    std::string name(word.substr(std::min(word.find_first_not_of('-'), word.size())));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    return name;
  };
  const std::string near = DidYouMean(flag, flags);
  const std::string given = bare(flag), meant = bare(near);
  const size_t most = given.size() <= 2 ? 0 : given.size() <= 6 ? 1 : given.size() <= 10 ? 2 : 3;
  const bool is_near = meant.starts_with(given) || EditDistance(given, meant) <= most;
  return near.empty() || !is_near ? "" : fmt::format(" (did you mean `{}`?)", near);
}

namespace {

// Words and single other characters of a source, without spaces and comments.
std::vector<std::string_view> TokensOf(std::string_view text) {
  const auto is_of_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  std::vector<std::string_view> tokens;
  for (size_t at = 0, end = 0; at < text.size(); at = end) {
    end = at + 1;
    if (std::isspace(static_cast<unsigned char>(text[at])) != 0) continue;
    if (text.substr(at).starts_with("//")) {
      end = std::min(text.find('\n', at), text.size());
      continue;
    }
    while (is_of_word(text[at]) && end < text.size() && is_of_word(text[end])) ++end;
    tokens.push_back(text.substr(at, end - at));
  }
  return tokens;
}

}  // namespace

SourceNames ReadSourceNames(const std::string& path) {
  constexpr int64_t kMost = 1 << 20;
  std::error_code error;
  std::string text;
  if (!std::filesystem::is_regular_file(path, error) || ReadFile(path, kMost, text)) return {};
  const std::vector<std::string_view> tokens = TokensOf(text);
  SourceNames names;
  for (size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (tokens[i] == "const") names.consts.emplace_back(tokens[i + 1]);
    if (tokens[i] != "graph" || tokens[i + 2] != "(") continue;
    int depth = 0;
    for (size_t j = i + 2; j + 2 < tokens.size(); ++j) {
      const std::string_view token = tokens[j];
      depth += (token == "(" || token == "[") - (token == ")" || token == "]");
      if (depth == 0) break;
      const bool is_before_name = depth == 1 && (token == "(" || token == ",");
      if (is_before_name && tokens[j + 2] == ":") names.inputs.emplace_back(tokens[j + 1]);
    }
  }
  return names;
}

std::string NamedFlagHint(std::span<const std::string> words, size_t at,
                          std::span<const std::string> names, const char* flag) {
  const std::string& word = words[at];
  if (!word.starts_with("--")) return "";
  const size_t equals = std::min(word.find('='), word.size());
  std::string name = word.substr(2, equals - 2);
  std::replace(name.begin(), name.end(), '-', '_');
  if (std::find(names.begin(), names.end(), name) == names.end()) return "";
  const auto is_value = [](const std::string& next) {
    const bool is_flag = next.size() > 1 && next[0] == '-' &&
                         std::isdigit(static_cast<unsigned char>(next[1])) == 0 && next[1] != '.';
    return !is_flag && !next.ends_with(".cgraph") && !next.ends_with(".cgplan");
  };
  const bool is_next = at + 1 < words.size() && is_value(words[at + 1]);
  const std::string value = equals < word.size() ? word.substr(equals + 1)
                            : is_next            ? words[at + 1]
                                                 : "VALUE";
  return fmt::format(" (did you mean `{} {}={}`?)", flag, name, value);
}

std::string SourceForPlanText(std::string_view path) {
  if (!path.ends_with(".cgraph")) return "";
  return fmt::format("{0} is a source, and a plan is read here; `cgc compile {0}` makes one, and "
                     "proves it",
                     path);
}

std::string PlanForSourceText(std::string_view path) {
  if (!path.ends_with(".cgplan")) return "";
  return fmt::format("{0} is a plan, compiled already; `cgc verify {0}` proves it, `cgrun {0}` "
                     "runs it",
                     path);
}

}  // namespace cgraph
