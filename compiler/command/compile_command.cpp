// `cgc compile`: compiles a file to a plan that is proved.
#include <fmt/format.h>

#include <memory>

#include "compiler/command/commands.h"
#include "compiler/command/flags/flags.h"
#include "compiler/command/load_plan.h"
#include "compiler/command/output.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/text.h"
#include "runtime/base/usage_text.h"
#include "runtime/plan/load.h"

namespace cgraph::command {
namespace {

struct CompileCommandFlags {
  OutputFlags output;
  CompileFlags compile;
  std::vector<std::string> files;
  std::string out, profile;
};

void Summarize(const plan::Plan& plan, const std::string& name) {
  size_t instructions = 0;
  for (const auto& graph : plan.graphs) instructions += graph->instructions.size();
  Say(fmt::format("{}: {}, {}, proved\n", name, Counted(plan.graphs.size(), "graph"),
                  Counted(instructions, "instruction")));
}

ExitCode RunCompile(const CompileCommandFlags& flags) {
  if (const std::string plan = PlanForSourceText(flags.files[0]); !plan.empty()) {
    return UsageError(plan);
  }
  Result<CompileOptions> options = flags.compile.Options(flags.files[0]);
  if (!options.ok()) return UsageError(options.status().message());
  if (Status emit = CheckEmit(flags.output, *options); !emit.ok()) {
    return UsageError(emit.message());
  }
  Result<std::optional<Profile>> profile = ReadProfile(flags.profile);
  if (!profile.ok()) return ReportStatus(profile.status());
  options->profile = *profile;
  llvm::SmallString<128> out(flags.out);
  if (out.empty()) {
    out = llvm::sys::path::filename(flags.files[0]);
    llvm::sys::path::replace_extension(out, ".cgplan");
  }
  const std::vector<NamedFile> written = flags.compile.Written({{"-o ", out.str().str()}});
  if (LosesFiles(flags.compile.Read({{"", flags.files[0]}, {"--profile ", flags.profile}}),
                 written)) {
    return kUsage;
  }
  Compilation done;
  Diagnosed(flags.output, [&](llvm::json::OStream* json) {
    done = CompileAndReport(*options, flags.output, json);
  });
  if (!done.plan) return done.exit_code;
  WarnOfUnfitTimes(*done.plan, *profile, flags.profile, flags.output);
  if (LosesFiles(done.read, written)) return kUsage;  // an import, which was not known before
  if (Status status = plan::WriteFile(*done.plan, out.str().str()); !status.ok()) {
    return ReportStatus(status);
  }
  // A plan that cgrun takes over has no name of its own.
  const bool taken_over = out.str().startswith("/dev/fd/");
  const bool summary = !taken_over || flags.output.verbose;
  if (summary && !flags.output.quiet && !flags.output.json) {
    Summarize(*done.plan, taken_over ? flags.files[0] : out.str().str());
  }
  return kSuccess;
}

}  // namespace

Command AddCompileCommand(CLI::App& cgc) {
  auto flags = std::make_shared<CompileCommandFlags>();
  CLI::App* command = cgc.add_subcommand("compile", "compile a file to a plan that is proved");
  command->add_option("FILE", flags->files, "the .cgraph file")->required()->expected(1);
  command->add_option("-o,--output", flags->out, "plan to write; default: FILE's name, .cgplan");
  AddProfileFlag(*command, flags->profile);
  AddOutputFlags(*command, flags->output);
  AddWerrorFlag(*command, flags->output);
  AddCompileFlags(*command, flags->compile);
  command
      ->add_option("--workers", flags->compile.workers,
                   "threads that shall drive the plan, at most; default: one for each device")
      ->type_name("N")
      ->check(CLI::Range(1u, 1024u))
      ->excludes("--device-map");
  return [flags] { return RunCompile(*flags); };
}

}  // namespace cgraph::command
