// Who everybody waits for, and which lanes do alike.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/text.h"
#include "runtime/engine/report/report.h"

namespace cgraph::engine {
namespace {

// Returns a circle among lanes that lead to no root: whoever follows the waits from one of them
// comes to a lane that it was at before.
std::vector<uint32_t> FindCircle(std::span<const WaitingLane> lanes,
                                 const std::vector<uint32_t>& distance) {
  std::vector<uint32_t> path;
  const auto first = std::find(distance.begin(), distance.end(), Causes::kNone);
  if (first == distance.end()) return path;
  auto at = static_cast<uint32_t>(first - distance.begin());
  for (;;) {
    const auto before = std::find(path.begin(), path.end(), at);
    if (before != path.end()) return {before, path.end()};
    path.push_back(at);
    at = lanes[at].waits_for.front();
  }
}

std::string KeyOf(const WaitingLane& lane) {
  return fmt::format("{} {} {}\n{}", static_cast<int>(lane.state), lane.halted, lane.execution,
                     PatternOf(fmt::format("{}\n{}\n{}\n{}\n{}\n{}", lane.name, lane.doing,
                                           lane.why, lane.others, lane.progress, lane.before)));
}

}  // namespace

Causes FindCauses(std::span<const WaitingLane> lanes) {
  Causes causes;
  causes.distance.assign(lanes.size(), Causes::kNone);
  std::vector<std::vector<uint32_t>> waiters(lanes.size());
  for (uint32_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i].halted || lanes[i].waits_for.empty()) {
      causes.roots.push_back(i);
      causes.distance[i] = 0;
    } else {
      for (uint32_t other : lanes[i].waits_for) waiters[other].push_back(i);
    }
  }
  std::vector<uint32_t> reached = causes.roots;
  for (size_t next = 0; next < reached.size(); ++next) {
    for (uint32_t waiter : waiters[reached[next]]) {
      if (causes.distance[waiter] != Causes::kNone) continue;
      causes.distance[waiter] = causes.distance[reached[next]] + 1;
      reached.push_back(waiter);
    }
  }
  causes.circle = FindCircle(lanes, causes.distance);
  for (uint32_t lane : causes.circle) causes.distance[lane] = 0;
  return causes;
}

std::vector<std::vector<uint32_t>> GroupAlike(std::span<const WaitingLane> lanes,
                                              std::span<const uint32_t> among) {
  std::vector<std::vector<uint32_t>> groups;
  std::map<std::string, size_t> known;
  for (uint32_t lane : among) {
    const auto [found, added] = known.try_emplace(KeyOf(lanes[lane]), groups.size());
    if (added) groups.emplace_back();
    groups[found->second].push_back(lane);
  }
  return groups;
}

// Nodes with the same devices are one entry.
std::string DevicesText(std::vector<LogicalDevice> devices) {
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  std::map<std::pair<DeviceKind, uint32_t>, std::vector<uint32_t>> indices;  // by kind and node
  for (const LogicalDevice& device : devices) {
    indices[{device.kind, device.node}].push_back(device.index);
  }
  std::string text;
  const auto add = [&text](const std::string& more) { text += (text.empty() ? "" : ", ") + more; };
  std::map<std::pair<DeviceKind, std::vector<uint32_t>>, std::vector<uint32_t>> nodes;
  for (const auto& [at, all] : indices) {
    const auto [kind, node] = at;
    if (kind == DeviceKind::kCaller) {
      add(DeviceName(LogicalDevice{}));
    } else if (node == 0) {
      add(RangesText(all, fmt::format("{}[", kDeviceKindNames[static_cast<size_t>(kind)]), "]"));
    } else {
      nodes[{kind, all}].push_back(node);
    }
  }
  for (const auto& [at, all] : nodes) {
    const std::string kind = kDeviceKindNames[static_cast<size_t>(at.first)];
    if (all.size() == 1) {
      add(RangesText(at.second, fmt::format("node[{}].{}[", all.front(), kind), "]"));
    } else {
      add(fmt::format("{} of {}", RangesText(at.second, kind + "[", "]"),
                      RangesText(all, "node[", "]")));
    }
  }
  return text;
}

}  // namespace cgraph::engine
