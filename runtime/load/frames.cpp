#include "runtime/load/frames.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/device/memory.h"
#include "runtime/load/kernels.h"
#include "runtime/plan/kinds.h"

namespace cgraph::engine {
namespace {

constexpr uint64_t kMaxTensors = 1ull << 27;  // of all frames of a graph
constexpr uint64_t kLendable = 4096;          // bytes at bound: smaller inputs are always copied

// The bytes from one frame's poison flags to the next one's.
uint64_t FlagStride(const LoadedGraph& graph) {
  return device::AlignUp(graph.poison_flags, device::kLineAlign);
}

}  // namespace

bool InOutput(const plan::Graph& graph, uint32_t value) {
  const plan::Buffer& buffer = graph.buffers[graph.values[value].buffer()];
  return graph.arenas[buffer.arena()].space() == plan::Space::output;
}

bool HasGivenDims(const plan::Graph& graph, uint32_t value, const std::vector<bool>& given) {
  const plan::Value& v = graph.values[value];
  return std::all_of(graph.dims.begin() + v.first_dim(),
                     graph.dims.begin() + v.first_dim() + v.rank(), [&](const plan::Dim& dim) {
                       return dim.symbol() == plan::kNone || given[dim.symbol()];
                     });
}

std::vector<bool> GivenSymbols(const plan::Graph& graph) {
  std::vector<bool> given(graph.symbols.size(), false);
  for (const auto& input : graph.inputs) {
    const plan::Value& value = graph.values[input->value];
    for (uint32_t d = value.first_dim(); d < value.first_dim() + value.rank(); ++d) {
      if (graph.dims[d].symbol() != plan::kNone) given[graph.dims[d].symbol()] = true;
    }
  }
  return given;
}

void DescribePorts(const plan::Graph& plan, LoadedGraph& graph) {
  std::vector<bool> seen(plan.symbols.size(), false);
  for (const auto& input : plan.inputs) {
    const plan::Value& value = plan.values[input->value];
    InputPort port;
    port.name = input->name;
    port.dtype = value.dtype();
    port.width = static_cast<uint64_t>(plan::DTypeBytes(value.dtype()));
    port.lendable = value.bytes() >= kLendable;
    for (uint32_t d = value.first_dim(); d < value.first_dim() + value.rank(); ++d) {
      const uint32_t symbol = plan.dims[d].symbol();
      const bool first = symbol != plan::kNone && !seen[symbol];
      if (first) seen[symbol] = true;
      port.dims.push_back({plan.dims[d].extent(), symbol, first});
    }
    graph.inputs.push_back(std::move(port));
  }
  for (uint32_t output = 0; output < plan.outputs.size(); ++output) {
    const plan::Value& value = plan.values[plan.outputs[output]->value];
    for (uint32_t d = 0; d < value.rank(); ++d) {
      const uint32_t symbol = plan.dims[value.first_dim() + d].symbol();
      if (symbol != plan::kNone && seen[symbol]) graph.given_dims.push_back({output, d, symbol});
    }
  }
}

FrameOperands::FrameOperands(const plan::GraphIndex& index)
    : index_(index),
      graph_(index.graph()),
      slot_of_extent_(graph_.extents.size(), plan::kNone) {
  for (uint32_t i = 0; i < graph_.extents.size(); ++i) {
    const plan::Extent& extent = graph_.extents[i];
    extent_at_.emplace(static_cast<uint64_t>(extent.symbol()) << 32 | extent.device(), i);
  }
  FindPorts();
  given_ = GivenSymbols(graph_);
}

void FrameOperands::FindPorts() {
  port_of_buffer_.assign(graph_.buffers.size(), plan::kNone);
  for (uint32_t p = 0; p < graph_.inputs.size(); ++p) {
    port_of_buffer_[graph_.values[graph_.inputs[p]->value].buffer()] = p;
  }
}

Slice FrameOperands::Add(uint32_t first, uint32_t count, uint32_t instruction,
                         std::vector<DynamicDim>& uses, uint32_t reader) {
  const Slice slice{static_cast<uint32_t>(tensors_.size()), count};
  for (uint32_t o = first; o < first + count; ++o) {
    const uint32_t id = graph_.operands[o];
    const plan::Value& value = graph_.values[id];
    for (uint32_t d = 0; d < value.rank(); ++d) {
      const plan::Dim& dim = graph_.dims[value.first_dim() + d];
      if (dim.symbol() == plan::kNone) continue;
      const uint32_t device = index_.device(instruction);
      if (Makes(instruction, index_.ExtentValue(dim.symbol(), device))) continue;
      uses.push_back({static_cast<uint32_t>(tensors_.size()), d,
                      ExtentSlot(dim.symbol(), device), dim.symbol(), dim.extent(),
                      given_[dim.symbol()]});
    }
    tensors_.push_back(id);
    readers_.push_back(reader != plan::kNone ? reader : index_.device(instruction));
  }
  return slice;
}

bool FrameOperands::Makes(uint32_t instruction, uint32_t value) {
  if (instruction != made_by_) {
    made_by_ = instruction;
    made_.clear();
    index_.ForEachOperand(instruction, [&](uint32_t operand, bool write, uint32_t) {
      if (write) made_.push_back(operand);
    });
    std::sort(made_.begin(), made_.end());
  }
  return std::binary_search(made_.begin(), made_.end(), value);
}

uint32_t FrameOperands::ExtentSlot(uint32_t symbol, uint32_t device) {
  const uint32_t extent = extent_at_.at(static_cast<uint64_t>(symbol) << 32 | device);
  if (slot_of_extent_[extent] == plan::kNone) {
    slot_of_extent_[extent] = static_cast<uint32_t>(extents_.size());
    extents_.push_back(extent);
  }
  return slot_of_extent_[extent];
}

Status FrameOperands::Fill(const Arenas& arenas, device::Device& host, device::SharedHeap& heap,
                           const RankView& view, uint32_t number, LoadedGraph& graph) const {
  if (tensors_.size() * graph.frames.size() > kMaxTensors) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("`{}` has {} operands and {} executions in flight, which together is "
                              "more than this engine prepares; run fewer in flight",
                              graph_.name, tensors_.size(), graph.frames.size()));
  }
  // The bytes of a frame, each part a block: tensors, patches of those in outputs, extents, inputs,
  // symbols, poison flags.
  const uint64_t each = tensors_.size() * sizeof(Tensor) +
                        (tensors_.size() + extents_.size()) * sizeof(Frame::Patch) +
                        extents_.size() * sizeof(void*) +
                        graph_.inputs.size() * sizeof(Frame::InputBlock) +
                        graph_.symbols.size() * sizeof(int64_t) + graph.poison_flags + 256;
  CGRAPH_RETURN_IF_ERROR(device::CheckFree(
      each * graph.frames.size(),
      fmt::format("the bookkeeping of {} executions of `{}`", graph.frames.size(), graph_.name)));
  auto flags = device::SharedArray<std::atomic<uint8_t>>::Make(
      host, FlagStride(graph) * graph.frames.size(),
      fmt::format("the poison flags of `{}`", graph_.name));
  if (!flags.ok()) return flags.status();
  graph.poison_bytes = std::move(*flags);
  for (uint32_t f = 0; f < graph.frames.size(); ++f) {
    CGRAPH_RETURN_IF_ERROR(MakeShared(heap, graph, graph.frames[f]));
    FillFrame(arenas, view, number, f, graph);
  }
  return Status::Ok();
}

// Makes what the lanes of an execution share beside its values. Tensors are not written when they
// are made: their readers in other ranks may have filled them by then.
Status FrameOperands::MakeShared(device::SharedHeap& heap, const LoadedGraph& graph,
                                 Frame& frame) const {
  const std::string what = fmt::format("the bookkeeping of `{}`", graph_.name);
  auto tensors = heap.MakeZeroed<Tensor>(tensors_.size(), what);
  auto taken = heap.Make<int64_t>(graph_.symbols.size(), what);
  auto words = heap.Make<Frame::Words>(1, what);
  for (const Status& status : {tensors.status(), taken.status(), words.status()}) {
    CGRAPH_RETURN_IF_ERROR(status);
  }
  frame.tensors = *tensors;
  frame.taken = *taken;
  frame.words = words->data();
  if (graph.several_ranks) {
    auto any = heap.Make<std::atomic<bool>>(1, what);
    auto slots = heap.Make<FailureSlot>(graph.programs.size(), what);
    for (const Status& status : {any.status(), slots.status()}) CGRAPH_RETURN_IF_ERROR(status);
    frame.failures = {any->data(), *slots};
  }
  return Status::Ok();
}

// What is in memory of a GPU has another address at each rank that reads it: only the reader's rank
// says where it is.
void FrameOperands::FillFrame(const Arenas& arenas, const RankView& view, uint32_t number,
                              uint32_t at, LoadedGraph& graph) const {
  Frame& frame = graph.frames[at];
  const auto locate = [&](uint32_t value, uint32_t reader, const void** where) {
    if (!view.IsHere(reader) && !arenas.HasOneAddress(number, value)) return;
    *where = arenas.AddressFor(reader, number, value, at);
    if (*where == nullptr && InOutput(graph_, value)) {
      const plan::Value& at = graph_.values[value];
      const auto on_gpu = graph.buffers_on_gpus.find(at.buffer());
      if (on_gpu != graph.buffers_on_gpus.end()) {
        const auto& [block, offset] = on_gpu->second;
        frame.patches.push_back({where, offset + at.offset(), block});
      } else {
        frame.patches.push_back({where, arenas.OutputOffset(number, value)});
      }
      return;
    }
    const uint32_t port = port_of_buffer_[graph_.values[value].buffer()];
    if (port == plan::kNone) return;
    if (!graph.inputs[port].lendable && !graph.inputs[port].gpus_read) return;
    const plan::Value& whole = graph_.values[graph_.inputs[port]->value];
    frame.inputs[port].patches.push_back({where, graph_.values[value].offset() - whole.offset()});
  };
  for (const auto& input : graph_.inputs) {
    Frame::InputBlock& block = frame.inputs.emplace_back();
    block.own = arenas.Address(number, input->value, at);
    if (arenas.IsUntouched(number, input->value)) {
      block.untouched = graph_.values[input->value].bytes();
    }
  }
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const device::OperandType type = OperandTypeOf(graph_, tensors_[i]);
    frame.tensors[i].dtype = type.dtype;
    frame.tensors[i].rank = type.rank;
    std::copy_n(type.dims, type.rank, frame.tensors[i].dims);
    locate(tensors_[i], readers_[i], const_cast<const void**>(&frame.tensors[i].data));
  }
  frame.extents.resize(extents_.size());
  for (size_t i = 0; i < extents_.size(); ++i) {
    const plan::Extent& extent = graph_.extents[extents_[i]];
    locate(extent.value(), extent.device(), &frame.extents[i]);
  }
  frame.poison_flags = {graph.poison_bytes.data() + FlagStride(graph) * at, graph.poison_flags};
  // Before the first execution there were only empty ones, so all poison flags are set.
  for (std::atomic<uint8_t>& poison_flag : frame.poison_flags) poison_flag = 1;
  frame.bindings = {frame.tensors.data(), frame.extents.data(), frame.poison_flags.data(),
                    &frame.words->dirty,  frame.taken.data(),   number,
                    at};
}

}  // namespace cgraph::engine
