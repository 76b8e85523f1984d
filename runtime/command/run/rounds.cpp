// Runs a graph that repeats: one run, whose rounds are executions, each begun when the row of the
// one before it has been taken.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "runtime/base/text.h"
#include "runtime/command/messages.h"
#include "runtime/command/phases.h"
#include "runtime/command/run/calls.h"

namespace cgraph::command {
namespace {

// Prints what --stream asks for of a row, for a reader that waits for it.
Status Stream(const Outputs& row, const Options& options) {
  if (options.stream.empty()) return Status::Ok();
  const std::string line = LineOf(*row.Find(options.stream)) + "\n";
  const bool written = std::fputs(line.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (written) return Status::Ok();
  return {StatusCode::kNotFound, fmt::format("--stream: cannot write to standard output: {}",
                                             std::strerror(errno))};
}

// Adds rows until the run is over.
Status TakeRows(Rounds& rounds, const Options& options, const std::atomic<bool>& stopped,
                Outcome& outcome) {
  while (!stopped.load(std::memory_order_relaxed)) {
    {
      std::lock_guard lock(outcome.mutex);
      outcome.measurements.wanted = ++outcome.measurements.begun;
    }
    const Clock::time_point start = Clock::now();
    auto row = rounds.Next();
    const uint64_t latency = NsSince(start);
    std::unique_lock lock(outcome.mutex);
    Measurements& measurements = outcome.measurements;
    if (row.ok() && !row->has_value()) {
      measurements.wanted = --measurements.begun;
      return Status::Ok();
    }
    const bool over = row.ok() || row.status().code() == StatusCode::kFailed;
    if (over) ++measurements.executions;
    if (!row.ok()) {
      if (over) ++measurements.errors;
      return row.status();
    }
    measurements.latencies.Add(latency);
    outcome.rounds = {rounds.made(), rounds.done()};
    lock.unlock();  // a reader may be slow, and others look at the outcome meanwhile
    CGRAPH_RETURN_IF_ERROR(Stream(**row, options));
    lock.lock();
    if (const Status added = outcome.results.Add(**row); !added.ok()) {
      return {added.code(), fmt::format("{}; --stream gives rows whose extents differ, one by one",
                                        added.message())};
    }
  }
  return Status::Ok();
}

}  // namespace

void RunRounds(Engine& engine, uint32_t graph, Inputs& inputs, const Options& options,
               const std::atomic<bool>& stopped, Outcome& outcome) {
  const Clock::time_point start = Clock::now();
  const auto is_written = [&](const NameAndValue& output) {
    return output.first.empty() || output.first == options.stream;
  };
  if (std::none_of(options.outputs.begin(), options.outputs.end(), is_written)) {
    outcome.results.LeaveOut(options.stream);
  }
  const auto given = inputs.Slice(0);
  Status status = given.status();
  if (given.ok()) {
    auto rounds = engine.Repeat(graph, *given);
    status = rounds.ok() ? TakeRows(*rounds, options, stopped, outcome) : rounds.status();
    if (rounds.ok() && status.ok() && !stopped.load()) {
      std::lock_guard lock(outcome.mutex);
      outcome.rounds = {rounds->made(), rounds->done()};
      outcome.results.AddNoRows(engine.plan(), graph);
      if (!rounds->done()) {
        SayNote(options, fmt::format("{} ended at its limit of {}",
                                     engine.plan().graphs[graph]->name,
                                     Counted(rounds->made(), "round")));
      }
    }
  }
  std::lock_guard lock(outcome.mutex);
  outcome.measurements.wall_ns = NsSince(start);
  outcome.status = std::move(status);
  outcome.over = true;
}

}  // namespace cgraph::command
