#include "compiler/emit/mark_captures.h"

#include <cstdint>
#include <vector>

namespace cgraph::emit {
namespace {

constexpr uint32_t kLeastCalls = 2;  // of a capture: one call is one launch anyway

class Marker {
 public:
  Marker(const plan::Plan& plan, plan::Graph& graph)
      : plan_(plan), graph_(graph), given_(graph.symbols.size(), false) {
    for (const auto& input : graph.inputs) {
      const plan::Value& value = graph.values[input->value];
      for (uint32_t d = value.first_dim(); d < value.first_dim() + value.rank(); ++d) {
        if (graph.dims[d].symbol() != plan::kNone) given_[graph.dims[d].symbol()] = true;
      }
    }
  }

  void Mark() {
    for (uint32_t lane = 0; lane < graph_.programs.size(); ++lane) {
      const plan::LaneInfo& info = plan_.lanes[lane];
      const bool captures = info.kind() == plan::LaneKind::compute &&
                            plan_.devices[info.device()]->kind == plan::DeviceKind::gpu;
      if (captures) MarkLane(graph_.programs[lane]);
    }
  }

 private:
  void MarkLane(const plan::Range& program) {
    const uint32_t end = program.first() + program.count();
    for (uint32_t first = program.first(); first < end;) {
      uint32_t last = first;
      while (last < end && MayBeCaptured(graph_.instructions[last]) &&
             graph_.instructions[last].lag() == graph_.instructions[first].lag()) {
        plan::Instruction& at = graph_.instructions[last++];
        at.mutate_flags(at.flags() | plan::kMayBeCaptured);
      }
      if (last - first >= kLeastCalls) {
        ++captures_;
        for (uint32_t i = first; i < last; ++i) {
          graph_.instructions[i].mutate_capture_id(captures_);
        }
      }
      first = last == first ? first + 1 : last;
    }
  }

  bool MayBeCaptured(const plan::Instruction& at) const {
    if (at.kind() != plan::Kind::call || !plan_.kernels[at.subject()]->library.empty()) {
      return false;
    }
    for (uint32_t o = at.first(); o < at.first() + at.inputs() + at.outputs(); ++o) {
      const plan::Value& value = graph_.values[graph_.operands[o]];
      const plan::Space space = graph_.arenas[graph_.buffers[value.buffer()].arena()].space();
      if (space == plan::Space::input || space == plan::Space::output) return false;
      for (uint32_t d = value.first_dim(); d < value.first_dim() + value.rank(); ++d) {
        const uint32_t symbol = graph_.dims[d].symbol();
        if (symbol != plan::kNone && given_[symbol]) return false;
      }
    }
    return true;
  }

  const plan::Plan& plan_;
  plan::Graph& graph_;
  std::vector<bool> given_;  // per symbol: by an input
  uint32_t captures_ = 0;
};

}  // namespace

void MarkCaptures(const plan::Plan& plan, plan::Graph& graph) { Marker(plan, graph).Mark(); }

}  // namespace cgraph::emit
