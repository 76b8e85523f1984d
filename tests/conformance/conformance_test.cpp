// The behaviours that users of compiled graphs rely on, one test per row, the row's number in its
// name. The graphs are in counter.cgraph; each test loads it afresh, so state starts anew.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <optional>

#include "runtime/plan/load.h"
#include "tests/support/run.h"

namespace cgraph::testing {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Numbers64 = std::vector<int64_t>;

const std::string kCounter = CGRAPH_SOURCE_DIR "/tests/conformance/counter.cgraph";

// The two ways to drive the same plan: everything on the caller's thread, and two workers.
EngineOptions Workers(uint32_t workers) {
  EngineOptions options;
  options.workers = workers;
  return options;
}

int64_t MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - start).count();
}

TEST_CASE("S1 echo of an array, three executions, nothing leaks") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  for (int64_t n : {1000, 0, 7}) {
    std::vector<float> x(n);
    for (int64_t i = 0; i < n; ++i) x[i] = 0.5f * i;
    const int64_t dims[] = {n};
    Input input{"x", x.data(), plan::DType::f32, dims};
    Result<Execution> execution = run.engine().Execute("s1", {&input, 1});
    REQUIRE(execution.ok());
    Result<Outputs> outputs = execution->Get();
    REQUIRE(outputs.ok());
    REQUIRE((*outputs)[0].dims[0] == n);
    const float* got = (*outputs)[0].as<float>();
    CHECK(std::vector<float>(got, got + n) == x);
  }
  CHECK(run.engine().GetStats().executions == 3);
}

TEST_CASE("S2 a method's two values read by one actor, two actors, the caller and an actor") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  CHECK(run.Run("s2_one_actor", {5}) == Numbers64{5, 6});
  CHECK(run.Run("s2_two_actors", {5}) == Numbers64{5, 6});
  Result<Execution> mixed = run.Start("s2_mixed", {7});
  REQUIRE(mixed.ok());
  Result<Outputs> outputs = mixed->Get();
  REQUIRE(outputs.ok());
  CHECK(*outputs->Find("later")->as<int64_t>() == 8);
  CHECK(*outputs->Find("now")->as<int64_t>() == 7);
  CHECK(outputs->Find("never") == nullptr);
}

TEST_CASE("S3 a tuple is one value") {
  Runner run(kCounter);
  CHECK(run.Run("s3", {4}) == Numbers64{4, 5});
  CHECK(run.Run("s3", {4}) == Numbers64{8, 9});
}

TEST_CASE("S4 results fetched out of order") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  Result<Execution> first = run.Start("s4", {1});
  Result<Execution> second = run.Start("s4", {2});
  Result<Execution> third = run.Start("s4", {3});
  REQUIRE((first.ok() && second.ok() && third.ok()));
  CHECK(Numbers(*second->Get()) == Numbers64{3});
  CHECK(Numbers(*first->Get()) == Numbers64{1});
  CHECK(Numbers(*third->Get()) == Numbers64{6});
}

TEST_CASE("S5 two methods chained on one actor, on every transport") {
  for (const char* graph : {"s5_auto", "s5_local", "s5_nccl", "s5_shm", "s5_host"}) {
    Runner run(kCounter);
    CHECK(run.Run(graph, {1}) == Numbers64{2});
    CHECK(run.Run(graph, {1}) == Numbers64{6});
  }
}

TEST_CASE("S6 two actors crossing: calls in program order whatever arrives first") {
  const uint32_t workers = GENERATE(1, 2);
  Runner run(kCounter, {}, Workers(workers));
  // a: 0+1 = 1, b: 100+1 = 101; then a: 2*1 + 101 = 103, b: 2*101 + 1 = 203.
  CHECK(run.Run("s6", {1}) == Numbers64{103, 203});
  Runner other(kCounter, {}, Workers(workers));
  // a: 1; b: 2*100 + 1 = 201, then 202; a: 2*1 + 202 = 204.
  CHECK(other.Run("s6_other_order", {1}) == Numbers64{204, 201});
}

TEST_CASE("S7 the same method bound twice on one actor") {
  Runner run(kCounter);
  CHECK(run.Run("s7", {1, 10}) == Numbers64{1, 11});
  CHECK(run.Run("s7", {1, 10}) == Numbers64{12, 22});
}

TEST_CASE("S8 the same input read by several; inputs in mixed orders") {
  const uint32_t workers = GENERATE(1, 2);
  Runner run(kCounter, {}, Workers(workers));
  CHECK(run.Run("s8", {0, 1}) == Numbers64{0, 1});
  CHECK(run.Run("s8", {1, 2}) == Numbers64{0, 1, 1, 2});
  CHECK(run.Run("s8", {2, 3}) == Numbers64{0, 1, 1, 2, 2, 3});
  CHECK(run.Run("s8_read_by_several", {5, 7}) == Numbers64{10, 112, 14});
}

TEST_CASE("S9 one value read by its own actor, another actor and the caller") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  CHECK(run.Run("s9", {3}) == Numbers64{3, 3, 3});
  CHECK(run.Run("s9", {4}) == Numbers64{7, 7, 7});
}

TEST_CASE("S10 chains over one and two actors, and a fork") {
  Runner chain(kCounter);
  CHECK(chain.Run("s10_chain", {1}) == Numbers64{4});
  CHECK(chain.Run("s10_chain", {2}) == Numbers64{24});
  CHECK(chain.Run("s10_chain", {3}) == Numbers64{108});
  Runner round(kCounter, {}, Workers(2));
  CHECK(round.Run("s10_round", {1}) == Numbers64{102});
  CHECK(round.Run("s10_round", {2}) == Numbers64{309});
  CHECK(round.Run("s10_round", {3}) == Numbers64{829});
  Runner fork(kCounter, {}, Workers(2));
  CHECK(fork.Run("s10_fork", {1}) == Numbers64{2, 101});
}

TEST_CASE("S11 scatter-gather and chain for n = 1 and 4") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  CHECK(run.Run("s11_scatter_gather_1", {1}) == Numbers64{1});
  CHECK(run.Run("s11_scatter_gather_4", {1}) == Numbers64{2, 11, 21, 31});
  CHECK(run.Run("s11_chain_1", {1}) == Numbers64{3});
  // h = 3 + 1, then 11 + 4 = 15, 21 + 15 = 36, 31 + 36 = 67.
  CHECK(run.Run("s11_chain_4", {1}) == Numbers64{67});
}

TEST_CASE("S12 no inputs; no outputs but effects; only constants") {
  Runner run(kCounter);
  CHECK(run.Run("s12_no_inputs", {}) == Numbers64{3});
  CHECK(run.Run("s12_no_outputs", {10}).empty());
  CHECK(run.Run("s12_no_inputs", {}) == Numbers64{16});
  CHECK(run.Run("s12_constants", {}) == Numbers64{103});
}

TEST_CASE("S13 constants, labels, tuples and lists as arguments") {
  Runner run(kCounter);
  CHECK(run.Run("s13", {4}) == Numbers64{5, 6, 11});
}

TEST_CASE("S14 functions without an actor run at the home of what they read, or where `on` says") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  CHECK(run.Run("s14", {4}) == Numbers64{8, 8, 8, -4});
}

TEST_CASE("S16 scalars, one-byte values and empty tensors") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  const float x = 1.5f;
  const uint8_t y = 200, z = 0;
  const Input scalars[] = {{"x", &x, plan::DType::f32, {}},
                           {"y", &y, plan::DType::u8, {}},
                           {"z", &z, plan::DType::bool_, {}}};
  Result<Execution> execution = run.engine().Execute("s16_scalars", scalars);
  REQUIRE(execution.ok());
  Outputs outputs = *execution->Get();
  CHECK(*outputs[0].as<float>() == 2.5f);
  CHECK(*outputs[1].as<uint8_t>() == 144);
  CHECK(*outputs[2].as<uint8_t>() == 1);
  CHECK(outputs[0].rank == 0);

  for (const int64_t n : {0, 3}) {
    const std::vector<float> rows(2 * n, 1.0f);
    const int64_t none[] = {0, 3}, some[] = {n, 2};
    const Input inputs[] = {{"x", nullptr, plan::DType::f32, none},
                            {"y", rows.data(), plan::DType::f32, some}};
    Result<Execution> empty = run.engine().Execute("s16_empty", inputs);
    REQUIRE(empty.ok());
    Outputs results = *empty->Get();
    CHECK((results[0].dims[0] == 0 && results[0].dims[1] == 3));
    CHECK((results[1].dims[0] == n && results[1].dims[1] == 2));
    for (int64_t i = 0; i < 2 * n; ++i) CHECK(results[1].as<float>()[i] == 2.0f);
    CHECK(*results[2].as<float>() == 0.0f);
  }
}

// Hidden: it takes 4 GiB of memory. `conformance_test [.large]` runs it.
TEST_CASE("S16 values of a GiB, by every transport, in and out", "[.large]") {
  constexpr int64_t kCount = 268'435'459;
  const std::string graph = GENERATE("by_shm", "by_nccl", "by_host", "through");
  CompileOptions options;
  options.graphs = {graph};
  Runner run(CGRAPH_SOURCE_DIR "/tests/conformance/large.cgraph", options);
  if (graph != "through") {
    Result<Execution> execution = run.engine().Execute(graph, {});
    REQUIRE(execution.ok());
    Outputs ends = *execution->Get();
    CHECK(*ends[0].as<int32_t>() == 0);
    CHECK(*ends[1].as<int32_t>() == kCount / 2);
    CHECK(*ends[2].as<int32_t>() == kCount - 1);
    return;
  }
  std::vector<int32_t> x(kCount);
  x.front() = 7;
  x.back() = 11;
  const Input input{"x", x.data(), plan::DType::i32, {&kCount, 1}};
  Result<Execution> execution = run.engine().Execute(graph, {&input, 1});
  REQUIRE(execution.ok());
  Outputs next = *execution->Get();
  REQUIRE(next[0].dims[0] == kCount);
  const int32_t* got = next[0].as<int32_t>();
  CHECK(got[0] == 8);
  CHECK(got[kCount / 2] == 1);
  CHECK(got[kCount - 1] == 12);
}

TEST_CASE("S17 a call that writes state is kept though nobody reads its result") {
  Runner run(kCounter);
  CHECK(run.Run("s17", {5, 0}) == Numbers64{5});
  CHECK(run.Run("s15_read", {}) == Numbers64{5});
}

TEST_CASE("S15 two graphs over the same actors see each other's state") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  int64_t sum = 0;
  for (int64_t i = 1; i <= 20; ++i) {
    sum += i;
    CHECK(run.Run("s15_write", {i}) == Numbers64{sum});
    CHECK(run.Run("s15_read", {}) == Numbers64{sum});
  }
}

TEST_CASE("states are read and written between executions, and awaited during one") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  Engine& engine = run.engine();
  std::vector<std::string> names;
  for (const Engine::State& state : engine.States()) names.push_back(state.name);
  REQUIRE(std::count(names.begin(), names.end(), "a.i") == 1);
  const auto number = [&] {
    int64_t value = 0;
    CHECK(engine.ReadState("a.i", {reinterpret_cast<uint8_t*>(&value), 8}).ok());
    return value;
  };
  const int64_t first = number();
  const int64_t later = first + 40;
  CHECK(engine.WriteState("a.i", {reinterpret_cast<const uint8_t*>(&later), 8}).ok());
  CHECK(number() == later);
  uint8_t bytes[9] = {};
  CHECK(engine.ReadState("a.i", bytes).code() == StatusCode::kInvalid);
  CHECK(engine.ReadState("a.j", {bytes, 8}).code() == StatusCode::kNotFound);
  CHECK(engine.WriteState("nobody.i", {bytes, 8}).code() == StatusCode::kNotFound);

  Result<Execution> execution = run.Start("r4", {1, 300});
  REQUIRE(execution.ok());
  CHECK(number() == later + 1);
  REQUIRE(execution->Get().ok());
  CHECK(number() == later + 1);
  engine.Teardown();
  CHECK(engine.ReadState("a.i", {bytes, 8}).code() == StatusCode::kClosed);
}

// Takes the rows of a run of a graph over i64s, up to its end or its error.
std::vector<Numbers64> RowsOf(Rounds& rounds, Status& error) {
  std::vector<Numbers64> rows;
  for (;;) {
    auto row = rounds.Next();
    error = row.status();
    if (!row.ok() || !row->has_value()) return rows;
    rows.push_back(Numbers(**row));
  }
}

TEST_CASE("rounds go on until a value says so, or to their limit") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  int64_t x = 1, most = 9;
  const Input inputs[] = {{"x", &x, plan::DType::i64, {}}, {"most", &most, plan::DType::i64, {}}};
  auto rounds = run.engine().Repeat("rounds", inputs);
  REQUIRE(rounds.ok());
  x = 50;  // the run has its own copy
  Status error;
  CHECK(RowsOf(*rounds, error) == std::vector<Numbers64>{{1, 101}, {2, 103}, {3, 209}});
  CHECK((error.ok() && rounds->done() && rounds->made() == 2));
  CHECK(RowsOf(*rounds, error).empty());
  for (most = 0; most < 2; ++most) {
    auto limited = run.engine().Repeat("rounds", inputs);
    REQUIRE(limited.ok());
    CHECK(RowsOf(*limited, error).size() == 1 + static_cast<size_t>(most));
    CHECK((error.ok() && limited->made() == static_cast<uint64_t>(most)));
  }
  most = 10;
  const auto beyond = run.engine().Repeat("rounds", inputs);
  CHECK(beyond.status().message() ==
        "input most is 10, and `rounds` makes 0 to 9 rounds, which is its declared bound: give "
        "less, or compile it with a greater bound");
  CHECK(run.engine().Execute("rounds", inputs).status().code() == StatusCode::kInvalid);
  CHECK(run.engine().Execute("rounds.before", inputs).status().code() == StatusCode::kInvalid);
  CHECK(run.engine().Repeat("s4", inputs).status().code() == StatusCode::kInvalid);
  CHECK(run.engine().Repeat("none", inputs).status().code() == StatusCode::kInvalid);
  CHECK(run.engine().Repeat("rounds", {inputs, 1}).status().code() == StatusCode::kInvalid);
}

TEST_CASE("what a round makes of a value is the next one's, with its extent") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  for (const int64_t n : {3, 0, 1000}) {
    const std::vector<float> x(n, 1.5f);
    const float none = 0;
    const Input input{"x", n == 0 ? &none : x.data(), plan::DType::f32, {&n, 1}};
    auto rounds = run.engine().Repeat("rounds_go_on", {&input, 1});
    REQUIRE(rounds.ok());
    for (const float factor : {2.0f, 4.0f, 8.0f}) {
      auto row = rounds->Next();
      REQUIRE((row.ok() && row->has_value()));
      const device::Tensor& y = (**row)[0];
      REQUIRE(y.dims[0] == n);
      const float* got = y.as<float>();
      CHECK(std::all_of(got, got + n, [&](float each) { return each == 1.5f * factor; }));
    }
    auto end = rounds->Next();
    CHECK((end.ok() && !end->has_value() && !rounds->done()));
  }
}

TEST_CASE("a round that fails ends the run, and its states are refused until they are set") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  Engine& engine = run.engine();
  const int64_t x = 1, y = 3;
  const Input inputs[] = {{"x", &x, plan::DType::i64, {}}, {"y", &y, plan::DType::i64, {}}};
  const auto before = engine.TakeSnapshot();
  REQUIRE(before.ok());
  auto rounds = engine.Repeat("rounds_fail", inputs);
  REQUIRE(rounds.ok());
  Status error;
  CHECK(RowsOf(*rounds, error) == std::vector<Numbers64>{{1}, {2}});
  CHECK(error.code() == StatusCode::kFailed);
  CHECK(error.message().find("x equals y") != std::string::npos);
  CHECK(error.message().ends_with("in round 3 of rounds_fail"));
  CHECK(RowsOf(*rounds, error).empty());
  CHECK(error.code() == StatusCode::kFailed);
  int64_t i = 0;
  auto bytes = std::span(reinterpret_cast<uint8_t*>(&i), sizeof i);
  const Status refused = engine.ReadState("a.i", bytes);
  CHECK(refused.code() == StatusCode::kFailed);
  CHECK(refused.message().find("in round 3 of rounds_fail an execution failed") !=
        std::string::npos);
  CHECK(engine.TakeSnapshot().status().code() == StatusCode::kFailed);
  CHECK(engine.ReadState("p.i", bytes).ok());
  i = 40;
  CHECK(engine.WriteState("a.i", bytes).ok());
  i = 0;
  CHECK((engine.ReadState("a.i", bytes).ok() && i == 40));
  REQUIRE(engine.RestoreSnapshot(before->tensors).ok());
  CHECK(engine.TakeSnapshot().ok());
  auto again = engine.Repeat("rounds_fail", inputs);
  REQUIRE(again.ok());
  CHECK(RowsOf(*again, error).size() == 2);
}

TEST_CASE("R1 an error reaches the caller with actor, method, line and text; state is unchanged") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  CHECK(run.Run("r1", {1, 2}) == Numbers64{1});
  for (int repeat = 0; repeat < 3; ++repeat) {
    const std::string message = run.Fail("r1", {5, 5});
    INFO(message);
    CHECK(message.find("a.inc_then_fail_if") != std::string::npos);
    CHECK(message.find("counter.cgraph:") != std::string::npos);
    CHECK(message.find("x equals y") != std::string::npos);
    CHECK(run.Run("r1_state", {}) == Numbers64{1, 100});
  }
  CHECK(run.Run("r1", {2, 3}) == Numbers64{3});
  CHECK(run.engine().GetStats().errors == 3);
}

TEST_CASE("R1 what writes state where it lies writes none if anything of the call fails") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  CHECK(run.Run("r1_put", {5, 0, 1, 4}) == Numbers64{5});
  const auto fails = [&](const Numbers64& inputs, const std::string& text) {
    const std::string message = run.Fail("r1_put", inputs);
    INFO(message);
    CHECK(message.find(text) != std::string::npos);
    CHECK(message.find("a.put") != std::string::npos);
    CHECK(run.Run("r1_sides", {}) == Numbers64{5, 5});
  };
  fails({7, 4, 0, 1}, "update of 1 element from 4 on, of a dimension of 4");
  fails({7, 1, -1, 5}, "update of row -1, of 4 rows");  // the first of two failures
  fails({7, 1, 2, 5}, "slice of 5 elements from 0 on, of a dimension of 4");
  CHECK(run.Run("r1_put", {7, 1, 2, 2}) == Numbers64{5});
  CHECK(run.Run("r1_sides", {}) == Numbers64{12, 12});
}

// [immediate]: where deferred devices run the kernel that sleeps first, nobody can see the error.
// [one-node]: nor where b is on the caller's node, whose thread then sleeps.
TEST_CASE("R2 an error in one branch is visible at once although another sleeps",
          "[immediate][one-node]") {
  Runner run(kCounter, {}, Workers(2));
  const auto start = Clock::now();
  Result<Execution> failing = run.Start("r2", {5, 5, 1500});
  REQUIRE(failing.ok());
  Result<Outputs> outputs = failing->Get(std::chrono::seconds(10));
  CHECK(MillisecondsSince(start) < 1000);
  REQUIRE_FALSE(outputs.ok());
  CHECK(outputs.status().code() == StatusCode::kFailed);
  CHECK(outputs.status().message().find("x equals y") != std::string::npos);
  CHECK(run.Run("r2", {5, 6, 0}) == Numbers64{5, 5});
}

TEST_CASE("R3 a failed method with several results makes all of them fail, on every transport") {
  const uint32_t workers = GENERATE(1, 2);
  for (const char* graph : {"r3_local", "r3_nccl", "r3_nccl_no_overlap", "r3_shm", "r3_host"}) {
    INFO(graph);
    Runner run(kCounter, {}, Workers(workers));
    CHECK(run.Run(graph, {1, 2}) == Numbers64{1, 2});
    CHECK(run.Fail(graph, {3, 3}).find("two_or_fail") != std::string::npos);
    CHECK(run.Run(graph, {4, 5}) == Numbers64{4, 5});
  }
}

TEST_CASE("R4 get with a time-out fails in time, says who waits, and the result comes later") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  Result<Execution> slow = run.Start("r4", {4, 1500});
  REQUIRE(slow.ok());
  const auto start = Clock::now();
  Result<Outputs> early = slow->Get(milliseconds(500));
  const int64_t took = MillisecondsSince(start);
  CHECK(took >= 500);
  CHECK(took < 600);
  REQUIRE_FALSE(early.ok());
  CHECK(early.status().code() == StatusCode::kTimeout);
  INFO(early.status().message());
  CHECK(early.status().message().find("b.slow_echo") != std::string::npos);
  Result<Outputs> late = slow->Get();
  REQUIRE(late.ok());
  CHECK(Numbers(*late) == Numbers64{4});
}

TEST_CASE("R5 a time-out of 0 means now or an error") {
  Runner run(kCounter);
  Result<Execution> slow = run.Start("r4", {4, 200});
  REQUIRE(slow.ok());
  const auto start = Clock::now();
  CHECK(slow->Get(milliseconds(0)).status().code() == StatusCode::kTimeout);
  CHECK(MillisecondsSince(start) < 100);
  REQUIRE(slow->Get().ok());
  Result<Execution> again = run.Start("r4", {4, 0});
  REQUIRE(again.ok());
  while (!again->Ready()) (void)again->Get(milliseconds(50));
  CHECK(again->Get(milliseconds(0)).ok());
}

TEST_CASE("R6 over capacity: an error with both numbers, or a wait; ten in flight are correct") {
  Runner run(kCounter, {}, Workers(2));
  Result<Execution> first = run.Start("r6", {1, 300});
  Result<Execution> second = run.Start("r6", {2, 0});
  REQUIRE((first.ok() && second.ok()));
  Result<Execution> third = run.Start("r6", {3, 0}, WhenFull::kError);
  REQUIRE_FALSE(third.ok());
  CHECK(third.status().code() == StatusCode::kCapacity);
  INFO(third.status().message());
  CHECK(third.status().message().find("2") != std::string::npos);
  Result<Execution> waited = run.Start("r6", {3, 0}, WhenFull::kWait);
  REQUIRE(waited.ok());
  CHECK(Numbers(*waited->Get()) == Numbers64{3});
  CHECK(Numbers(*first->Get()) == Numbers64{1});
  CHECK(Numbers(*second->Get()) == Numbers64{2});

  Runner ten(kCounter, {}, Workers(GENERATE(1, 2)));
  std::vector<Execution> executions;
  for (int64_t i = 1; i <= 10; ++i) executions.push_back(std::move(*ten.Start("r6_ten", {i})));
  int64_t sum = 100;
  for (int64_t i = 1; i <= 10; ++i) {
    sum += i;
    CHECK(Numbers(*executions[i - 1].Get()) == Numbers64{sum});
  }
}

TEST_CASE("R7 results never fetched do not block later executions") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  std::vector<Execution> kept;
  for (int i = 0; i < 50; ++i) {
    Result<Execution> execution = run.Start("s4", {1});
    REQUIRE(execution.ok());
    if (i % 2 == 0) kept.push_back(std::move(*execution));  // never fetched; the others are dropped
  }
  CHECK(run.Run("s4", {1}) == Numbers64{51});
}

TEST_CASE("R9 teardown while a method runs; calls afterwards; twice") {
  Runner run(kCounter, {}, Workers(2));
  Result<Execution> slow = run.Start("r4", {4, 700});
  REQUIRE(slow.ok());
  CHECK_FALSE(slow->Get(milliseconds(100)).ok());
  run.engine().Teardown();
  CHECK(run.Start("r4", {4, 0}).status().code() == StatusCode::kClosed);
  CHECK(slow->Get().status().code() == StatusCode::kClosed);
  run.engine().Teardown();
}

TEST_CASE("R11 exit with executions in flight neither hangs nor crashes") {
  std::optional<Execution> survivor;
  {
    Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
    survivor = std::move(*run.Start("r6", {1, 200}));
    (void)run.Start("r6", {1, 200});
  }
  CHECK_FALSE(survivor->Get().ok());
}

TEST_CASE("R12 a result that the caller holds never stalls the graph") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  std::vector<Outputs> held;
  for (int64_t i = 1; i <= 100; ++i) {
    Result<Execution> execution = run.Start("s15_write", {1});
    REQUIRE(execution.ok());
    held.push_back(*execution->Get());
  }
  run.engine().Teardown();
  for (int64_t i = 1; i <= 100; ++i) CHECK(Numbers(held[i - 1]) == Numbers64{i});
}

TEST_CASE("D1 two rendezvous that cross finish, and every compile gives the same plan") {
  const uint32_t workers = GENERATE(1, 2);
  for (const char* graph : {"d1", "d1_no_overlap"}) {
    Runner run(kCounter, {}, Workers(workers));
    CHECK(run.Run(graph, {1}) == Numbers64{3, 3});
    CHECK(run.Run(graph, {1}) == Numbers64{12, 12});
  }
  CHECK(plan::ToBytes(*CompileFile(kCounter)) == plan::ToBytes(*CompileFile(kCounter)));
}

TEST_CASE("D2 three actors in a ring, each sending to the next at once") {
  const uint32_t workers = GENERATE(1, 2);
  for (const char* graph : {"d2", "d2_no_overlap"}) {
    Runner run(kCounter, {}, Workers(workers));
    CHECK(run.Run(graph, {1}) == Numbers64{2, 2, 2});
    CHECK(run.Run(graph, {1}) == Numbers64{6, 6, 6});
  }
}

TEST_CASE("D3 fan-out from one actor and fan-in back to it, two rendezvous into one task") {
  const char* graph = GENERATE("d3", "d3_no_overlap");
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  CHECK(run.Run(graph, {5}) == Numbers64{10});   // q: 5, r: 5, p: 5 + 5
  CHECK(run.Run(graph, {1}) == Numbers64{22});   // q: 6, r: 6, p: 10 + 12
}

TEST_CASE("D4 one writer, its actor's second task, with two readers, their actors' first") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  CHECK(run.Run("d4", {3}) == Numbers64{6, 6});
}

TEST_CASE("D5 out by shm and back by nccl: the way back is not waited for too early") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  CHECK(run.Run("d5", {3}) == Numbers64{6});
  CHECK(run.Run("d5", {3}) == Numbers64{21});    // p: 9, q: 12, p: 21
}

TEST_CASE("D6 one writer with a reader on its own actor and a reader elsewhere") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2)));
  CHECK(run.Run("d6", {3}) == Numbers64{6, 3});
}

// [one-node]: there is no such order between machines.
TEST_CASE("`after` orders calls of different devices", "[one-node]") {
  Runner run(kCounter, {}, Workers(GENERATE(1, 2, 4)));
  CHECK(run.Run("after_other_device", {3, 5}) == Numbers64{3, 3});
  CHECK(run.Run("after_several", {3}) == Numbers64{4});
  CHECK(run.Run("after_several", {3}) == Numbers64{7});
}

TEST_CASE("`same` looks at extents that the compiler cannot know") {
  Runner run(kCounter);
  const std::vector<float> values = {1, 2, 3};
  const int64_t three[] = {3}, two[] = {2};
  const Input equal[] = {{"x", values.data(), plan::DType::f32, three},
                         {"y", values.data(), plan::DType::f32, three}};
  Outputs sum = *run.engine().Execute("same_extent", equal)->Get();
  REQUIRE(sum[0].dims[0] == 3);
  CHECK(sum[0].as<float>()[2] == 6.0f);
  const Input different[] = {equal[0], {"y", values.data(), plan::DType::f32, two}};
  const Result<Outputs> failed = run.engine().Execute("same_extent", different)->Get();
  REQUIRE(!failed.ok());
  CHECK(failed.status().message().find("same: dimension 0 is 3 and 2") != std::string::npos);
}

TEST_CASE("rows and columns of places with two indices; bytes of any length up to a bound") {
  Runner run(kCounter);
  CHECK(run.Run("rows", {1}) == Numbers64{11, 12, 1, 12});
  for (const int64_t length : {0, 1, 16}) {
    std::vector<uint8_t> text(length, 'x');
    const Input input{"x", text.data(), plan::DType::u8, {&length, 1}};
    Outputs outputs = *run.engine().Execute("packet", {&input, 1})->Get();
    REQUIRE(outputs[0].dims[0] == length);
    const uint8_t* got = outputs[0].as<uint8_t>();
    CHECK(std::vector<uint8_t>(got, got + length) == text);
  }
}

TEST_CASE("D12 two actors on one device; one pair connected by several transports") {
  const uint32_t workers = GENERATE(1, 2);
  Runner one(kCounter, {}, Workers(workers));
  CHECK(one.Run("d12_one_device", {3}) == Numbers64{10});
  Runner several(kCounter, {}, Workers(workers));
  CHECK(several.Run("d12_several_transports", {3}) == Numbers64{3, 3, 9});
  CHECK(several.Run("d12_several_transports", {1}) == Numbers64{4, 13, 21});
}

}  // namespace
}  // namespace cgraph::testing
