#include "tests/interpreter/interpreter.h"

#include <algorithm>
#include <string>

#include "tests/interpreter/machine.h"

namespace cgraph::interpreter {

const char* OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk: return "ok";
    case Outcome::kDeadlock: return "deadlock";
    case Outcome::kWrong: return "wrong";
    case Outcome::kOverlap: return "overlap";
    case Outcome::kMismatch: return "mismatch";
    case Outcome::kMalformed: return "malformed";
  }
  return "?";
}

Interpreter::Interpreter(const plan::Plan& plan, uint32_t graph, uint32_t rounds, uint64_t seed)
    : view_(MakeView(plan, graph)), seed_(seed), rounds_(graph == plan::kNone ? 1 : rounds) {
  if (!view_.malformed.empty()) {
    at_once_ = {Outcome::kMalformed, view_.malformed};
    return;
  }
  for (uint32_t i = 0; i < view_.instructions.size(); ++i) {
    if (view_.instructions[i].clashes) {
      at_once_ = {Outcome::kOverlap,
                  "operands of instruction " + std::to_string(i) + " share bytes"};
      return;
    }
  }
  // The first and the last rounds have lags to fill; in between some executions are missing.
  int64_t longest_lag = 0;
  for (const InstructionView& instruction : view_.instructions) {
    longest_lag = std::max(longest_lag, instruction.lag);
  }
  for (uint32_t execution = 0; execution < rounds_; ++execution) {
    submitted_.push_back(execution == 0 || Mix(seed, execution) % 5 != 0);
  }
  rounds_ += static_cast<uint32_t>(longest_lag);
  meaning_ = FindMeaning(view_, submitted_);
  if (!meaning_.problem.empty()) {
    at_once_ = {Outcome::kWrong, "instruction " + std::to_string(meaning_.problem_instruction) +
                                     " " + meaning_.problem};
  }
}

Finding Interpreter::Run(const Schedule& schedule) const {
  if (at_once_.outcome != Outcome::kOk) {
    return at_once_;
  }
  return Machine(view_, meaning_, submitted_, rounds_, schedule).Run();
}

Finding Interpreter::Search(uint32_t tries, const std::vector<uint32_t>* suspects) const {
  Finding finding = at_once_;
  uint64_t number = 0;
  const auto run = [&](Schedule schedule) {
    if (finding.outcome == Outcome::kOk) {
      schedule.seed = Mix(seed_, ++number);
      finding = Run(schedule);
    }
  };
  const uint32_t lanes = static_cast<uint32_t>(view_.graph->programs.size());
  for (uint32_t t = 0; t < tries; ++t) {
    run({.policy = SchedulingPolicy::kRandom, .loose = t % 2 == 1});
    run({.policy = SchedulingPolicy::kPriorities, .loose = t % 2 == 0});
    run({.policy = SchedulingPolicy::kEagerStart, .loose = t % 2 == 1});
    run({.policy = SchedulingPolicy::kRandom, .workers = 1 + t % (lanes + 1)});
  }
  run({.policy = SchedulingPolicy::kRandom, .slow_caller = true});
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    run({.policy = SchedulingPolicy::kHoldLane, .held = lane, .loose = true});
    run({.policy = SchedulingPolicy::kFavourLane, .held = lane, .loose = true});
  }
  const uint32_t all = static_cast<uint32_t>(view_.instructions.size());
  const size_t count = suspects == nullptr ? all : suspects->size();
  for (size_t i = 0; i < count; ++i) {
    const uint32_t held = suspects == nullptr ? static_cast<uint32_t>(i) : (*suspects)[i];
    const auto round = static_cast<uint32_t>(Mix(seed_, i) % (1 + rounds_ / 2));
    run({.policy = SchedulingPolicy::kHoldFinish,
         .held = held,
         .held_round = round,
         .loose = true});
  }
  return finding;
}

}  // namespace cgraph::interpreter
