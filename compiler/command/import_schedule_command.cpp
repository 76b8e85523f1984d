// `cgc import-schedule FILE.csv`: turns the order of a pipeline, in the form of PyTorch's
// pipelining, into a schedule of the language.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "compiler/base/check.h"
#include "compiler/base/limits.h"
#include "compiler/command/commands.h"
#include "compiler/command/output.h"
#include "compiler/format/format.h"
#include "compiler/pipeline/order.h"
#include "compiler/syntax/parse.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/files.h"

namespace cgraph::command {
namespace {

struct ImportFlags {
  std::string file, name, output;
  bool json = false;
};

// Returns whether a schedule can have this name in a program, and be found by it.
bool IsName(const std::string& name) {
  const bool word = llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  if (name.empty() || !word || name == "auto" || name == "program") return false;
  Sources sources;
  Diagnostics diagnostics(sources);
  Parse(sources.Add("", "schedule " + name + "() {}\n"), diagnostics);
  return !diagnostics.has_errors();
}

// Makes a name of the file's name by leaving out what a name cannot have.
std::string NameOf(const std::string& path) {
  std::string name = llvm::sys::path::stem(path).str();
  for (char& c : name) {
    if (!llvm::isAlnum(c)) c = '_';
  }
  return IsName(name) ? name : IsName("schedule_" + name) ? "schedule_" + name : "imported";
}

std::string LaidOut(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics(sources);
  const syntax::File file = Parse(sources.Add("", text), diagnostics);
  CGRAPH_CHECK(!diagnostics.has_errors(), "import-schedule", "what was written cannot be read");
  return Format(file, diagnostics);
}

ExitCode RunImport(const ImportFlags& flags) {
  if (!flags.name.empty() && !IsName(flags.name)) {
    return UsageError(fmt::format("--name {}: a schedule cannot have this name; take letters, "
                                  "digits and _, and no word of the language",
                                  flags.name));
  }
  if (LosesFiles({{"", flags.file}}, {{"-o ", flags.output}})) return kUsage;
  const Result<std::string> text = ReadText(flags.file, kMaxSourceBytes);
  if (!text.ok()) return ReportStatus(text.status());
  const Result<pipeline::Order> order = pipeline::ReadOrder(flags.file, *text);
  if (!order.ok()) return ReportStatus(order.status());
  if (!order->left_out.empty()) {
    llvm::errs() << "cgc: note: "
                 << fmt::format("{}: left out {}: a stage has its parameters whole here\n",
                                flags.file, fmt::join(order->left_out, ", "));
  }
  const std::string name = flags.name.empty() ? NameOf(flags.file) : flags.name;
  std::string schedule = LaidOut(pipeline::WriteSchedule(name, *order));
  if (flags.json) {
    const llvm::json::Value result = llvm::json::Object{{"name", name},
                                                        {"ranks", order->ranks.size()},
                                                        {"stages", order->stages},
                                                        {"microbatches", order->microbatches},
                                                        {"text", schedule}};
    PrintJson(result);
    if (flags.output.empty()) return kSuccess;
  }
  const Status status = WriteOutput(flags.output, schedule);
  return status.ok() ? kSuccess : ReportStatus(status);
}

}  // namespace

Command AddImportScheduleCommand(CLI::App& cgc) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App* command =
      cgc.add_subcommand("import-schedule", "a pipeline's order from PyTorch's CSV, as a schedule");
  command->add_option("FILE", flags->file, "a line for each rank, cells such as 2F0")->required();
  command->add_option("--name", flags->name, "of the schedule; default: that of the file");
  command->add_option("-o,--output", flags->output, "file to write; default: standard output");
  command->add_flag("--json", flags->json, "machine-readable result on standard output");
  return [flags] { return RunImport(*flags); };
}

}  // namespace cgraph::command
