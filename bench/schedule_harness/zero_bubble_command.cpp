// `bench/schedule zero-bubble FILE.csv`: the rows of the zero-bubble paper's tables (Qi, Wan, Huang
// and Lin, "Zero Bubble Pipeline Parallelism", ICLR 2024) under six schedules. The rate is the
// paper's: cost = the largest, over stages, of last end - first start,
// rate = (cost - m (T_F + T_B + T_W)) / cost. Activations are M_B = 34 h + 5 a s and M_W = 32 h of
// the paper's models (times s b, which cancels), or columns M_B, M_W.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <vector>

#include "bench/schedule_harness/commands.h"
#include "bench/schedule_harness/csv.h"
#include "bench/schedule_harness/pipeline.h"
#include "bench/schedule_harness/schedules.h"

namespace cgraph::bench {
namespace {

// The paper's models, Table 3: hidden size, heads, sequence; and chunks that give its figures of
// the interleaved schedule.
struct Model {
  int64_t h, a, s, chunks;
};
const std::map<std::string, Model> kModels = {{"1.5B", {2304, 24, 1024, 3}},
                                              {"6.2B", {4096, 32, 1024, 4}},
                                              {"14.6B", {5120, 40, 1024, 3}},
                                              {"28.3B", {6144, 48, 1024, 2}}};
const std::vector<std::string> kSchedules = {"1f1b",  "1f1b_interleaved", "zb_h1",
                                             "zb_h2", "zb_1p",            "zb_2p"};
constexpr double kPicosecondsPerMillisecond = 1e9;
constexpr int64_t kActivationBytes = 1 << 24;

struct ZeroBubbleFlags {
  std::string file;
  std::vector<std::string> schedules = kSchedules;
  uint32_t effort = 0;
};

class Table {
 public:
  explicit Table(Csv csv) : csv_(std::move(csv)) {}

  // Returns the row without its schedule.
  Result<PipelineSetup> Row(size_t row, std::string& model) const {
    PipelineSetup pipeline;
    for (const auto& [name, field] :
         {std::pair("p", &pipeline.stages), std::pair("m", &pipeline.microbatches)}) {
      const auto column = csv_.Column(name);
      if (!column) return Missing(name);
      const Result<int64_t> value = csv_.Whole(row, *column, 4096);
      if (!value.ok()) return value.status();
      if (*value == 0) return Wrong(row, fmt::format("{} is 0", name));
      *field = *value;
    }
    for (const auto& [name, field] :
         {std::pair("T_F", &pipeline.forward), std::pair("T_B", &pipeline.backward),
          std::pair("T_W", &pipeline.weight), std::pair("T_comm", &pipeline.comm)}) {
      const auto column = csv_.Column(name);
      if (!column) return Missing(name);
      const Result<double> value = csv_.Number(row, *column, 1e6);
      if (!value.ok()) return value.status();
      *field = static_cast<uint64_t>(*value * kPicosecondsPerMillisecond + 0.5);
    }
    if (const auto column = csv_.Column("model")) model = csv_.rows[row][*column];
    return SetMemory(row, model, std::move(pipeline));
  }
  size_t size() const { return csv_.rows.size(); }

 private:
  Status Missing(const std::string& column) const {
    return Status(StatusCode::kInvalid,
                  fmt::format("{}: the first line names no column `{}`", csv_.path, column));
  }
  Status Wrong(size_t row, const std::string& why) const {
    return Status(StatusCode::kInvalid,
                  fmt::format("{}:{}: {}", csv_.path, csv_.lines[row], why));
  }

  // Only the ratio of the two matters, so the larger one is always as large.
  Result<PipelineSetup> SetMemory(size_t row, const std::string& name,
                                  PipelineSetup pipeline) const {
    const auto all = csv_.Column("M_B"), part = csv_.Column("M_W");
    const bool stated = all && part && !csv_.rows[row][*all].empty();
    const auto model = kModels.find(name);
    double bytes = 0, weight = 0;
    if (stated) {
      const Result<double> of_all = csv_.Number(row, *all, 1e15);
      const Result<double> of_part = csv_.Number(row, *part, 1e15);
      if (!of_all.ok()) return of_all.status();
      if (!of_part.ok()) return of_part.status();
      bytes = *of_all;
      weight = *of_part;
    } else if (model != kModels.end()) {
      const auto& [h, a, s, chunks] = model->second;
      bytes = static_cast<double>(34 * h + 5 * a * s);
      weight = static_cast<double>(32 * h);
    } else {
      return Wrong(row,
                   fmt::format("model `{}` is not one of the paper's; state M_B and M_W", name));
    }
    if (!(weight > 0 && weight < bytes)) return Wrong(row, "M_W is not between 0 and M_B");
    pipeline.activation_bytes = kActivationBytes;
    pipeline.weight_bytes = static_cast<int64_t>(kActivationBytes * (weight / bytes) + 0.5);
    return pipeline;
  }

  const Csv csv_;
};

// One row under one schedule.
Status Print(const std::string& model, PipelineSetup pipeline, const std::string& schedule) {
  const auto known = kModels.find(model);
  const bool interleaved = schedule == "1f1b_interleaved";
  pipeline.chunks = interleaved && known != kModels.end() ? known->second.chunks : 0;
  pipeline.goal = schedule::Goal::kSpan;
  if (const Status set = SetSchedule(schedule, pipeline); !set.ok()) return set;
  const Result<PipelineFigures> figures = Measure(pipeline);
  if (!figures.ok()) return figures.status();
  const auto cost = static_cast<double>(figures->largest_span);
  fmt::print("{},{},{},{},{:.4f},{:.3f},{:.3f},{:g},{:.2f}\n", model, pipeline.stages,
             pipeline.microbatches, schedule, (cost - static_cast<double>(pipeline.work())) / cost,
             static_cast<double>(figures->makespan) / kPicosecondsPerMillisecond,
             static_cast<double>(figures->lower_bound) / kPicosecondsPerMillisecond,
             figures->peak_activations, figures->seconds);
  std::fflush(stdout);
  return Status::Ok();
}

ExitCode Run(const ZeroBubbleFlags& flags) {
  Result<Csv> csv = ReadCsv(flags.file);
  if (!csv.ok()) return Fail(csv.status());
  const Table table(std::move(*csv));
  fmt::print("model,p,m,schedule,rate,makespan,lower_bound,peak_activations,seconds\n");
  for (size_t row = 0; row < table.size(); ++row) {
    std::string model;
    Result<PipelineSetup> pipeline = table.Row(row, model);
    if (!pipeline.ok()) return Fail(pipeline.status());
    pipeline->effort = flags.effort;
    for (const std::string& schedule : flags.schedules) {
      if (const Status done = Print(model, *pipeline, schedule); !done.ok()) return Fail(done);
    }
  }
  return kSuccess;
}

}  // namespace

void AddZeroBubbleCommand(CLI::App& app, ExitCode& exit_code) {
  auto flags = std::make_shared<ZeroBubbleFlags>();
  CLI::App* command = app.add_subcommand(
      "zero-bubble", "Pipelines with measured times: model,p,m,schedule,rate,makespan,lower_bound,"
                     "peak_activations,seconds");
  command->add_option("file", flags->file,
                      "CSV with columns model, p, m, T_F, T_B, T_W, T_comm (milliseconds), and "
                      "M_B, M_W of models that are not the paper's")
      ->required();
  command->add_option("--schedules", flags->schedules, "Only these")
      ->delimiter(',')->check(CLI::IsMember(kSchedules));
  command->add_option("--effort", flags->effort, "Of zb_1p and zb_2p, in 10,000 calls placed");
  command->callback([flags, &exit_code] { exit_code = Run(*flags); });
}

}  // namespace cgraph::bench
