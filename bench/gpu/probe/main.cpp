// Prints one JSON object: nanoseconds of one round of each anchor, medians.
//
//   gpu_probe [--small] GROUP...
//
// Each round is a bare CUDA graph, or launches by the driver, and then a wait for the stream.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "bench/gpu/probe/probe.h"

namespace cgraph::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 7;
constexpr double kLeastNs = 2e6;  // that the repeats of a round take

struct Group {
  const char* name;
  void (*measure)(Probe& probe);
};
constexpr Group kGroups[] = {
    {"launches", MeasureLaunches}, {"products", MeasureProducts}, {"memory", MeasureMemory},
    {"messages", MeasureMessages}, {"nccl", MeasureNccl},         {"processes", MeasureProcesses},
};

void (*FindGroup(std::string_view name))(Probe&) {
  for (const Group& group : kGroups) {
    if (name == group.name) return group.measure;
  }
  Fail(fmt::format("there is no group {}", name));
}

}  // namespace

void Probe::Add(const std::string& name, double nanoseconds) {
  text += fmt::format("{}\n \"{}\": {:.1f}", text.empty() ? "" : ",", name, nanoseconds);
}

void Probe::Measure(const std::string& name, const std::function<void()>& round) {
  const auto time = [&](int times) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < times; ++i) round();
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / times;
  };
  time(2);
  const double least = small ? 1 : kLeastNs;
  const int times = std::clamp(static_cast<int>(least / std::max(1.0, time(1))), 1, 1000);
  std::vector<double> rounds;
  for (int i = 0; i < kRounds; ++i) rounds.push_back(time(times));
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  Add(name, rounds[kRounds / 2]);
}

void Probe::MeasureGraph(const std::string& name, const std::function<void()>& issue) {
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  Check(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "capturing");
  issue();
  Check(driver.cuStreamEndCapture(stream, &graph), "capturing");
  Check(driver.cuGraphInstantiateWithFlags(&executable, graph, 0), "making a CUDA graph");
  // The graph is not uploaded first: cuGraphUpload crashes in driver 580.159 after NCCL 2.28 has
  // sent to itself. The untimed launches of Measure() do it instead.
  Measure(name, [&] {
    Check(driver.cuGraphLaunch(executable, stream), "launching a CUDA graph");
    Wait();
  });
  driver.cuGraphExecDestroy(executable);
  driver.cuGraphDestroy(graph);
}

void Probe::MeasureEager(const std::string& name, const std::function<void()>& issue) {
  Measure(name, [&] {
    issue();
    Wait();
  });
}

namespace {

int Main(std::vector<std::string> words) {
  const bool small = !words.empty() && words[0] == "--small";
  if (small) words.erase(words.begin());
  const Driver& driver = *Must(Driver::Get());
  Probe probe{Must(Gpu::Open(driver, 0)), driver, small, nullptr, ""};
  probe.Check(driver.cuStreamCreateWithPriority(&probe.stream, CU_STREAM_NON_BLOCKING, 0),
              "opening a stream");
  if (words.size() == 3 && words[0] == "--import") {
    return ImportMemory(probe, words[1], std::strtoull(words[2].c_str(), nullptr, 10));
  }
  for (const std::string& word : words) FindGroup(word)(probe);
  std::printf("{%s\n}\n", probe.text.c_str());
  driver.cuStreamDestroy(probe.stream);
  return 0;
}

}  // namespace
}  // namespace cgraph::cuda

int main(int argc, char** argv) {
  return cgraph::cuda::Main(std::vector<std::string>(argv + 1, argv + argc));
}
