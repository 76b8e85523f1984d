// The effects of starting and finishing an instruction on memory and messages.
#include <algorithm>
#include <string>

#include "tests/interpreter/machine.h"

namespace cgraph::interpreter {

void Machine::Report(Outcome outcome, uint32_t index, const std::string& text) {
  if (finding_.outcome != Outcome::kOk) {
    return;
  }
  const Lane& lane = lanes_[index];
  finding_ = {outcome, "instruction " + std::to_string(lane.first + lane.position) + " of round " +
                           std::to_string(lane.round) + " " + text};
}

void Machine::Start(uint32_t index) {
  Lane& lane = lanes_[index];
  const InstructionView& instruction = Current(lane);
  const int64_t execution = lane.round - instruction.lag;
  const bool empty = execution < 0 || execution >= static_cast<int64_t>(submitted_.size()) ||
                     !submitted_[execution];
  const bool communicates = instruction.kind == plan::Kind::comm;
  lane.produced.clear();
  if (empty && !communicates) {
    return;
  }
  Touches(lane, instruction, execution);
  SeeOverlaps(index);
  Observation found;
  for (const Operand& input : instruction.inputs) {
    found.inputs.push_back(memory_.Read(input.touch, execution));
  }
  for (const Touch& extent : instruction.extents) {
    found.extents.push_back(memory_.Read(extent, execution));
  }
  const uint32_t number = lane.first + lane.position;
  if (!empty && found.hash() != meaning_.found[execution][number]) {
    Report(Outcome::kWrong, index, "reads something else than the plan means");
  }
  if (communicates) {
    StartParts(index, instruction, found, execution, empty);
  } else if (!instruction.outputs.empty()) {
    lane.produced = Produce(instruction, execution, found);
  }
  for (const Operand& output : instruction.outputs) {  // anything, until it is finished
    const uint64_t bytes = output.touch.end - output.touch.begin;
    memory_.Write(output.touch, execution, {{bytes, kUnwritten, 0}});
  }
}

void Machine::Touches(Lane& lane, const InstructionView& instruction, int64_t execution) {
  lane.reads.clear();
  lane.writes.clear();
  const auto add = [&](auto& list, const Touch& touch) {
    list.push_back({touch, memory_.InstanceOf(touch.arena, execution)});
  };
  for (const Operand& input : instruction.inputs) add(lane.reads, input.touch);
  for (const Touch& extent : instruction.extents) add(lane.reads, extent);
  for (const Operand& output : instruction.outputs) add(lane.writes, output.touch);
}

void Machine::SeeOverlaps(uint32_t index) {
  const Lane& lane = lanes_[index];
  const auto meet = [&](const auto& ours, const auto& theirs) {
    for (const auto& [a, instance] : ours) {
      for (const auto& [b, other_instance] : theirs) {
        if (instance == other_instance && view_.Overlap(a, b)) {
          return true;
        }
      }
    }
    return false;
  };
  for (uint32_t other = 0; other < lanes_.size(); ++other) {
    const Lane& theirs = lanes_[other];
    if (other == index || !theirs.running) {
      continue;
    }
    if (meet(lane.writes, theirs.reads) || meet(lane.writes, theirs.writes) ||
        meet(lane.reads, theirs.writes)) {
      Report(Outcome::kOverlap, index,
             "touches what instruction " + std::to_string(theirs.first + theirs.position) +
                 " of round " + std::to_string(theirs.round) + " is still touching");
    }
  }
}

Shape Machine::ShapeOf(const Operand& operand, int64_t execution) {
  Shape shape = {static_cast<Tag>(operand.dtype), operand.touch.end - operand.touch.begin};
  for (const DimView& dim : operand.dims) {
    shape.push_back(dim.dynamic ? ValueHash(memory_.Read(dim.at, execution))
                                : static_cast<Tag>(dim.extent));
  }
  return shape;
}

void Machine::StartParts(uint32_t index, const InstructionView& instruction,
                         const Observation& found, int64_t execution, bool empty) {
  Lane& lane = lanes_[index];
  lane.tickets.clear();
  for (const PartView& part : instruction.parts) {
    Message message{&part, execution, empty, {}, {}};
    for (uint32_t i = 0; i < part.inputs; ++i) {
      message.contents.push_back(found.inputs[part.first_input + i]);
      message.shapes.push_back(ShapeOf(instruction.inputs[part.first_input + i], execution));
    }
    for (uint32_t i = 0; part.part == plan::Part::recv && i < part.outputs; ++i) {
      message.shapes.push_back(ShapeOf(instruction.outputs[part.first_output + i], execution));
    }
    lane.tickets.push_back(transports_.Start(index, std::move(message)));
  }
}

void Machine::Finish(uint32_t index) {
  Lane& lane = lanes_[index];
  const InstructionView& instruction = Current(lane);
  const int64_t execution = lane.round - instruction.lag;
  lane.reads.clear();
  lane.writes.clear();
  if (instruction.kind == plan::Kind::signal) {
    ++signals_[instruction.subject];
  }
  if (instruction.kind == plan::Kind::comm) {
    FinishParts(lane, instruction, execution);
  }
  for (size_t i = 0; i < lane.produced.size(); ++i) {
    const Touch& touch = instruction.outputs[i].touch;
    if (Length(lane.produced[i]) != touch.end - touch.begin) {
      Report(Outcome::kMismatch, index, "moves a value into one of another size");
      return;
    }
    memory_.Write(touch, execution, WrittenBy(Writer(instruction, execution), lane.produced[i]));
  }
}

void Machine::FinishParts(Lane& lane, const InstructionView& instruction, int64_t execution) {
  const uint32_t index = static_cast<uint32_t>(&lane - lanes_.data());
  lane.produced.assign(instruction.outputs.size(), {});
  for (size_t p = 0; p < instruction.parts.size(); ++p) {
    const PartView& part = instruction.parts[p];
    std::vector<uint64_t> lengths;
    for (uint32_t i = 0; i < part.outputs; ++i) {
      const Touch& touch = instruction.outputs[part.first_output + i].touch;
      lengths.push_back(touch.end - touch.begin);
    }
    std::string mismatch;
    const std::vector<Content> received =
        transports_.Receive(part, lane.tickets[p], lengths, mismatch);
    if (received.size() != part.outputs && mismatch.empty()) {
      mismatch = "a part receives another number of values than it has room for";
    }
    if (!mismatch.empty()) {
      Report(Outcome::kMismatch, index, "is one end of a transfer: " + mismatch);
      lane.produced.clear();
      return;
    }
    std::copy(received.begin(), received.end(), lane.produced.begin() + part.first_output);
  }
  (void)execution;
}

// State after the last execution, where every execution has passed through every instruction.
Finding Machine::CompareState() {
  const plan::Graph& graph = *view_.graph;
  for (uint32_t buffer = 0; buffer < graph.buffers.size(); ++buffer) {
    const plan::Buffer& row = graph.buffers[buffer];
    if (graph.arenas[row.arena()].space() != plan::Space::state) {
      continue;
    }
    const Touch touch{row.arena(), buffer, row.offset(), row.offset() + row.bytes()};
    if (memory_.Read(touch, 0) != meaning_.buffers[buffer]) {
      return {Outcome::kWrong, "buffer " + std::to_string(buffer) +
                                   " of a state ends with something else than the plan means"};
    }
  }
  return {};
}

}  // namespace cgraph::interpreter
