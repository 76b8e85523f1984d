#include "compiler/command/load_plan.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/command/flags/flags.h"
#include "compiler/command/output.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/plan/check.h"
#include "runtime/plan/device_map.h"
#include "runtime/plan/load.h"

namespace cgraph::command {

Compilation CompileAndReport(const CompileOptions& options, const OutputFlags& output,
                             llvm::json::OStream* json) {
  Sources sources;
  Diagnostics diagnostics(sources);
  diagnostics.set_warnings_are_errors(output.warnings_are_errors);
  diagnostics.set_suppressed_warnings(output.suppressed_warnings());
  Compilation done = Compile(options, sources, diagnostics);
  if (done.plan && !options.device_map.empty()) {
    // The plan may run on another machine, so any number of cores and GPUs is accepted.
    const plan::Machine any;
    if (const auto mapped = plan::MapDevices(*done.plan, options.device_map, {&any, 1});
        !mapped.ok()) {
      (void)ReportStatus(mapped.status());
      done = {kUsage, nullptr, {}};
    }
  }
  if (json != nullptr) {
    WriteJson(diagnostics, *json);
  } else if (!output.quiet || diagnostics.has_errors()) {
    diagnostics.Print(llvm::errs(), output.use_color(), output.max_errors);
  }
  return done;
}

plan::PlanOrExit LoadOrCompile(const std::string& path, const CompileFlags& flags,
                               const OutputFlags& output,
                               const std::optional<Profile>& profile,
                               std::optional<cost::Topology>* topology) {
  if (llvm::StringRef(path).endswith(".cgplan")) {
    const auto given = llvm::find_if(flags.of_sources,
                                     [](const CLI::Option* option) { return option->count() > 0; });
    if (given != flags.of_sources.end()) {
      return {nullptr, UsageError(fmt::format("{} needs a .cgraph: a plan is already compiled",
                                              (*given)->get_name()))};
    }
    Result<std::unique_ptr<plan::Plan>> loaded = plan::ReadFile(path);
    if (!loaded.ok()) return {nullptr, ReportStatus(loaded.status())};
    if (Status status = plan::CheckPlan(**loaded); !status.ok()) {
      return {nullptr,
              ReportStatus({status.code(), fmt::format("{}: {}", path, status.message())})};
    }
    if (topology != nullptr && !flags.topology.empty()) {
      const ExitCode exit_code = ReadTopology(flags, output, **loaded, *topology);
      if (exit_code != kSuccess) return {nullptr, exit_code};
    }
    return {std::move(*loaded)};
  }
  Result<CompileOptions> options = flags.Options(path);
  if (!options.ok()) return {nullptr, UsageError(options.status().message())};
  options->profile = profile;
  // --json belongs to the command's own result.
  Compilation done = CompileAndReport(*options, output, nullptr);
  if (topology != nullptr) *topology = std::move(done.topology);
  return {std::move(done.plan), done.exit_code};
}

void Diagnosed(const OutputFlags& output, llvm::function_ref<void(llvm::json::OStream*)> compile) {
  if (!output.json) return compile(nullptr);
  WriteJsonOutput([&](llvm::json::OStream& json) { json.array([&] { compile(&json); }); });
}

Status CheckEmit(const OutputFlags& output, const CompileOptions& options) {
  const bool prints =
      llvm::any_of(options.emit, [](const Emission& emission) { return emission.prints(); });
  if (!output.json || !prints) return Status::Ok();
  return {StatusCode::kInvalid,
          "--json and --emit both print to standard output; give --emit a file: KIND=FILE"};
}

}  // namespace cgraph::command
