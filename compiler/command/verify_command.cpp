// `cgc verify`: runs the prover alone.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>

#include "compiler/command/commands.h"
#include "compiler/command/flags/flags.h"
#include "compiler/command/output.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/text.h"
#include "runtime/base/usage_text.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/load.h"
#include "runtime/plan/print.h"
#include "runtime/plan/prove.h"

namespace cgraph::command {
namespace {

struct VerifyFlags {
  OutputFlags output;
  std::string plan;
  std::optional<uint32_t> capacity;
};

// Prints in the order of the extension. A comm's start and end are apart: its partner's stand
// between them.
std::string Text(const plan::Plan& plan, const plan::LinearExtension& extension) {
  const bool is_start = extension.graph == plan::kNone;
  const plan::Graph& graph = plan::GraphAt(plan, extension.graph);
  std::map<uint32_t, std::string> lines;
  for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
    const plan::Range& program = graph.programs[lane];
    for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
      const std::string text = fmt::format("{}: {}", plan::LaneName(plan, lane),
                                           plan::InstructionText(plan, graph, i));
      const bool apart = extension.start[i] != extension.done[i];
      if (apart) lines[extension.start[i]] = text + ", start";
      lines[extension.done[i]] = text + (apart ? ", end" : "");
    }
  }
  std::string out = is_start ? "start graph\n" : fmt::format("graph `{}`\n", graph.name);
  for (const auto& [position, line] : lines) out += fmt::format("  {:>5}  {}\n", position, line);
  return out;
}

std::string CertificateText(const plan::Plan& plan, const std::optional<uint32_t>& capacity) {
  // The plan's own certificate holds for the capacities that the plan states.
  if (!capacity.has_value()) return plan::CertificateText(plan);
  std::string out;
  for (const auto& extension : plan::LinearExtensions(plan, {.capacity = capacity})) {
    out += Text(plan, extension);
  }
  return out;
}

struct Finding {
  plan::Verdict verdict;
  bool knows_smallest = false;  // it was asked about capacities, and they make a difference
  std::optional<uint32_t> smallest;
};

llvm::json::Value ToJson(const Finding& finding, const plan::Plan& plan,
                         const std::optional<uint32_t>& capacity) {
  const plan::Verdict& verdict = finding.verdict;
  llvm::json::Object result{{"proved", verdict.proved()},
                            {"refusal", plan::RefusalName(verdict.refusal)},
                            {"message", verdict.message}};
  llvm::json::Array steps;
  for (const plan::RefusalStep& step : verdict.steps) {
    steps.push_back(llvm::json::Object{{"graph", step.graph},
                                       {"instruction", step.instruction},
                                       {"text", step.text},
                                       {"waits_for", step.waits_for}});
  }
  result[verdict.refusal == plan::Refusal::kDeadlock ? "cycle" : "steps"] = std::move(steps);
  if (finding.knows_smallest) {
    result["smallest_capacity"] =
        finding.smallest ? llvm::json::Value(*finding.smallest) : llvm::json::Value(nullptr);
  }
  if (!verdict.proved()) return result;
  llvm::json::Array certificate;
  for (const auto& extension : plan::LinearExtensions(plan, {.capacity = capacity})) {
    const bool is_start = extension.graph == plan::kNone;
    certificate.push_back(llvm::json::Object{
        {"graph", is_start ? llvm::json::Value(nullptr) : llvm::json::Value(extension.graph)},
        {"start", llvm::json::Array(extension.start)},
        {"done", llvm::json::Array(extension.done)}});
  }
  result["certificate"] = std::move(certificate);
  return result;
}

std::string CapacityText(const Finding& finding, uint32_t capacity) {
  const std::string asked = fmt::format(" for channels that hold {}", Counted(capacity, "message"));
  if (!finding.knows_smallest) return asked;
  if (!finding.smallest.has_value()) return asked + "; no capacity makes it safe";
  return asked + fmt::format("; the smallest safe capacity is {}", *finding.smallest);
}

ExitCode RunVerify(const VerifyFlags& flags) {
  if (const std::string source = SourceForPlanText(flags.plan); !source.empty()) {
    return UsageError("verify: " + source);
  }
  Result<std::unique_ptr<plan::Plan>> loaded = plan::ReadFile(flags.plan);
  if (!loaded.ok()) return ReportStatus(loaded.status());
  Finding finding{plan::Prove(**loaded, {.capacity = flags.capacity})};
  const plan::Verdict& verdict = finding.verdict;
  finding.knows_smallest = flags.capacity.has_value() &&
                           (verdict.proved() || verdict.refusal == plan::Refusal::kDeadlock);
  if (finding.knows_smallest) finding.smallest = plan::SmallestCapacity(**loaded);
  const std::string about = flags.capacity ? CapacityText(finding, *flags.capacity) : "";
  if (flags.output.json) {
    PrintJson(ToJson(finding, **loaded, flags.capacity));
  } else if (!verdict.proved()) {
    Say(fmt::format("{}: refused ({}){}\n{}\n", flags.plan, plan::RefusalName(verdict.refusal),
                    about, verdict.message));
  } else {
    if (flags.output.verbose) {
      llvm::outs() << Printable(CertificateText(**loaded, flags.capacity));
    }
    if (!flags.output.quiet) Say(fmt::format("{}: proved{}\n", flags.plan, about));
  }
  return verdict.proved() ? kSuccess : kFailure;
}

}  // namespace

Command AddVerifyCommand(CLI::App& cgc) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App* command = cgc.add_subcommand("verify", "prove a plan, or say why it is refused");
  command->add_option("PLAN", flags->plan, "the .cgplan file")->required();
  command
      ->add_option("--capacity", flags->capacity,
                   "prove for channels that hold N messages (0: rendezvous), and say which is the "
                   "smallest safe capacity")
      ->type_name("N");
  AddOutputFlags(*command, flags->output);
  return [flags] { return RunVerify(*flags); };
}

}  // namespace cgraph::command
