// Collectives, from text to result: all kinds, reductions, dtypes, group sizes and lengths against
// a direct evaluation (row G1), and the rows G2 to G5, D7 and D8.
//
// The evaluation shares nothing with the engine: elements one at a time, halves by the compiler's
// own _Float16 and by rounding in f64.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include <fmt/format.h>

#include "runtime/plan/graph_index.h"
#include "runtime/plan/prove.h"
#include "tests/support/run.h"

namespace cgraph::testing {
namespace {

using plan::DType;
using Bytes = std::vector<uint8_t>;

const std::string kFile = CGRAPH_SOURCE_DIR "/tests/conformance/collectives.cgraph";

EngineOptions Workers(uint32_t workers, bool proved = true) {
  EngineOptions options;
  options.workers = workers;
  options.proved = proved;
  return OnProcesses(options);
}

// ---- numbers ------------------------------------------------------------------------------------

struct Format {
  DType dtype;
  const char* name;
  size_t width;
  bool floating;
};
constexpr Format kFormats[] = {{DType::f32, "f32", 4, true}, {DType::f16, "f16", 2, true},
                               {DType::bf16, "bf16", 2, true}, {DType::i32, "i32", 4, false},
                               {DType::i64, "i64", 8, false}};

float GetFloat(const Format& format, const uint8_t* at) {
  if (format.dtype == DType::f32) {
    float value;
    std::memcpy(&value, at, 4);
    return value;
  }
  if (format.dtype == DType::f16) {
    _Float16 value;
    std::memcpy(&value, at, 2);
    return static_cast<float>(value);
  }
  uint32_t bits = 0;
  std::memcpy(reinterpret_cast<uint8_t*>(&bits) + 2, at, 2);
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

void PutFloat(const Format& format, float value, uint8_t* at) {
  if (format.dtype == DType::f32) {
    std::memcpy(at, &value, 4);
  } else if (format.dtype == DType::f16) {
    const auto half = static_cast<_Float16>(value);
    std::memcpy(at, &half, 2);
  } else {
    // Rounds to 8 significant bits, to nearest even, as nearbyint does.
    int exponent = 0;
    const double mantissa = std::frexp(static_cast<double>(value), &exponent);
    const auto rounded = static_cast<float>(
        std::ldexp(std::nearbyint(std::ldexp(mantissa, 8)), exponent - 8));
    std::memcpy(at, reinterpret_cast<const uint8_t*>(&rounded) + 2, 2);
  }
}

int64_t GetInt(const Format& format, const uint8_t* at) {
  int64_t wide = 0;
  int32_t narrow = 0;
  if (format.width == 8) {
    std::memcpy(&wide, at, 8);
    return wide;
  }
  std::memcpy(&narrow, at, 4);
  return narrow;
}
void PutInt(const Format& format, uint64_t value, uint8_t* at) {
  std::memcpy(at, &value, format.width);  // the low bytes
}

Bytes RandomBytes(const Format& format, int64_t elements, std::mt19937& random) {
  Bytes bytes(elements * format.width);
  for (int64_t i = 0; i < elements; ++i) {
    uint8_t* at = &bytes[i * format.width];
    const auto number = static_cast<int32_t>(random());
    if (format.floating) {
      PutFloat(format, static_cast<float>(number) / (1u << 30), at);
    } else {
      PutInt(format, static_cast<uint64_t>(int64_t{number} * (random() % 1000)), at);
    }
  }
  return bytes;
}

template <typename A>
A Fold(const std::string& reduction, A a, A b) {
  if (reduction == "prod") return a * b;
  if (reduction == "min") return std::min(a, b);
  if (reduction == "max") return std::max(a, b);
  return a + b;
}

Bytes Reduced(const Format& format, const std::string& reduction, const std::vector<Bytes>& xs) {
  Bytes out(xs[0].size());
  for (size_t at = 0; at < out.size(); at += format.width) {
    if (format.floating) {
      float sum = GetFloat(format, &xs[0][at]);
      for (size_t p = 1; p < xs.size(); ++p) {
        sum = Fold(reduction, sum, GetFloat(format, &xs[p][at]));
      }
      if (reduction == "avg") sum = sum / static_cast<float>(xs.size());
      PutFloat(format, sum, &out[at]);
    } else {
      const bool ordered = reduction == "min" || reduction == "max";
      int64_t least = GetInt(format, &xs[0][at]);
      auto sum = static_cast<uint64_t>(least);
      for (size_t p = 1; p < xs.size(); ++p) {
        const int64_t next = GetInt(format, &xs[p][at]);
        if (ordered) sum = static_cast<uint64_t>(least = Fold(reduction, least, next));
        else sum = Fold(reduction, sum, static_cast<uint64_t>(next));
      }
      PutInt(format, sum, &out[at]);
    }
  }
  return out;
}

// ---- one case -----------------------------------------------------------------------------------

Bytes PartOf(const Bytes& bytes, size_t rank, size_t members) {
  const size_t each = bytes.size() / members;
  return Bytes(bytes.begin() + rank * each, bytes.begin() + (rank + 1) * each);
}
Bytes Joined(const std::vector<Bytes>& xs) {
  Bytes all;
  for (const Bytes& x : xs) all.insert(all.end(), x.begin(), x.end());
  return all;
}

// Returns the results of the participants by rank; for rooted kinds the root's alone.
std::vector<Bytes> Evaluate(const Format& format, const std::string& kind,
                            const std::string& reduction, const std::vector<Bytes>& xs) {
  const size_t members = xs.size();
  std::vector<Bytes> out;
  if (kind == "reduce") return {Reduced(format, reduction, xs)};
  if (kind == "gather") return {Joined(xs)};
  const Bytes sum = reduction.empty() ? Bytes() : Reduced(format, reduction, xs);
  for (size_t rank = 0; rank < members; ++rank) {
    if (kind == "all_reduce") out.push_back(sum);
    if (kind == "reduce_scatter") out.push_back(PartOf(sum, rank, members));
    if (kind == "all_gather") out.push_back(Joined(xs));
    if (kind == "broadcast") out.push_back(xs[0]);
    if (kind == "scatter") out.push_back(PartOf(xs[0], rank, members));
    if (kind == "all_to_all") {
      std::vector<Bytes> parts;
      for (const Bytes& x : xs) parts.push_back(PartOf(x, rank, members));
      out.push_back(Joined(parts));
    }
  }
  return out;
}

struct Case {
  std::string name, kind, reduction;
  int64_t length;  // of what each gives
};

// A file with a graph for each kind, reduction and length.
std::string MakeText(const Format& format, int members, const std::vector<int64_t>& lengths,
                     std::vector<Case>& cases) {
  std::string text = fmt::format(
      "import std.tensor\n"
      "actor A() {{ method give(x: {0}[n]) -> {0}[n] {{ return x }} }}\n"
      "place a[i in 0..{1}] = A() on cpu[i]\n",
      format.name, members);
  const auto add = [&](const std::string& kind, const std::string& reduction, int64_t length) {
    const bool divides = kind == "reduce_scatter" || kind == "scatter" || kind == "all_to_all";
    const bool one = kind == "reduce" || kind == "gather";
    const int64_t given = divides ? length * members : length;
    const int64_t got = kind == "reduce_scatter" || kind == "scatter"  ? length
                        : kind == "all_gather" || kind == "gather" ? length * members
                                                                   : given;
    const std::string type = fmt::format("{}[{}]", format.name, got);
    const std::string xs = fmt::format("[a[r].give(x[r]) for r in 0..{}]", members);
    const bool from_root = kind == "broadcast" || kind == "scatter";
    Case made{fmt::format("{}{}_{}", kind, reduction, length), kind, reduction, given};
    text += fmt::format("graph {}(x: [{}[{}]; {}]) -> {} {{ return {}({}) }}\n", made.name,
                        format.name, given, members,
                        one ? type : fmt::format("[{}; {}]", type, members), kind,
                        from_root           ? "a[0].give(x[0]), to: a"
                        : reduction.empty() ? xs
                                            : xs + ", " + reduction);
    cases.push_back(made);
  };
  for (int64_t length : lengths) {
    for (const char* kind : {"all_reduce", "reduce_scatter", "reduce"}) {
      for (const char* reduction : {"sum", "prod", "min", "max", "avg"}) {
        if (format.floating || std::string(reduction) != "avg") add(kind, reduction, length);
      }
    }
    for (const char* kind : {"all_gather", "all_to_all", "gather", "broadcast", "scatter"}) {
      add(kind, "", length);
    }
  }
  return text;
}

std::unique_ptr<plan::Plan> CompileText(const std::string& text, CompileOptions options) {
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("collectives_test_{}.cgraph", getpid());
  std::ofstream(path) << text;
  auto compiled = CompileFile(path.string(), std::move(options));
  std::filesystem::remove(path);
  return compiled;
}

// Runs a case twice, with different numbers, so that nothing is left of the execution before.
void RunCase(Engine& engine, const Format& format, int members, const Case& at,
             std::mt19937& random) {
  const int64_t dims[] = {at.length};
  for (int repeat = 0; repeat < 2; ++repeat) {
    std::vector<Bytes> xs;
    std::vector<std::string> names;
    for (int r = 0; r < members; ++r) {
      xs.push_back(RandomBytes(format, at.length, random));
      names.push_back(fmt::format("x[{}]", r));
    }
    // The inputs of the others are not used by broadcast and scatter, but given all the same.
    std::vector<Input> inputs;
    for (int r = 0; r < members; ++r) {
      inputs.push_back({names[r], xs[r].data(), format.dtype, dims});
    }
    Result<Execution> execution = engine.Execute(at.name, inputs);
    REQUIRE(execution.ok());
    Result<Outputs> outputs = execution->Get();
    REQUIRE(outputs.ok());
    const std::vector<Bytes> wanted = Evaluate(format, at.kind, at.reduction, xs);
    REQUIRE(outputs->size() == wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      const device::Tensor& got = (*outputs)[i];
      const size_t bytes = got.elements() * format.width;
      REQUIRE(bytes == wanted[i].size());
      REQUIRE((bytes == 0 || std::memcmp(got.data, wanted[i].data(), bytes) == 0));
    }
  }
}

void RunAll(const std::vector<int64_t>& lengths, int members, bool large) {
  std::mt19937 random(members);
  for (const Format& format : kFormats) {
    std::vector<Case> cases;
    const std::string text = MakeText(format, members, lengths, cases);
    std::unique_ptr<Engine> engine;
    for (const Case& at : cases) {
      CAPTURE(format.name, members, at.name);
      if (large || !engine) {
        engine.reset();  // the memory of all graphs together would be many gigabytes
        CompileOptions options;
        if (large) options.graphs = {at.name};
        auto loaded = Engine::Load(CompileText(text, options), Workers(members % 3 + 1));
        REQUIRE(loaded.ok());
        engine = std::move(*loaded);
      }
      RunCase(*engine, format, members, at, random);
    }
  }
}

TEST_CASE("G1 every kind, reduction, dtype and number of participants") {
  RunAll({0, 1, 7, 1000}, GENERATE(1, 2, 3, 4, 8), false);
}

// Minutes for every number of participants: [.all] has those that the slow tests leave out.
TEST_CASE("G1 with many elements", "[.large]") { RunAll({(1 << 20) + 3}, 3, true); }
TEST_CASE("G1 with many elements, the rest", "[.all]") {
  RunAll({(1 << 20) + 3}, GENERATE(1, 2, 4, 8), true);
}

// ---- graphs of collectives.cgraph ---------------------------------------------------------------

std::vector<float> RunFloats(Engine& engine, const std::string& graph, std::vector<float> x) {
  const int64_t dims[] = {static_cast<int64_t>(x.size())};
  const Input input{"x", x.data(), DType::f32,
                    x.size() == 1 ? std::span<const int64_t>() : std::span<const int64_t>(dims)};
  Result<Execution> execution = engine.Execute(graph, {&input, 1});
  REQUIRE(execution.ok());
  Result<Outputs> outputs = execution->Get();
  REQUIRE(outputs.ok());
  std::vector<float> all;
  for (size_t i = 0; i < outputs->size(); ++i) {
    const device::Tensor& tensor = (*outputs)[i];
    for (int64_t k = 0; k < tensor.elements(); ++k) {
      all.push_back(tensor.dtype == DType::f32 ? tensor.as<float>()[k]
                                               : static_cast<float>(tensor.as<int64_t>()[k]));
    }
  }
  return all;
}

using Floats = std::vector<float>;

std::unique_ptr<Engine> LoadFile(const EngineOptions& options) {
  auto loaded = Engine::Load(CompileFile(kFile), options);
  REQUIRE(loaded.ok());
  return std::move(*loaded);
}

TEST_CASE("D7 an all_reduce over two actors together with a send between them") {
  auto engine = LoadFile(Workers(GENERATE(1, 2, 3)));
  CHECK(RunFloats(*engine, "d7", {1}) == Floats{20, 20, 10});
  CHECK(RunFloats(*engine, "d7", {2}) == Floats{40, 40, 20});
}

TEST_CASE("D8 two layers of backward and all_reduce: every worker has the same order") {
  auto engine = LoadFile(Workers(GENERATE(1, 2, 3)));
  const Floats once{31, 61, 31, 61}, twice{61, 121, 61, 121};
  const Floats first = RunFloats(*engine, "d8", {1, 2, 1, 2});
  const Floats second = RunFloats(*engine, "d8", {1, 2, 1, 2});
  for (int worker = 0; worker < 4; ++worker) {
    CHECK(Floats(first.begin() + 4 * worker, first.begin() + 4 * worker + 4) == once);
    CHECK(Floats(second.begin() + 4 * worker, second.begin() + 4 * worker + 4) == twice);
  }
  const plan::Plan& plan = engine->plan();
  for (const auto& graph : plan.graphs) {
    if (graph->name != "d8") continue;
    const plan::GraphIndex index(plan, *graph);
    std::vector<std::vector<uint32_t>> orders;  // by lane: the collectives it makes
    for (const plan::Range& program : graph->programs) {
      std::vector<uint32_t> order;
      for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
        const plan::Instruction& at = graph->instructions[i];
        if (at.kind() != plan::Kind::comm) continue;
        const plan::CommPart& part = graph->parts[at.first()];
        if (part.part() == plan::Part::collective) order.push_back(part.subject());
      }
      if (!order.empty()) orders.push_back(order);
    }
    REQUIRE(orders.size() == 4);
    for (const auto& order : orders) {
      CHECK(order == orders[0]);
      CHECK(order.size() == 2);
    }
  }
}

TEST_CASE("G2 a result read by its participant, by another one, and by the caller") {
  auto engine = LoadFile(Workers(GENERATE(1, 2, 3)));
  CHECK(RunFloats(*engine, "g2", {1, 2, 3, 4}) ==
        Floats{2, 4, 6, 8, 2, 4, 6, 8, 2, 4, 6, 8});
}

TEST_CASE("G3 several tensors of each participant in one collective") {
  auto engine = LoadFile(Workers(GENERATE(1, 2)));
  CHECK(RunFloats(*engine, "g3", {1, -1, 3, 4}) ==
        Floats{3, -1, 9, 12, 2, 2, 3, -1, 9, 12, 2, 2, 3, -1, 9, 12, 2, 2});
}

// This holds also for a plan whose lanes are work queues of their own, where a wrong order would
// deadlock.
TEST_CASE("G4 overlapping groups in an order that a naive program would deadlock on") {
  auto engine = LoadFile(Workers(GENERATE(1, 2, 5), GENERATE(true, false)));
  const Floats wanted{6, 12, 18, 24, 3, 6, 9,  12, 4, 8,  12, 16, 6, 12, 18, 24,
                      6, 12, 18, 24, 6, 12, 18, 24, 6, 12, 18, 24, 6, 12, 18, 24};
  for (int i = 0; i < 50; ++i) REQUIRE(RunFloats(*engine, "g4", {1, 2, 3, 4}) == wanted);
}

TEST_CASE("G5 all_reduce is reduce and broadcast, and is reduce_scatter and all_gather") {
  auto engine = LoadFile(Workers(GENERATE(1, 2)));
  const Floats got = RunFloats(*engine, "g5", {0.1f, 1e8f, -3, 1e-8f});
  REQUIRE(got.size() == 48);
  for (size_t i = 4; i < got.size(); ++i) CHECK(got[i] == got[i % 4]);
}

TEST_CASE("a failure reaches all who depend on it through a collective, and no other execution") {
  auto engine = LoadFile(Workers(GENERATE(1, 2, 3)));
  const Floats x{1, 2, 3, 4};
  const int64_t dims[] = {4};
  for (int i = 0; i < 20; ++i) {
    std::vector<Execution> runs;
    for (const bool wrong : {true, false}) {
      const Input inputs[] = {{"x", x.data(), DType::f32, dims},
                              {"wrong", &wrong, DType::bool_, {}}};
      Result<Execution> run = engine->Execute("poisoned", inputs);
      REQUIRE(run.ok());
      runs.push_back(std::move(*run));
    }
    Result<Outputs> failed = runs[0].Get();
    REQUIRE(!failed.ok());
    CHECK(failed.status().message().find("w[1].may_fail") != std::string::npos);
    Result<Outputs> done = runs[1].Get();
    REQUIRE(done.ok());
    CHECK((*done)[2].as<float>()[3] == 13);
  }
}

TEST_CASE("the steady state of collectives allocates nothing of ours") {
  auto engine = LoadFile(Workers(2));
  RunFloats(*engine, "g4", {1, 2, 3, 4});
  const uint64_t before = engine->GetStats().allocations;
  for (int i = 0; i < 100; ++i) RunFloats(*engine, "g4", {1, 2, 3, 4});
  CHECK(engine->GetStats().allocations == before);
}

TEST_CASE("a barrier stands between what comes before it and what comes after") {
  auto engine = LoadFile(Workers(GENERATE(1, 2)));
  CHECK(RunFloats(*engine, "ordered", {1, 2, 3, 4}) == Floats{1, 2, 3, 4, 1, 2, 3, 4});
}

TEST_CASE("groups in another order on one lane: the prover sees the hang, and a run meets it") {
  CompileOptions options;
  options.graphs = {"ring"};
  std::unique_ptr<plan::Plan> plan = CompileFile(kFile, options);
  plan::Graph& graph = *plan->graphs[0];
  std::vector<uint32_t> comms;  // of the lane that makes the first and the last of the three
  const auto order = [&](uint32_t i) { return graph.instructions[i].certificate_position(); };
  for (const plan::Range& program : graph.programs) {
    std::vector<uint32_t> here;
    for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
      if (graph.instructions[i].kind() == plan::Kind::comm) here.push_back(i);
    }
    if (here.size() != 2) continue;
    const auto apart = [&](const std::vector<uint32_t>& pair) {
      return order(pair[1]) - order(pair[0]);
    };
    if (comms.empty() || apart(here) > apart(comms)) comms = here;
  }
  REQUIRE(comms.size() == 2);
  REQUIRE(plan::Prove(*plan).proved());
  std::swap(graph.instructions[comms[0]], graph.instructions[comms[1]]);
  const plan::Verdict verdict = plan::Prove(*plan);
  REQUIRE(!verdict.proved());
  CHECK(verdict.refusal == plan::Refusal::kDeadlock);

  EngineOptions unproved = Workers(2, /*proved=*/false);
  unproved.timeout = std::chrono::milliseconds(300);
  auto engine = Engine::Load(std::move(plan), unproved);
  REQUIRE(engine.ok());
  const Floats x(4, 1);
  const int64_t dims[] = {4};
  const Input input{"x", x.data(), DType::f32, dims};
  Result<Execution> execution = (*engine)->Execute(0u, {&input, 1});
  REQUIRE(execution.ok());
  const Result<Outputs> outputs = execution->Get();
  REQUIRE(!outputs.ok());
  CHECK(outputs.status().message().find("to take part in it") != std::string::npos);
}

}  // namespace
}  // namespace cgraph::testing
