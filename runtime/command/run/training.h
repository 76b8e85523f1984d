// Training: what cgrun does between two executions. It saves states, prints a log, executes the
// graph of --eval, and ends the run at an interrupt. Without the flags that ask for it, it does
// nothing.
#ifndef CGRAPH_RUNTIME_COMMAND_RUN_TRAINING_H_
#define CGRAPH_RUNTIME_COMMAND_RUN_TRAINING_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/command/inputs/inputs.h"
#include "runtime/command/messages.h"
#include "runtime/command/options.h"
#include "runtime/command/outcome/outcome.h"
#include "runtime/command/run/position.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/states/saved_states.h"
#include "runtime/plan/plan.h"

namespace cgraph::command {

// Column: an output without dimensions in a line of the log. A float is the mean over what it was
// given, by weight; of others it is the last value or, as `sums` says, their sum.
class Column {
 public:
  Column(std::string output, std::string name, bool sums)
      : output_(std::move(output)), name_(std::move(name)), sums_(sums) {}
  void Add(const Outputs& outputs, double weight);
  // Returns " loss=2.11873", and begins anew.
  std::string Take();

 private:
  std::string output_, name_;
  bool sums_;
  bool is_float_ = false;
  double weighted_ = 0, weight_ = 0;
  int64_t whole_ = 0;
};

class Training {
 public:
  // Reads the inputs of the graph that is run, and of that of --eval, and finds the outputs that
  // are printed. An input that is batched is of one graph; any other one of both, if both have it.
  static Problem Prepare(const plan::Plan& plan, const plan::Graph& graph, const Options& options,
                         Inputs& inputs, Training& training);
  // The graph of --eval, as an index into the plan's; none: there is none.
  std::optional<uint32_t> eval_graph() const { return eval_graph_; }

  // Goes on, with --epochs, behind the executions that the loaded states have seen, and says so.
  Problem Resume(const StatesMetadata& loaded, const Options& options);

  // The executions that were made before, and how many there are in all with those of this run.
  uint64_t first() const { return position_.executions; }
  uint64_t total() const { return total_; }

  // ---- as the run goes on: `made` executions are over, those before this run included
  void Begin(Engine& engine, const Options& options, Outcome& outcome);
  // Any thread may call it: the run ends before the next execution.
  void Stop() { stopped_.store(true, std::memory_order_relaxed); }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  // Takes the outputs of the last of so many executions into the log.
  void AddToLog(uint64_t made, const Outputs& outputs) {
    if (!log_.empty()) Log(made, outputs);
  }
  // Returns whether SaveAndEvaluate() has work; no execution may be in flight then.
  bool IsSaveOrEvaluationDue(uint64_t made) const { return made == due_; }
  Status SaveAndEvaluate(uint64_t made);
  // Says where the run has ended, for what is saved then.
  void Finish(uint64_t made);

 private:
  using Clock = std::chrono::steady_clock;
  Problem ResumeAfter(Position there, const Options& options);
  void Log(uint64_t made, const Outputs& outputs);
  void PrintLog(uint64_t made);
  std::string Where(uint64_t made) const;
  Status Evaluate(uint64_t made);
  Status Save(uint64_t made);
  void SetDue(uint64_t made);

  Position position_;
  bool counts_epochs_ = false;      // --epochs is given
  uint64_t total_ = 0;
  uint64_t due_ = 0;                // the next SaveAndEvaluate(); 0: none
  uint64_t save_every_ = 0, log_every_ = 0, eval_every_ = 0;
  std::vector<Column> log_, eval_;
  std::optional<uint32_t> eval_graph_;
  Inputs eval_inputs_;
  const Inputs* inputs_ = nullptr;
  Engine* engine_ = nullptr;
  const Options* options_ = nullptr;
  Outcome* outcome_ = nullptr;
  std::string unsaved_;             // what was said of objects that no file has
  // The line of the log that is being collected: executions, rows, since when. What is done between
  // executions counts as no time.
  uint64_t collected_ = 0;
  int64_t rows_ = 0;
  Clock::time_point since_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_RUN_TRAINING_H_
