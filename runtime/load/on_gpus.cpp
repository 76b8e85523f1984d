#include "runtime/load/on_gpus.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "runtime/load/frames.h"

namespace cgraph::engine {
namespace {

using Devices = std::vector<std::unique_ptr<device::Device>>;
using plan::Kind;

// Calls visit(instruction, buffer, write) for everything that touches a buffer.
template <typename Visit>
void ForEachTouch(const plan::GraphIndex& index, Visit&& visit) {
  const plan::Graph& graph = index.graph();
  for (uint32_t i = 0; i < graph.instructions.size(); ++i) {
    const Kind kind = graph.instructions[i].kind();
    if (kind == Kind::wait || kind == Kind::signal) continue;
    index.ForEachAccess(
        i, [&](uint32_t value, bool write) { visit(i, graph.values[value].buffer(), write); });
  }
}

// Calls visit(buffer) for those that hold extents, which the host reads.
template <typename Visit>
void ForEachExtent(const plan::Graph& graph, Visit&& visit) {
  for (const plan::Extent& extent : graph.extents) visit(graph.values[extent.value()].buffer());
}

// Returns the buffers of results in output arenas that a copy of one device brings to the caller's
// memory, and nothing else touches, with that device.
std::map<uint32_t, uint32_t> FindCopied(const plan::GraphIndex& index, const Devices& devices) {
  const plan::Graph& graph = index.graph();
  std::map<uint32_t, uint32_t> results;  // to the first device that touches them
  for (const auto& port : graph.outputs) {
    if (InOutput(graph, port->value)) {
      results.emplace(graph.values[port->value].buffer(), plan::kNone);
    }
  }
  std::set<uint32_t> shared;  // that something else touches
  ForEachTouch(index, [&](uint32_t instruction, uint32_t buffer, bool write) {
    const auto found = results.find(buffer);
    const Kind kind = graph.instructions[instruction].kind();
    if (found == results.end() || (kind == Kind::output && !write)) return;
    const uint32_t device = index.device(instruction);
    if (found->second == plan::kNone) found->second = device;
    const bool copies = kind == Kind::copy && write && found->second == device &&
                        devices[device]->shared_gpu() != nullptr;
    if (!copies) shared.insert(buffer);
  });
  ForEachExtent(graph, [&](uint32_t buffer) { results.erase(buffer); });
  std::erase_if(results, [&](const auto& result) {
    return result.second == plan::kNone || shared.contains(result.first);
  });
  return results;
}

}  // namespace

void FindInputsOfGpus(const plan::GraphIndex& index, const Devices& devices, LoadedGraph& graph) {
  const plan::Graph& plan = index.graph();
  std::map<uint32_t, InputPort*> ports;  // by buffer
  for (size_t p = 0; p < graph.inputs.size(); ++p) {
    InputPort& port = graph.inputs[p];
    const bool first = ports.emplace(plan.values[plan.inputs[p]->value].buffer(), &port).second;
    port.gpus_read = first && port.host_visible;
  }
  ForEachExtent(plan, [&](uint32_t buffer) {
    if (const auto port = ports.find(buffer); port != ports.end()) port->second->gpus_read = false;
  });
  ForEachTouch(index, [&](uint32_t instruction, uint32_t buffer, bool write) {
    const auto port = ports.find(buffer);
    const Kind kind = plan.instructions[instruction].kind();
    if (port == ports.end() || kind == Kind::input) return;
    InputPort& at = *port->second;
    auto gpu = devices[index.device(instruction)]->shared_gpu();
    at.gpus_read &= kind == Kind::copy && !write && gpu != nullptr;
    if (!at.gpus_read || std::count(at.readers.begin(), at.readers.end(), gpu) != 0) return;
    at.readers.push_back(std::move(gpu));
  });
}

void KeepResultsOnGpus(const plan::GraphIndex& index, const Devices& devices, LoadedGraph& graph) {
  const plan::Graph& plan = index.graph();
  std::vector<device::BumpLayout> layouts(1);  // by block
  std::map<uint32_t, uint32_t> block_of_device;
  for (const auto& [buffer, device] : FindCopied(index, devices)) {
    const auto next = static_cast<uint32_t>(layouts.size());
    const auto [block, added] = block_of_device.try_emplace(device, next);
    if (added) {
      layouts.emplace_back();
      graph.result_blocks.push_back({device, 0});
    }
    const uint64_t offset = layouts[block->second].Add(plan.buffers[buffer].bytes());
    graph.result_blocks[block->second].bytes = layouts[block->second].size();
    graph.buffers_on_gpus[buffer] = {block->second, offset};
  }
  bool any_on_host = false;
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const plan::Value& value = plan.values[plan.outputs[i]->value];
    const auto on_gpu = graph.buffers_on_gpus.find(value.buffer());
    any_on_host |= on_gpu == graph.buffers_on_gpus.end();
    if (on_gpu == graph.buffers_on_gpus.end()) continue;
    graph.results[i] = {on_gpu->second.block, on_gpu->second.offset + value.offset()};
  }
  // Then nothing of the output block is used.
  if (!any_on_host && !graph.buffers_on_gpus.empty()) graph.result_blocks.front().bytes = 0;
}

}  // namespace cgraph::engine
