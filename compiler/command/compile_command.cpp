// `cgc compile` and `cgc check`.
#include <fmt/format.h>

#include <memory>

#include "compiler/command/commands.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/plan/load.h"

namespace cgraph {
namespace {

struct Flags {
  OutputFlags output;
  CompileFlags compile;
  std::vector<std::string> files;
  std::string out;
};

ExitCode RunCompile(const Flags& flags) {
  Result<CompileOptions> options = flags.compile.Options(flags.files[0]);
  if (!options.ok()) {
    (void)ReportStatus(options.status());
    return kUsage;
  }
  llvm::SmallString<128> out(flags.out);
  if (out.empty()) {
    out = llvm::sys::path::filename(flags.files[0]);
    llvm::sys::path::replace_extension(out, ".cgplan");
  }
  if (WritesOver(out.str().str(), flags.files[0])) return kUsage;
  Compilation done = CompileAndReport(*options, flags.output);
  if (!done.plan) return done.exit_code;
  if (Status status = plan::WriteFile(*done.plan, out.str().str()); !status.ok()) {
    return ReportStatus(status);
  }
  if (!flags.output.quiet && !flags.output.json) {
    size_t instructions = 0;
    for (const auto& graph : done.plan->graphs) instructions += graph->instructions.size();
    llvm::errs() << fmt::format("{}: {} graph(s), {} instructions, proved\n", out.str().str(),
                                done.plan->graphs.size(), instructions);
  }
  return kSuccess;
}

ExitCode RunCheck(const Flags& flags) {
  ExitCode worst = kSuccess;
  for (const std::string& file : flags.files) {
    Result<CompileOptions> options = flags.compile.Options(file);
    if (!options.ok()) {
      (void)ReportStatus(options.status());
      return kUsage;
    }
    options->check_only = true;
    worst = std::max(worst, CompileAndReport(*options, flags.output).exit_code);
  }
  return worst;
}

}  // namespace

Command AddCompileCommand(CLI::App& cgc) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = cgc.add_subcommand("compile", "compile a file to a plan that is proved");
  command->add_option("FILE", flags->files, "the .cgraph file")->required()->expected(1);
  command->add_option("-o,--output", flags->out, "plan to write; default: FILE's name, .cgplan");
  AddOutputFlags(*command, flags->output);
  AddCompileFlags(*command, flags->compile);
  return [flags] { return RunCompile(*flags); };
}

Command AddCheckCommand(CLI::App& cgc) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = cgc.add_subcommand("check", "report what is wrong in files, write nothing");
  command->add_option("FILE", flags->files, "the .cgraph files")->required();
  AddOutputFlags(*command, flags->output);
  AddCompileFlags(*command, flags->compile);
  return [flags] { return RunCheck(*flags); };
}

}  // namespace cgraph
