// Plans in memory, in bytes and as JSON; their shape, rule by rule; and hostile bytes.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <random>

#include <fmt/format.h>

#include "runtime/plan/check.h"
#include "runtime/plan/load.h"
#include "runtime/plan/placement.h"
#include "runtime/plan/plan_tables.h"
#include "runtime/plan/print.h"
#include "runtime/plan/prove.h"
#include "tests/support/plans/plan_builder.h"

namespace cgraph::plan::testing {
namespace {

// Everything: a plan with one of everything: a bounded input, its extents on three devices, a copy,
// a constant, state that is loaded by the start graph and updated in place, transfers at their
// extent, a collective, an output. One execution at a time: the first wait of each round is for the
// end of the one before.
struct Everything {
  PlanBuilder plan;
  uint32_t takes, gives, lane[2], x, y, n[3], x0, h0, h1, w, one, all[2];
  uint32_t actor, work, update, channel, collective;
  GraphBuilder::Handle take, give, call, commit, send, receive, part[2], copy_out, first_wait;
  GraphBuilder* graph;

  Everything() {
    takes = plan.Lane(PlanBuilder::kCaller, LaneKind::host);
    gives = plan.Lane(PlanBuilder::kCaller, LaneKind::host);
    for (uint32_t i = 0; i < 2; ++i) {
      lane[i] = plan.Lane(plan.Device(DeviceKind::gpu, i), LaneKind::compute);
    }
    actor = plan.Actor("layer", 1, {{"w", 4}, {"v", 4}});
    work = plan.Kernel("work", {.fails = true});
    update = plan.Kernel("add", {.inplace = {Inplace(0, 0)}});
    const uint32_t communicator = plan.Communicator({lane[0], lane[1]});
    plan.Start().Load(lane[0], plan.Weight("w.safetensors", "w"), plan.Start().State(actor, 0));

    GraphBuilder& g = plan.Graph("main");
    graph = &g;
    const uint32_t symbol = g.Symbol("n", 8);
    const Dims dims = {DimSpec(8, symbol), 4};
    x = g.Input("x", DType::f32, dims);
    y = g.Output("y", DType::f32, dims);
    for (uint32_t device = 0; device < 3; ++device) n[device] = g.Extent(symbol, device);
    x0 = g.Value("x0", 1, DType::f32, dims);
    h0 = g.Value("h", 1, DType::f32, dims);
    h1 = g.Value("h", 2, DType::f32, dims);
    w = g.State(actor, 0);
    one = g.Constant("one", 1, DType::f32, {4}, std::vector<uint8_t>(16, 1));
    for (uint32_t i = 0; i < 2; ++i) all[i] = g.Value("all", i + 1, DType::f32, {4});
    channel = g.Channel(lane[0], lane[1], 0, TransportKind::nccl, communicator);
    collective = g.Collective("all_reduce", communicator, "sum");

    const uint32_t over = g.Event();
    first_wait = g.Wait(takes, over, 1);
    take = g.Take(takes, x, {n[0]});
    g.Sync(takes, lane[0]);
    g.Copy(lane[0], n[0], n[1]);
    g.Copy(lane[0], x, x0);
    g.Method(actor, "hidden", 7, {3});
    call = g.Call(lane[0], work, {x0, w}, {h0});
    commit = g.Call(lane[0], update, {w, one}, {w});
    g.At(commit).mutate_flags(kCommitsState);
    g.NoMethod();
    g.Transfer(channel, n[1], n[2]);
    send = g.Transfer(channel, h0, h1);
    receive = send + 1;
    const uint32_t sum0 = g.Value("sum", 1, DType::f32, {4});
    const uint32_t sum1 = g.Value("sum", 2, DType::f32, {4});
    g.Call(lane[0], plan.Kernel("copy"), {one}, {sum0});
    g.Call(lane[1], plan.Kernel("iota"), {}, {sum1});
    part[0] = g.Part(lane[0], collective, {sum0}, {all[0]});
    part[1] = g.Part(lane[1], collective, {sum1}, {all[1]});
    copy_out = g.Copy(lane[1], h1, y);
    g.Sync(lane[0], gives);
    g.Sync(lane[1], gives);
    give = g.Give(gives, y);
    g.Signal(gives, over);
  }
};

std::unique_ptr<Plan> Build() { return Everything().plan.Build(); }

TEST_CASE("a plan with one of everything is accepted and proved") {
  const auto plan = Build();
  const Status status = CheckPlan(*plan);
  INFO(status.message());
  REQUIRE(status.ok());
  const Verdict verdict = Prove(*plan);
  INFO(verdict.message);
  REQUIRE(verdict.proved());
}

// Gives the plan a partition for so many workers: all lanes to the last, and the graph's own
// certificate once more, or none.
Partition& AddPartition(Plan& plan, uint32_t workers, bool with_certificate) {
  auto partition = std::make_unique<Partition>();
  partition->workers = workers;
  partition->worker_of_lane.assign(plan.lanes.size(), workers - 1);
  for (const auto& graph : plan.graphs) {
    partition->certificates.push_back(std::make_unique<Certificate>());
    for (const Instruction& instruction : graph->instructions) {
      if (!with_certificate) continue;
      partition->certificates.back()->positions.push_back(instruction.certificate_position());
    }
  }
  plan.partitions.push_back(std::move(partition));
  return *plan.partitions.back();
}

TEST_CASE("a plan is dealt by the partition that it has, or by the next one's certificate") {
  const auto made = Build();
  const auto with_partitions = [&] {
    auto plan = std::make_unique<Plan>(*made);
    AddPartition(*plan, 2, false);
    for (uint32_t& position : AddPartition(*plan, 5, true).certificates[0]->positions) {
      position += 10;
    }
    return plan;
  };
  const uint32_t first = made->graphs[0]->instructions[0].certificate_position();
  struct Case {
    uint32_t workers, told, worker, position;
  };
  for (const Case& one : {Case{1, made->workers, made->lanes[0].worker(), first},  // the plan's own
                          Case{2, 2, 1, first}, Case{5, 5, 4, first + 10},
                          Case{3, made->workers, made->lanes[0].worker(), first + 10},
                          Case{6, made->workers, made->lanes[0].worker(), first}}) {
    const auto plan = with_partitions();
    const Verdict verdict = Prove(*plan);
    INFO(one.workers << " workers: " << verdict.message);
    REQUIRE(verdict.proved());
    REQUIRE(HasWorkers(*plan, 1));
    Deal(*plan, one.workers);
    CHECK(plan->partitions.empty());
    CHECK(plan->workers == one.told);
    CHECK(plan->lanes[0].worker() == one.worker);
    CHECK(plan->graphs[0]->instructions[0].certificate_position() == one.position);
    CHECK(Prove(*plan).proved());
    const Placement placement = Place(*plan, one.workers, /*merged=*/true);
    CHECK(placement.workers == std::min<size_t>(one.workers, BusyDevices(*plan).size() + 1));
  }
}

TEST_CASE("a partition's certificate is proved as the graph's own is") {
  Everything everything;
  const auto plan = everything.plan.Build();
  std::vector<uint32_t>& positions = AddPartition(*plan, 2, true).certificates[0]->positions;
  REQUIRE(Prove(*plan).proved());
  const std::vector<uint32_t> good = positions;
  std::swap(positions[everything.graph->Index(everything.send)],
            positions[everything.graph->Index(everything.give)]);
  CHECK(Prove(*plan).refusal == Refusal::kCertificate);
  CHECK(Prove(*plan).message.find(", for 2 workers, rule 13") != std::string::npos);
  // No position says that an instruction has none.
  positions = good;
  positions[everything.graph->Index(everything.part[0])] = kNone;
  CHECK(Prove(*plan).refusal == Refusal::kCertificate);
}

TEST_CASE("bytes, files and JSON keep everything") {
  auto plan = Build();
  AddPartition(*plan, 2, true).certificates[0]->positions[0] = 0xfffffffe;
  AddPartition(*plan, 3, false);
  // Numbers that a careless round trip loses.
  plan->actors[0]->layout = 0xffffffffffffffff;
  plan->devices[1]->memory_limit = (uint64_t{1} << 53) + 1;
  plan->kernels[0]->flops = uint64_t{1} << 63;
  auto attribute = std::make_unique<Attribute>();
  attribute->name = "tab\tquote\" event_count\a del\x7f \u00e9 \U0001F600";
  attribute->ints = {INT64_MIN, INT64_MAX, -1};
  attribute->bits = {0x7ff0000000000001, 0x8000000000000000};
  attribute->dtype = DType::f64;
  plan->kernels[0]->body[0]->attributes.push_back(std::move(attribute));
  plan->kernels[0]->body[0]->operands = {0, -1};
  plan->graphs[0]->constant_data[3] = 255;
  const std::vector<uint8_t> bytes = ToBytes(*plan);

  const auto from_bytes = FromBytes(bytes);
  REQUIRE(from_bytes.ok());
  CHECK(ToBytes(**from_bytes) == bytes);
  CHECK(FromBytes(std::span(bytes).subspan(0, bytes.size() - 4)).ok() == false);
  std::vector<uint8_t> shifted(bytes.size() + 1);
  std::copy(bytes.begin(), bytes.end(), shifted.begin() + 1);
  CHECK(FromBytes(std::span(shifted).subspan(1)).ok());

  const std::string json = ToJson(*plan);
  const auto from_json = FromJson(json);
  INFO(from_json.status().message());
  REQUIRE(from_json.ok());
  CHECK(ToBytes(**from_json) == bytes);
  CHECK(ToJson(**from_json) == json);
  CHECK(json.find("\"capture_id\": 0") != std::string::npos);  // defaults are written

  const std::string path = "plan_test.cgplan";
  REQUIRE(WriteFile(*plan, path).ok());
  const auto from_file = ReadFile(path);
  REQUIRE(from_file.ok());
  CHECK(ToBytes(**from_file) == bytes);
  std::remove(path.c_str());
  CHECK(ReadFile(path).status().code() == StatusCode::kNotFound);
  CHECK(WriteFile(*plan, "no/such/folder/x.cgplan").code() == StatusCode::kNotFound);
}

TEST_CASE("JSON is read strictly") {
  const std::string json = ToJson(*Build());
  auto edited = [&](const std::string& from, const std::string& to) {
    std::string text = json;
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  CHECK(FromJson(edited("\"kind\": \"load\"", "\"kind\": \"lode\"")).ok() == false);
  CHECK(FromJson(edited("\"events\"", "\"evens\"")).ok() == false);
  CHECK(FromJson(edited("\"lag\": 0", "\"lag\": 70000")).ok() == false);
  CHECK(FromJson(edited("\"lag\": 0", "\"lag\": -1")).ok() == false);
  CHECK(FromJson(edited("\"lag\": 0,", "")).ok() == false);  // a struct has all its fields
  CHECK(FromJson(edited(fmt::format("\"format\": {}", kFormat), "\"format\": 0")).ok() == false);
  CHECK(FromJson("").ok() == false);
  CHECK(FromJson("{}").ok() == false);
  CHECK(FromJson("table T { x: int; } root_type T; {}").ok() == false);
  CHECK(FromJson("include \"/etc/passwd\";").ok() == false);
  CHECK(FromJson(std::string("{}\0", 3)).ok() == false);
  CHECK(FromJson(std::string(200000, '[')).ok() == false);
  std::string nested;
  for (int i = 0; i < 200000; ++i) nested += "{\"start\":";
  CHECK(FromJson(nested).ok() == false);
  // An enum's number is kept, and the check refuses what it does not know.
  const auto unknown = FromJson(edited("\"kind\": \"load\"", "\"kind\": 99"));
  if (unknown.ok()) CHECK(CheckPlan(**unknown).ok() == false);
}

TEST_CASE("words and listing") {
  Everything all;
  const auto plan = all.plan.Build();
  const Graph& graph = *plan->graphs[0];
  const GraphBuilder& g = *all.graph;
  CHECK(DeviceName(*plan, 0) == "caller");
  CHECK(DeviceName(*plan, 2) == "gpu[1]");
  CHECK(LaneName(*plan, all.gives) == "caller host 1");
  CHECK(LaneName(*plan, all.lane[1]) == "gpu[1] compute");
  CHECK(CallName(*plan, graph, 0) == "layer.hidden(3)");
  CHECK(CallName(*plan, graph, kNone) == "");
  CHECK(TypeText(*plan, graph, all.x) == "f32[n <= 8, 4]");
  CHECK(InstructionText(*plan, graph, g.Index(all.call)) ==
        "call work of layer.hidden(3) (test.cgraph:7:1)");
  CHECK(InstructionText(*plan, graph, g.Index(all.receive)) == "receive `h` from gpu[0]");
  CHECK(InstructionText(*plan, graph, g.Index(all.part[0])) == "all_reduce `sum`");
  CHECK(InstructionText(*plan, graph, g.Index(all.first_wait)) ==
        "wait for event 0 (1 round before)");
  CHECK(InstructionText(*plan, graph, kNone) == "?");
  CHECK(LaneOf(graph, g.Index(all.give)) == all.gives);
  const std::string text = ToText(*plan);
  CHECK(text.find("call work(%x0#") != std::string::npos);
  CHECK(text.find(" may-fail  // layer.hidden(3) test.cgraph:7:1\n") != std::string::npos);
  CHECK(text == ToText(**FromBytes(ToBytes(*plan))));
}

// Break: a change to the plan, and what the refusal must say.
struct Break {
  const char* what;
  const char* says;
  std::function<void(Everything&, Plan&, Graph&)> change;
};

Instruction& Ins(Everything& e, Graph& g, GraphBuilder::Handle handle) {
  return g.instructions[e.graph->Index(handle)];
}
CommPart& PartOf(Everything& e, Graph& g, GraphBuilder::Handle handle) {
  return g.parts[Ins(e, g, handle).first()];
}
uint32_t& Operand(Everything& e, Graph& g, GraphBuilder::Handle handle, uint32_t i) {
  return g.operands[Ins(e, g, handle).first() + i];
}
Value& Val(Graph& g, uint32_t value) { return g.values[value]; }
Buffer& Buf(Graph& g, uint32_t value) { return g.buffers[g.values[value].buffer()]; }
Arena& Are(Graph& g, uint32_t value) { return g.arenas[Buf(g, value).arena()]; }

// Makes the graph one that repeats, until its first output is true.
Repeat& AddRepeat(Graph& g) {
  g.repeat = std::make_unique<Repeat>();
  g.repeat->inputs = static_cast<uint32_t>(g.inputs.size());
  g.repeat->outputs = static_cast<uint32_t>(g.outputs.size());
  g.repeat->limit = 3;
  return *g.repeat;
}
// Gives the graph an output of bools, its first.
void MakeDone(Everything&, Graph& g) {
  Value done = g.values[g.outputs[0]->value];
  done.mutate_dtype(DType::bool_);
  done.mutate_bytes(done.bytes() / 4);
  g.outputs.insert(g.outputs.begin(), std::make_unique<Port>(*g.outputs[0]));
  g.outputs[0]->value = static_cast<uint32_t>(g.values.size());
  g.values.push_back(done);
}

const std::vector<Break>& Breaks() {
  static const std::vector<Break> kBreaks = {
      {"event of no signal", "rule 1", [](auto&, auto&, auto& g) { ++g.events; }},
      {"wait for no event", "rule 1", [](auto&, auto&, auto& g) { g.waits[0].mutate_event(99); }},
      {"event signalled twice", "rule 1",
       [](auto&, auto&, auto& g) {
         for (Instruction& i : g.instructions) {
           if (i.kind() == Kind::signal) i.mutate_subject(0);
         }
       }},
      {"wait with a lag of its own", "rule 1",
       [](auto& e, auto&, auto& g) { Ins(e, g, e.first_wait).mutate_lag(1); }},
      {"other transfer", "rule 2",
       [](auto& e, auto&, auto& g) { PartOf(e, g, e.send).mutate_transfer(77); }},
      {"other lag at one end", "rule 2",
       [](auto& e, auto&, auto& g) { Ins(e, g, e.send).mutate_lag(1); }},
      {"one end at the bound", "rule 2",
       [](auto& e, auto&, auto& g) { PartOf(e, g, e.send).mutate_flags(kAtBound); }},
      {"other dtype at one end", "rule 2",
       [](auto& e, auto&, auto& g) { Val(g, e.h0).mutate_dtype(DType::i32); }},
      {"other extents at one end", "rule 2",
       [](auto& e, auto&, auto& g) {
         std::swap(g.dims[Val(g, e.h0).first_dim()], g.dims[Val(g, e.h0).first_dim() + 1]);
       }},
      {"receives swapped", "rule 2",
       [](auto& e, auto&, auto& g) {
         std::swap(Ins(e, g, e.receive), g.instructions[e.graph->Index(e.receive) - 1]);
       }},
      {"a receive on another lane", "rule 2",
       [](auto& e, auto&, auto& g) { g.channels[0].mutate_to_lane(e.lane[0]); }},
      {"more receives than sends", "rule 2",
       [](auto& e, auto&, auto& g) {
         CommPart& part = PartOf(e, g, e.send);
         part.mutate_part(Part::collective);
         part.mutate_subject(0);
       }},
      {"a buffer without room", "rule 2",
       [](auto&, auto&, auto& g) { g.channels[0].mutate_protocol(Protocol::buffered); }},
      {"a rendezvous with room", "rule 2",
       [](auto&, auto&, auto& g) { g.channels[0].mutate_capacity(1); }},
      {"a collective of one member", "rule 3",
       [](auto& e, auto&, auto& g) {
         Instruction& part = Ins(e, g, e.part[1]);
         part.mutate_kind(Kind::signal);
         part.mutate_inputs(0);
         part.mutate_subject(g.events++);
       }},
      {"members of different lags", "rule 3",
       [](auto& e, auto&, auto& g) { Ins(e, g, e.part[1]).mutate_lag(1); }},
      {"a receive before its send in program order", "rule 2",
       [](auto& e, auto&, auto& g) {
         Ins(e, g, e.send).mutate_program_order(Ins(e, g, e.receive).program_order() + 1);
       }},
      {"members at different positions", "rule 3",
       [](auto& e, auto&, auto& g) {
         Ins(e, g, e.part[1]).mutate_program_order(Ins(e, g, e.part[1]).program_order() + 1);
       }},
      {"members of different dtypes", "rule 3",
       [](auto& e, auto&, auto& g) {
         Val(g, g.operands[PartOf(e, g, e.part[1]).first()]).mutate_dtype(DType::i32);
       }},
      {"an unknown collective", "rule 3",
       [](auto&, auto&, auto& g) {
         g.collectives[0]->kind = static_cast<wire::CollectiveKind>(9);
       }},
      {"an unknown reduction", "rule 3",
       [](auto&, auto&, auto& g) {
         g.collectives[0]->reduction = static_cast<wire::Reduction>(6);
       }},
      {"a barrier with values", "rule 3",
       [](auto&, auto&, auto& g) {
         g.collectives[0]->kind = wire::CollectiveKind::barrier;
         g.collectives[0]->reduction = wire::Reduction::none;
       }},
      {"a gather that is too small", "rule 3",
       [](auto&, auto&, auto& g) {
         g.collectives[0]->kind = wire::CollectiveKind::all_gather;
         g.collectives[0]->reduction = wire::Reduction::none;
       }},
      {"a lane that is no member", "rule 3",
       [](auto& e, auto& p, auto&) { p.members[1] = e.gives; }},
      {"two members of one device", "rule 3",
       [](auto& e, auto& p, auto&) {
         p.lanes[e.lane[1]].mutate_device(p.lanes[e.lane[0]].device());
       }},
      {"a comm that writes state", "rule 3",
       [](auto& e, auto&, auto& g) {
         g.operands[PartOf(e, g, e.part[0]).first() + 1] = e.w;
       }},
      {"a read before its write", "rule 4",
       [](auto& e, auto&, auto& g) { Ins(e, g, e.call).mutate_program_order(0); }},
      {"a read of what another position writes", "rule 4",
       [](auto& e, auto&, auto& g) {
         Ins(e, g, e.copy_out).mutate_program_order(Ins(e, g, e.receive).program_order());
       }},
      {"a constant that nothing fills", "rule 4",
       [](auto&, auto&, auto& g) { g.constants.clear(); }},
      {"a static read of what extents scale", "rule 4",
       [](auto& e, auto&, auto& g) {
         const uint32_t value = Operand(e, g, e.call, 0);
         g.values.push_back(Val(g, value));
         g.dims.emplace_back(8, kNone);
         g.dims.emplace_back(4, kNone);
         g.values.back().mutate_first_dim(static_cast<uint32_t>(g.dims.size()) - 2);
         Operand(e, g, e.call, 0) = static_cast<uint32_t>(g.values.size()) - 1;
       }},
      {"a value outside its buffer", "rule 5",
       [](auto& e, auto&, auto& g) { Val(g, e.h0).mutate_offset(4); }},
      {"a buffer outside its arena", "rule 5",
       [](auto& e, auto&, auto& g) { Buf(g, e.h0).mutate_offset(uint64_t{0} - 64); }},
      {"operands that overlap", "rule 5",
       [](auto& e, auto&, auto& g) { Operand(e, g, e.call, 2) = e.x0; }},
      {"operands of two buffers that overlap", "rule 5",
       [](auto& e, auto&, auto& g) { Buf(g, e.h0).mutate_offset(Buf(g, e.x0).offset()); }},
      {"in place where the kernel is not", "rule 5",
       [](auto& e, auto& p, auto&) { p.kernels[e.update]->inplace.clear(); }},
      {"state that is reused", "rule 5",
       [](auto& e, auto&, auto& g) {
         g.buffers.push_back(Buf(g, e.w));
         g.buffers.back().mutate_offset(4);
       }},
      {"buffers of a group apart", "rule 5",
       [](auto& e, auto&, auto& g) {
         Buf(g, e.x0).mutate_group(1);
         Buf(g, e.h1).mutate_group(1);
       }},
      {"two state arenas of one actor", "rule 5",
       [](auto& e, auto&, auto& g) { g.arenas.push_back(Are(g, e.w)); }},
      {"no copies of slots", "rule 6",
       [](auto& e, auto&, auto& g) { Are(g, e.h0).mutate_copies(0); }},
      {"two copies of state", "rule 6",
       [](auto& e, auto&, auto& g) { Are(g, e.w).mutate_copies(2); }},
      {"a copy of an input", "rule 6",
       [](auto& e, auto&, auto& g) { Are(g, e.x).mutate_copies(1); }},
      {"a call that writes a constant", "rule 6",
       [](auto& e, auto&, auto& g) {
         Operand(e, g, e.commit, 0) = e.one;
         Operand(e, g, e.commit, 2) = e.one;
       }},
      {"no extent on a device", "rule 7", [](auto&, auto&, auto& g) { g.extents.pop_back(); }},
      {"two extents on a device", "rule 7",
       [](auto&, auto&, auto& g) { g.extents.push_back(g.extents.back()); }},
      {"an extent that is no i64", "rule 7",
       [](auto& e, auto&, auto& g) { g.extents[0].mutate_value(e.x0); }},
      {"a take of a strange extent", "rule 7",
       [](auto& e, auto&, auto& g) { Operand(e, g, e.take, 1) = e.n[1]; }},
      {"a capture that is torn", "rule 7",
       [](auto& e, auto&, auto& g) {
         Ins(e, g, e.call).mutate_capture_id(1);
         Ins(e, g, e.send).mutate_capture_id(1);
       }},
      {"a capture on two devices", "rule 7",
       [](auto& e, auto&, auto& g) {
         Ins(e, g, e.call).mutate_capture_id(1);
         Ins(e, g, e.copy_out).mutate_capture_id(1);
       }},
      {"an instruction in no list", "no lane's list",
       [](auto& e, auto&, auto& g) {
         g.programs[e.gives].mutate_count(g.programs[e.gives].count() - 1);
       }},
      {"an instruction in two lists", "two lanes",
       [](auto& e, auto&, auto& g) { g.programs[e.gives] = g.programs[e.takes]; }},
      {"a list that is far away", "outside",
       [](auto& e, auto&, auto& g) { g.programs[e.gives].mutate_first(kNone); }},
      {"fewer lists than lanes", "lists", [](auto&, auto&, auto& g) { g.programs.pop_back(); }},
      {"a kind that does not exist", "kind",
       [](auto& e, auto&, auto& g) { Ins(e, g, e.call).mutate_kind(static_cast<Kind>(9)); }},
      {"a flag that does not exist", "flags",
       [](auto& e, auto&, auto& g) { Ins(e, g, e.call).mutate_flags(64 | kMayFail); }},
      {"a call that always runs", "empty executions",
       [](auto& e, auto&, auto& g) { Ins(e, g, e.call).mutate_flags(kAlwaysRuns | kMayFail); }},
      {"a failure that is not announced", "may fail",
       [](auto& e, auto&, auto& g) { Ins(e, g, e.call).mutate_flags(0); }},
      {"a kernel with more operands", "operands",
       [](auto& e, auto& p, auto&) { p.kernels[e.work]->body[0]->operands = {5}; }},
      {"no such kernel", "kernel",
       [](auto& e, auto&, auto& g) { Ins(e, g, e.call).mutate_subject(99); }},
      {"operands beyond the pool", "operands",
       [](auto& e, auto&, auto& g) { Ins(e, g, e.call).mutate_first(kNone); }},
      {"a shared range of operands", "operands",
       [](auto& e, auto&, auto& g) {
         g.instructions[g.programs[e.lane[0]].first() + 1].mutate_inputs(60000);
       }},
      {"a copy between types", "one type",
       [](auto& e, auto&, auto& g) { Operand(e, g, e.copy_out, 0) = e.n[2]; }},
      {"a load in an ordinary graph", "start graph",
       [](auto& e, auto&, auto& g) {
         Instruction& i = Ins(e, g, e.copy_out);
         i.mutate_kind(Kind::load);
       }},
      {"a give of another value", "port",
       [](auto& e, auto&, auto& g) { Operand(e, g, e.give, 0) = e.x; }},
      {"an output that is not given", "given",
       [](auto&, auto&, auto& g) {
         g.outputs.push_back(std::make_unique<Port>(*g.outputs[0]));
       }},
      {"bytes that the type has not", "bytes",
       [](auto& e, auto&, auto& g) { Val(g, e.x0).mutate_bytes(4); }},
      {"dims that overflow", "bytes",
       [](auto& e, auto&, auto& g) {
         g.dims[Val(g, e.all[0]).first_dim()].mutate_extent(INT64_MAX);
       }},
      {"a dim beyond its symbol's bound", "bound",
       [](auto&, auto&, auto& g) { g.symbols[0].mutate_bound(7); }},
      {"a value off its alignment", "aligned",
       [](auto& e, auto&, auto& g) {
         Buf(g, e.all[0]).mutate_bytes(20);
         Val(g, e.all[0]).mutate_offset(2);
       }},
      {"an alignment that is none", "alignment",
       [](auto& e, auto&, auto& g) { Buf(g, e.x0).mutate_align(3); }},
      {"arenas without end", "arenas",
       [](auto& e, auto&, auto& g) { Are(g, e.x0).mutate_bytes(uint64_t{1} << 63); }},
      {"a state outside its block", "outside",
       [](auto&, auto& p, auto&) { p.actors[0]->states[1]->offset = 1 << 20; }},
      {"a state that is a copy of another place's", "a copy of other[*], which is another place",
       [](auto&, auto& p, auto&) { p.actors[0]->states[0]->copies = "other[*]"; }},
      {"copies of two types", "a copy of one of another type",
       [](auto&, auto& p, auto&) {
         auto& states = p.actors[0]->states;
         states[1]->name = states[0]->name;
         states[1]->dims.insert(states[1]->dims.begin(), 1);
         for (auto& state : states) state->copies = p.actors[0]->name;
       }},
      {"a state arena that is larger than the block", "block",
       [](auto& e, auto&, auto& g) { Are(g, e.w).mutate_bytes(4096); }},
      {"no executions", "inflight", [](auto&, auto&, auto& g) { g.inflight = 0; }},
      {"more executions than a program may ask for", "inflight is 1025 and must be 1 to 1024",
       [](auto&, auto&, auto& g) { g.inflight = 1025; }},
      {"a partition without workers", "partition 0 is not for",
       [](auto&, auto& p, auto&) { AddPartition(p, 1, false).workers = 0; }},
      {"partitions that do not ascend", "not behind those for fewer",
       [](auto&, auto& p, auto&) {
         AddPartition(p, 3, false);
         AddPartition(p, 2, false);
       }},
      {"a partition with a worker that it does not have", "does not give each lane",
       [](auto&, auto& p, auto&) { AddPartition(p, 2, false).worker_of_lane[0] = 2; }},
      {"a partition without a lane", "does not give each lane",
       [](auto&, auto& p, auto&) { AddPartition(p, 2, false).worker_of_lane.pop_back(); }},
      {"a partition without a graph", "no certificate",
       [](auto&, auto& p, auto&) { AddPartition(p, 2, true).certificates.pop_back(); }},
      {"a certificate that ends early", "no certificate",
       [](auto&, auto& p, auto&) {
         AddPartition(p, 2, true).certificates[0]->positions.pop_back();
       }},
      {"two graphs of one name", "called",
       [](auto&, auto& p, auto& g) { p.graphs.push_back(std::make_unique<Graph>(g)); }},
      {"rounds of a port that does not exist", "repeat: a port does not exist",
       [](auto&, auto&, auto& g) { AddRepeat(g).done = 99; }},
      {"rounds that no bool ends", "is no bool", [](auto&, auto&, auto& g) { AddRepeat(g); }},
      {"rounds with more inputs than there are", "repeat: a port does not exist",
       [](auto&, auto&, auto& g) { AddRepeat(g).inputs = 99; }},
      {"a limit that is no count", "the limit is no i64",
       [](auto& e, auto&, auto& g) {
         MakeDone(e, g);
         AddRepeat(g).limit_input = 0;
       }},
      {"rounds in flight", "inflight must be 1",
       [](auto& e, auto&, auto& g) {
         MakeDone(e, g);
         AddRepeat(g);
         g.inflight = 2;
         for (Arena& arena : g.arenas) {
           if (arena.space() == Space::slot) arena.mutate_copies(2);
         }
       }},
      {"an input that nothing gives", "an input is not given",
       [](auto& e, auto&, auto& g) {
         MakeDone(e, g);
         AddRepeat(g).inputs = 0;
       }},
      {"a graph before that does not exist", "the graph before does not exist",
       [](auto& e, auto&, auto& g) {
         MakeDone(e, g);
         AddRepeat(g).before = 7;
       }},
      {"no start graph", "start graph", [](auto&, auto& p, auto&) { p.start = nullptr; }},
  };
  return kBreaks;
}

TEST_CASE("the smallest change that breaks each rule of shape is refused") {
  for (const Break& broken : Breaks()) {
    Everything everything;
    const auto plan = everything.plan.Build();
    broken.change(everything, *plan, *plan->graphs[0]);
    const Status status = CheckPlan(*plan);
    INFO(broken.what);
    INFO(status.message());
    CHECK(!status.ok());
    CHECK(status.message().find(broken.says) != std::string::npos);
    CHECK(Prove(*plan).refusal == Refusal::kShape);
  }
}

TEST_CASE("bytes that were cut or changed never do harm") {
  const std::vector<uint8_t> bytes = ToBytes(*Build());
  for (size_t size = 0; size + 8 < bytes.size(); size += 7) {  // the last bytes are padding
    CHECK(!FromBytes(std::span(bytes).subspan(0, size)).ok());
  }
  std::mt19937 random(20240517);
  int loaded = 0, checked = 0, proved = 0;
  for (int round = 0; round < 6000; ++round) {
    std::vector<uint8_t> mutant = bytes;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < changes; ++i) {
      static constexpr uint8_t kTelling[] = {0, 1, 2, 0x7f, 0x80, 0xff};
      const uint8_t value =
          random() % 2 == 0 ? kTelling[random() % 6] : static_cast<uint8_t>(random());
      mutant[random() % mutant.size()] = value;
    }
    const auto plan = FromBytes(mutant);
    if (!plan.ok()) continue;
    ++loaded;
    ToText(**plan);
    checked += CheckPlan(**plan).ok() ? 1 : 0;
    const Verdict verdict = Prove(**plan);
    CHECK(verdict.proved() == verdict.message.empty());
    if (verdict.proved() && ++proved % 50 == 0) CertificateText(**plan);
  }
  INFO(loaded << " loaded, " << checked << " of good shape, " << proved << " proved");
  CHECK(loaded > 1000);
  CHECK(checked > 100);
}

TEST_CASE("tables that share memory are refused before they are unpacked") {
  // A vector of a thousand offsets to one graph, each with the same megabyte of constants.
  flatbuffers::FlatBufferBuilder builder;
  const auto data = builder.CreateVector(std::vector<uint8_t>(1 << 20, 1));
  wire::GraphBuilder graph(builder);
  graph.add_constant_data(data);
  const auto shared = graph.Finish();
  const auto graphs =
      builder.CreateVector(std::vector<flatbuffers::Offset<wire::Graph>>(1000, shared));
  wire::PlanBuilder plan(builder);
  plan.add_format(kFormat);
  plan.add_start(shared);
  plan.add_graphs(graphs);
  wire::FinishPlanBuffer(builder, plan.Finish());
  const auto loaded = FromBytes({builder.GetBufferPointer(), builder.GetSize()});
  REQUIRE(!loaded.ok());
  CHECK(loaded.status().message().find("share memory") != std::string::npos);
}

TEST_CASE("a plan of another format is refused with both formats") {
  for (const uint32_t format : {kFormat - 1, kFormat + 1}) {
    auto plan = Build();
    plan->format = format;
    const auto loaded = FromBytes(ToBytes(*plan));
    REQUIRE(!loaded.ok());
    CHECK(loaded.status().message() ==
          fmt::format("the plan has format {}, and this program reads format {}: compile the "
                      "source again",
                      format, kFormat));
  }
}

TEST_CASE("text that is not UTF-8 is refused") {
  auto plan = Build();
  plan->compiler = "\xff\xfe";
  CHECK(!FromBytes(ToBytes(*plan)).ok());
  plan->compiler = std::string("a\0b", 3);
  CHECK(!FromBytes(ToBytes(*plan)).ok());
}

}  // namespace
}  // namespace cgraph::plan::testing
