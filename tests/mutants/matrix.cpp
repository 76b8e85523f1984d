#include "tests/mutants/matrix.h"

#include <fmt/format.h>

namespace cgraph::mutants {
namespace {

using interpreter::kOutcomes;
using interpreter::Outcome;

// Says why a plan is refused although the interpreter saw nothing wrong.
const char* WhyRefused(plan::Refusal refusal) {
  switch (refusal) {
    case plan::Refusal::kShape:
      return "it says something that is no plan, though these lanes move the right bytes: another "
             "name for a transfer, a state or constant with copies, a lane that is not a channel's";
    case plan::Refusal::kDeadlock:
      return "a cycle of waits that no schedule tried runs into";
    case plan::Refusal::kRace:
      return "nothing orders two accesses, but no schedule tried has them meet";
    case plan::Refusal::kExtent:
      return "a symbol is read in two places that may differ, but in no run they do";
    case plan::Refusal::kInflight:
      return "it runs, with fewer executions in flight than it states";
    case plan::Refusal::kCertificate:
      return "lanes of their own run it; a worker with several lanes may not";
    case plan::Refusal::kGraphs:
      return "it is about two graphs, the interpreter runs one";
    case plan::Refusal::kTooLarge:
      return "it is larger than the prover takes on";
    case plan::Refusal::kNone: break;
  }
  return "";
}

const char* FaultName(Fault fault) {
  switch (fault) {
    case Fault::kNone: return "none";
    case Fault::kOrder: return "swapped order";
    case Fault::kDroppedEnd: return "dropped end";
    case Fault::kPeer: return "wrong peer";
    case Fault::kReuse: return "early reuse of a buffer";
    case Fault::kMissingWait: return "missing wait";
    case Fault::kLag: return "wrong lag";
    case Fault::kExtent: return "wrong extent";
    case Fault::kOther: return "other";
  }
  return "?";
}

std::string Header(const char* first, size_t width) {
  std::string text = fmt::format("{:<{}}", first, width);
  for (int outcome = 0; outcome < kOutcomes; ++outcome) {
    text += fmt::format("{:>11}", interpreter::OutcomeName(static_cast<Outcome>(outcome)));
  }
  return text;
}

}  // namespace

void Matrix::Count(const MutationKind& kind, const Trial& trial) {
  const auto outcome = static_cast<size_t>(trial.finding.outcome);
  ++trials_;
  proved_ += trial.verdict.proved();
  false_accepts_ += trial.false_accept();
  false_rejects_ += trial.false_reject();
  ++by_refusal_[trial.verdict.refusal][outcome];
  Row& row = by_fault_[static_cast<size_t>(kind.fault)][kind.name];
  const bool ok = trial.finding.outcome == Outcome::kOk;
  row.false_accepts += trial.false_accept();
  row.false_rejects += trial.false_reject();
  row.right += trial.verdict.proved() && ok;
  row.wrong += !trial.verdict.proved() && !ok;
  row.not_a_plan += !trial.verdict.proved() && ok && !trial.false_reject();
}

std::string Matrix::Line(const std::string& name, const Row& row) {
  return fmt::format("{:<24}{:>10}{:>10}{:>14}{:>14}{:>12}\n", name, row.right, row.wrong,
                     row.false_accepts, row.false_rejects, row.not_a_plan);
}

std::string Matrix::Text() const {
  std::string text = Header("prover \\ interpreter", 22) + "\n";
  for (const auto& [refusal, outcomes] : by_refusal_) {
    text += fmt::format("{:<22}", refusal == plan::Refusal::kNone ? "proved"
                                                                  : plan::RefusalName(refusal));
    for (uint64_t count : outcomes) {
      text += fmt::format("{:>11}", count);
    }
    text += '\n';
  }
  text += fmt::format("\n{:<24}{:>10}{:>10}{:>14}{:>14}{:>12}\n", "kind of mutation", "both right",
                      "both wrong", "false accepts", "false rejects", "not a plan");
  for (int fault = 0; fault < kFaults; ++fault) {
    Row all;
    std::string kinds;
    for (const auto& [kind, row] : by_fault_[fault]) {
      kinds += Line("  " + kind, row);
      all.right += row.right;
      all.wrong += row.wrong;
      all.false_accepts += row.false_accepts;
      all.false_rejects += row.false_rejects;
      all.not_a_plan += row.not_a_plan;
    }
    text += Line(FaultName(static_cast<Fault>(fault)), all) + kinds;
  }
  text += "\nrefused although the interpreter saw nothing:\n";
  for (const auto& [refusal, outcomes] : by_refusal_) {
    if (refusal != plan::Refusal::kNone && outcomes[0] > 0) {
      text += fmt::format("  {:<12}{:>7}  {}\n", plan::RefusalName(refusal), outcomes[0],
                          WhyRefused(refusal));
    }
  }
  return text;
}

}  // namespace cgraph::mutants
