#include "tests/interpreter/machine.h"

#include <algorithm>

namespace cgraph::interpreter {
namespace {

int64_t LongestLag(const View& view) {
  int64_t longest = 0;
  for (const InstructionView& instruction : view.instructions) {
    longest = std::max(longest, instruction.lag);
  }
  return longest;
}

bool Works(const InstructionView& instruction) {
  return instruction.kind == plan::Kind::call || instruction.kind == plan::Kind::copy ||
         instruction.kind == plan::Kind::load;
}

}  // namespace

Machine::Machine(const View& view, const Meaning& meaning, const std::vector<bool>& submitted,
                 uint32_t rounds, const Schedule& schedule)
    : view_(view),
      meaning_(meaning),
      submitted_(submitted),
      rounds_(rounds),
      schedule_(schedule),
      random_(Mix(schedule.seed, 1)),
      memory_(view, LongestLag(view)),
      transports_(view, schedule.loose),
      signals_(view.graph->events, 0) {
  for (const plan::Range& program : view.graph->programs) {
    Lane lane;
    lane.first = program.first();
    lane.count = program.count();
    lanes_.push_back(lane);
    rank_.push_back(static_cast<uint32_t>(Random(1000)));
  }
  FindCaptures();
  if (schedule.workers > 0) {
    DealLanesToWorkers(schedule.workers);
  }
}

uint64_t Machine::Random(uint64_t below) {
  random_ = Mix(random_, 5);
  return random_ % below;
}

void Machine::FindCaptures() {
  for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    uint32_t before = 0;  // the capture of the instruction before
    for (uint32_t position = 0; position < lanes_[lane].count; ++position) {
      const InstructionView& instruction = view_.instructions[lanes_[lane].first + position];
      const uint32_t capture = instruction.capture;
      if (capture != 0) {
        std::vector<Member>& members = captures_[capture];
        if (before != capture) {
          members.push_back({lane, position, 0, {}});
        }
        ++members.back().count;
        members.back().waits.insert(members.back().waits.end(), instruction.waits.begin(),
                                    instruction.waits.end());
      }
      before = capture;
    }
  }
  for (auto& [capture, members] : captures_) {
    // Signals from inside are waited for as usual, once the capture runs.
    std::vector<bool> inside(view_.graph->events, false);
    for (const InstructionView& instruction : view_.instructions) {
      if (instruction.kind == plan::Kind::signal && instruction.capture == capture) {
        inside[instruction.subject] = true;
      }
    }
    for (Member& member : members) {
      std::erase_if(member.waits, [&](const plan::Wait& wait) { return inside[wait.event()]; });
    }
  }
}

void Machine::DealLanesToWorkers(uint32_t workers) {
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    worker_of_.push_back(static_cast<uint32_t>(Random(workers)));
  }
}

Finding Machine::Run() {
  std::vector<uint32_t> possible;
  while (finding_.outcome == Outcome::kOk) {
    possible.clear();
    bool all_over = true;
    for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
      all_over = all_over && Over(lanes_[lane]);
      if (!Over(lanes_[lane]) && CanStep(lane)) {
        possible.push_back(lane);
      }
    }
    if (all_over) {
      return CompareState();
    }
    if (possible.empty()) {
      return DescribeHang();
    }
    Step(*Choose(possible));
  }
  return finding_;
}

bool Machine::CanStep(uint32_t lane) const {
  return lanes_[lane].running ? CanFinish(lanes_[lane]) : CanStart(lane);
}

bool Machine::CanStart(uint32_t lane) const {
  return CapturesAllow(lane) && (worker_of_.empty() || WorkerAllows(lane)) &&
         (!schedule_.slow_caller || CallerAllows(lanes_[lane]));
}

bool Machine::CanFinish(const Lane& lane) const {
  const InstructionView& instruction = Current(lane);
  for (const plan::Wait& wait : instruction.waits) {
    if (!Signalled(wait, lane.round)) {
      return false;
    }
  }
  for (size_t p = 0; p < instruction.parts.size(); ++p) {
    if (!transports_.Ready(instruction.parts[p], lane.tickets[p])) {
      return false;
    }
  }
  return true;
}

bool Machine::Signalled(const plan::Wait& wait, int64_t round) const {
  return static_cast<int64_t>(signals_[wait.event()]) >= round - wait.lag() + 1;
}

// Returns whether captures allow a lane to go on. A capture starts as one, on all its lanes, and
// the instructions behind it when all of it is over.
bool Machine::CapturesAllow(uint32_t index) const {
  if (captures_.empty()) {
    return true;
  }
  const Lane& lane = lanes_[index];
  const uint32_t capture = Current(lane).capture;
  const bool wraps = lane.position == 0;
  const uint32_t before =
      view_.instructions[lane.first + (wraps ? lane.count : lane.position) - 1].capture;
  if (before != 0 && (before != capture || wraps) && !CaptureIsOver(before, lane.round - wraps)) {
    return false;
  }
  return capture == 0 || CaptureCanStart(capture, lane.round);
}

bool Machine::CaptureCanStart(uint32_t capture, int64_t round) const {
  for (const Member& member : captures_.at(capture)) {
    if (!Passed(lanes_[member.lane], round, member.first)) {
      return false;
    }
    for (const plan::Wait& wait : member.waits) {
      if (!Signalled(wait, round)) {
        return false;
      }
    }
  }
  return true;
}

bool Machine::CaptureIsOver(uint32_t capture, int64_t round) const {
  for (const Member& member : captures_.at(capture)) {
    const uint32_t end = member.first + member.count;
    const bool last = end == lanes_[member.lane].count;
    if (round >= 0 && !Passed(lanes_[member.lane], last ? round + 1 : round, last ? 0 : end)) {
      return false;
    }
  }
  return true;
}

// Returns whether the lane's worker allows it. A worker takes the instructions of its lanes by
// (round, order) and starts all that share a position before it waits.
bool Machine::WorkerAllows(uint32_t index) const {
  const Lane& lane = lanes_[index];
  for (uint32_t other = 0; other < lanes_.size(); ++other) {
    const Lane& theirs = lanes_[other];
    if (other == index || worker_of_[other] != worker_of_[index] || Over(theirs)) {
      continue;
    }
    if (std::pair(theirs.round, Current(theirs).order) <
        std::pair(lane.round, Current(lane).order)) {
      return false;
    }
  }
  return true;
}

// Returns whether the caller allows it. The slowest caller that a graph with `inflight` n must bear
// takes a result only when n - 1 more executions have gone in.
bool Machine::CallerAllows(const Lane& lane) const {
  const InstructionView& give = Current(lane);
  if (give.kind != plan::Kind::output || view_.graph->inflight == 0) {
    return true;
  }
  const int64_t newest = lane.round - give.lag + view_.graph->inflight - 1;
  bool takes = false;
  for (uint32_t i = 0; i < view_.instructions.size(); ++i) {
    if (view_.instructions[i].kind == plan::Kind::input) {
      takes = true;
      if (!HasStarted(i, newest + view_.instructions[i].lag)) {
        return false;
      }
    }
  }
  for (uint32_t other = 0; other < lanes_.size() && !takes; ++other) {
    const uint32_t begins = FirstWork(lanes_[other]);
    if (begins != plan::kNone && !HasStarted(begins, newest + view_.instructions[begins].lag)) {
      return false;
    }
  }
  return true;
}

// Returns where a graph without takes begins in a lane, if that is plain to see: work that nothing
// of its execution can come before.
uint32_t Machine::FirstWork(const Lane& lane) const {
  for (uint32_t i = lane.first; i < lane.first + lane.count; ++i) {
    if (Works(view_.instructions[i]) && NothingComesBefore(lane, i)) return i;
  }
  return plan::kNone;
}

// Returns whether nothing comes before the work. Work with a lag runs in a later round: everything
// that its lane went through since the execution began counts, and so does what other lanes did
// that it waited for.
bool Machine::NothingComesBefore(const Lane& lane, uint32_t work) const {
  const int64_t lag = view_.instructions[work].lag;
  for (int64_t rounds_before = 0; rounds_before <= lag; ++rounds_before) {
    const uint32_t end = rounds_before == 0 ? work + 1 : lane.first + lane.count;
    for (uint32_t i = lane.first; i < end; ++i) {
      const InstructionView& at = view_.instructions[i];
      if (at.capture != 0 || at.kind == plan::Kind::comm) return false;
      const bool is_itself = i == work && rounds_before == 0;
      if (Works(at) && !is_itself && rounds_before + at.lag <= lag) return false;
      for (const plan::Wait& wait : at.waits) {
        if (rounds_before + wait.lag() <= lag) return false;
      }
    }
  }
  return true;
}

bool Machine::HasStarted(uint32_t instruction, int64_t round) const {
  const Lane& lane = lanes_[view_.instructions[instruction].lane];
  const uint32_t position = instruction - lane.first;
  if (round >= rounds_) {
    return true;  // never comes: the caller submits no more
  }
  return Passed(lane, round, position + 1) ||
         (lane.round == round && lane.position == position && lane.running) || lane.round > round;
}

bool Machine::IsHeld(uint32_t index) const {
  const Lane& lane = lanes_[index];
  switch (schedule_.policy) {
    case SchedulingPolicy::kHoldLane: return index == schedule_.held;
    case SchedulingPolicy::kFavourLane: return index != schedule_.held;
    case SchedulingPolicy::kEagerStart: return lane.running;
    case SchedulingPolicy::kHoldFinish:
      return lane.running && lane.first + lane.position == schedule_.held &&
             lane.round == schedule_.held_round;
    default: return false;
  }
}

std::optional<uint32_t> Machine::Choose(const std::vector<uint32_t>& possible) {
  if (schedule_.policy == SchedulingPolicy::kPriorities) {
    return ChooseByRank(possible);
  }
  uint32_t chosen = possible.front();
  uint64_t free = 0;
  for (uint32_t lane : possible) {
    if (!IsHeld(lane) && Random(++free) == 0) {
      chosen = lane;
    }
  }
  return free > 0 ? chosen : possible[Random(possible.size())];
}

uint32_t Machine::ChooseByRank(const std::vector<uint32_t>& possible) {
  if (Random(20) == 0) {
    rank_[Random(rank_.size())] = static_cast<uint32_t>(Random(1000));
  }
  return *std::max_element(possible.begin(), possible.end(),
                           [&](uint32_t a, uint32_t b) { return rank_[a] < rank_[b]; });
}

void Machine::Step(uint32_t index) {
  Lane& lane = lanes_[index];
  if (!lane.running) {
    Start(index);
    lane.running = true;
    return;
  }
  Finish(index);
  lane.running = false;
  if (++lane.position == lane.count) {
    lane.position = 0;
    ++lane.round;
  }
}

Finding Machine::DescribeHang() const {
  std::string text = "hangs:";
  for (uint32_t index = 0; index < lanes_.size(); ++index) {
    const Lane& lane = lanes_[index];
    if (!Over(lane)) {
      text += " lane " + std::to_string(index) + " at instruction " +
              std::to_string(lane.first + lane.position) + " of round " +
              std::to_string(lane.round) + (lane.running ? "" : " (not started)") + ";";
    }
  }
  return {Outcome::kDeadlock, text};
}

}  // namespace cgraph::interpreter
