// Session: callers of an engine, on several threads, who compare what it gives with an oracle.
#ifndef CGRAPH_TESTS_SIMULATION_SESSION_H_
#define CGRAPH_TESTS_SIMULATION_SESSION_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/engine/engine.h"

namespace cgraph::simulation {

// Returns what is wrong with a result; empty: nothing.
using Judge = std::function<std::string(const Result<Outputs>&)>;

// Asked: an execution that was submitted, and how its result is judged.
struct Asked {
  Execution execution;
  Judge judge;
};

class Session {
 public:
  // Submits an execution, and asks the oracle for it: one after the other.
  using Submit = std::function<Result<Asked>(Engine&, std::mt19937_64&)>;

  // `lost`: what the error of a call has to name once the engine has ended since a rank is gone;
  // empty: none may.
  Session(Engine& engine, Submit submit, std::string lost)
      : engine_(engine), submit_(std::move(submit)), lost_(std::move(lost)) {}

  // Has `threads` callers submit `each` executions.
  void Run(uint64_t threads, uint64_t each, std::mt19937_64& random) {
    std::vector<std::thread> callers;
    for (uint64_t t = 1; t < threads; ++t) {
      callers.emplace_back([this, each, seed = random()] { Caller(seed, each); });
    }
    Caller(random(), each);
    for (std::thread& caller : callers) caller.join();
  }

  // Judges results that are still held; the engine may have gone.
  void JudgeHeld() {
    for (const auto& [judge, outputs] : held_) Note(judge(outputs));
    held_.clear();
  }

  const std::string& wrong() const { return wrong_; }
  uint64_t judged() const { return judged_; }

 private:
  void Caller(uint64_t seed, uint64_t count) {
    std::mt19937_64 random(seed);
    std::vector<Asked> pending;
    for (uint64_t i = 0; i < count; ++i) {
      Result<Asked> asked = [&] {
        std::lock_guard order(order_);
        return submit_(engine_, random);
      }();
      if (!asked.ok()) {
        if (asked.status().code() == StatusCode::kCapacity) continue;
        if (NoteEnd(asked.status())) break;
        continue;
      }
      switch (random() % 8) {
        case 0:
          continue;  // dropped
        case 1:
          static_cast<void>(asked->execution.Get(std::chrono::nanoseconds(0)).ok());
          break;
        case 2:
          static_cast<void>(asked->execution.Get(std::chrono::microseconds(random() % 300)).ok());
          break;
        case 3:
          static_cast<void>(asked->execution.Ready());
          break;
        case 4:
          Poll(*asked);
          break;
        default:
          break;
      }
      pending.push_back(std::move(*asked));
      while (pending.size() > random() % 4) Fetch(random, pending);
    }
    while (!pending.empty()) Fetch(random, pending);
  }

  void Poll(Asked& asked) {
    while (!asked.execution.Ready()) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

  void Fetch(std::mt19937_64& random, std::vector<Asked>& pending) {
    std::swap(pending[random() % pending.size()], pending.back());
    Asked asked = std::move(pending.back());
    pending.pop_back();
    Result<Outputs> outputs = asked.execution.Get();
    if (!outputs.ok() && NoteEnd(outputs.status())) return;
    Note(asked.judge(outputs));
    if (outputs.ok() && random() % 4 == 0) {
      std::lock_guard lock(mutex_);
      held_.emplace_back(std::move(asked.judge), std::move(outputs));
    }
  }

  // Returns whether the engine has ended; an end that must not be is wrong.
  bool NoteEnd(const Status& status) {
    const bool ended = status.code() == StatusCode::kLost;
    if (ended && !lost_.empty() && status.message().find(lost_) != std::string::npos) return true;
    if (status.code() == StatusCode::kFailed) return false;
    Note("an unexpected error: " + status.message());
    return true;
  }

  void Note(const std::string& wrong) {
    std::lock_guard lock(mutex_);
    if (wrong_.empty()) wrong_ = wrong;
    ++judged_;
  }

  Engine& engine_;
  const Submit submit_;
  const std::string lost_;
  std::mutex order_;  // of submission, and of the oracle
  std::mutex mutex_;  // of what follows
  std::string wrong_;
  uint64_t judged_ = 0;
  std::vector<std::pair<Judge, Result<Outputs>>> held_;
};

}  // namespace cgraph::simulation

#endif  // CGRAPH_TESTS_SIMULATION_SESSION_H_
