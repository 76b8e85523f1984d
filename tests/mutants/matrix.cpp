#include "tests/mutants/matrix.h"

#include <fmt/format.h>

#include <numeric>

namespace cgraph::mutants {
namespace {

using interpreter::kOutcomes;
using interpreter::Outcome;

// Why a plan is refused although the interpreter saw nothing wrong.
const char* WhyRefused(plan::Refusal refusal) {
  switch (refusal) {
    case plan::Refusal::kShape:
      return "it says something that is no plan, though these lanes move the right bytes: another "
             "name for a transfer, a state or constant with copies, a lane that is not a channel's";
    case plan::Refusal::kHang:
      return "a cycle of waits that no schedule tried runs into";
    case plan::Refusal::kRace:
      return "nothing orders two accesses, but no schedule tried has them meet";
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

std::string Header(const char* first, size_t width) {
  std::string text = fmt::format("{:<{}}", first, width);
  for (int outcome = 0; outcome < kOutcomes; ++outcome) {
    text += fmt::format("{:>11}", interpreter::OutcomeName(static_cast<Outcome>(outcome)));
  }
  return text;
}

}  // namespace

void Matrix::Count(const std::string& kind, const Trial& trial) {
  const auto outcome = static_cast<size_t>(trial.finding.outcome);
  ++trials_;
  proved_ += trial.verdict.proved();
  false_accepts_ += trial.false_accept();
  ++by_refusal_[trial.verdict.refusal][outcome];
  Row& row = by_kind_[kind];
  ++(trial.verdict.proved() ? row.proved : row.refused)[outcome];
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
  text += "\nkind of mutation         proved   refused; of these, the interpreter saw nothing\n";
  for (const auto& [kind, row] : by_kind_) {
    text += fmt::format("{:<20}{:>11}{:>10}{:>11}\n", kind,
                        std::accumulate(row.proved.begin(), row.proved.end(), uint64_t{0}),
                        std::accumulate(row.refused.begin(), row.refused.end(), uint64_t{0}),
                        row.refused[0]);
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
