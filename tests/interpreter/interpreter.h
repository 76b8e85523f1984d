// An asynchronous interpreter of plans: every lane does as it likes within the rules, values are
// symbolic, and every fault is seen.
//
// It judges the prover, so it shares nothing with it but the plan. Instructions start and finish at
// moments that a schedule chooses; in between they may touch their operands at any time, so two
// instructions in progress at once that touch the same bytes, one of them writing, are an overlap.
// Each read is compared with the plan's meaning (meaning.h). Rounds for executions that nobody
// submitted run as they do in the engine: communications, signals and waits always, the rest not at
// all.
//
// Plans have no choices: the instructions that can start without x finishing are the same in every
// run that holds x back. So holding back one instruction at a time, with transports that buffer
// anything, shows every pair that nothing orders; other schedules look for deadlocks and for stale
// values.
#ifndef CGRAPH_TESTS_INTERPRETER_INTERPRETER_H_
#define CGRAPH_TESTS_INTERPRETER_INTERPRETER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "tests/interpreter/meaning.h"
#include "tests/interpreter/view.h"

namespace cgraph::interpreter {

enum class Outcome {
  kOk,
  kDeadlock,
  kWrong,      // an instruction reads, or state keeps, something else than the plan means
  kOverlap,    // two conflicting accesses under way at once
  kMismatch,   // the ends of a transfer disagree
  kMalformed,  // an index or a range outside its table
};
inline constexpr int kOutcomes = 6;
const char* OutcomeName(Outcome outcome);

struct Finding {
  Outcome outcome = Outcome::kOk;
  std::string text;
};

enum class SchedulingPolicy {
  kRandom,        // any possible step
  kPriorities,    // lanes by a random rank, which changes now and then
  kEagerStart,    // everything that can start does, before anything finishes
  kHoldLane,      // lane `held` acts only when nothing else can
  kFavourLane,    // lane `held` acts whenever it can
  kHoldFinish,    // instruction `held` of round `held_round` finishes only when nothing else can
};

struct Schedule {
  uint64_t seed = 0;
  SchedulingPolicy policy = SchedulingPolicy::kRandom;
  uint32_t held = 0;
  uint32_t held_round = 0;
  bool loose = false;        // transports buffer anything
  bool slow_caller = false;  // gives an execution out only when `inflight` more have been taken in
  uint32_t workers = 0;      // > 0: so many workers drive the lanes, each by (round, order)
};

class Interpreter {
 public:
  // `rounds`: the graph must come to rest after that many. kNone is the start graph, which runs
  // once. The plan must outlive the interpreter.
  Interpreter(const plan::Plan& plan, uint32_t graph, uint32_t rounds, uint64_t seed);

  Finding Run(const Schedule& schedule) const;
  // Runs schedules of all policies: `tries` random ones, each lane held and favoured, and the
  // instructions of `suspects` held back, or all when `suspects` is null. Stops at the first
  // finding.
  Finding Search(uint32_t tries, const std::vector<uint32_t>* suspects) const;

  const View& view() const { return view_; }
  uint32_t rounds() const { return rounds_; }

 private:
  View view_;
  uint64_t seed_;
  uint32_t rounds_;
  std::vector<bool> submitted_;
  Meaning meaning_;
  Finding at_once_;  // before anything runs: malformed, no meaning, operands that clash
};

}  // namespace cgraph::interpreter

#endif  // CGRAPH_TESTS_INTERPRETER_INTERPRETER_H_
