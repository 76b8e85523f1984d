#include "runtime/plan/prove/rules.h"

#include <utility>

#include <fmt/format.h>

#include "runtime/plan/print.h"

namespace cgraph::plan::prove {

RefusalStep MakeStep(const GraphIndex& index, uint32_t instruction) {
  RefusalStep step;
  step.graph = index.runs_once() ? "start" : index.graph().name;
  step.instruction = instruction;
  step.text = fmt::format("{}: {}", LaneName(index.plan(), index.lane(instruction)),
                          InstructionText(index.plan(), index.graph(), instruction));
  return step;
}

Verdict RefusePair(const GraphIndex& index, Refusal refusal, const std::string& message,
                   uint32_t first, const std::string& first_does, uint32_t second,
                   const std::string& second_does) {
  Verdict verdict;
  verdict.refusal = refusal;
  verdict.message = message;
  for (const auto& [instruction, does] : {std::pair(first, first_does), {second, second_does}}) {
    RefusalStep step = MakeStep(index, instruction);
    verdict.message += fmt::format("\n  {}, which {}", step.text, does);
    verdict.steps.push_back(std::move(step));
  }
  return verdict;
}

std::string Later(int64_t executions) {
  if (executions <= 0) return "";
  return executions == 1 ? " for the next execution"
                         : fmt::format(" {} executions later", executions);
}

}  // namespace cgraph::plan::prove
