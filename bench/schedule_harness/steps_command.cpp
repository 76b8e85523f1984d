// `bench/schedule steps FILE.csv...`: how many time steps the order of a pipeline takes with its
// transfers, when a device does one thing at a time, a call or one end of a transfer.
//
// The CSV becomes a schedule and a program of such stages, which is compiled and proved like any
// other; the order of its plan is read back with its transfers, and counted. A file that has its
// transfers already is counted as it is, too (`given`).
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "bench/schedule_harness/commands.h"
#include "bench/schedule_harness/temporary_file.h"
#include "bench/schedule_harness/topology.h"
#include "compiler/driver/compile.h"
#include "compiler/pipeline/order.h"
#include "runtime/base/files.h"

namespace cgraph::bench {
namespace {

using pipeline::Order;

constexpr int64_t kMostBytes = 1 << 26;
constexpr uint64_t kStep = 1'000;  // picoseconds: a call, a transfer

Result<Order> ReadOrderFile(const std::string& path) {
  const Result<std::string> text = ReadText(path, kMostBytes);
  if (!text.ok()) return text.status();
  return pipeline::ReadOrder(path, *text);
}

uint32_t Steps(Order order) {
  pipeline::Align(order);
  uint32_t steps = 0;
  for (const std::vector<pipeline::Cell>& rank : order.ranks) {
    steps = std::max(steps, rank.back().step + 1);
  }
  return steps;
}

// Returns the rank by stage.
std::vector<uint32_t> RanksOf(const Order& order) {
  std::vector<uint32_t> ranks(order.stages);
  for (uint32_t rank = 0; rank < order.ranks.size(); ++rank) {
    for (const pipeline::Cell& cell : order.ranks[rank]) {
      for (const pipeline::Action& action : cell.actions) ranks[action.stage] = rank;
    }
  }
  return ranks;
}

// The backward of one stage. Every result is given to the caller, so that nothing is left out, and
// no stage has a state by which its calls would follow each other.
constexpr const char* kWhole = "      g = stage[S - 1 - i].backward(kept[S - 1 - i], g)\n";
constexpr const char* kSplit =
    "      g = stage[S - 1 - i].backward_input(kept[S - 1 - i], g)\n"
    "      out += [stage[S - 1 - i].backward_weight(g)]\n";

std::string ProgramOf(const Order& order) {
  const uint32_t results = order.microbatches * (order.split ? order.stages + 1 : 1);
  return fmt::format(R"(import std.tensor
const S = {0}
const RANK = [{1}]
{2}
actor Stage() {{
  method forward(x: u8[1]) -> u8[1] {{ return x + x }}
  method backward(y: u8[1], g: u8[1]) -> u8[1] {{ return y + g }}
  method backward_input(y: u8[1], g: u8[1]) -> u8[1] {{ return y + g }}
  method backward_weight(g: u8[1]) -> u8[1] {{ return g + g }}
}}
place stage[s in 0..S] = Stage() on gpu[RANK[s]]
graph step(x: u8[1]) -> [u8[1]; {3}] using given {{
  var out = []
  for mb in 0..{4} {{
    var h = x
    var kept = []
    for each in stage {{
      h = each.forward(h)
      kept += [h]
    }}
    var g = h
    for i in 0..S {{
{5}    }}
    out += [g]
  }}
  return out
}}
)",
                     order.stages, fmt::join(RanksOf(order), ", "),
                     pipeline::WriteSchedule("given", order), results, order.microbatches,
                     order.split ? kSplit : kWhole);
}

// Returns the order of the plan that keeps `order`, with its transfers.
Result<Order> Planned(const Order& order) {
  const TemporaryFile program(ProgramOf(order), ".cgraph"), planned("", ".csv");
  if (program.path().empty() || planned.path().empty()) {
    return Status(StatusCode::kNotFound, "cannot write a temporary file");
  }
  const cost::Topology topology = TopologyWithDelay("of unit steps", kStep);
  CompileOptions options;
  options.path = program.path();
  options.overlap = false;       // communication stands in the one lane of a device
  options.no_rewrite = {"all"};   // and every message is one
  options.topology = &topology;
  options.profile.emplace();
  for (const char* method : {"forward", "backward", "backward_input", "backward_weight"}) {
    options.profile->call_ps[fmt::format("Stage.{}", method)] = kStep;
  }
  options.emit = {{EmitKind::kTransportsCsv, planned.path()}};
  Sources sources;
  Diagnostics diagnostics(sources);
  const Compilation compiled = Compile(options, sources, diagnostics);
  if (!compiled.plan) return Status(StatusCode::kInvalid, diagnostics.Text(/*max_errors=*/20));
  return ReadOrderFile(planned.path());
}

ExitCode Run(const std::vector<std::string>& files) {
  fmt::print("instance,ranks,stages,microbatches,steps,given\n");
  for (const std::string& file : files) {
    const Result<Order> order = ReadOrderFile(file);
    const Result<Order> planned = order.ok() ? Planned(*order) : order;
    if (!planned.ok()) return Fail(planned.status());
    fmt::print("{},{},{},{},{},{}\n", std::filesystem::path(file).stem().string(),
               order->ranks.size(), order->stages, order->microbatches, Steps(*planned),
               order->transfers ? std::to_string(Steps(*order)) : "");
    std::fflush(stdout);
  }
  return kSuccess;
}

}  // namespace

void AddStepsCommand(CLI::App& app, ExitCode& exit_code) {
  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand(
      "steps", "Time steps of a pipeline's order with its transfers: "
               "instance,ranks,stages,microbatches,steps,given");
  command->add_option("files", *files, "orders as PyTorch's pipelining writes them")->required();
  command->callback([files, &exit_code] { exit_code = Run(*files); });
}

}  // namespace cgraph::bench
