#include "runtime/engine/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

#include "runtime/device/memory.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/print.h"

namespace cgraph::engine {
namespace {

// Makes the frame read an input from what the caller lends, or (null) from the frame's own block.
void ReadFrom(Frame::InputBlock& input, const void* lent) {
  input.lent = lent != nullptr;
  const auto* from = static_cast<const std::byte*>(input.lent ? lent : input.own);
  for (const Frame::Patch& patch : input.patches) *patch.where = from + patch.offset;
}

// Returns whether an execution reads the input where the caller has it.
bool IsLent(const InputPort& port, const Input& input) {
  if (reinterpret_cast<uintptr_t>(input.data) % port.width != 0) return false;
  if (input.gpu.has_value()) return port.ReadOnGpus(input.data);
  return input.lent && port.lendable && port.device->CanLend(input.data);
}

std::string TypeOf(const Input& input) {
  if (input.dims.empty()) return std::string(plan::DTypeName(input.dtype));
  return fmt::format("{}[{}]", plan::DTypeName(input.dtype), fmt::join(input.dims, ", "));
}

// Copies the input of a port into its place in a frame.
Status CopyInput(const LoadedGraph& graph, size_t p, const Input& input, const CallersGpus& gpus,
                 Frame::InputBlock& at) {
  const InputPort& port = graph.inputs[p];
  uint64_t bytes = port.width;
  for (const int64_t dim : input.dims) bytes *= static_cast<uint64_t>(dim);
  const uint64_t all = graph.plan->values[graph.plan->inputs[p]->value].bytes();
  if (const uint64_t touched = all - at.untouched; bytes > touched) {
    CGRAPH_RETURN_IF_ERROR(device::TakeReserved(
        static_cast<std::byte*>(at.own) + touched, bytes - touched,
        fmt::format("the input `{}` of `{}`", port.name, graph.plan->name)));
    at.untouched = all - bytes;
  }
  return input.gpu.has_value() ? gpus.Fetch(port, at, input, bytes)
                               : port.Write(at.own, input.data, bytes);
}

// Checks the elements of an input whose type fits. Those on a GPU are not looked at.
Status CheckData(const plan::Plan& plan, const LoadedGraph& graph, uint32_t port,
                 const Input& input) {
  const uint64_t bytes = *plan::TensorBytes(input.dtype, input.dims);
  const char* wrong = nullptr;
  if (input.data == nullptr) {
    wrong = bytes == 0 ? nullptr : "no data";
  } else if (!input.gpu.has_value() &&
             !plan::ValidElements(input.dtype, {static_cast<const uint8_t*>(input.data), bytes})) {
    wrong = plan::kWrongBooleans;
  }
  if (wrong == nullptr) return Status::Ok();
  return Status(StatusCode::kInvalid,
                fmt::format("`{}` takes `{}` as {}, and was given {}", graph.plan->name,
                            graph.inputs[port].name,
                            plan::TypeText(plan, *graph.plan, graph.plan->inputs[port]->value),
                            wrong));
}

Status MatchPort(const plan::Plan& plan, const LoadedGraph& graph, uint32_t port,
                 const std::vector<const Input*>& given) {
  const Input& input = *given[port];
  const InputPort& expected = graph.inputs[port];
  bool fits = input.dtype == expected.dtype && input.dims.size() == expected.dims.size();
  for (size_t d = 0; fits && d < input.dims.size(); ++d) {
    const InputPort::Dim& dim = expected.dims[d];
    fits = dim.symbol == plan::kNone ? input.dims[d] == dim.extent
                                     : input.dims[d] >= 0 && input.dims[d] <= dim.extent;
  }
  if (!fits) {
    return Status(StatusCode::kInvalid,
                  fmt::format("`{}` takes `{}` as {}, and was given {}", graph.plan->name,
                              expected.name,
                              plan::TypeText(plan, *graph.plan, graph.plan->inputs[port]->value),
                              TypeOf(input)));
  }
  for (size_t d = 0; d < input.dims.size(); ++d) {
    const InputPort::Dim& dim = expected.dims[d];
    if (dim.symbol == plan::kNone || dim.first) continue;
    // Where the same symbol occurs elsewhere, the two extents must agree.
    for (uint32_t p = 0; p <= port; ++p) {
      for (size_t e = 0; e < graph.inputs[p].dims.size(); ++e) {
        const InputPort::Dim& other = graph.inputs[p].dims[e];
        if (!other.first || other.symbol != dim.symbol) continue;
        if (given[p]->dims[e] == input.dims[d]) continue;
        return Status(StatusCode::kInvalid,
                      fmt::format("`{}` is {} in `{}` and {} in `{}`; it is one dimension",
                                  plan.names[graph.plan->symbols[dim.symbol].name()],
                                  given[p]->dims[e], graph.inputs[p].name, input.dims[d],
                                  expected.name));
      }
    }
  }
  return CheckData(plan, graph, port, input);
}

}  // namespace

Status MatchInputs(const plan::Plan& plan, const LoadedGraph& graph, std::span<const Input> inputs,
                   std::vector<const Input*>& given) {
  const uint32_t ports = static_cast<uint32_t>(graph.inputs.size());
  std::fill_n(given.begin(), ports, nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) {
    uint32_t port = 0;
    if (i < ports && inputs[i].name == graph.inputs[i].name) {
      port = static_cast<uint32_t>(i);  // usually they come in order
    } else {
      while (port < ports && graph.inputs[port].name != inputs[i].name) ++port;
    }
    if (port == ports || given[port] != nullptr) {
      return Status(StatusCode::kInvalid, fmt::format("`{}` {} `{}`", graph.plan->name,
                                                      port == ports ? "has no input"
                                                                    : "was given twice the input",
                                                      inputs[i].name));
    }
    given[port] = &inputs[i];
  }
  for (uint32_t port = 0; port < ports; ++port) {
    if (given[port] == nullptr) {
      return Status(StatusCode::kInvalid, fmt::format("`{}` was not given its input `{}`",
                                                      graph.plan->name, graph.inputs[port].name));
    }
    CGRAPH_RETURN_IF_ERROR(MatchPort(plan, graph, port, given));
  }
  return Status::Ok();
}

Status PutInputs(const LoadedGraph& graph, const std::vector<const Input*>& given,
                 const CallersGpus& gpus, Frame& frame, bool& any_lent) {
  any_lent = false;
  for (size_t p = 0; p < graph.inputs.size(); ++p) {
    const InputPort& port = graph.inputs[p];
    const Input& input = *given[p];
    for (size_t d = 0; d < input.dims.size(); ++d) {
      if (port.dims[d].first) frame.taken[port.dims[d].symbol] = input.dims[d];
    }
    Frame::InputBlock& at = frame.inputs[p];
    const bool lent = IsLent(port, input);
    if (lent || at.lent) ReadFrom(at, lent ? input.data : nullptr);
    if (!lent) CGRAPH_RETURN_IF_ERROR(CopyInput(graph, p, input, gpus, at));
    any_lent |= lent;
  }
  return Status::Ok();
}

void ReturnLent(Frame& frame) {
  for (Frame::InputBlock& input : frame.inputs) {
    if (input.lent) ReadFrom(input, nullptr);
  }
}

}  // namespace cgraph::engine
