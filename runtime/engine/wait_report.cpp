// The report of who waits for whom, in words and as a drawing.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/engine/core.h"
#include "runtime/engine/omission.h"
#include "runtime/plan/print.h"
#include "runtime/status/text.h"

namespace cgraph::engine {
namespace {

// One work queue that has work left.
struct Waiting {
  std::string lane;
  std::string doing;                   // the instruction, in words
  std::string why;
  std::vector<std::string> waits_for;  // lanes
};

class Reporter {
 public:
  Reporter(const plan::Plan& plan, const std::vector<std::unique_ptr<LoadedGraph>>& graphs)
      : plan_(plan), graphs_(graphs) {}

  Waiting Describe(const Position& position, uint32_t work_queue) {
    const LoadedGraph& loaded = *graphs_[position.graph];
    const plan::Graph& graph = *loaded.plan;
    const StepList& program = loaded.programs[work_queue];
    const Step& step = program.steps[std::min<size_t>(position.step, program.steps.size() - 1)];
    Waiting waiting;
    waiting.lane = LaneNameOf(graph, step.instruction);
    waiting.doing = plan::InstructionText(plan_, graph, step.instruction);
    if (position.running) {
      waiting.why = "is running";
      DescribeOthers(graph, program, position, waiting);
    } else if (step.op == Op::kWait) {
      DescribeWait(loaded, step, waiting);
    } else if (step.op == Op::kComm) {
      for (uint32_t i = 0; i < step.operands.count; ++i) {
        DescribePart(graph, program.parts[step.operands.first + i], waiting);
      }
    } else {
      waiting.why = "is next";
    }
    if (position.of_queue) DescribeProgress(position, step, waiting);
    return waiting;
  }

 private:
  std::string LaneNameOf(const plan::Graph& graph, uint32_t instruction) const {
    return plan::LaneName(plan_, plan::LaneOf(graph, instruction));
  }

  // Where a queue does not know which of its operations runs: names the last one that may.
  void DescribeOthers(const plan::Graph& graph, const StepList& program, const Position& position,
                      Waiting& waiting) const {
    if (!position.of_queue || position.last_step == position.step) return;
    const uint32_t last = program.steps[position.last_step].instruction;
    waiting.why +=
        fmt::format(", or one behind it, up to {}", plan::InstructionText(plan_, graph, last));
  }

  // Describes what was issued to a queue, and what of it is over.
  static void DescribeProgress(const Position& position, const Step& step, Waiting& waiting) {
    waiting.why += fmt::format("; execution {}, {} of {} issued operations are over",
                               position.round - std::min<uint64_t>(step.lag, position.round),
                               position.finished, position.finished + position.pending);
  }

  // Describes what a step waits for: one event. The other signals that its instruction waits for
  // have come or are asked later.
  void DescribeWait(const LoadedGraph& loaded, const Step& step, Waiting& waiting) {
    const plan::Graph& graph = *loaded.plan;
    for (uint32_t i = 0; i < graph.instructions.size(); ++i) {
      if (graph.instructions[i].kind() != plan::Kind::signal) continue;
      const device::TimelineSemaphore& event = loaded.events[graph.instructions[i].subject()];
      if (step.queue == 0 ? event.word() != step.word : &event != step.semaphore) continue;
      const uint32_t lane = plan::LaneOf(graph, i);
      waiting.waits_for.push_back(plan::LaneName(plan_, lane));
      // The instruction whose end the signal announces stands before the signal.
      const bool follows = i > graph.programs[lane].first();
      waiting.why = fmt::format(
          "waits for {}{}", waiting.waits_for.back(),
          follows ? " to finish: " + plan::InstructionText(plan_, graph, i - 1) : "");
    }
  }

  void DescribePart(const plan::Graph& graph, const CommOp& part, Waiting& waiting) {
    if (part.kind == CommOp::Kind::kMove) return;
    if (part.kind == CommOp::Kind::kCollective) return DescribeCollective(graph, part, waiting);
    const plan::Instruction& comm = graph.instructions[part.instruction];
    for (uint32_t p = comm.first(); p < comm.first() + comm.inputs(); ++p) {
      const bool sends = graph.parts[p].part() == plan::Part::send;
      if (sends != (part.kind == CommOp::Kind::kSend)) continue;
      const plan::Channel& channel = graph.channels[graph.parts[p].subject()];
      const std::string other =
          plan::LaneName(plan_, sends ? channel.to_lane() : channel.from_lane());
      if (std::count(waiting.waits_for.begin(), waiting.waits_for.end(), other) != 0) continue;
      waiting.waits_for.push_back(other);
      waiting.why += fmt::format("{}waits for {} to {} it", waiting.why.empty() ? "" : ", ", other,
                                 sends ? "receive" : "send");
    }
  }

  // Describes the members of a collective that have not arrived; when all have, those that are
  // still at work on it.
  void DescribeCollective(const plan::Graph& graph, const CommOp& part, Waiting& waiting) {
    const plan::Instruction& comm = graph.instructions[part.instruction];
    const uint32_t subject = graph.parts[comm.first()].subject();
    const plan::Communicator& group = plan_.communicators[graph.collectives[subject]->communicator];
    for (uint32_t m = 0; m < group.members(); ++m) {
      if (m == part.member || part.collective->Present(m, part.member)) continue;
      waiting.waits_for.push_back(plan::LaneName(plan_, plan_.members[group.first_member() + m]));
      waiting.why += fmt::format("{}waits for {} to take part in it",
                                 waiting.why.empty() ? "" : ", ", waiting.waits_for.back());
    }
    if (waiting.why.empty()) waiting.why = "is at work with the others";
  }

  const plan::Plan& plan_;
  const std::vector<std::unique_ptr<LoadedGraph>>& graphs_;
};

std::vector<Waiting> DescribeAll(const plan::Plan& plan,
                                 const std::vector<std::unique_ptr<LoadedGraph>>& graphs,
                                 const std::vector<std::unique_ptr<WorkQueue>>& work_queues) {
  std::vector<Waiting> all;
  Reporter reporter(plan, graphs);
  for (uint32_t s = 0; s < work_queues.size(); ++s) {
    const Position position = work_queues[s]->Where();
    const std::vector<Position> queues = work_queues[s]->Everywhere();
    // One that has issued all waits for its queues; the position is the first queue's then.
    if (!position.idle && !position.of_queue) all.push_back(reporter.Describe(position, s));
    for (const Position& queue : queues) all.push_back(reporter.Describe(queue, s));
  }
  return all;
}

}  // namespace

std::string Core::Describe(const std::vector<Position>& positions, uint32_t work_queue) const {
  std::string text;
  Reporter reporter(*plan_, graphs_);
  for (const Position& position : positions) {
    const Waiting waiting = reporter.Describe(position, work_queue);
    text += fmt::format("{}: {} {}\n", waiting.lane, waiting.doing, waiting.why);
  }
  return text;
}

// An execution outlives its engine, and a Get() with a time-out may be inside this function when
// the engine goes.
std::string Core::WaitReport() const {
  Stretch(Omission::kEndReport);
  std::lock_guard lock(report_mutex_);
  if (released_ && !Omits(Omission::kEndReport)) return "the engine was torn down";
  std::string report;
  for (const Waiting& waiting : DescribeAll(*plan_, graphs_, work_queues_)) {
    report += fmt::format("{}: {} {}\n", waiting.lane, waiting.doing, waiting.why);
  }
  report = StoppedRanks() + report;
  if (report.empty()) {
    const bool pending = std::any_of(
        work_queues_.begin(), work_queues_.end(),
        [](const auto& work_queue) { return work_queue->pushed() != work_queue->done(); });
    return pending ? "no lane has begun yet" : "no lane has work left";
  }
  report.pop_back();
  return report;
}

std::string Core::WaitReportDot() const {
  std::lock_guard lock(report_mutex_);
  std::string dot = "digraph waits {\n  node [shape=box];\n";
  for (const Waiting& waiting : DescribeAll(*plan_, graphs_, work_queues_)) {
    dot += fmt::format("  {} [label={}];\n", Quoted(waiting.lane),
                       Quoted(waiting.lane + ": " + waiting.doing));
    for (const std::string& other : waiting.waits_for) {
      dot += fmt::format("  {} -> {};\n", Quoted(waiting.lane), Quoted(other));
    }
  }
  return dot + "}\n";
}

}  // namespace cgraph::engine
