// `cgc plan`: prints a plan as text or JSON, and reads JSON back.
#include <fmt/format.h>

#include <memory>

#include "compiler/command/commands.h"
#include "compiler/command/flags/flags.h"
#include "compiler/command/output.h"
#include "runtime/base/files.h"
#include "runtime/base/text.h"
#include "runtime/base/usage_text.h"
#include "runtime/plan/check.h"
#include "runtime/plan/load.h"
#include "runtime/plan/print.h"

namespace cgraph::command {
namespace {

struct PlanFlags {
  OutputFlags output;
  std::string plan, from_json, out;
};

// Turns JSON into a .cgplan. Only the form is checked, so that a plan can be edited into one that
// is wrong.
ExitCode RunFromJson(const PlanFlags& flags) {
  if (LosesFiles({{"--from-json ", flags.from_json}}, {{"-o ", flags.out}})) return kUsage;
  Result<std::string> text = ReadText(flags.from_json, kMaxTextBytes);
  if (!text.ok()) return ReportStatus(text.status());
  Result<std::unique_ptr<plan::Plan>> made = plan::FromJson(*text);
  if (!made.ok()) {
    return ReportStatus(
        {made.status().code(), fmt::format("{}: {}", flags.from_json, made.status().message())});
  }
  if (Status status = plan::WriteFile(**made, flags.out); !status.ok()) return ReportStatus(status);
  return kSuccess;
}

ExitCode RunPlan(const PlanFlags& flags) {
  if (!flags.from_json.empty()) {
    if (flags.out.empty() || !flags.plan.empty()) {
      return UsageError("plan: --from-json JSON needs -o PLAN, and no plan to read");
    }
    return RunFromJson(flags);
  }
  if (flags.plan.empty()) {
    return UsageError("plan: name a PLAN to print, or --from-json JSON -o PLAN");
  }
  if (LosesFiles({{"", flags.plan}}, {{"-o ", flags.out}})) return kUsage;
  if (const std::string source = SourceForPlanText(flags.plan); !source.empty()) {
    return UsageError("plan: " + source);
  }
  Result<std::unique_ptr<plan::Plan>> loaded = plan::ReadFile(flags.plan);
  if (!loaded.ok()) return ReportStatus(loaded.status());
  if (flags.output.json) {
    Status status = WriteOutput(flags.out, plan::ToJson(**loaded));
    return status.ok() ? kSuccess : ReportStatus(status);
  }
  // The text speaks of lanes and values, so it needs a plan whose numbers can be followed.
  Status status = plan::CheckPlan(**loaded);
  if (!status.ok()) {
    return ReportStatus({status.code(), fmt::format("{}: {}", flags.plan, status.message())});
  }
  status = WriteOutput(flags.out, Printable(plan::ToText(**loaded)));
  return status.ok() ? kSuccess : ReportStatus(status);
}

}  // namespace

Command AddPlanCommand(CLI::App& cgc) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App* command = cgc.add_subcommand("plan", "a plan as text or JSON, and back");
  command->add_option("PLAN", flags->plan, "the .cgplan file");
  command->add_option("--from-json", flags->from_json, "make a plan of this JSON (unproved)")
      ->type_name("JSON");
  command->add_option("-o,--output", flags->out, "file to write; default: standard output");
  AddOutputFlags(*command, flags->output);
  return [flags] { return RunPlan(*flags); };
}

}  // namespace cgraph::command
