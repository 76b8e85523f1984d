#include "compiler/schedule/fit/least_memory.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/schedule/accesses.h"
#include "compiler/schedule/memory/layout.h"

namespace cgraph::schedule {
namespace {

// AliveInUnit: a buffer's steps in one unit during which it is alive in every order.
struct AliveInUnit {
  UnitId unit;
  graph::DeviceId device;
  BufferId buffer;
  uint32_t begin, end;  // steps, the end excluded
};

class PeakFinder {
 public:
  PeakFinder(const graph::Graph& graph, const Schedule& schedule)
      : graph_(graph), schedule_(schedule) {}

  std::vector<LeastMemory::Peak> Find(size_t devices) {
    const std::vector<std::vector<Access>> accesses = FindAccesses(graph_, schedule_);
    for (BufferId id : schedule_.buffers.Ids()) {
      const Buffer& buffer = schedule_.buffers[id];
      if (buffer.space == Space::kSlot && buffer.bytes > 0) AddBuffer(id, accesses[id.index]);
    }
    std::stable_sort(alive_.begin(), alive_.end(), [](const AliveInUnit& a, const AliveInUnit& b) {
      return std::pair(a.unit, a.device) < std::pair(b.unit, b.device);
    });
    std::vector<LeastMemory::Peak> peaks(devices);
    for (size_t i = 0; i < alive_.size();) {
      size_t end = i + 1;
      while (end < alive_.size() && alive_[end].unit == alive_[i].unit &&
             alive_[end].device == alive_[i].device) {
        ++end;
      }
      FindPeak(i, end, peaks[alive_[i].device.index]);
      i = end;
    }
    return peaks;
  }

 private:
  // `accesses`: of the buffer, in the order of an execution; those of a unit stand together.
  void AddBuffer(BufferId id, const std::vector<Access>& accesses) {
    const Access* writer = WriterOf(accesses);
    // Returns whether it reads what the writer wrote. An empty part orders nothing.
    const auto takes = [&](const Access& access) {
      return writer != nullptr && access.unit != writer->unit &&
             std::max(access.begin, writer->begin) < std::min(access.end, writer->end);
    };
    const bool leaves = std::any_of(accesses.begin(), accesses.end(), takes);
    for (size_t i = 0; i < accesses.size();) {
      const UnitId unit_id = accesses[i].unit;
      const ScheduleUnit& unit = schedule_.units[unit_id];
      AliveInUnit alive{unit_id, schedule_.buffers[id].device, id, UINT32_MAX, 0};
      for (; i < accesses.size() && accesses[i].unit == unit_id; ++i) {
        const uint32_t step = accesses[i].step.index;
        const bool shares = accesses[i].write && MayTakeOver(id, schedule_.steps[StepId(step)]);
        alive.begin = std::min(alive.begin, shares ? step + 1 : step);
        alive.end = std::max(alive.end, step + 1);
        if (takes(accesses[i])) alive.begin = unit.first.index;  // it was there before the unit
      }
      const bool writes = writer != nullptr && writer->unit == unit_id;
      if (writes && leaves) alive.end = unit.first.index + unit.count;
      alive_.push_back(alive);
    }
  }

  // Returns the first write of a buffer that one unit alone writes, else null: with several
  // writers, an order may run one of them after the readers of another.
  static const Access* WriterOf(const std::vector<Access>& accesses) {
    const Access* writer = nullptr;
    for (const Access& access : accesses) {
      if (!access.write) continue;
      if (writer != nullptr && writer->unit != access.unit) return nullptr;
      if (writer == nullptr) writer = &access;
    }
    return writer;
  }

  // Returns whether a result in this buffer may get the buffer of an operand (memory/lifetime.h).
  bool MayTakeOver(BufferId id, const Step& step) const {
    if (step.kind != Step::kCall) return false;
    const auto& pairs = graph_.ops[step.op].inplace;
    return std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
      const Buffer& read = schedule_.buffers[BufferOf(step.inputs[pair.first])];
      return BufferOf(step.outputs[pair.second]) == id && read.space == Space::kSlot &&
             read.bytes == schedule_.buffers[id].bytes;
    });
  }
  BufferId BufferOf(ValueLocationId id) const { return schedule_.locations[id].buffer; }

  // Finds the most that is alive at a step of one unit on one device: alive_[first .. end).
  void FindPeak(size_t first, size_t end, LeastMemory::Peak& peak) const {
    std::map<uint32_t, int64_t> changes;  // by step
    for (size_t i = first; i < end; ++i) {
      if (alive_[i].begin >= alive_[i].end) continue;
      const int64_t bytes = Aligned(schedule_.buffers[alive_[i].buffer].bytes);
      changes[alive_[i].begin] += bytes;
      changes[alive_[i].end] -= bytes;
    }
    int64_t bytes = 0;
    bool higher = false;
    for (const auto& [step, change] : changes) {
      bytes += change;
      if (bytes <= peak.bytes) continue;
      higher = true;
      peak.bytes = bytes;
      peak.step = StepId(step);
    }
    if (!higher) return;
    peak.buffers.clear();
    for (size_t i = first; i < end; ++i) {
      const bool there = alive_[i].begin <= peak.step.index && peak.step.index < alive_[i].end;
      if (there) peak.buffers.push_back(alive_[i].buffer);
    }
  }

  const graph::Graph& graph_;
  const Schedule& schedule_;
  std::vector<AliveInUnit> alive_;
};

}  // namespace

LeastMemory FindLeastMemory(const graph::Module& module, const graph::Graph& graph,
                            const Schedule& schedule) {
  LeastMemory least{.uses = MemoryUses(module, graph, schedule),
                    .peaks = PeakFinder(graph, schedule).Find(module.devices.size())};
  for (size_t i = 0; i < least.uses.size(); ++i) {
    least.uses[i].slots = least.peaks[i].bytes * graph.inflight;
  }
  return least;
}

}  // namespace cgraph::schedule
