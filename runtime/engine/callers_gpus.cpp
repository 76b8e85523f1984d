#include "runtime/engine/callers_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/plan/kinds.h"

namespace cgraph::engine {

void CallersGpus::Find() {
  for (const auto& device : loaded_.devices) {
    auto gpu = device->shared_gpu();
    if (gpu == nullptr || Of(gpu->number()) != nullptr) continue;
    gpus_.push_back(std::move(gpu));
  }
}

device::SharedGpu* CallersGpus::Of(uint32_t number) const {
  for (const auto& gpu : gpus_) {
    if (gpu->number() == number) return gpu.get();
  }
  return nullptr;
}

device::SharedGpu* CallersGpus::OfResult(const ExecutionState& execution, size_t i) const {
  const LoadedGraph& graph = *loaded_.graphs[execution.graph];
  const uint32_t block = graph.results[i].block;
  // Held by the device, which lives as long as the executions.
  if (block == 0) return nullptr;
  return loaded_.devices[graph.result_blocks[block].device]->shared_gpu().get();
}

std::string CallersGpus::Text() const {
  std::string text;
  for (const auto& gpu : gpus_) {
    text += fmt::format("{}cuda:{}", text.empty() ? "" : ", ", gpu->number());
  }
  if (!text.empty()) return text;
  return loaded_.several_ranks() ? "no GPU of this process" : "CPU threads alone";
}

Status CallersGpus::AwaitProducers(std::span<const Input> inputs) const {
  std::optional<uint32_t> awaited;
  for (const Input& input : inputs) {
    if (!input.gpu.has_value() || input.gpu == awaited) continue;
    awaited = input.gpu;
    device::SharedGpu* const gpu = Of(*input.gpu);
    if (gpu == nullptr) {
      return Status(StatusCode::kUnsupported,
                    fmt::format("the input `{}` lies in memory of cuda:{}, and the engine runs on "
                                "{}; copy it to there or to the host",
                                input.name, *input.gpu, Text()));
    }
    CGRAPH_RETURN_IF_ERROR(gpu->AwaitHandover());
  }
  return Status::Ok();
}

Status CallersGpus::Fetch(const InputPort& port, const Frame::InputBlock& at, const Input& input,
                          uint64_t bytes) const {
  device::SharedGpu* const gpu = Of(*input.gpu);
  std::vector<std::byte> staged(port.host_visible ? 0 : bytes);
  void* const to = port.host_visible ? at.own : staged.data();
  CGRAPH_RETURN_IF_ERROR(gpu->Fetch(to, input.data, bytes));
  if (!plan::ValidElements(port.dtype, {static_cast<const uint8_t*>(to), bytes})) {
    return Status(StatusCode::kInvalid,
                  fmt::format("`{}` has {}", port.name, plan::kWrongBooleans));
  }
  return port.host_visible ? Status::Ok() : port.Write(at.own, to, bytes);
}

}  // namespace cgraph::engine
