// Inputs and results in memory of GPUs that the program uses, too (device/shared_gpu.h).
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/engine/core.h"
#include "runtime/plan/booleans.h"

namespace cgraph::engine {

void Core::FindSharedGpus() {
  for (const auto& device : devices_) {
    auto gpu = device->shared_gpu();
    if (gpu == nullptr || SharedGpuOf(gpu->number()) != nullptr) continue;
    shared_gpus_.push_back(std::move(gpu));
  }
}

device::SharedGpu* Core::SharedGpuOf(uint32_t number) const {
  for (const auto& gpu : shared_gpus_) {
    if (gpu->number() == number) return gpu.get();
  }
  return nullptr;
}

device::SharedGpu* Core::GpuOfResult(const ExecutionState& run, size_t i) const {
  const LoadedGraph& graph = *graphs_[run.graph];
  const uint32_t block = graph.results[i].block;
  // Held by the device, which lives as long as the runs.
  return block == 0 ? nullptr : devices_[graph.result_blocks[block].device]->shared_gpu().get();
}

std::string Core::SharedGpusText() const {
  std::string text;
  for (const auto& gpu : shared_gpus_) {
    text += fmt::format("{}cuda:{}", text.empty() ? "" : ", ", gpu->number());
  }
  if (!text.empty()) return text;
  return several_ranks() ? "no GPU of this process" : "CPU threads alone";
}

// Waits until inputs in memory of GPUs have been made. On this thread, which goes on without the
// wait where a queue would do it, but then a producer that hangs would hold up executions of
// others.
Status Core::AwaitProducers(std::span<const Input> inputs) const {
  std::optional<uint32_t> awaited;
  for (const Input& input : inputs) {
    if (!input.gpu.has_value() || input.gpu == awaited) continue;
    awaited = input.gpu;
    device::SharedGpu* const gpu = SharedGpuOf(*input.gpu);
    if (gpu == nullptr) {
      return Status(StatusCode::kUnsupported,
                    fmt::format("the input `{}` lies in memory of cuda:{}, and the engine runs on "
                                "{}; copy it to there or to the host",
                                input.name, *input.gpu, SharedGpusText()));
    }
    CGRAPH_RETURN_IF_ERROR(gpu->AwaitHandover());
  }
  return Status::Ok();
}

// Copies an input from memory of a GPU into its place in a frame, by way of the host.
Status Core::FetchInput(const InputPort& port, const Frame::InputBlock& at, const Input& input,
                        uint64_t bytes) const {
  device::SharedGpu* const gpu = SharedGpuOf(*input.gpu);
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
