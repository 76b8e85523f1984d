// `cgc compile` and `cgc check`.
#include <fmt/format.h>

#include <memory>

#include "compiler/command/commands.h"
#include "compiler/command/files.h"
#include "compiler/command/flags/compile_flags.h"
#include "compiler/command/flags/output_flags.h"
#include "compiler/command/flags/profile_flag.h"
#include "compiler/command/load_plan.h"
#include "compiler/command/report.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/plan/load.h"
#include "runtime/status/text.h"

namespace cgraph {
namespace {

struct Flags {
  OutputFlags output;
  CompileFlags compile;
  std::vector<std::string> files;
  std::string out, profile;
};

constexpr const char* kEmitsIntoJson =
    "--json and --emit both print to standard output; give --emit a file: PHASE=FILE";

// With --json the diagnostics of all files are one array.
void Diagnosed(const OutputFlags& output, llvm::function_ref<void(llvm::json::OStream*)> compile) {
  if (!output.json) return compile(nullptr);
  llvm::json::OStream json(llvm::outs(), 1);
  json.array([&] { compile(&json); });
  llvm::outs() << "\n";
}

// Standard output can hold one of the two.
bool EmitsIntoJson(const OutputFlags& output, const CompileOptions& options) {
  const bool prints = llvm::any_of(options.emit, [](const auto& emit) {
    return emit.second.empty() || emit.second == "-";
  });
  return output.json && prints;
}

ExitCode RunCompile(const Flags& flags) {
  Result<CompileOptions> options = flags.compile.Options(flags.files[0]);
  if (!options.ok()) return UsageError(options.status().message());
  if (EmitsIntoJson(flags.output, *options)) return UsageError(kEmitsIntoJson);
  Result<std::optional<Profile>> profile = ReadProfile(flags.profile);
  if (!profile.ok()) return ReportStatus(profile.status());
  options->profile = *profile;
  llvm::SmallString<128> out(flags.out);
  if (out.empty()) {
    out = llvm::sys::path::filename(flags.files[0]);
    llvm::sys::path::replace_extension(out, ".cgplan");
  }
  if (WritesOver(out.str().str(), flags.files[0])) return kUsage;
  Compilation done;
  Diagnosed(flags.output, [&](llvm::json::OStream* json) {
    done = CompileAndReport(*options, flags.output, json);
  });
  if (!done.plan) return done.exit_code;
  WarnOfUnusedTimes(*done.plan, *profile, flags.profile);
  if (Status status = plan::WriteFile(*done.plan, out.str().str()); !status.ok()) {
    return ReportStatus(status);
  }
  if (!flags.output.quiet && !flags.output.json) {
    size_t instructions = 0;
    for (const auto& graph : done.plan->graphs) instructions += graph->instructions.size();
    llvm::errs() << fmt::format("{}: {}, {}, proved\n", out.str().str(),
                                Counted(done.plan->graphs.size(), "graph"),
                                Counted(instructions, "instruction"));
  }
  return kSuccess;
}

ExitCode RunCheck(const Flags& flags) {
  ExitCode worst = kSuccess;
  std::vector<CompileOptions> all;
  for (const std::string& file : flags.files) {
    Result<CompileOptions> options = flags.compile.Options(file);
    if (!options.ok()) return UsageError(options.status().message());
    options->check_only = true;
    if (EmitsIntoJson(flags.output, *options)) return UsageError(kEmitsIntoJson);
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

Command AddCompileCommand(CLI::App& cgc) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = cgc.add_subcommand("compile", "compile a file to a plan that is proved");
  command->add_option("FILE", flags->files, "the .cgraph file")->required()->expected(1);
  command->add_option("-o,--output", flags->out, "plan to write; default: FILE's name, .cgplan");
  AddProfileFlag(*command, flags->profile);
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
