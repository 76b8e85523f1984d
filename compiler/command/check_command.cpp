// `cgc check`: reports what is wrong in files, and writes nothing.
#include <algorithm>
#include <memory>

#include "compiler/command/commands.h"
#include "compiler/command/flags/flags.h"
#include "compiler/command/load_plan.h"
#include "compiler/command/output.h"
#include "runtime/base/status.h"
#include "runtime/base/usage_text.h"

namespace cgraph::command {
namespace {

struct CheckFlags {
  OutputFlags output;
  CompileFlags compile;
  std::vector<std::string> files;
};

ExitCode RunCheck(const CheckFlags& flags) {
  ExitCode worst = kSuccess;
  std::vector<CompileOptions> all;
  for (const std::string& file : flags.files) {
    if (const std::string plan = PlanForSourceText(file); !plan.empty()) return UsageError(plan);
    Result<CompileOptions> options = flags.compile.Options(file);
    if (!options.ok()) return UsageError(options.status().message());
    options->check_only = true;
    if (Status emit = CheckEmit(flags.output, *options); !emit.ok()) {
      return UsageError(emit.message());
    }
    if (LosesFiles(flags.compile.Read({{"", file}}), flags.compile.Written({}))) return kUsage;
    all.push_back(std::move(*options));
  }
  Diagnosed(flags.output, [&](llvm::json::OStream* json) {
    for (const CompileOptions& options : all) {
      worst = std::max(worst, CompileAndReport(options, flags.output, json).exit_code);
    }
  });
  return worst;
}

}  // namespace

Command AddCheckCommand(CLI::App& cgc) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* command = cgc.add_subcommand("check", "report what is wrong in files, write nothing");
  command->add_option("FILE", flags->files, "the .cgraph files")->required();
  AddOutputFlags(*command, flags->output);
  AddWerrorFlag(*command, flags->output);
  AddCompileFlags(*command, flags->compile);
  return [flags] { return RunCheck(*flags); };
}

}  // namespace cgraph::command
