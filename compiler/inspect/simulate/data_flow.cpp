#include "compiler/inspect/simulate/data_flow.h"

#include <algorithm>

#include "compiler/base/byte_intervals.h"

namespace cgraph {
namespace {

struct Writer {
  uint32_t unit;
  uint32_t execution;
};

class DependencyFinder {
 public:
  DependencyFinder(const plan::GraphIndex& index, const Units& units)
      : index_(index), graph_(index.graph()), units_(units), writers_(graph_.buffers.size()) {}

  // Finds dependencies by going through two executions in program order: the second one's readers
  // have seen all that a writer of the first can leave them.
  std::vector<Dependency> Find() {
    std::vector<uint32_t> order(graph_.instructions.size());
    for (uint32_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    const auto program_order = [&](uint32_t i) { return graph_.instructions[i].program_order(); };
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return program_order(a) < program_order(b); });
    for (execution_ = 0; execution_ < 2; ++execution_) {
      for (size_t i = 0; i < order.size();) {
        // The parts of one exchange or collective happen at once: all read, then all write.
        size_t end = i;
        for (; end < order.size() && program_order(order[end]) == program_order(order[i]); ++end) {
          Read(order[end]);
        }
        for (; i < end; ++i) {
          Write(order[i]);
        }
      }
      ForgetAllButState();
    }
    std::sort(dependencies_.begin(), dependencies_.end());
    dependencies_.erase(std::unique(dependencies_.begin(), dependencies_.end()),
                        dependencies_.end());
    return std::move(dependencies_);
  }

 private:
  void Read(uint32_t instruction) {
    if (execution_ == 0) {
      return;
    }
    const uint32_t reader = units_.of[instruction];
    index_.ForEachOperand(instruction, [&](uint32_t operand, bool write, uint32_t) {
      if (write) return;
      const plan::Value& value = graph_.values[operand];
      writers_[value.buffer()].ForEach(
          value.offset(), value.offset() + value.bytes(), [&](const Writer& writer) {
            const uint32_t distance = execution_ - writer.execution;
            if (distance > 0 || units_.program_order[writer.unit] < units_.program_order[reader]) {
              dependencies_.push_back({writer.unit, reader, distance});
            }
          });
    });
  }

  void Write(uint32_t instruction) {
    index_.ForEachOperand(instruction, [&](uint32_t operand, bool write, uint32_t) {
      if (!write) return;
      const plan::Value& value = graph_.values[operand];
      writers_[value.buffer()].Assign(value.offset(), value.offset() + value.bytes(),
                                      {units_.of[instruction], execution_});
    });
  }

  void ForgetAllButState() {
    for (size_t buffer = 0; buffer < writers_.size(); ++buffer) {
      if (graph_.arenas[graph_.buffers[buffer].arena()].space() != plan::Space::state) {
        writers_[buffer].Clear();
      }
    }
  }

  const plan::GraphIndex& index_;
  const plan::Graph& graph_;
  const Units& units_;
  uint32_t execution_ = 0;
  std::vector<ByteIntervals<Writer>> writers_;  // by buffer
  std::vector<Dependency> dependencies_;
};

}  // namespace

Units FindUnits(const plan::Graph& graph) {
  Units units;
  units.of.resize(graph.instructions.size());
  for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
    const plan::Range& program = graph.programs[lane];
    uint32_t call = plan::kNone;  // that the unit before, on this lane, can go on with
    for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
      const plan::Instruction& instruction = graph.instructions[i];
      const bool computes = instruction.kind() == plan::Kind::call;
      if (!computes || call == plan::kNone || instruction.call() != call) {
        units.lane.push_back(lane);
        units.program_order.push_back(instruction.program_order());
      }
      units.of[i] = units.size() - 1;
      units.program_order.back() =
          std::min(units.program_order.back(), instruction.program_order());
      call = computes ? instruction.call() : plan::kNone;
    }
  }
  return units;
}

std::vector<Dependency> DataFlowOf(const plan::GraphIndex& index, const Units& units) {
  return DependencyFinder(index, units).Find();
}

}  // namespace cgraph
