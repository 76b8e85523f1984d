#include "compiler/inspect/draw/facts/lifetimes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/plan/graph_index.h"

namespace cgraph {

std::vector<Lifetime> FindLifetimes(const plan::Plan& plan, const plan::Graph& graph,
                                    const Simulation& simulation) {
  std::vector<std::pair<uint64_t, uint64_t>> times(graph.instructions.size(), {0, 0});
  for (const plan::TraceEvent& event : simulation.events) {
    times[event.instruction] = {event.start, event.end};
  }
  const plan::GraphIndex index(plan, graph);
  const auto accesses = plan::AccessesByBuffer(index);
  std::vector<Lifetime> lifetimes(graph.buffers.size());
  for (uint32_t id = 0; id < lifetimes.size(); ++id) {
    Lifetime& life = lifetimes[id];
    for (const plan::Access& access : accesses.of(id)) {
      const auto [start, end] = times[access.instruction];
      life.from = life.is_used ? std::min(life.from, start) : start;
      life.to = std::max(life.to, end);
      life.is_used = true;
      if (access.write && life.maker == plan::kNone) life.maker = access.instruction;
    }
    const plan::Space space = graph.arenas[graph.buffers[id].arena()].space();
    const bool stays = space == plan::Space::state || space == plan::Space::constant;
    life.is_used = life.is_used || stays;
    if (stays || space == plan::Space::input) life.from = 0;
    if (stays || space == plan::Space::output) life.to = simulation.makespan;
  }
  for (uint32_t value = 0; value < graph.values.size(); ++value) {
    lifetimes[graph.values[value].buffer()].values.push_back(value);
  }
  return lifetimes;
}

Peak FindPeak(const plan::Graph& graph, const std::vector<Lifetime>& lifetimes,
              const std::vector<uint32_t>& buffers) {
  struct Change {
    uint64_t ended = 0, begun = 0, momentary = 0;
  };
  std::map<uint64_t, Change> changes;
  for (uint32_t id : buffers) {
    const uint64_t bytes = graph.buffers[id].bytes();
    const bool takes_time = lifetimes[id].from < lifetimes[id].to;
    changes[lifetimes[id].from].begun += bytes;
    (takes_time ? changes[lifetimes[id].to].ended : changes[lifetimes[id].to].momentary) += bytes;
  }
  Peak peak;
  uint64_t held = 0;
  for (const auto& [time, change] : changes) {
    // Buffers that begin at a moment take over the memory of those that end at it.
    held += change.begun - change.ended;
    if (held > peak.bytes) peak = {held, time};
    held -= change.momentary;
  }
  return peak;
}

namespace {

using ByteRanges = std::vector<std::pair<uint64_t, uint64_t>>;

uint64_t UnionBytes(ByteRanges ranges) {
  std::sort(ranges.begin(), ranges.end());
  uint64_t bytes = 0, covered = 0;  // up to here
  for (const auto& [begin, end] : ranges) {
    if (end > covered) {
      bytes += end - std::max(begin, covered);
      covered = end;
    }
  }
  return bytes;
}

}  // namespace

ArenaUse FindUse(const plan::Plan& plan, const plan::Graph& graph,
                 const std::vector<Lifetime>& lifetimes, uint32_t arena,
                 const std::vector<uint32_t>& buffers, const Peak& peak) {
  ByteRanges live, all;
  for (uint32_t id : buffers) {
    const plan::Buffer& buffer = graph.buffers[id];
    const Lifetime& life = lifetimes[id];
    const std::pair range(buffer.offset(), buffer.offset() + buffer.bytes());
    all.push_back(range);
    const bool momentary = life.from == life.to;
    if (life.from <= peak.time && (peak.time < life.to || (momentary && life.to == peak.time))) {
      live.push_back(range);
    }
  }
  ArenaUse use;
  use.live = UnionBytes(std::move(live));
  const uint64_t used = UnionBytes(all);
  use.other = used - use.live;
  const plan::Arena& at = graph.arenas[arena];
  if (at.space() == plan::Space::state && at.owner() != plan::kNone) {
    for (const auto& state : plan.actors[at.owner()]->states) {
      all.emplace_back(state->offset, state->offset + state->bytes);
    }
  }
  const uint64_t known = UnionBytes(std::move(all));
  use.state = known - used;
  use.gaps = at.bytes() - std::min<uint64_t>(at.bytes(), known);
  return use;
}

}  // namespace cgraph
