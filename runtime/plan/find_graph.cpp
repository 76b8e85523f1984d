#include "runtime/plan/loaded_plan.h"

#include <vector>

#include <fmt/format.h>

#include "runtime/base/text.h"

namespace cgraph::plan {

Result<uint32_t> FindGraph(const Plan& plan, const std::string& name) {
  if (name.empty() && plan.graphs.size() == 1) return uint32_t{0};
  std::vector<std::string> names;
  for (uint32_t i = 0; i < plan.graphs.size(); ++i) {
    if (!name.empty() && plan.graphs[i]->name == name) return i;
    names.push_back(plan.graphs[i]->name);
  }
  const auto wrong = [](std::string why) { return Status(StatusCode::kInvalid, std::move(why)); };
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  if (names.empty()) return wrong("the plan has no graph");
  if (name.empty()) return wrong("there are several graphs; pick one with --graph: " + all);
  return wrong(fmt::format("--graph {}: there is no such graph{}; there are {}", name,
                           DidYouMeanHint(name, names), all));
}

}  // namespace cgraph::plan
