// The report of who waits for whom: its sentences, what it joins, and its drawing, of lanes made by
// hand and of an engine that stands still.
#include <catch2/catch.hpp>
#include <chrono>
#include <regex>
#include <string>
#include <vector>

#include "runtime/base/text.h"
#include "runtime/cluster/refusals.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/report/report.h"
#include "tests/support/plans/flow_plan.h"
#include "tests/support/plans/loaded.h"

namespace cgraph::engine {
namespace {

using State = WaitingLane::State;
using Indices = std::vector<uint32_t>;

LogicalDevice Gpu(uint32_t index, uint32_t node = 0) { return {DeviceKind::kGpu, node, index}; }

// A lane of gpu[i] that computes.
WaitingLane Running(uint32_t i, double seconds = 4.2) {
  WaitingLane lane;
  lane.state = State::kRunning;
  lane.device = Gpu(i);
  lane.name = DeviceName(lane.device) + " compute";
  lane.call = "stage[" + std::to_string(i) + "].run";
  lane.site = "p.cgraph:31:5";
  lane.doing = "call matmul of " + lane.call + " (" + lane.site + ")";
  lane.why = "is running";
  lane.execution = "execution 7 of `train`";
  lane.seconds = seconds;
  return lane;
}

// A lane of gpu[i] that waits for a lane of gpu[whom], which is lane `at` of the report.
WaitingLane Waiting(uint32_t i, uint32_t whom, uint32_t at, double seconds = 4.1) {
  WaitingLane lane = Running(i, seconds);
  lane.state = State::kWaiting;
  lane.doing = "receive `h` of " + lane.call + " from " + DeviceName(Gpu(whom)) + " (" +
               lane.site + ")";
  lane.why = "waits for " + DeviceName(Gpu(whom)) + " compute to send it";
  lane.before = "call relu of " + lane.call + " (p.cgraph:30:3)";
  lane.waits_for = {at};
  return lane;
}

std::vector<WaitingLane> Chain(uint32_t count) {
  std::vector<WaitingLane> lanes = {Running(0)};
  for (uint32_t i = 1; i < count; ++i) lanes.push_back(Waiting(i, i - 1, i - 1));
  return lanes;
}

}  // namespace

TEST_CASE("numbers are joined to ranges, and texts to shapes") {
  CHECK(RangesText(Indices{1, 2, 3, 7, 9, 10}, "gpu[", "]") ==
        "gpu[1] to gpu[3], gpu[7], gpu[9], gpu[10]");
  CHECK(RangesText(Indices{4}, "rank ", "") == "rank 4");
  CHECK(RangesText({}, "rank ", "").empty());
  CHECK(PatternOf("stage[12].run(3, -1) of node[1].gpu[0] (p.cgraph:1:2): x[], y[1, y[a], z(1") ==
        "stage[#].run(#) of node[#].gpu[#] (p.cgraph:1:2): x[], y[1, y[a], z(1");
}

TEST_CASE("devices are named as ranges, nodes with the same ones together") {
  std::vector<LogicalDevice> devices = {Gpu(1), Gpu(0), Gpu(2), Gpu(2), LogicalDevice()};
  for (uint32_t node = 1; node < 5; ++node) {
    devices.push_back(Gpu(0, node));
    if (node != 2) devices.push_back(Gpu(1, node));
  }
  CHECK(DevicesText(devices) ==
        "caller, gpu[0] to gpu[2], node[2].gpu[0], gpu[0], gpu[1] of node[1], node[3], node[4]");
  CHECK(DevicesText({Gpu(0, 1), Gpu(1, 1), Gpu(2, 1)}) == "node[1].gpu[0] to node[1].gpu[2]");
}

TEST_CASE("a cause is what all others wait for, directly or not") {
  const std::vector<WaitingLane> lanes = {Waiting(0, 1, 1), Waiting(1, 2, 2), Running(2),
                                          Waiting(3, 1, 1)};
  const Causes causes = FindCauses(lanes);
  CHECK(causes.roots == Indices{2});
  CHECK(causes.distance == Indices{2, 1, 0, 2});
  CHECK(causes.circle.empty());
}

TEST_CASE("a report begins with the cause") {
  CHECK(ReportText(Chain(2), "") ==
        "everything waits for gpu[0] compute, which is inside stage[0].run of execution 7 of "
        "`train`, for 4.2 s, p.cgraph:31:5\n"
        "gpu[0] compute: call matmul of stage[0].run (p.cgraph:31:5) is running\n"
        "    execution 7 of `train`, for 4.2 s\n"
        "gpu[1] compute: receive `h` of stage[1].run from gpu[0] (p.cgraph:31:5) waits for gpu[0] "
        "compute to send it\n"
        "    execution 7 of `train`, for 4.1 s; before that: call relu of stage[1].run "
        "(p.cgraph:30:3)\n");
  CHECK(ReportText(Chain(1), "").find("what has work left is gpu[0] compute, which is inside ") ==
        0);
}

TEST_CASE("lanes that do alike are one entry") {
  const std::string text = ReportText(Chain(1024), "");
  INFO(text);
  CHECK(text.size() < 1000);
  CHECK(text.find("    1022 more lanes like this one: gpu[2] to gpu[1023], which wait for gpu[1] "
                  "to gpu[1022]\n") != std::string::npos);
  // All wait for the same.
  std::vector<WaitingLane> lanes = {Running(0)};
  for (uint32_t i = 1; i < 9; ++i) lanes.push_back(Waiting(i, 0, 0, 4 + i / 10.0));
  const std::string same = ReportText(lanes, "");
  INFO(same);
  CHECK(same.find("for 4.1 to 4.8 s;") != std::string::npos);
  CHECK(same.find("    7 more lanes like this one: gpu[2] to gpu[8]\n") != std::string::npos);
  // In another execution, or at another line, a lane is not alike.
  lanes[3].execution = "execution 6 of `train`";
  lanes[4].doing = "receive `h` of stage[4].run from gpu[0] (p.cgraph:32:5)";
  CHECK(ReportText(lanes, "").find("    5 more lanes like this one: gpu[2], gpu[5] to gpu[8]\n") !=
        std::string::npos);
}

TEST_CASE("several causes are listed, a rank that is halted among them") {
  std::vector<WaitingLane> lanes = {Running(0), Waiting(1, 0, 0), Waiting(2, 1, 1)};
  for (uint32_t i = 0; i < 3; ++i) {
    lanes[i].rank = i;
    lanes[i].process = "rank " + std::to_string(i) + ": process 10" + std::to_string(i);
  }
  lanes[1].halted = true;
  const std::string text = ReportText(lanes, "rank 1 (process 101: gpu[1]) is stopped\n");
  INFO(text);
  CHECK(text.find("everything waits for 2 lanes that wait for no other:\n"
                  "  gpu[0] compute (rank 0: process 100), which is inside stage[0].run of "
                  "execution 7 of `train`, for 4.2 s, p.cgraph:31:5\n"
                  "  gpu[1] compute (rank 1: process 101), which is at receive `h` of stage[1].run "
                  "from gpu[0] (p.cgraph:31:5) of execution 7 of `train`, for 4.1 s\n"
                  "rank 1 (process 101: gpu[1]) is stopped\n"
                  "gpu[0] compute (rank 0: process 100): call matmul") == 0);
  std::vector<WaitingLane> alike = {Running(0), Running(1), Running(2)};
  CHECK(ReportText(alike, "").find("what has work left is 3 lanes of gpu[0] to gpu[2], which do "
                                   "alike: gpu[0] compute is inside stage[0].run") == 0);
}

TEST_CASE("a circle is said, though no proved plan has one") {
  std::vector<WaitingLane> lanes = {Waiting(0, 1, 1), Waiting(1, 2, 2), Waiting(2, 0, 0)};
  CHECK(FindCauses(lanes).circle == Indices{0, 1, 2});
  CHECK(ReportDot(lanes).find("peripheries=2") != std::string::npos);
  CHECK(ReportText(lanes, "").find(
            "3 lanes wait for each other in a circle, which no proved plan does: gpu[0] compute "
            "for gpu[1] compute for gpu[2] compute for the first\n") == 0);
  // Lanes of the circle come first, and others behind them.
  lanes.insert(lanes.begin(), Waiting(3, 0, 1));
  lanes[1].waits_for = {2};
  lanes[2].waits_for = {3};
  lanes[3].waits_for = {1};
  const std::string text = ReportText(lanes, "");
  CHECK(FindCauses(lanes).circle == Indices{1, 2, 3});
  CHECK(text.find("\ngpu[0] compute: ") < text.find("gpu[3]"));
}

TEST_CASE("a drawing has a frame for each rank, and alarms at causes") {
  std::vector<WaitingLane> lanes = Chain(2);
  for (uint32_t i = 0; i < 2; ++i) {
    lanes[i].rank = i;
    lanes[i].process = "rank " + std::to_string(i) + ": process 10" + std::to_string(i);
  }
  lanes[0].doing += " <&\">";
  const std::string dot = ReportDot(lanes);
  INFO(dot);
  CHECK(dot.find("label=\"rank 1: process 101\"") != std::string::npos);
  CHECK(dot.find("  box1 -> box0;\n") != std::string::npos);
  CHECK(dot.find("&lt;&amp;&quot;&gt;") != std::string::npos);
  const size_t first = dot.find("box0 ["), second = dot.find("box1 [");
  REQUIRE((first != std::string::npos && second != std::string::npos));
  CHECK(dot.substr(first, second - first).find("peripheries=2") != std::string::npos);
  CHECK(dot.find("peripheries=2", second) == std::string::npos);
  // Many lanes are few boxes.
  const std::string many = ReportDot(Chain(1024));
  CHECK(many.find("box2") == std::string::npos);
  CHECK(many.find("1023 lanes like this one") != std::string::npos);
  CHECK(ReportDot({}).find("no lane has work left") != std::string::npos);
}

TEST_CASE("errors of many ranks are joined") {
  using cluster::JoinRefusals;
  using cluster::Refusal;
  const Status absent(StatusCode::kNotFound, "w.safetensors cannot be read");
  std::vector<Refusal> refusals = {{3, "process 13 on c", absent}};
  CHECK(JoinRefusals({}, "node[", "]").ok());
  CHECK(JoinRefusals(refusals, "node[", "]").message() ==
        "node[3] (process 13 on c): w.safetensors cannot be read");
  refusals.push_back({1, "process 11 on a", absent});
  refusals.push_back({2, "process 12 on b", absent});
  CHECK(JoinRefusals(refusals, "node[", "]").message() ==
        "node[1] to node[3]: w.safetensors cannot be read");
  refusals[0].status = {StatusCode::kInvalid, "stage[3].w does not fit"};
  refusals.push_back({4, "process 14 on d", {StatusCode::kInvalid, "stage[4].w does not fit"}});
  const Status joined = JoinRefusals(refusals, "rank ", "");
  CHECK(joined.code() == StatusCode::kNotFound);
  CHECK(joined.message() ==
        "rank 1, rank 2: w.safetensors cannot be read\n"
        "rank 3 (process 13 on c): stage[3].w does not fit\nand likewise rank 4");
}

// The second device waits for what the first one sends, which sleeps.
TEST_CASE("an engine that stands still reports the cause, since when, and what was before") {
  plan::testing::FlowPlan flow(2);
  flow.Begin("slow", 2);
  const uint32_t x = flow.Input("x");
  const uint32_t y = flow.Scalar("y", 0), z = flow.Scalar("z", 1);
  flow.Method(0, "pause", 7);
  flow.Call(0, flow.Kernel("add"), {x, flow.Constant(0, 0)}, {y});
  flow.Call(0, flow.Kernel("sleep"), {x}, {});
  const uint32_t there = flow.Transfer(y, 0, 1);
  flow.Method(1, "take", 9);
  flow.Call(1, flow.Kernel("add"), {there, flow.Constant(1, 1)}, {z});
  flow.Give("z", z);
  EngineOptions options;
  options.workers = 3;
  options.timeout = std::chrono::milliseconds(600);
  auto loaded = Engine::Load(flow.Build(), options);
  INFO((loaded.ok() ? "" : loaded.status().message()));
  REQUIRE(loaded.ok());
  const int64_t pause = 1800;
  const Input input{"x", &pause, plan::DType::i64, {}};
  auto run = (*loaded)->Execute("slow", {&input, 1});
  REQUIRE(run.ok());
  const std::string text = run->Get().status().message();
  INFO(text);
  const auto says = [&](const char* pattern) {
    return std::regex_search(text, std::regex(pattern));
  };
  CHECK(says("^nothing has moved for 0.6 s\n"
             "everything waits for gpu\\[0\\] compute, which is inside a0\\.pause of execution 1 "
             "of `slow`, for [0-9]+\\.[0-9] s, [a-z.]+:7:"));
  CHECK(says("gpu\\[0\\] compute: call sleep of a0\\.pause \\([a-z.]+:7:[0-9]+\\) is running\n"
             "    execution 1 of `slow`, for [0-9]+\\.[0-9] s; before that: call add of "
             "a0\\.pause"));
  CHECK(says("gpu\\[1\\] comm: receive `moved` of a0\\.pause from gpu\\[0\\] .* waits for "
             "gpu\\[0\\] comm to send it, behind what gpu\\[0\\] compute does\n"));
  const std::string dot = (*loaded)->WaitReportDot();
  CHECK(dot.find("a0.pause") != std::string::npos);
  CHECK(dot.find(" -> ") != std::string::npos);
}

}  // namespace cgraph::engine
