// `cgc plan` and `cgc verify`: what only reads a plan.
#include <fmt/format.h>

#include <memory>

#include "compiler/command/commands.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/plan/check.h"
#include "runtime/plan/load.h"
#include "runtime/plan/print.h"
#include "runtime/plan/prove.h"

namespace cgraph {
namespace {

struct PlanFlags {
  OutputFlags output;
  std::string plan, from_json, out;
};

// JSON -> .cgplan. Only the form is checked, so that a plan can be edited into one that is wrong.
ExitCode RunFromJson(const PlanFlags& flags) {
  if (WritesOver(flags.out, flags.from_json)) return kUsage;
  Result<std::string> text = ReadText(flags.from_json);
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
  if (WritesOver(flags.out, flags.plan)) return kUsage;
  Result<std::unique_ptr<plan::Plan>> loaded = plan::ReadFile(flags.plan);
  if (!loaded.ok()) return ReportStatus(loaded.status());
  if (flags.output.json) {
    Status status = WriteText(flags.out, plan::ToJson(**loaded));
    return status.ok() ? kSuccess : ReportStatus(status);
  }
  // The text speaks of lanes and values, so it needs a plan whose numbers can be followed.
  Status status = plan::CheckPlan(**loaded);
  if (status.ok()) status = WriteText(flags.out, plan::ToText(**loaded));
  return status.ok() ? kSuccess : ReportStatus(status);
}

struct VerifyFlags {
  OutputFlags output;
  std::string plan;
  std::optional<uint32_t> capacity;
};

llvm::json::Value ToJson(const plan::Verdict& verdict, const plan::Plan& plan) {
  llvm::json::Object result{{"proved", verdict.proved()},
                            {"refusal", plan::RefusalName(verdict.refusal)},
                            {"message", verdict.message}};
  llvm::json::Array steps;
  for (const plan::Step& step : verdict.steps) {
    steps.push_back(llvm::json::Object{{"graph", step.graph},
                                       {"instruction", step.instruction},
                                       {"text", step.text},
                                       {"waits_for", step.waits_for}});
  }
  result[verdict.refusal == plan::Refusal::kHang ? "cycle" : "steps"] = std::move(steps);
  if (verdict.proved()) result["certificate"] = plan::CertificateText(plan);
  return result;
}

ExitCode RunVerify(const VerifyFlags& flags) {
  Result<std::unique_ptr<plan::Plan>> loaded = plan::ReadFile(flags.plan);
  if (!loaded.ok()) return ReportStatus(loaded.status());
  const plan::Verdict verdict = plan::Prove(**loaded, {.capacity = flags.capacity});
  if (flags.output.json) {
    llvm::outs() << llvm::formatv("{0:2}\n", ToJson(verdict, **loaded));
  } else if (!verdict.proved()) {
    llvm::errs() << flags.plan << ": refused (" << plan::RefusalName(verdict.refusal) << ")\n"
                 << verdict.message << "\n";
  } else {
    if (flags.output.verbose) llvm::outs() << plan::CertificateText(**loaded);
    if (!flags.output.quiet) llvm::errs() << flags.plan << ": proved\n";
  }
  return verdict.proved() ? kSuccess : kFailure;
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

Command AddVerifyCommand(CLI::App& cgc) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App* command = cgc.add_subcommand("verify", "prove a plan, or say why it is refused");
  command->add_option("PLAN", flags->plan, "the .cgplan file")->required();
  command->add_option("--capacity", flags->capacity,
                      "prove for channels that hold N messages (0: rendezvous)")
      ->type_name("N");
  AddOutputFlags(*command, flags->output);
  return [flags] { return RunVerify(*flags); };
}

}  // namespace cgraph
