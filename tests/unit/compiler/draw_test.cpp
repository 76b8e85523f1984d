// Drawings by what they must and must not contain.
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "compiler/inspect/draw.h"
#include "compiler/inspect/draw/formats/text.h"
#include "runtime/base/text.h"
#include "tests/support/plans/plan_builder.h"
#include "tests/support/plans/sample_plans.h"

using namespace cgraph;
using namespace cgraph::plan::testing;
using plan::DeviceKind;
using plan::DType;
using plan::LaneKind;
using plan::Plan;

namespace {

std::string MustDraw(const Plan& plan, const DrawOptions& options) {
  const Result<std::string> drawing = Draw(plan, 0, options);
  INFO((drawing.ok() ? "" : drawing.status().message()));
  REQUIRE(drawing.ok());
  return *drawing;
}

constexpr Drawing kAllDrawings[] = {Drawing::kGraph, Drawing::kSchedule, Drawing::kTimeline,
                                    Drawing::kTransports, Drawing::kMemory};

size_t Count(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("text in drawings is harmless") {
  CHECK(DotText("a\"b\\c\nd") == "a\\\"b\\\\c\\nd");
  CHECK(XmlText("<a & \"b\">") == "&lt;a &amp; &quot;b&quot;&gt;");
  CHECK(Printable("a\x01\xff\xc3z\xc3\xa4") == "a???z\xc3\xa4");
}

TEST_CASE("a picture is as wide as it is asked to be") {
  const auto plan = PipelinePlan({.stages = 2, .micro_batches = 8});
  for (Drawing what : kAllDrawings) {
    const std::string svg =
        MustDraw(*plan, {.what = what, .format = DrawFormat::kSvg, .width = 900});
    INFO(kDrawingNames[static_cast<int>(what)]);
    CHECK(svg.substr(svg.find("<svg"), 200).find("width=\"900\"") != std::string::npos);
    const std::string own = MustDraw(*plan, {.what = what, .format = DrawFormat::kSvg});
    CHECK(own.substr(own.find("<svg"), 200).find("width=\"900\"") == std::string::npos);
  }
}

TEST_CASE("the graph shows actors, calls, values with type and transport") {
  const auto plan = PipelinePlan({.stages = 2, .micro_batches = 2});
  const std::string dot = MustDraw(*plan, {.what = Drawing::kGraph, .format = DrawFormat::kDot});
  INFO(dot);
  CHECK(dot.find("stage[1]: Stage on gpu[1]") != std::string::npos);
  CHECK(dot.find("y0: f32[4]\\nby local") != std::string::npos);
  CHECK(dot.find("saved0: f32[4]\"") != std::string::npos);  // stays on its device
  CHECK(dot.find("input x") != std::string::npos);
  CHECK(Count(dot, "label=\"forward(") == 4);
}

// Returns the pairs of calls that a dashed line joins, "forward(0) -> update: w", in the order of
// the dot text.
std::vector<std::string> DashedEdges(const std::string& dot) {
  std::map<std::string, std::string> labels;
  const std::regex node(R"re(\n *(node\d+) \[label="([^"]*)")re");
  for (std::sregex_iterator it(dot.begin(), dot.end(), node), end; it != end; ++it) {
    labels[(*it)[1]] = (*it)[2];
  }
  std::vector<std::string> edges;
  const std::regex edge(R"re((node\d+) -> (node\d+) \[label="([^"]*)".*style=dashed)re");
  for (std::sregex_iterator it(dot.begin(), dot.end(), edge), end; it != end; ++it) {
    edges.push_back(labels[(*it)[1]] + " -> " + labels[(*it)[2]] + ": " + std::string((*it)[3]));
  }
  return edges;
}

TEST_CASE("the graph shows order through state, and no more of it than implies the rest") {
  const DrawOptions options = {.what = Drawing::kGraph, .format = DrawFormat::kDot};
  const std::string dot = MustDraw(*PipelinePlan({.stages = 1, .micro_batches = 3}), options);
  INFO(dot);
  // Update overwrites what each forward read, too, but comes behind every backward anyway.
  CHECK(DashedEdges(dot) == std::vector<std::string>{"backward(0) -> backward(1): gw",
                                                     "backward(1) -> backward(2): gw",
                                                     "backward(2) -> update: gw"});
  CHECK(dot.find("state gw: update reads what backward(2) wrote") != std::string::npos);
  CHECK(dot.find("dashed: order through the named state of an actor</font>") != std::string::npos);
  CHECK(dot.find("frame: an actor and its calls, in the colour of their method<br/>"
                 "ellipse: an input or output of the graph<br/>"
                 "line: a value, with its type and how it travels<br/>") != std::string::npos);
  // Where many calls are drawn as one, those of one method follow themselves.
  const std::string merged =
      MustDraw(*PipelinePlan({.stages = 1, .micro_batches = 32}), options);
  CHECK(DashedEdges(merged) ==
        std::vector<std::string>{"backward \u00d732 -> backward \u00d732: gw",
                                 "backward \u00d732 -> update: gw"});
}

// One actor with a state, and the calls that use it, in program order: "r" reads, "w" writes.
std::unique_ptr<Plan> PlanOfUses(const std::string& uses) {
  PlanBuilder plan;
  const uint32_t gpu = plan.Device(DeviceKind::gpu, 0);
  const uint32_t lane = plan.Lane(gpu, LaneKind::compute);
  const uint32_t actor = plan.Actor("a", gpu, {{"s", 4}});
  const uint32_t kernel = plan.Kernel("work");
  GraphBuilder& g = plan.Graph("main");
  const uint32_t state = g.State(actor, 0);
  for (size_t i = 0; i < uses.size(); ++i) {
    g.Method(actor, uses.substr(i, 1), 1, {static_cast<int32_t>(i)});
    const uint32_t value = g.Value("v", gpu, DType::f32, {4});
    if (uses[i] == 'r') {
      g.Call(lane, kernel, {state}, {value});
    } else {
      g.Call(lane, kernel, {}, {state});
    }
  }
  return plan.Build();
}

std::string DrawnUses(const std::string& uses) {
  const std::string dot =
      MustDraw(*PlanOfUses(uses), {.what = Drawing::kGraph, .format = DrawFormat::kDot});
  return fmt::format("{}", fmt::join(DashedEdges(dot), "; "));
}

TEST_CASE("an edge back through state is laid out beside the edge forth") {
  std::string both;
  for (int i = 0; i < 30; ++i) both += "rw";
  const std::string back = MustDraw(
      *PlanOfUses(both), {.what = Drawing::kGraph, .format = DrawFormat::kDot});
  INFO(back);
  CHECK(Count(back, "style=dashed") == 4);  // a label on the way of each
  CHECK(Count(back, "[dir=back, style=dashed]") == 1);
}

TEST_CASE("without state there is no order to draw and nothing said of it") {
  const std::string dot =
      MustDraw(*TwoWayPlan(), {.what = Drawing::kGraph, .format = DrawFormat::kDot});
  CHECK(DashedEdges(dot).empty());
  CHECK(dot.find("dashed") == std::string::npos);
}

TEST_CASE("who reads a state comes behind who wrote it and before who overwrites it") {
  CHECK(DrawnUses("rr") == "");
  CHECK(DrawnUses("wr") == "w(0) -> r(1): s");
  CHECK(DrawnUses("rw") == "r(0) -> w(1): s");
  CHECK(DrawnUses("ww") == "w(0) -> w(1): s");
  CHECK(DrawnUses("wrw") == "w(0) -> r(1): s; r(1) -> w(2): s");  // not w(0) -> w(2)
  CHECK(DrawnUses("wrrw") == "w(0) -> r(1): s; w(0) -> r(2): s; r(1) -> w(3): s; r(2) -> w(3): s");
}

TEST_CASE("the schedule shows what moved in red, and only that") {
  const auto plan = PipelinePlan({.stages = 2, .micro_batches = 3});
  const DrawOptions options = {.what = Drawing::kSchedule, .format = DrawFormat::kDot};
  CHECK(Count(MustDraw(*plan, options), "peripheries=2]") == 0);
  // Two calls of a lane trade places.
  plan::Graph& graph = *plan->graphs[0];
  std::vector<uint32_t> calls;
  for (uint32_t i = graph.programs[2].first(); calls.size() < 2; ++i) {
    if (graph.instructions[i].kind() == plan::Kind::call) calls.push_back(i);
  }
  std::swap(graph.instructions[calls[0]], graph.instructions[calls[1]]);
  const std::string moved = MustDraw(*plan, options);
  INFO(moved);
  CHECK(Count(moved, "peripheries=2]") == 2);  // one of the two, and the legend
  CHECK(Count(moved, "[color=\"#997700\"") == 6);
}

TEST_CASE("what only slid because something else moved is not red") {
  const auto plan = PipelinePlan({.stages = 1, .micro_batches = 6});
  const DrawOptions options = {.what = Drawing::kSchedule, .format = DrawFormat::kDot};
  plan::Graph& graph = *plan->graphs[0];
  std::vector<uint32_t> calls;
  const plan::Range& lane = graph.programs[2];
  for (uint32_t i = lane.first(); i < lane.first() + lane.count(); ++i) {
    if (graph.instructions[i].kind() == plan::Kind::call) calls.push_back(i);
  }
  REQUIRE(calls.size() >= 12);
  for (size_t i = 0; i + 1 < calls.size(); ++i) {  // the first goes to the end
    std::swap(graph.instructions[calls[i]], graph.instructions[calls[i + 1]]);
  }
  CHECK(Count(MustDraw(*plan, options), "peripheries=2]") == 2);  // it, and the legend
}

TEST_CASE("names cannot break out of a drawing") {
  const auto plan = PipelinePlan({.stages = 2, .micro_batches = 2});
  plan->graphs[0]->name = "<script>\"];}";
  plan->actors[0]->name = "a\"]; evil [label=\"<&";
  for (std::string& name : plan->names) name += "\"<\x02";
  for (Drawing what : kAllDrawings) {
    const std::string svg = MustDraw(*plan, {.what = what, .format = DrawFormat::kSvg});
    CHECK(svg.find("</svg>") != std::string::npos);
    CHECK(svg.find("<script") == std::string::npos);
    CHECK(svg.find('\x02') == std::string::npos);
  }
}

TEST_CASE("a timeline has a bar for each call that takes time") {
  const auto plan = PipelinePlan({.stages = 4, .micro_batches = 8});
  const std::string svg =
      MustDraw(*plan, {.what = Drawing::kTimeline, .format = DrawFormat::kSvg});
  CHECK(Count(svg, ">forward(") == 32);
  CHECK(Count(svg, "<title>stage[3].backward(") == 8);
  CHECK(svg.find("makespan 33 ps, lower bound 33 ps") != std::string::npos);
  CHECK(svg.find(">idle<") != std::string::npos);
  const Result<std::string> dot =
      Draw(*plan, 0, {.what = Drawing::kTimeline, .format = DrawFormat::kDot});
  CHECK(dot.status().code() == StatusCode::kUnsupported);
  const Result<std::string> hung = Draw(*TwoWayPlan(/*swapped=*/true), 0,
                                        {.what = Drawing::kTimeline, .format = DrawFormat::kSvg});
  CHECK(hung.status().code() == StatusCode::kInvalid);
}

TEST_CASE("nothing to draw draws nothing") {
  PlanBuilder plan;
  plan.Graph("empty");
  const auto built = plan.Build();
  for (Drawing what : kAllDrawings) {
    CHECK(MustDraw(*built, {.what = what, .format = DrawFormat::kSvg}).size() > 100);
  }
}

TEST_CASE("of a large graph calls of one method are one node, then actors of one class one box") {
  const DrawOptions options = {.what = Drawing::kGraph, .format = DrawFormat::kDot};
  const std::string calls =
      MustDraw(*PipelinePlan({.stages = 4, .micro_batches = 32}), options);
  CHECK(Count(calls, "label=\"forward \u00d732\"") == 4);
  CHECK(calls.find("y0") == std::string::npos);
  const std::string classes =
      MustDraw(*PipelinePlan({.stages = 40, .micro_batches = 32}), options);
  CHECK(Count(classes, "label=\"all Stage\"") == 1);
  CHECK(Count(classes, "label=\"forward \u00d71280\"") == 1);
}

TEST_CASE("of a long schedule one window is shown, and where it goes on") {
  const auto plan = PipelinePlan({.stages = 4, .micro_batches = 256});
  DrawOptions options = {.what = Drawing::kSchedule, .format = DrawFormat::kDot};
  const std::string first = MustDraw(*plan, options);
  CHECK(Count(first, ", pos=") < 400);
  CHECK(first.find("schedule of main: rows 0 to ") != std::string::npos);
  const size_t next = first.find("--from-row ");
  REQUIRE(next != std::string::npos);
  options.first_row = static_cast<uint32_t>(std::stoul(first.substr(next + 11)));
  CHECK(MustDraw(*plan, options).find(fmt::format(": rows {} to ", options.first_row)) !=
        std::string::npos);
  options.first_row = 1'000'000;  // beyond the end: the last row
  CHECK(MustDraw(*plan, options).find("--from-row") == std::string::npos);
}

TEST_CASE("transports are summed by way and reason") {
  const auto plan = PipelinePlan({.stages = 2, .micro_batches = 3});
  const std::string dot =
      MustDraw(*plan, {.what = Drawing::kTransports, .format = DrawFormat::kDot});
  INFO(dot);
  CHECK(dot.find("[label=\"gpu[1]\\nstage[1]: Stage\"") != std::string::npos);
  CHECK(dot.find("box: a device with its actors; blue: a gpu<br/>line: by what") !=
        std::string::npos);
  // y and what is saved, of three micro-batches: f32[4] six times.
  CHECK(dot.find("by local: 96 B in 6 values\\n6 values: f32[4]\\none address space: no copy") !=
        std::string::npos);
}

TEST_CASE("memory shows each buffer for as long as it is used, and the peak") {
  // Each message: 1 to produce, 2 to move, 10 to consume; 16 bytes for each of the consumer's two.
  const std::string svg = MustDraw(*ProducerConsumerPlan(0, 1, 1, 2, 10),
                                   {.what = Drawing::kMemory, .format = DrawFormat::kSvg});
  INFO(svg);
  CHECK(svg.find("<title>sent: f32[4], 16 B\n") != std::string::npos);
  CHECK(svg.find("0 ps to 3 ps") != std::string::npos);   // sent: until it has arrived
  CHECK(svg.find("0 ps to 13 ps") != std::string::npos);  // received: from when it may come
  CHECK(svg.find("3 ps to 13 ps") != std::string::npos);  // used
  CHECK(svg.find("peak 32 B at 3 ps") != std::string::npos);
}

TEST_CASE("bars too narrow for a border have none") {
  const DrawOptions options = {.what = Drawing::kTimeline, .format = DrawFormat::kSvg};
  const std::string wide = MustDraw(*PipelinePlan({.stages = 2, .micro_batches = 4}), options);
  const std::string narrow =
      MustDraw(*PipelinePlan({.stages = 2, .micro_batches = 2000}), options);
  const std::string bar = "height=\"20.00\" fill=\"#77aadd\"";
  CHECK(wide.find(bar + " stroke") != std::string::npos);
  CHECK(narrow.find(bar + "/>") != std::string::npos);
}

TEST_CASE("memory says why an arena is larger than what is live at its peak") {
  PlanBuilder plan;
  const uint32_t gpu = plan.Device(DeviceKind::gpu, 0);
  const uint32_t lane = plan.Lane(gpu, LaneKind::compute);
  const uint32_t kernel = plan.Kernel("work");
  GraphBuilder& g = plan.Graph("main");
  const uint32_t a = g.Value("a", gpu, DType::f32, {4});
  const uint32_t b = g.Value("b", gpu, DType::f32, {4});
  const uint32_t c = g.Value("c", gpu, DType::f32, {4});
  g.At(g.Call(lane, kernel, {}, {a})).mutate_expected(5);
  g.At(g.Call(lane, kernel, {a}, {b})).mutate_expected(5);
  g.At(g.Call(lane, kernel, {b}, {c})).mutate_expected(5);
  const auto built = plan.Build();
  plan::Graph& graph = *built->graphs[0];
  graph.arenas[graph.buffers[0].arena()].mutate_bytes(60);
  const std::string svg =
      MustDraw(*built, {.what = Drawing::kMemory, .format = DrawFormat::kSvg});
  INFO(svg);
  // a and b, then b and c, of 16 bytes each; nobody gave c the bytes of a.
  CHECK(svg.find(">peak 32 B at 5 ps<") != std::string::npos);
  CHECK(svg.find(">+ 16 B not live then, 12 B to align<") != std::string::npos);
  CHECK(svg.find("gpu[0] values: 60 B\n32 B of it are live at the peak") != std::string::npos);
}

TEST_CASE("memory tells state that the graph does not use from gaps") {
  const auto plan = PlanOfUses("w");  // 16 bytes of s, alone in its arena
  plan::Actor& actor = *plan->actors[0];
  actor.states.push_back(std::make_unique<plan::State>(*actor.states[0]));
  actor.states[1]->offset = 64;
  plan::Graph& graph = *plan->graphs[0];
  for (plan::Arena& arena : graph.arenas) {
    if (arena.space() == plan::Space::state) arena.mutate_bytes(128);
  }
  const std::string svg =
      MustDraw(*plan, {.what = Drawing::kMemory, .format = DrawFormat::kSvg});
  INFO(svg);
  CHECK(svg.find(">kept between executions<") != std::string::npos);
  CHECK(svg.find(">+ 16 B not used here, 96 B to align<") != std::string::npos);
}

TEST_CASE("in a memory a small buffer is high enough for its name, and says so") {
  const auto draw = [](int64_t small) {
    PlanBuilder plan;
    const uint32_t gpu = plan.Device(DeviceKind::gpu, 0);
    const uint32_t lane = plan.Lane(gpu, LaneKind::compute);
    GraphBuilder& g = plan.Graph("main");
    const uint32_t large = g.Value("large", gpu, DType::f32, {100'000});
    const uint32_t other = g.Value("little", gpu, DType::f32, {small});
    g.At(g.Call(lane, plan.Kernel("work"), {}, {large, other})).mutate_expected(5);
    return MustDraw(*plan.Build(), {.what = Drawing::kMemory, .format = DrawFormat::kSvg});
  };
  CHECK(draw(1).find(">little, 4 B<") != std::string::npos);
  CHECK(draw(1).find("small buffers higher than to scale") != std::string::npos);
  CHECK(draw(100'000).find("than to scale") == std::string::npos);
}

TEST_CASE("in a memory names stand upright in narrow boxes and clear of the line of the peak") {
  PlanBuilder plan;
  const uint32_t gpu = plan.Device(DeviceKind::gpu, 0);
  const uint32_t lane = plan.Lane(gpu, LaneKind::compute);
  const uint32_t kernel = plan.Kernel("work");
  GraphBuilder& g = plan.Graph("main");
  const uint32_t large = g.Value("large", gpu, DType::f32, {1000});
  const uint32_t brief = g.Value("brief", gpu, DType::f32, {100'000});
  g.At(g.Call(lane, kernel, {}, {large})).mutate_expected(49);
  g.At(g.Call(lane, kernel, {large}, {brief})).mutate_expected(1);
  g.At(g.Call(lane, kernel, {large}, {})).mutate_expected(50);
  const std::string svg =
      MustDraw(*plan.Build(), {.what = Drawing::kMemory, .format = DrawFormat::kSvg});
  INFO(svg);
  const std::regex rotated(R"re(rotate\(-90[^>]*>brief<)re");
  CHECK(std::regex_search(svg, rotated));
  std::smatch line, name;
  REQUIRE(std::regex_search(svg, line, std::regex(R"re(<line x1="([0-9.]+)"[^>]*#c4001a)re")));
  REQUIRE(std::regex_search(svg, name, std::regex(R"re(<text x="([0-9.]+)"[^>]*>large, 3.9 KiB<)re")));
  CHECK(std::abs(std::stod(line[1]) - std::stod(name[1])) > 50);
}

TEST_CASE("long names are cut where they are shown and whole where they are told") {
  const std::string name(200, 'x');
  const auto plan = PipelinePlan({.stages = 2, .micro_batches = 1});
  for (std::string& each : plan->names) {
    if (each == "y0") each = name;
  }
  for (Drawing what : {Drawing::kGraph, Drawing::kTransports}) {
    const std::string dot = MustDraw(*plan, {.what = what, .format = DrawFormat::kDot});
    CHECK(dot.find("tooltip=\"") != std::string::npos);
    CHECK(dot.find(name) != std::string::npos);
    const std::regex label("[ \\[]label=\"[^\"]*x{57}");
    CHECK(!std::regex_search(dot, label));
  }
}

TEST_CASE("a collective's box has room for its longest line") {
  for (const SamplePlan& sample : SamplePlans()) {
    if (sample.name != "collective") continue;
    const std::string dot =
        MustDraw(*sample.plan, {.what = Drawing::kTransports, .format = DrawFormat::kDot});
    INFO(dot);
    const std::regex box(R"re(label="(all_reduce[^"]*)".*width="([0-9.]+)")re");
    std::smatch found;
    REQUIRE(std::regex_search(dot, found, box));
    size_t longest = 0;
    const std::string text = found[1];
    for (size_t at = 0; at != std::string::npos;) {
      const size_t end = text.find("\\n", at);
      longest = std::max(longest, std::min(end, text.size()) - at);
      at = end == std::string::npos ? end : end + 2;
    }
    // A letter of 10 points is at most 0.6 as wide on average; round corners take 12 on each side.
    CHECK(std::stod(found[2]) * 72 >= 5.5 * static_cast<double>(longest) + 24);
  }
}

TEST_CASE("the viewer holds all drawings and needs nothing else") {
  const auto plan = PipelinePlan({.stages = 2, .micro_batches = 2});
  plan->graphs[0]->name = "</title><script>";
  const std::string html =
      MustDraw(*plan, {.what = Drawing::kTimeline, .format = DrawFormat::kHtml});
  CHECK(Count(html, "<svg") == 5);
  CHECK(Count(html, "<script>") == 1);
  CHECK(html.find("<section id=\"timeline\" data-name=\"timeline\"><svg") != std::string::npos);
  for (const char* fetched : {" src=", "url(", "@import", "href=\"http", "fetch("}) {
    CHECK(Count(html, fetched) == 0);
  }
  const std::string hung =
      MustDraw(*TwoWayPlan(/*swapped=*/true), {.format = DrawFormat::kHtml});
  CHECK(Count(hung, "<svg") == 3);
  CHECK(Count(hung, "wait for ever") == 2);
}

TEST_CASE("pictures become PDF") {
  const auto plan = TwoWayPlan();
  for (Drawing what : {Drawing::kTransports, Drawing::kMemory}) {
    CHECK(MustDraw(*plan, {.what = what, .format = DrawFormat::kPdf}).substr(0, 5) == "%PDF-");
  }
}

TEST_CASE("pictures become PNG") {
  const auto plan = TwoWayPlan();
  for (Drawing what : {Drawing::kGraph, Drawing::kTimeline}) {
    const std::string png = MustDraw(*plan, {.what = what, .format = DrawFormat::kPng});
    CHECK(png.substr(1, 3) == "PNG");
  }
}

TEST_CASE("a program that is not installed is named") {
  const std::string path = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
  setenv("PATH", "/nowhere", 1);
  const auto plan = TwoWayPlan();
  const Status no_dot = Draw(*plan, 0, {.what = Drawing::kGraph}).status();
  const Status no_rsvg =
      Draw(*plan, 0, {.what = Drawing::kTimeline, .format = DrawFormat::kPng}).status();
  setenv("PATH", path.c_str(), 1);
  CHECK(no_dot.code() == StatusCode::kNotFound);
  CHECK(no_dot.message().find("graphviz") != std::string::npos);
  CHECK(no_rsvg.code() == StatusCode::kNotFound);
  CHECK(no_rsvg.message().find("librsvg2-bin") != std::string::npos);
}
