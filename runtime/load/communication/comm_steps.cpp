// Comm steps: what a work queue does to send, receive and take part in collectives.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/load/steps.h"

namespace cgraph::engine {
namespace {

// Adds `more` to checks; each is in them once, in the order of their numbers.
void Join(const std::vector<uint32_t>& more, std::vector<uint32_t>& checks) {
  checks.insert(checks.end(), more.begin(), more.end());
  std::sort(checks.begin(), checks.end());
  checks.erase(std::unique(checks.begin(), checks.end()), checks.end());
}

class CommStepMaker {
 public:
  CommStepMaker(GraphPreparation& graph, bool has_operands, StepList& program)
      : g_(graph),
        graph_(graph.graph),
        made_(graph.communications),
        has_operands_(has_operands),
        program_(program) {}

  void Add(const std::vector<uint32_t>& group) {
    const size_t begin = program_.steps.size();
    std::vector<uint32_t> own;
    for (uint32_t instruction : group) {
      if (g_.SlotOf(instruction) == 0) {
        own.push_back(instruction);
      } else {
        AddComm({instruction});
      }
    }
    if (!own.empty()) AddComm(own);
    for (size_t step = begin; step < program_.steps.size(); ++step) {
      program_.steps[step].subject = static_cast<uint32_t>(program_.steps.size() - step);
    }
  }

 private:
  Slice AddOperands(uint32_t first, uint32_t count, uint32_t instruction,
                    std::vector<DynamicDim>& uses, uint32_t reader = plan::kNone) {
    if (!has_operands_) return {};
    return g_.operands.Add(first, count, instruction, uses, reader);
  }

  void AddComm(const std::vector<uint32_t>& group) {
    Step step;
    step.op = Op::kComm;
    step.instruction = group.front();
    step.queue = g_.SlotOf(group.front());
    step.lag = graph_.instructions[group.front()].lag();
    step.operands.first = static_cast<uint32_t>(program_.parts.size());
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> inside;  // (channel, message) -> a send
    for (uint32_t instruction : group) {
      const plan::Instruction& at = graph_.instructions[instruction];
      for (uint32_t p = at.first(); p < at.first() + at.inputs(); ++p) {
        if (graph_.parts[p].part() == plan::Part::send) {
          inside[{graph_.parts[p].subject(), made_.ends[p].number}] =
              static_cast<uint32_t>(program_.parts.size());
          AddSend(instruction, p);
        } else if (graph_.parts[p].part() == plan::Part::collective) {
          step.native |= AddCollectivePart(instruction, p);
        }
      }
    }
    for (uint32_t instruction : group) {
      const plan::Instruction& at = graph_.instructions[instruction];
      for (uint32_t p = at.first(); p < at.first() + at.inputs(); ++p) {
        if (graph_.parts[p].part() != plan::Part::recv) continue;
        auto send = inside.find({graph_.parts[p].subject(), made_.ends[p].number});
        if (send == inside.end()) {
          AddReceive(instruction, p);
        } else {
          JoinReceive(program_.parts[send->second], instruction, p);
        }
      }
    }
    step.operands.count = static_cast<uint32_t>(program_.parts.size()) - step.operands.first;
    program_.most_parts = std::max(program_.most_parts, step.operands.count);
    step.queued = step.queue != 0 && g_.DeviceOf(step.instruction).traits().queues_communicate;
    program_.steps.push_back(step);
  }

  CommOp NewPart(uint32_t instruction, uint32_t p) {
    const plan::CommPart& at = graph_.parts[p];
    CommOp part;
    part.instruction = instruction;
    part.lag = graph_.instructions[instruction].lag();
    if (at.part() == plan::Part::collective) {
      part.collective = made_.ends[p].collective;
      part.member = made_.ends[p].number;
      part.local = made_.ends[p].local;
    } else {
      part.message = made_.ends[p].number;
      part.per_round = static_cast<uint32_t>(g_.index.sends(at.subject()).size());
      part.channel = g_.out.channels[at.subject()].get();
      part.local = made_.local_channel[at.subject()];
    }
    part.checks = program_.AddChecks(g_.poison_flags.checks_of_part[p]);
    program_.most_spans = std::max<uint32_t>(program_.most_spans, at.inputs() + at.outputs());
    part.extents.first = static_cast<uint32_t>(program_.extents.size());
    return part;
  }

  Slice AddPartOperands(CommOp& part, uint32_t p) {
    const plan::CommPart& at = graph_.parts[p];
    const bool at_bound = (at.flags() & plan::kAtBound) != 0;
    std::vector<DynamicDim> none;
    const Slice slice = AddOperands(at.first(), at.inputs() + at.outputs(), part.instruction,
                                    at_bound ? none : program_.extents);
    part.extents.count = static_cast<uint32_t>(program_.extents.size()) - part.extents.first;
    return slice;
  }

  void AddSend(uint32_t instruction, uint32_t p) {
    CommOp part = NewPart(instruction, p);
    part.kind = CommOp::Kind::kSend;
    part.sources = AddPartOperands(part, p);
    program_.parts.push_back(part);
  }

  // Returns whether a communicator of devices carries it out.
  bool AddCollectivePart(uint32_t instruction, uint32_t p) {
    CommOp part = NewPart(instruction, p);
    part.kind = CommOp::Kind::kCollective;
    part.poison_flag = g_.poison_flags.of_part[p];
    const Slice all = AddPartOperands(part, p);
    part.sources = {all.first, graph_.parts[p].inputs()};
    part.targets = {all.first + part.sources.count, graph_.parts[p].outputs()};
    const uint32_t first = made_.ends[p].first, members = made_.ends[p].members;
    std::vector<uint32_t> checks = g_.poison_flags.checks_of_part[p];
    part.givers = {static_cast<uint32_t>(program_.givers.size()), members};
    for (const plan::CollectivePart& other : g_.index.collective_parts().subspan(first, members)) {
      const bool gives = graph_.parts[other.part].inputs() != 0;
      program_.givers.push_back(
          gives ? AddOthersOperands(part, {other.instruction, other.part}).first
                : plan::kNone);
      Join(g_.poison_flags.checks_of_part[other.part], checks);
    }
    if (members != 0) part.checks = program_.AddChecks(checks);
    program_.parts.push_back(part);
    return members != 0 && g_.loaded.native.Of(g_.out.index, first) != nullptr;
  }

  void AddReceive(uint32_t instruction, uint32_t p) {
    CommOp part = NewPart(instruction, p);
    part.kind = CommOp::Kind::kReceive;
    part.poison_flag = g_.poison_flags.of_part[p];
    part.targets = AddPartOperands(part, p);
    if (made_.queued_channel[graph_.parts[p].subject()]) {
      const plan::Message& send = g_.index.sends(graph_.parts[p].subject())[part.message];
      if (g_.DeviceOf(instruction).traits().queues_communicate) {
        part.sources = AddOthersOperands(part, send);
      }
      part.checks = program_.AddChecks(Joined(p, send.part));
    }
    program_.parts.push_back(part);
  }

  // Adds what another lane gives, as the queue of this part finds it: of its dims those that the
  // inputs give, since extents that are made on the other device lie there.
  Slice AddOthersOperands(CommOp& part, const plan::Message& other) {
    const plan::CommPart& at = graph_.parts[other.part];
    std::vector<DynamicDim> dims;
    const Slice slice = AddOperands(at.first(), at.inputs(), other.instruction, dims,
                                    g_.index.device(part.instruction));
    for (const DynamicDim& dim : dims) {
      if (dim.given) program_.extents.push_back(dim);
    }
    part.extents.count = static_cast<uint32_t>(program_.extents.size()) - part.extents.first;
    return slice;
  }

  // Returns the checks of two parts. A message within one process brings no poison flag with it:
  // the receiver looks at what the sender looks at.
  std::vector<uint32_t> Joined(uint32_t p, uint32_t other) const {
    std::vector<uint32_t> checks = g_.poison_flags.checks_of_part[p];
    Join(g_.poison_flags.checks_of_part[other], checks);
    return checks;
  }

  // Joins a receive with its send: both ends are in one group of one work queue, so neither has to
  // wait.
  void JoinReceive(CommOp& send, uint32_t instruction, uint32_t p) {
    const Slice extents = send.extents;
    CommOp joined = NewPart(instruction, p);
    joined.kind = CommOp::Kind::kMove;
    joined.poison_flag = g_.poison_flags.of_part[p];
    joined.checks = send.checks;
    joined.sources = send.sources;
    // The extents of both ends lie in one run of the pool.
    for (uint32_t e = 0; e < extents.count; ++e) {
      program_.extents.push_back(program_.extents[extents.first + e]);
    }
    joined.targets = AddPartOperands(joined, p);
    send = joined;
  }

  GraphPreparation& g_;
  const plan::Graph& graph_;
  const Communications& made_;
  const bool has_operands_;
  StepList& program_;
};

}  // namespace

void AddCommSteps(GraphPreparation& graph, uint32_t work_queue,
                  const std::vector<uint32_t>& instructions, StepList& program) {
  CommStepMaker(graph, graph.HasOperands(work_queue), program).Add(instructions);
}

}  // namespace cgraph::engine
