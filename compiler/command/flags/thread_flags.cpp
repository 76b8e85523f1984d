#include "compiler/command/flags/flags.h"

#include <fmt/format.h>

#include "runtime/plan/check.h"
#include "runtime/plan/placement.h"
#include "runtime/plan/prove.h"

namespace cgraph::command {

void AddThreadFlags(CLI::App& command, ThreadFlags& flags) {
  auto* workers =
      command
          .add_option("--workers", flags.workers,
                      "simulate as many threads as cgrun --workers has. Default: each lane runs "
                      "by itself")
          ->type_name("N")
          ->check(CLI::Range(1u, 1024u));
  command
      .add_option("--cores", flags.cores,
                  "cores that the workers share. Default: each has its own")
      ->type_name("N")
      ->check(CLI::Range(1u, 1024u))
      ->needs(workers);
}

Status DealToWorkers(plan::Plan& plan, const std::string& path, const ThreadFlags& flags) {
  if (flags.workers == 0) return Status::Ok();
  if (const Status checked = plan::CheckPlan(plan); checked.ok()) plan::Deal(plan, flags.workers);
  const plan::Verdict verdict = plan::Prove(plan);
  if (verdict.proved()) return Status::Ok();
  return {StatusCode::kInvalid,
          fmt::format("{}: --workers needs a proved plan, and this one is refused ({}): {}", path,
                      plan::RefusalName(verdict.refusal), verdict.message)};
}

}  // namespace cgraph::command
