#include "compiler/inspect/draw/order/order.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "compiler/base/byte_intervals.h"
#include "runtime/base/kinds/native.h"
#include "runtime/plan/graph_index.h"

namespace cgraph {
namespace {

// Finds the order that state needs. It goes through the instructions in program order and
// remembers, of every byte of state, its last writer and its readers since.
class OrderFinder {
 public:
  OrderFinder(const plan::Plan& plan, const plan::Graph& graph, const Operations& operations)
      : plan_(plan), graph_(graph), operations_(operations), index_(plan, graph),
        touched_(graph.buffers.size()) {}

  std::vector<StateOrder> Find() {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      if (operations_.of[i] != plan::kNone) order.push_back(i);
    }
    const auto program_order = [&](uint32_t i) { return graph_.instructions[i].program_order(); };
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return program_order(a) < program_order(b); });
    for (size_t i = 0; i < order.size();) {
      // The parts of one exchange or collective happen at once: all read, then all write.
      size_t end = i;
      for (; end < order.size() && program_order(order[end]) == program_order(order[i]); ++end) {
        Visit(order[end], /*write=*/false);
      }
      for (; i < end; ++i) Visit(order[i], /*write=*/true);
    }
    return std::move(found_);
  }

 private:
  // Operations.
  struct Touched {
    uint32_t writer = plan::kNone;
    std::vector<uint32_t> readers;  // since
  };

  void Visit(uint32_t instruction, bool write) {
    index_.ForEachOperand(instruction, [&](uint32_t operand, bool writes, uint32_t) {
      if (writes != write) return;
      const plan::Value& value = graph_.values[operand];
      const uint32_t arena = graph_.buffers[value.buffer()].arena();
      if (graph_.arenas[arena].space() != plan::Space::state) return;
      const uint32_t operation = operations_.of[instruction];
      write ? Write(value, operand, operation) : Read(value, operand, operation);
    });
  }

  void Read(const plan::Value& value, uint32_t operand, uint32_t operation) {
    const uint64_t begin = value.offset(), end = begin + value.bytes();
    touched_[value.buffer()].Update(begin, end, [&](Touched& bytes) {
      Add(bytes.writer, operation, operand, /*reads=*/true);
      bytes.readers.push_back(operation);
    });
  }

  void Write(const plan::Value& value, uint32_t operand, uint32_t operation) {
    const uint64_t begin = value.offset(), end = begin + value.bytes();
    touched_[value.buffer()].Update(begin, end, [&](Touched& bytes) {
      Add(bytes.writer, operation, operand, /*reads=*/false);
      for (uint32_t reader : bytes.readers) Add(reader, operation, operand, /*reads=*/false);
      bytes = {operation, {}};
    });
  }

  void Add(uint32_t before, uint32_t after, uint32_t operand, bool reads) {
    if (before == after || before == plan::kNone) return;
    std::string state = StateName(plan_, graph_, operand);
    if (seen_.insert({before, after, state, reads}).second) {
      found_.push_back({before, after, std::move(state), reads});
    }
  }

  const plan::Plan& plan_;
  const plan::Graph& graph_;
  const Operations& operations_;
  const plan::GraphIndex index_;
  std::vector<ByteIntervals<Touched>> touched_;  // by buffer
  std::set<std::tuple<uint32_t, uint32_t, std::string, bool>> seen_;
  std::vector<StateOrder> found_;
};

}  // namespace

std::vector<StateOrder> FindStateOrder(const plan::Plan& plan, const plan::Graph& graph,
                                       const Operations& operations) {
  return OrderFinder(plan, graph, operations).Find();
}

std::string StateName(const plan::Plan& plan, const plan::Graph& graph, uint32_t value) {
  const plan::Value& at = graph.values[value];
  const plan::Buffer& buffer = graph.buffers[at.buffer()];
  const plan::Arena& arena = graph.arenas[buffer.arena()];
  if (arena.space() != plan::Space::state || arena.owner() == plan::kNone) return "";
  const uint64_t offset = buffer.offset() + at.offset();
  for (const auto& state : plan.actors[arena.owner()]->states) {
    if (state->offset <= offset && offset < state->offset + std::max<uint64_t>(state->bytes, 1)) {
      return state->name == kNativeObjectState ? kObjectName : state->name;
    }
  }
  return "";
}

}  // namespace cgraph
