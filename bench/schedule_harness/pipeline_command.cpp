// `bench/schedule pipeline`: one pipeline under one schedule, as a row.
#include <fmt/format.h>

#include <memory>

#include "bench/schedule_harness/commands.h"
#include "bench/schedule_harness/pipeline.h"
#include "bench/schedule_harness/schedules.h"

namespace cgraph::bench {
namespace {

struct PipelineFlags {
  std::string schedule;
  int64_t stages = 0, microbatches = 0, chunks = 0, memory = 0;
  std::vector<double> times;
  std::string goal = "makespan";
  uint32_t effort = 0;
  bool print = false;
};

// A time unit is this many picoseconds: chunks and fractions of it stay whole.
constexpr double kUnit = 1e6;

ExitCode Run(const PipelineFlags& flags) {
  PipelineSetup pipeline;
  pipeline.stages = flags.stages;
  pipeline.microbatches = flags.microbatches;
  pipeline.chunks = flags.chunks;
  const auto time = [&](size_t i) { return static_cast<uint64_t>(flags.times[i] * kUnit + 0.5); };
  pipeline.forward = time(0);
  pipeline.backward = time(1);
  pipeline.weight = time(2);
  pipeline.comm = time(3);
  pipeline.goal = flags.goal == "span" ? schedule::Goal::kSpan : schedule::Goal::kMakespan;
  pipeline.effort = flags.effort;
  const Status known = SetSchedule(flags.schedule, pipeline);
  if (!known.ok()) {
    (void)Fail(known);
    return kUsage;
  }
  if (flags.memory > 0) pipeline.most_activations = flags.memory;
  if (flags.print) {
    fmt::print("{}", ProgramOf(pipeline));
    return kSuccess;
  }
  const Result<PipelineFigures> figures = Measure(pipeline);
  if (!figures.ok()) return Fail(figures.status());
  fmt::print("makespan,largest_span,peak_activations,lower_bound\n{:g},{:g},{:g},{:g}\n",
             figures->makespan / kUnit, figures->largest_span / kUnit, figures->peak_activations,
             figures->lower_bound / kUnit);
  return kSuccess;
}

}  // namespace

void AddPipelineCommand(CLI::App& app, ExitCode& exit_code) {
  auto flags = std::make_shared<PipelineFlags>();
  CLI::App* command = app.add_subcommand(
      "pipeline", "One pipeline: makespan,largest_span,peak_activations,lower_bound");
  command->add_option("--schedule", flags->schedule, ScheduleNames())->required();
  command->add_option("--stages", flags->stages, "Devices")->required()->check(CLI::Range(1, 256));
  command->add_option("--microbatches", flags->microbatches)
      ->required()->check(CLI::Range(1, 4096));
  command->add_option("--chunks", flags->chunks, "Parts of the model on each device; 0: the "
                                                 "schedule's own")
      ->check(CLI::Range(0, 64));
  command
      ->add_option("--times", flags->times,
                   "F,B,W,COMM: forward, input gradient, weight gradient of a whole device, and "
                   "what a message takes")
      ->required()->delimiter(',')->expected(4)->check(CLI::Range(0.0, 1e6));
  command->add_option("--memory", flags->memory, "Most activations of a whole device at once; 0: "
                                                 "what the schedule says")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--goal", flags->goal, "Of auto: makespan, or span, the largest of a device")
      ->check(CLI::IsMember({"makespan", "span"}));
  command->add_option("--effort", flags->effort, "Of auto, in 10,000 calls placed");
  command->add_flag("--print", flags->print, "Print the program instead");
  command->callback([flags, &exit_code] { exit_code = Run(*flags); });
}

}  // namespace cgraph::bench
