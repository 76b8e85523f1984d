#include "runtime/cluster/refusals.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/text.h"

namespace cgraph::cluster {
namespace {

// Returns what the ranks of a group say, which have the same errors, or errors that differ only in
// numbers of devices and actors.
std::string TextOf(const std::vector<const Refusal*>& group, std::string_view before,
                   std::string_view after) {
  const Refusal& first = *group.front();
  std::vector<uint32_t> all, others;
  bool same = true;
  for (const Refusal* each : group) {
    all.push_back(each->rank);
    if (each != &first) others.push_back(each->rank);
    same &= each->status.message() == first.status.message();
  }
  const std::string process = first.process.empty() || (same && group.size() > 1)
                                  ? ""
                                  : fmt::format(" ({})", first.process);
  std::string text = fmt::format(
      "{}{}: {}", same ? RangesText(all, before, after)
                       : fmt::format("{}{}{}", before, first.rank, after),
      process, first.status.message());
  if (!same) text += fmt::format("\nand likewise {}", RangesText(others, before, after));
  return text;
}

}  // namespace

Status JoinRefusals(std::span<const Refusal> refusals, std::string_view before,
                    std::string_view after) {
  if (refusals.empty()) return Status::Ok();
  std::vector<const Refusal*> sorted;
  for (const Refusal& refusal : refusals) sorted.push_back(&refusal);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Refusal* a, const Refusal* b) { return a->rank < b->rank; });
  std::vector<std::vector<const Refusal*>> groups;
  std::map<std::string, size_t> known;  // by shape
  for (const Refusal* refusal : sorted) {
    const auto [found, added] =
        known.try_emplace(PatternOf(refusal->status.message()), groups.size());
    if (added) groups.emplace_back();
    groups[found->second].push_back(refusal);
  }
  std::string text;
  for (const auto& group : groups) {
    text += (text.empty() ? "" : "\n") + TextOf(group, before, after);
  }
  return Status(sorted.front()->status.code(), text);
}

}  // namespace cgraph::cluster
