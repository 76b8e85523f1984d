// Who waits for whom, in words and as a drawing; and what was measured.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "runtime/engine/core.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/print.h"

namespace cgraph::engine {
namespace {

// One strand that has work left.
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

  Waiting Describe(const Position& position, uint32_t strand) {
    const LoadedGraph& loaded = *graphs_[position.graph];
    const plan::Graph& graph = *loaded.plan;
    const Program& program = loaded.programs[strand];
    const Step& step = program.steps[std::min<size_t>(position.step, program.steps.size() - 1)];
    Waiting waiting;
    waiting.lane = LaneNameOf(graph, step.instruction);
    waiting.doing = plan::InstructionText(plan_, graph, step.instruction);
    if (position.running) {
      waiting.why = "is running";
    } else if (step.op == Op::kWait) {
      DescribeWait(loaded, step, waiting);
    } else if (step.op == Op::kComm) {
      for (uint32_t i = 0; i < step.operands.count; ++i) {
        DescribePart(graph, program.parts[step.operands.first + i], waiting);
      }
    } else {
      waiting.why = "is next";
    }
    return waiting;
  }

 private:
  std::string LaneNameOf(const plan::Graph& graph, uint32_t instruction) const {
    return plan::LaneName(plan_, plan::LaneOf(graph, instruction));
  }

  // A step waits for one event; what else its instruction waits for has come or is asked later.
  void DescribeWait(const LoadedGraph& loaded, const Step& step, Waiting& waiting) {
    const plan::Graph& graph = *loaded.plan;
    for (uint32_t i = 0; i < graph.instructions.size(); ++i) {
      if (graph.instructions[i].kind() != plan::Kind::signal) continue;
      if (&loaded.events[graph.instructions[i].subject()] != step.event) continue;
      const uint32_t lane = plan::LaneOf(graph, i);
      waiting.waits_for.push_back(plan::LaneName(plan_, lane));
      // What the signal says is done stands before it.
      const bool follows = i > graph.programs[lane].first();
      waiting.why = fmt::format(
          "waits for {}{}", waiting.waits_for.back(),
          follows ? " to finish: " + plan::InstructionText(plan_, graph, i - 1) : "");
    }
  }

  void DescribePart(const plan::Graph& graph, const Part& part, Waiting& waiting) {
    if (part.kind == Part::Kind::kMove) return;
    if (part.kind == Part::Kind::kCollective) return DescribeCollective(graph, part, waiting);
    const plan::Instruction& comm = graph.instructions[part.instruction];
    for (uint32_t p = comm.first(); p < comm.first() + comm.inputs(); ++p) {
      const bool sends = graph.parts[p].part() == plan::Part::send;
      if (sends != (part.kind == Part::Kind::kSend)) continue;
      const plan::Channel& channel = graph.channels[graph.parts[p].subject()];
      const std::string other =
          plan::LaneName(plan_, sends ? channel.to_lane() : channel.from_lane());
      if (std::count(waiting.waits_for.begin(), waiting.waits_for.end(), other) != 0) continue;
      waiting.waits_for.push_back(other);
      waiting.why += fmt::format("{}waits for {} to {} it", waiting.why.empty() ? "" : ", ", other,
                                 sends ? "receive" : "send");
    }
  }

  // Those who have not come yet; when all have, those who come last are still at work.
  void DescribeCollective(const plan::Graph& graph, const Part& part, Waiting& waiting) {
    const plan::Instruction& comm = graph.instructions[part.instruction];
    const uint32_t subject = graph.parts[comm.first()].subject();
    const plan::Communicator& group =
        plan_.communicators[graph.collectives[subject]->communicator];
    for (uint32_t m = 0; m < group.members(); ++m) {
      if (m == part.member || part.collective->Present(m, part.member)) continue;
      waiting.waits_for.push_back(
          plan::LaneName(plan_, plan_.members[group.first_member() + m]));
      waiting.why += fmt::format("{}waits for {} to take part in it",
                                 waiting.why.empty() ? "" : ", ", waiting.waits_for.back());
    }
    if (waiting.why.empty()) waiting.why = "is at work with the others";
  }

  const plan::Plan& plan_;
  const std::vector<std::unique_ptr<LoadedGraph>>& graphs_;
};

std::vector<Waiting> Describe(const plan::Plan& plan,
                              const std::vector<std::unique_ptr<LoadedGraph>>& graphs,
                              const std::vector<std::unique_ptr<Strand>>& strands) {
  std::vector<Waiting> all;
  Reporter reporter(plan, graphs);
  for (uint32_t s = 0; s < strands.size(); ++s) {
    const Position position = strands[s]->Where();
    if (!position.idle) all.push_back(reporter.Describe(position, s));
  }
  return all;
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

std::string Core::WaitReport() const {
  std::string report;
  for (const Waiting& waiting : Describe(*plan_, graphs_, strands_)) {
    report += fmt::format("{}: {} {}\n", waiting.lane, waiting.doing, waiting.why);
  }
  if (report.empty()) {
    const bool pending = std::any_of(strands_.begin(), strands_.end(), [](const auto& strand) {
      return strand->pushed() != strand->done();
    });
    return pending ? "no lane has begun yet" : "no lane has work left";
  }
  report.pop_back();
  return report;
}

std::string Core::WaitReportDot() const {
  std::string dot = "digraph waits {\n  node [shape=box];\n";
  for (const Waiting& waiting : Describe(*plan_, graphs_, strands_)) {
    dot += fmt::format("  {} [label={}];\n", Quoted(waiting.lane),
                       Quoted(waiting.lane + ": " + waiting.doing));
    for (const std::string& other : waiting.waits_for) {
      dot += fmt::format("  {} -> {};\n", Quoted(waiting.lane), Quoted(other));
    }
  }
  return dot + "}\n";
}

Engine::Stats Core::GetStats() {
  Engine::Stats stats;
  {
    std::lock_guard lock(submission_);
    for (auto& graph : graphs_) Retire(*graph);
    stats.executions = executions_;
    stats.errors = errors_;
  }
  stats.allocations = allocations_.load(std::memory_order_relaxed);
  stats.arena_bytes = arenas_->bytes();
  stats.workers = static_cast<uint32_t>(workers_.size());
  stats.lanes.resize(plan_->lanes.size());
  for (uint32_t lane = 0; lane < plan_->lanes.size(); ++lane) {
    stats.lanes[lane].name = plan::LaneName(*plan_, lane);
  }
  for (const auto& graph : graphs_) {
    const plan::GraphIndex index(*plan_, *graph->plan);
    for (const Program& program : graph->programs) {
      for (size_t i = 0; program.timings != nullptr && i < program.steps.size(); ++i) {
        stats.lanes[index.lane(program.steps[i].instruction)].busy_ns +=
            program.timings[i].ns.load(std::memory_order_relaxed);
      }
    }
  }
  return stats;
}

// A method call's time is the sum of its instructions'; a method's the mean of its calls: all of
// them, and, where there are several instances of an actor, each one's.
std::vector<std::pair<std::string, double>> Core::Profile() const {
  struct Sum {
    double ns = 0;
    uint64_t calls = 0;
  };
  std::map<std::string, Sum> methods;
  std::map<std::string, std::map<std::string, Sum>> instances;  // of a method
  for (const auto& graph : graphs_) {
    std::map<uint32_t, Sum> calls;
    for (const Program& program : graph->programs) {
      for (size_t i = 0; program.timings != nullptr && i < program.steps.size(); ++i) {
        const uint32_t call = graph->plan->instructions[program.steps[i].instruction].call();
        if (call == plan::kNone || program.steps[i].op != Op::kCall) continue;
        calls[call].ns += program.timings[i].ns.load(std::memory_order_relaxed);
        calls[call].calls = std::max(calls[call].calls,
                                     program.timings[i].count.load(std::memory_order_relaxed));
      }
    }
    for (const auto& [call, sum] : calls) {
      const plan::Call& at = graph->plan->calls[call];
      std::string name = plan_->names[at.method()];
      std::vector<Sum*> sums;
      if (at.place() != plan::kNone) {
        const plan::Actor& actor = *plan_->actors[at.place()];
        const std::string on = actor.name + "." + name;
        name = actor.class_name + "." + name;
        sums.push_back(&instances[name][on]);
      }
      sums.push_back(&methods[name]);
      for (Sum* to : sums) {
        to->ns += sum.ns;
        to->calls += sum.calls;
      }
    }
  }
  for (const auto& [method, each] : instances) {
    if (each.size() > 1) methods.insert(each.begin(), each.end());
  }
  std::vector<std::pair<std::string, double>> profile;
  for (const auto& [name, sum] : methods) {
    if (sum.calls != 0) profile.emplace_back(name, sum.ns / sum.calls);
  }
  return profile;
}

// Instructions of a group were at work together. Time begins with the first of them all.
plan::GraphTrace Core::Trace(uint32_t graph) const {
  plan::GraphTrace trace{graph, {}};
  const LoadedGraph& loaded = *graphs_[graph];
  const plan::GraphIndex index(*plan_, *loaded.plan);
  for (size_t s = 0; s < strands_.size(); ++s) {
    const Program& program = loaded.programs[s];
    for (const TracedStep& traced : strands_[s]->traced()) {
      if (traced.graph != graph || traced.start_ns < measured_from_) continue;
      const Step& step = program.steps[traced.step];
      const auto add = [&](uint32_t instruction, uint16_t lag) {
        trace.events.push_back({index.lane(instruction), instruction, traced.round - lag,
                                traced.start_ns, traced.start_ns, traced.end_ns});
      };
      if (step.op != Op::kComm) {
        add(step.instruction, step.lag);
        continue;
      }
      for (uint32_t i = 0; i < step.operands.count; ++i) {
        const Part& part = program.parts[step.operands.first + i];
        const bool is_new =
            i == 0 || part.instruction != program.parts[step.operands.first + i - 1].instruction;
        if (is_new) add(part.instruction, part.lag);
      }
    }
  }
  uint64_t origin = UINT64_MAX;
  for (const plan::TraceEvent& event : trace.events) origin = std::min(origin, event.start);
  constexpr uint64_t kPicoseconds = 1000;
  for (plan::TraceEvent& event : trace.events) {
    for (uint64_t* time : {&event.start, &event.active, &event.end}) {
      *time = (*time - origin) * kPicoseconds;
    }
  }
  return trace;
}

void Core::ForgetMeasurements() {
  measured_from_ =
      static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  for (const auto& graph : graphs_) {
    for (const Program& program : graph->programs) {
      for (size_t i = 0; program.timings != nullptr && i < program.steps.size(); ++i) {
        program.timings[i].ns.store(0, std::memory_order_relaxed);
        program.timings[i].count.store(0, std::memory_order_relaxed);
      }
    }
  }
}

}  // namespace cgraph::engine
