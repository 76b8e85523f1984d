#include "compiler/inspect/draw/facts/state_order.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "compiler/inspect/last_writers.h"
#include "runtime/plan/graph_index.h"

namespace cgraph {
namespace {

// Goes through the instructions in program order and remembers, of every byte of state, who wrote
// it last and who has read it since.
class OrderFinder {
 public:
  OrderFinder(const plan::Plan& plan, const plan::Graph& graph, const Operations& operations)
      : plan_(plan), graph_(graph), operations_(operations), index_(plan, graph),
        writers_(graph.buffers.size()), readers_(graph.buffers.size()) {}

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
  struct Reader {
    uint64_t begin, end;
    uint32_t operation;
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
    writers_[value.buffer()].Read(begin, end, [&](uint32_t writer) {
      Add(writer, operation, operand, /*reads=*/true);
    });
    readers_[value.buffer()].push_back({begin, end, operation});
  }

  void Write(const plan::Value& value, uint32_t operand, uint32_t operation) {
    const uint64_t begin = value.offset(), end = begin + value.bytes();
    writers_[value.buffer()].Read(begin, end, [&](uint32_t writer) {
      Add(writer, operation, operand, /*reads=*/false);
    });
    std::vector<Reader>& readers = readers_[value.buffer()];
    for (const Reader& reader : readers) {
      if (reader.begin < end && begin < reader.end) {
        Add(reader.operation, operation, operand, /*reads=*/false);
      }
    }
    // What is written over wholly needs no more order.
    std::erase_if(readers, [&](const Reader& reader) {
      return begin <= reader.begin && reader.end <= end;
    });
    writers_[value.buffer()].Write(begin, end, operation);
  }

  void Add(uint32_t before, uint32_t after, uint32_t operand, bool reads) {
    if (before == after) return;
    std::string state = StateName(plan_, graph_, operand);
    if (seen_.insert({before, after, state, reads}).second) {
      found_.push_back({before, after, std::move(state), reads});
    }
  }

  const plan::Plan& plan_;
  const plan::Graph& graph_;
  const Operations& operations_;
  const plan::GraphIndex index_;
  std::vector<LastWriters<uint32_t>> writers_;  // by buffer; operations
  std::vector<std::vector<Reader>> readers_;    // by buffer
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
      return state->name;
    }
  }
  return "";
}

}  // namespace cgraph
