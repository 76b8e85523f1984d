// `bench/schedule scale --ops N`: the time of the scheduler and the prover on a large graph: calls
// on eight devices in turn, each of which needs what the one before sent, and a loop's worth of
// calls that depend on nothing but their actor's state.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <memory>

#include "bench/schedule_harness/commands.h"
#include "compiler/emit/emit.h"
#include "compiler/graph/graph.h"
#include "compiler/schedule/options.h"
#include "compiler/schedule/schedule.h"
#include "runtime/plan/prove.h"

namespace cgraph::bench {
namespace {

constexpr uint32_t kDevices = 8;

using Clock = std::chrono::steady_clock;
double Seconds(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Every eighth op hands its value to the next device, which makes a transfer.
graph::Module MakeModule(int64_t ops) {
  graph::Module module;
  module.devices.Add({DeviceKind::kCaller});
  for (uint32_t i = 0; i < kDevices; ++i) module.devices.Add({DeviceKind::kGpu, 0, i});
  module.start.name = "start";
  graph::Graph graph;
  graph.name = "scale";
  std::vector<graph::ValueId> latest(kDevices);
  for (int64_t i = 0; i < ops; ++i) {
    const auto device = static_cast<uint32_t>(i % kDevices);
    const graph::DeviceId home(device + 1);
    graph::Call call;
    call.method = "work";
    call.device = home;
    const graph::CallId call_id = graph.calls.Add(std::move(call));
    graph::Op op;
    op.name = op.kernel = "relu";
    op.device = home;
    op.call = call_id;
    op.flops = op.bytes = 1024;
    const bool crosses = i / kDevices % kDevices == 0;
    const graph::ValueId before = latest[crosses ? (device + kDevices - 1) % kDevices : device];
    if (before.valid()) {
      op.operands.push_back({.value = before});
    } else {
      op.kernel = "zeros";
    }
    graph::Value value;
    value.name = "h";
    value.type = {DType::kF32, {{.extent = 256}}};
    value.home = home;
    value.producer = graph::OpId(graph.ops.size());
    latest[device] = graph.values.Add(std::move(value));
    op.results = {latest[device]};
    graph.ops.Add(std::move(op));
  }
  for (uint32_t i = 0; i < kDevices; ++i) {
    if (latest[i].valid()) graph.outputs.push_back({fmt::format("result[{}]", i), {latest[i]}});
  }
  module.graphs.push_back(std::move(graph));
  return module;
}

ExitCode Run(int64_t ops) {
  const graph::Module module = MakeModule(ops);
  const Sources sources;
  Diagnostics diagnostics(sources);
  Clock::time_point begin = Clock::now();
  const std::vector<schedule::Schedule> schedules = ScheduleModule(module, {}, diagnostics);
  const std::unique_ptr<plan::Plan> plan = Emit(module, schedules, {});
  const double scheduled = Seconds(begin);
  begin = Clock::now();
  const plan::Verdict verdict = plan::Prove(*plan);
  const double proved = Seconds(begin);
  if (!verdict.proved()) {
    return Fail({StatusCode::kInternal, "the plan does not prove: " + verdict.message});
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("ops,seconds,peak_mib,prove_seconds\n{},{:.3f},{:.0f},{:.3f}\n", ops, scheduled,
             static_cast<double>(usage.ru_maxrss) / 1024, proved);
  return kSuccess;
}

}  // namespace

void AddScaleCommand(CLI::App& app, ExitCode& exit_code) {
  auto ops = std::make_shared<int64_t>(0);
  CLI::App* command =
      app.add_subcommand("scale", "A graph of N operations: ops,seconds,peak_mib,prove_seconds");
  command->add_option("--ops", *ops)->required()->check(CLI::Range(1, 1'000'000));
  command->callback([ops, &exit_code] { exit_code = Run(*ops); });
}

}  // namespace cgraph::bench
