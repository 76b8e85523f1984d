// The report as a page of text.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "runtime/base/text.h"
#include "runtime/engine/report/report.h"

namespace cgraph::engine {
namespace {

using State = WaitingLane::State;

std::string NameOf(const WaitingLane& lane) {
  return lane.process.empty() ? lane.name : fmt::format("{} ({})", lane.name, lane.process);
}

// Returns "for 1.2 s", of several lanes "for 1.2 to 1.4 s".
std::string TimeOf(std::span<const WaitingLane> lanes, std::span<const uint32_t> group) {
  std::optional<double> least, most;
  for (uint32_t i : group) {
    const double seconds = lanes[i].seconds.value_or(0);
    least = std::min(least.value_or(seconds), seconds);
    most = std::max(most.value_or(seconds), seconds);
  }
  if (!lanes[group.front()].seconds && group.size() == 1) return "it has just come there";
  const std::string first = fmt::format("{:.1f}", *least), last = fmt::format("{:.1f}", *most);
  if (first == last) return fmt::format("for {} s", first);
  return fmt::format("for {} to {} s", first, last);
}

// Says what a lane does, behind its name: "is inside stage[1].run of execution 7 of `train`, for
// 4.2 s, pipeline.cgraph:31:5".
std::string ActivityText(const WaitingLane& lane) {
  if (lane.state == State::kNotBegun) {
    return fmt::format("has not begun {}{}", lane.execution,
                       lane.seconds ? fmt::format(", for {:.1f} s", *lane.seconds) : "");
  }
  const std::string what = lane.call.empty() ? lane.doing : lane.call;
  const char* const how = lane.state == State::kRunning ? "is inside"
                          : lane.state == State::kNext  ? "is about to begin"
                                                        : "is at";
  std::string text = fmt::format("{} {}{}", how, lane.state == State::kWaiting ? lane.doing : what,
                                 lane.others.empty() ? "" : ", or something behind it,");
  text += fmt::format(" of {}", lane.execution);
  if (lane.seconds) text += fmt::format(", for {:.1f} s", *lane.seconds);
  const bool said = lane.site.empty() || what == lane.doing || lane.state == State::kWaiting;
  return said ? text : text + ", " + lane.site;
}

std::vector<LogicalDevice> DevicesOf(std::span<const WaitingLane> lanes,
                                     std::span<const uint32_t> group) {
  std::vector<LogicalDevice> devices;
  for (uint32_t i : group) devices.push_back(lanes[i].device);
  return devices;
}

std::string CircleText(std::span<const WaitingLane> lanes, std::span<const uint32_t> circle) {
  constexpr size_t kShown = 8;
  std::string text = fmt::format(
      "{} wait for each other in a circle, which no proved plan does: {}",
      Counted(circle.size(), "lane"), lanes[circle.front()].name);
  for (size_t i = 1; i < std::min(circle.size(), kShown); ++i) {
    text += " for " + lanes[circle[i]].name;
  }
  if (circle.size() > kShown) text += fmt::format(" and {} more", circle.size() - kShown);
  return text + " for the first";
}

// Says which lanes a cause is, and what they do.
std::string CauseText(std::span<const WaitingLane> lanes, std::span<const uint32_t> group) {
  const WaitingLane& first = lanes[group.front()];
  if (group.size() == 1) return fmt::format("{}, which {}", NameOf(first), ActivityText(first));
  return fmt::format("{} of {}, which do alike: {} {}", Counted(group.size(), "lane"),
                     DevicesText(DevicesOf(lanes, group)), NameOf(first), ActivityText(first));
}

// Says of the lanes of a group but the first which they are and, unless they wait for the same as
// the first, what for.
std::string AlikeText(std::span<const WaitingLane> lanes, std::span<const uint32_t> group) {
  const std::vector<LogicalDevice> goals =
      DevicesOf(lanes, lanes[group.front()].waits_for);
  const std::span<const uint32_t> more = group.subspan(1);
  std::string text = fmt::format("    {} like this one: {}", Counted(more.size(), "more lane"),
                                 DevicesText(DevicesOf(lanes, more)));
  std::vector<LogicalDevice> others;
  for (uint32_t i : more) {
    for (const LogicalDevice& device : DevicesOf(lanes, lanes[i].waits_for)) {
      others.push_back(device);
    }
  }
  if (const std::string whom = DevicesText(others); whom != DevicesText(goals)) {
    text += fmt::format(", which wait for {}", whom);
  }
  return text + "\n";
}

}  // namespace

std::string CausesText(std::span<const WaitingLane> lanes, const Causes& causes) {
  constexpr size_t kShown = 8;
  std::string text;
  const auto groups = GroupAlike(lanes, causes.roots);
  const bool all = causes.roots.size() == lanes.size();
  const char* const whom = causes.circle.empty() ? "everything waits for" : "others wait for";
  if (groups.size() == 1) {
    text = fmt::format("{} {}", all ? "what has work left is" : whom,
                       CauseText(lanes, groups.front()));
  } else if (!groups.empty()) {
    text = all ? "no lane waits for another:"
               : fmt::format("{} {} that wait for no other:", whom,
                             Counted(causes.roots.size(), "lane"));
    for (size_t g = 0; g < std::min(groups.size(), kShown); ++g) {
      text += "\n  " + CauseText(lanes, groups[g]);
    }
    if (groups.size() > kShown) text += fmt::format("\n  and {} more", groups.size() - kShown);
  }
  if (causes.circle.empty()) return text;
  return CircleText(lanes, causes.circle) + (text.empty() ? "" : "\n" + text);
}

std::string LinesOf(std::span<const WaitingLane> lanes, std::span<const uint32_t> group) {
  const WaitingLane& first = lanes[group.front()];
  const std::string time = TimeOf(lanes, group);
  if (first.state == State::kNotBegun) {
    return fmt::format("{}: has not begun {}{}{}; {}\n{}", NameOf(first), first.execution,
                       first.why.empty() ? "" : ": ", first.why, time,
                       group.size() == 1 ? "" : AlikeText(lanes, group));
  }
  return fmt::format("{}: {} {}{}\n    {}, {}{}{}\n{}", NameOf(first), first.doing, first.why,
                     first.others, first.execution, time,
                     first.progress.empty() ? "" : "; " + first.progress,
                     first.before.empty() ? "" : "; before that: " + first.before,
                     group.size() == 1 ? "" : AlikeText(lanes, group));
}

std::string ReportText(std::span<const WaitingLane> lanes, const std::string& halted) {
  if (lanes.empty()) return halted;
  const Causes causes = FindCauses(lanes);
  std::string text = CausesText(lanes, causes) + "\n" + halted;
  std::vector<uint32_t> order(lanes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return causes.distance[a] < causes.distance[b];
  });
  for (const std::vector<uint32_t>& group : GroupAlike(lanes, order)) {
    text += LinesOf(lanes, group);
  }
  return text;
}

}  // namespace cgraph::engine
