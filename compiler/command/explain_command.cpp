// `cgc explain CODE` prints the catalogue's long text of a diagnostic, with an example of it;
// `cgc explain --list` all codes with their titles. With --json both are for programs, which is
// what the reference of diagnostics is made from.
#include <CLI/CLI.hpp>
#include <memory>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/command/commands.h"
#include "compiler/command/output.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/text.h"

namespace cgraph::command {
namespace {

struct ExplainFlags {
  std::string code;
  bool list = false, json = false;
};

const char* SeverityName(Code code) {
  return CodeSeverity(code) == Severity::kError ? "error" : "warning";
}

llvm::json::Value ToJson(Code code) {
  return llvm::json::Object{{"code", CodeName(code)},
                            {"severity", SeverityName(code)},
                            {"title", CodeTitle(code)},
                            {"explanation", CodeExplanation(code)},
                            {"example", CodeExample(code)}};
}

void Print(Code code) {
  llvm::outs() << CodeName(code) << ": " << CodeTitle(code) << "\n\n"
               << CodeExplanation(code) << "\n";
  llvm::StringRef example = CodeExample(code);
  if (!example.empty()) llvm::outs() << (CodeSeverity(code) == Severity::kError
                                               ? "\nFor example this is refused:\n\n"
                                               : "\nFor example this is warned of:\n\n");
  while (!example.empty()) {
    const auto [line, rest] = example.split('\n');
    llvm::outs() << (line.empty() ? "" : "  ") << line << "\n";
    example = rest;
  }
}

ExitCode ListCodes(bool json) {
  llvm::json::Array codes;
  for (Code code : AllCodes()) {
    if (json) {
      codes.push_back(ToJson(code));
    } else {
      llvm::outs() << llvm::formatv("{0}  {1,-7}  {2}\n", CodeName(code), SeverityName(code),
                                    CodeTitle(code));
    }
  }
  if (json) {
    const llvm::json::Value all = llvm::json::Object{{"diagnostics", std::move(codes)}};
    llvm::outs() << llvm::formatv("{0:2}\n", all);
  }
  return kSuccess;
}

// Finds E0507 also as e0507, E507 or 507.
std::optional<Code> CodeOf(llvm::StringRef text) {
  if (const std::optional<Code> code = ParseCode(text)) return code;
  const llvm::StringRef digits = text.drop_while([](char c) { return llvm::isAlpha(c); });
  const std::string letter = text.drop_back(digits.size()).upper();
  unsigned number = 0;
  if (digits.getAsInteger(10, number)) return std::nullopt;
  for (Code code : AllCodes()) {
    const llvm::StringRef name = CodeName(code);
    unsigned other = 0;
    const bool is_number = !name.drop_front().getAsInteger(10, other) && other == number;
    if (is_number && (letter.empty() || name.take_front() == letter)) return code;
  }
  return std::nullopt;
}

ExitCode RunExplain(const ExplainFlags& flags) {
  if (flags.list) return ListCodes(flags.json);
  if (flags.code.empty()) {
    return UsageError("explain: name a CODE such as E0302, or --list");
  }
  if (const std::optional<Code> code = CodeOf(flags.code)) {
    if (flags.json) {
      llvm::outs() << llvm::formatv("{0:2}\n", ToJson(*code));
    } else {
      Print(*code);
    }
    return kSuccess;
  }
  std::vector<std::string> names;
  for (Code code : AllCodes()) names.push_back(CodeName(code).str());
  return UsageError("there is no diagnostic " + flags.code + DidYouMeanHint(flags.code, names) +
                    "; `cgc explain --list` lists them");
}

}  // namespace

Command AddExplainCommand(CLI::App& cgc) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App* command = cgc.add_subcommand("explain", "the long text of a diagnostic");
  auto* code = command->add_option("CODE", flags->code, "such as E0302");
  command->add_flag("--list", flags->list, "all codes with their titles")->excludes(code);
  command->add_flag("--json", flags->json, "machine-readable result on standard output");
  return [flags] { return RunExplain(*flags); };
}

}  // namespace cgraph::command
