#include "compiler/inspect/draw/facts/value_makers.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "runtime/plan/graph_index.h"

namespace cgraph {
namespace {

// In program order; of a transfer, which is one step of the program, the send before its receive.
std::vector<uint32_t> InProgramOrder(const plan::Graph& graph) {
  std::vector<uint32_t> order(graph.instructions.size());
  std::iota(order.begin(), order.end(), 0);
  const auto is_receive = [&](const plan::Instruction& at) {
    return at.kind() == plan::Kind::comm && at.inputs() > 0 &&
           graph.parts[at.first()].part() == plan::Part::recv;
  };
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const plan::Instruction& first = graph.instructions[a];
    const plan::Instruction& second = graph.instructions[b];
    return std::pair(first.program_order(), is_receive(first)) <
           std::pair(second.program_order(), is_receive(second));
  });
  return order;
}

class MakerFinder {
 public:
  MakerFinder(const plan::Plan& plan, const plan::Graph& graph)
      : graph_(graph), index_(plan, graph), makers_(graph.values.size(), plan::kNone) {}

  std::vector<uint32_t> Find() {
    for (uint32_t i : InProgramOrder(graph_)) Follow(i);
    return std::move(makers_);
  }

 private:
  void Follow(uint32_t instruction) {
    const plan::Instruction& at = graph_.instructions[instruction];
    uint32_t maker = plan::kNone;
    if (at.kind() == plan::Kind::call && at.call() != plan::kNone &&
        graph_.calls[at.call()].place() != plan::kNone) {
      maker = at.call();
    }
    index_.ForEachOperand(instruction, [&](uint32_t value, bool write, uint32_t part) {
      if (part != plan::kNone) {
        FollowPart(value, write, graph_.parts[part]);
      } else if (write) {
        makers_[value] = maker;
      } else if (at.kind() == plan::Kind::copy) {
        maker = makers_[value];
      }
    });
  }

  void FollowPart(uint32_t value, bool write, const plan::CommPart& part) {
    if (part.part() == plan::Part::collective) return;
    uint32_t& sent = sent_.emplace(part.transfer(), plan::kNone).first->second;
    (write ? makers_[value] : sent) = write ? sent : makers_[value];
  }

  const plan::Graph& graph_;
  const plan::GraphIndex index_;
  std::vector<uint32_t> makers_;      // by value
  std::map<uint32_t, uint32_t> sent_;  // by transfer
};

}  // namespace

std::vector<uint32_t> FindValueMakers(const plan::Plan& plan, const plan::Graph& graph) {
  return MakerFinder(plan, graph).Find();
}

}  // namespace cgraph
