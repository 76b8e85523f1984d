#include "compiler/inspect/simulate/lane_times.h"

#include <algorithm>
#include <map>

#include "compiler/inspect/graph_messages.h"

namespace cgraph {
namespace {

class Builder {
 public:
  Builder(const plan::Plan& plan, const plan::Graph& graph, const std::vector<uint64_t>& durations,
          const Movements& movements, const plan::Placement* placement)
      : graph_(graph),
        index_(IndexMessages(plan, graph)),
        durations_(durations),
        movements_(movements),
        placement_(placement) {}

  LaneTimes Build() {
    AddInstructions();
    if (placement_ == nullptr) {
      AddLanes();
    } else {
      AddWorkers();
    }
    AddEvents();
    for (uint32_t channel = 0; channel < graph_.channels.size(); ++channel) AddChannel(channel);
    for (const CollectiveParts parts : CollectivesOf(index_)) AddCollective(parts);
    return std::move(times_);
  }

 private:
  static uint32_t Start(uint32_t instruction) { return LaneTimes::Start(instruction); }
  static uint32_t End(uint32_t instruction) { return LaneTimes::End(instruction); }

  uint32_t AddMoment(uint64_t weight, uint32_t only_for = plan::kNone) {
    times_.weights.push_back(weight);
    times_.only_for.push_back(only_for);
    return times_.moments.AddMoment();
  }
  void AddEdge(uint32_t from, uint32_t to, uint64_t distance = 0) {
    times_.moments.AddEdge(from, to, distance);
  }

  void Hold(uint32_t moment, uint32_t instruction) {
    if (movements_.count(instruction) != 0) times_.holders[moment] = instruction;
  }

  void AddInstructions() {
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      const bool meets = graph_.instructions[i].kind() == plan::Kind::comm;
      AddMoment(0);
      AddMoment(meets ? 0 : durations_[i], i);
      AddEdge(Start(i), End(i));
      if (!meets) Hold(End(i), i);
    }
  }

  // Adds edges along lanes: an instruction starts when the one before it ends. A capture starts as
  // one, when everything before it on all its lanes is over; what follows it starts when all of the
  // capture is over.
  void AddLanes() {
    for (const plan::Range& program : graph_.programs) {
      for (uint32_t k = 0; k < program.count(); ++k) {
        const uint32_t i = program.first() + k;
        const bool last = k + 1 == program.count();
        const uint32_t next = last ? program.first() : i + 1;
        const uint32_t capture = graph_.instructions[i].capture_id();
        const uint32_t next_capture = graph_.instructions[next].capture_id();
        if (capture != 0 && capture == next_capture && !last) {
          AddEdge(End(i), Start(next));
        } else {
          AddEdge(capture == 0 ? End(i) : CaptureOf(capture).end,
                  next_capture == 0 ? Start(next) : CaptureOf(next_capture).start, last ? 1 : 0);
        }
        if (capture != 0) {
          AddEdge(CaptureOf(capture).start, Start(i));
          AddEdge(End(i), CaptureOf(capture).end);
        }
      }
    }
  }

  // Adds steps one after the other; all instructions of a step start together.
  void AddWorkers() {
    const uint32_t begin = AddMoment(0), over = AddMoment(0);
    AddEdge(over, begin, std::max<uint64_t>(graph_.inflight, 1));
    for (const std::vector<uint32_t>& work_queue : plan::WorkQueuesOf(*placement_, graph_)) {
      uint32_t before = AddMoment(0);
      const uint32_t first = before;
      AddEdge(begin, first);
      for (size_t i = 0; i < work_queue.size();) {
        const size_t end = plan::StepEnd(*placement_, graph_, work_queue, i);
        const uint32_t after = end == i + 1 ? End(work_queue[i]) : AddMoment(0);
        for (; i < end; ++i) {
          AddEdge(before, Start(work_queue[i]));
          if (after != End(work_queue[i])) AddEdge(End(work_queue[i]), after);
        }
        before = after;
      }
      AddEdge(before, over);
      AddEdge(before, first, 1);
    }
  }

  void AddEvents() {
    std::vector<uint32_t> signals(graph_.events, plan::kNone);
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      if (graph_.instructions[i].kind() == plan::Kind::signal) {
        signals[graph_.instructions[i].subject()] = i;
      }
    }
    for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
      const plan::Instruction& instruction = graph_.instructions[i];
      if (instruction.kind() != plan::Kind::wait) {
        continue;
      }
      for (uint32_t w = instruction.first(); w < instruction.first() + instruction.inputs(); ++w) {
        const plan::Wait& wait = graph_.waits[w];
        const uint32_t signal = signals[wait.event()];
        const uint32_t capture = instruction.capture_id();
        AddEdge(End(signal), End(i), wait.lag());
        if (placement_ == nullptr && capture != 0 &&
            graph_.instructions[signal].capture_id() != capture) {
          AddEdge(End(signal), CaptureOf(capture).start, wait.lag());
        }
      }
    }
  }

  // Adds a channel. A rendezvous moves when both ends have started. A buffered message is put into
  // its slot when the message `capacity` before it has been taken out, and taken out when it has
  // been put in.
  void AddChannel(uint32_t number) {
    const plan::Channel& channel = graph_.channels[number];
    const auto sends = index_.sends(number), receives = index_.receives(number);
    const size_t messages = std::min(sends.size(), receives.size());
    const uint64_t capacity =
        channel.protocol() == plan::Protocol::buffered ? channel.capacity() : 0;
    std::vector<uint32_t> put(messages), taken(messages);
    for (size_t j = 0; j < messages; ++j) {
      const uint32_t send = sends[j].instruction;
      const uint32_t receive = receives[j].instruction;
      if (capacity == 0) {
        put[j] = AddMoment(std::max(durations_[send], durations_[receive]));
        taken[j] = put[j];
      } else {
        put[j] = AddMoment(durations_[send]);
        taken[j] = AddMoment(durations_[receive]);
        AddEdge(put[j], taken[j]);
      }
      Hold(put[j], send);
      if (capacity > 0) Hold(taken[j], send);
      AddEdge(Start(send), put[j]);
      AddEdge(Start(receive), taken[j]);
      AddEdge(put[j], End(send));
      AddEdge(taken[j], End(receive));
    }
    for (uint64_t j = 0; j < messages && capacity > 0; ++j) {
      // The message is number j - capacity, counted over rounds.
      const uint64_t back = capacity > j ? (capacity - j + messages - 1) / messages : 0;
      AddEdge(taken[j + back * messages - capacity], put[j], back);
    }
  }

  void AddCollective(CollectiveParts parts) {
    uint64_t longest = 0;
    for (const plan::CollectivePart& part : parts) {
      longest = std::max(longest, durations_[part.instruction]);
    }
    const uint32_t meeting = AddMoment(longest);
    Hold(meeting, parts[0].instruction);
    for (const plan::CollectivePart& part : parts) {
      AddEdge(Start(part.instruction), meeting);
      AddEdge(meeting, End(part.instruction));
    }
  }

  struct Capture {
    uint32_t start;
    uint32_t end;
  };
  Capture CaptureOf(uint32_t capture) {
    const auto found = captures_.find(capture);
    if (found != captures_.end()) {
      return found->second;
    }
    const uint32_t start = AddMoment(0);
    return captures_[capture] = {start, AddMoment(0)};
  }

  const plan::Graph& graph_;
  const plan::GraphIndex index_;
  const std::vector<uint64_t>& durations_;
  const Movements& movements_;
  const plan::Placement* placement_;
  std::map<uint32_t, Capture> captures_;
  LaneTimes times_;
};

}  // namespace

LaneTimes TimeLanes(const plan::Plan& plan, const plan::Graph& graph,
                    const std::vector<uint64_t>& durations, const Movements& movements,
                    const plan::Placement* placement) {
  return Builder(plan, graph, durations, movements, placement).Build();
}

}  // namespace cgraph
