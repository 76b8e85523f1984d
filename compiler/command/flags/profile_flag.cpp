#include "compiler/command/flags/flags.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/command/output.h"
#include "compiler/inspect/simulate/durations.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/files.h"
#include "runtime/base/hardware.h"
#include "runtime/base/text.h"
#include "runtime/plan/call_flops.h"

namespace cgraph::command {
namespace {

// Returns whether a profile has measured calls of so many operations, give or take a tenth: within
// that, compilations of one program may differ.
bool HasMeasured(const std::vector<uint64_t>& measured, uint64_t flops) {
  return llvm::any_of(measured, [flops](uint64_t each) {
    return static_cast<double>(std::max(each, flops) - std::min(each, flops)) <=
           0.1 * static_cast<double>(each);
  });
}

// Returns "T = 1, and the program has T = 3"; empty where all consts are the same.
std::string OtherConsts(const plan::Plan& plan, const Profile& profile) {
  std::vector<std::string> measured, here;
  for (const auto& parameter : plan.parameters) {
    const auto known = profile.consts.find(parameter->name);
    if (known == profile.consts.end() || known->second == parameter->value) continue;
    measured.push_back(fmt::format("{} = {}", known->first, known->second));
    here.push_back(fmt::format("{} = {}", parameter->name, parameter->value));
  }
  if (here.empty()) return "";
  return fmt::format("{}, and the program has {}", fmt::join(measured, ", "),
                     fmt::join(here, ", "));
}

void WarnOfOtherShapes(const plan::Plan& plan, const Profile& profile, const std::string& path) {
  const auto calls = plan::CallFlops(plan);
  std::vector<std::string> others;
  for (const auto& [name, measured] : profile.call_flops) {
    const auto found = calls.find(name);
    if (found == calls.end() || profile.call_ps.count(name) == 0) continue;
    const bool fits = llvm::all_of(
        found->second, [&own = measured](uint64_t flops) { return HasMeasured(own, flops); });
    if (!fits) others.push_back(name);
  }
  if (others.empty()) return;
  const std::string consts = OtherConsts(plan, profile);
  Say(fmt::format(
      "cgc: warning: {}: `{}`{} not measured with the shapes that the program's calls have; {}; "
      "measure the program with `cgrun --profile`\n",
      path, others.front(),
      others.size() == 1 ? std::string(" was")
                         : fmt::format(" and {} were", Counted(others.size() - 1, "more name")),
      consts.empty() ? "it was another program" : "the profile is of a run with " + consts));
}

}  // namespace

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

void WarnOfUnfitTimes(const plan::Plan& plan, const std::optional<Profile>& profile,
                      const std::string& path, const OutputFlags& output) {
  if (!profile) return;
  std::vector<std::string> names = ProfiledCalls(plan, *plan.start);
  for (const auto& graph : plan.graphs) {
    for (std::string& name : ProfiledCalls(plan, *graph)) names.push_back(std::move(name));
  }
  std::vector<std::string> uncalled;
  for (const auto& [name, time] : profile->call_ps) {
    if (!llvm::is_contained(names, name)) uncalled.push_back(name);
  }
  if (!uncalled.empty()) {
    const std::string more =
        uncalled.size() == 1 ? ""
                             : fmt::format(", nor {}", Counted(uncalled.size() - 1, "more name"));
    Say(fmt::format("cgc: warning: {}: no graph of the plan calls `{}`{}{}\n", path,
                    uncalled.front(), DidYouMeanHint(uncalled.front(), names), more));
  }
  WarnOfOtherShapes(plan, *profile, path);
  const Hardware here = ThisHardware();
  if (output.quiet || !Differs(profile->machine, here)) return;
  Say(fmt::format(
      "cgc: note: {}: measured on another machine ({}) than this one ({}); for times of this one "
      "measure here with `cgrun --profile`\n",
      path, HardwareText(profile->machine), HardwareText(here)));
}

}  // namespace cgraph::command
