#include "compiler/driver/plan_limits.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "runtime/plan/check.h"

namespace cgraph {
namespace {

constexpr auto kMost = static_cast<double>(plan::kMaxArenaBytes);
constexpr double kCounted = 0x1p62;

// Sums are doubles, which hold more than any integer; they are compared and shown, not used.
void Report(const std::string& what, double bytes, const Range& range, Diagnostics& diagnostics) {
  diagnostics.Report(Code::kE0802, range,
                     fmt::format("{} {:.1f} TiB of memory on all devices together; a plan has at "
                                 "most {} TiB",
                                 what, bytes / 0x1p40, plan::kMaxArenaBytes >> 40));
}

// Returns the place of the largest state.
Range LargestState(const graph::Module& module) {
  const auto largest = std::max_element(
      module.states.begin(), module.states.end(),
      [](const auto& a, const auto& b) { return a.type.bytes() < b.type.bytes(); });
  return largest == module.states.end() ? Range() : module.instances[largest->instance].range;
}

double ArenaBytes(const plan::Graph& graph) {
  double bytes = 0;
  for (const plan::Arena& arena : graph.arenas) {
    bytes += static_cast<double>(arena.bytes()) * std::max<uint32_t>(arena.copies(), 1);
  }
  return bytes;
}

}  // namespace

void CheckSizes(const graph::Module& module, Diagnostics& diagnostics) {
  double states = 0;
  for (const graph::State& state : module.states) states += static_cast<double>(state.type.bytes());
  if (states > kMost) {
    Report("the states of all actors need", states, LargestState(module), diagnostics);
  }
  const auto check = [&](const graph::Graph& graph, const std::string& name, const Range& range) {
    double values = 0;
    for (const graph::Value& value : graph.values) {
      values += static_cast<double>(value.type.bytes());
    }
    values *= static_cast<double>(graph.inflight);
    if (values > kCounted) Report(name + " have", values, range, diagnostics);
  };
  check(module.start, "the initial values of all states", LargestState(module));
  for (const graph::Graph& graph : module.graphs) {
    check(graph, fmt::format("the values of graph `{}`", graph.name), graph.range);
  }
}

void CheckArenas(const graph::Module& module, const plan::Plan& plan, Diagnostics& diagnostics) {
  const double start = ArenaBytes(*plan.start);
  if (start > kMost) {
    Report("the states of all actors, while they are made, need", start, LargestState(module),
           diagnostics);
  }
  for (size_t i = 0; i < plan.graphs.size(); ++i) {
    const double bytes = ArenaBytes(*plan.graphs[i]);
    if (bytes <= kMost) continue;
    Report(fmt::format("graph `{}` needs", plan.graphs[i]->name), bytes, module.graphs[i].range,
           diagnostics);
  }
}

}  // namespace cgraph
