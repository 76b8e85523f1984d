#include "compiler/command/flags/flags.h"

#include <fmt/format.h>

#include "compiler/command/output.h"
#include "compiler/inspect/simulate/durations.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/files.h"
#include "runtime/base/text.h"

namespace cgraph::command {

void AddProfileFlag(CLI::App& command, std::string& path) {
  command.add_option("--profile", path, "times of calls: given, or by cgrun --profile")
      ->type_name("FILE");
}

Result<std::optional<Profile>> ReadProfile(const std::string& path) {
  if (path.empty()) return std::optional<Profile>();
  Result<std::string> text = ReadText(path, kMaxTextBytes);
  if (!text.ok()) return text.status();
  llvm::Expected<Profile> profile = ParseProfile(*text);
  if (!profile) {
    return Status{StatusCode::kInvalid,
                  fmt::format("{}: {}", path, llvm::toString(profile.takeError()))};
  }
  return std::optional<Profile>(std::move(*profile));
}

void WarnOfUnusedTimes(const plan::Plan& plan, const std::optional<Profile>& profile,
                       const std::string& path) {
  if (!profile) return;
  std::vector<std::string> names = ProfiledCalls(plan, *plan.start);
  for (const auto& graph : plan.graphs) {
    for (std::string& name : ProfiledCalls(plan, *graph)) names.push_back(std::move(name));
  }
  for (const auto& [name, time] : profile->call_ps) {
    if (llvm::is_contained(names, name)) continue;
    Say(fmt::format("cgc: warning: {}: no graph of the plan calls `{}`{}\n", path, name,
                    DidYouMeanHint(name, names)));
  }
}

}  // namespace cgraph::command
