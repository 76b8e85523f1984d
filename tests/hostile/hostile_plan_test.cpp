// Every field of a plan's schema, set to the numbers at which things break, in plans of all forms;
// every vector and text cut. Each time there is an error, or a proof and a run: never a crash, and
// nothing that takes long.
#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/plan/load.h"
#include "runtime/plan/plan_tables.h"
#include "tests/support/plans/plan_fields.h"
#include "tests/support/plans/plan_trial.h"
#include "tests/support/plans/sample_plans.h"
#include "tests/support/run.h"

namespace cgraph::plan::testing {
namespace {

constexpr size_t kOfEachField = 4;  // in one plan: not every instruction of many that are alike
constexpr std::chrono::seconds kLongest(20);

std::vector<uint64_t> Numbers(const PlanField& field, uint64_t old) {
  if (field.is_length) return {0, old / 2, old - (old > 0 ? 1 : 0)};
  const uint64_t most = field.bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * field.bytes) - 1;
  std::vector<uint64_t> numbers = {0,        1,        2,       most,     most - 1,
                                   most / 2, most / 2 + 1, old + 1, old - 1, old * 2};
  for (uint64_t& number : numbers) number &= most;
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

// Returns the fields of one plan; of fields that are alike, some that lie apart.
std::vector<PlanField> Chosen(const std::vector<uint8_t>& bytes) {
  std::map<std::string, std::vector<PlanField>> by_type;
  for (const PlanField& field : PlanFields(bytes)) by_type[field.type].push_back(field);
  std::vector<PlanField> chosen;
  for (const auto& [type, fields] : by_type) {
    const size_t step = std::max<size_t>(1, fields.size() / kOfEachField);
    for (size_t i = 0; i < fields.size(); i += step) chosen.push_back(fields[i]);
  }
  return chosen;
}

// Returns a compiled plan that has one of everything, also of parts that the compiler writes
// nowhere yet.
std::unique_ptr<Plan> Everything() {
  std::unique_ptr<Plan> plan =
      cgraph::testing::CompileFile(CGRAPH_SOURCE_DIR "/tests/hostile/everything.cgraph");
  plan->weights.at(0)->first = {0};
  plan->weights.at(0)->count = {4};
  plan->kernels.at(0)->library = "library";
  plan->kernels.at(0)->symbol = "symbol";
  plan->graphs.at(0)->collectives.at(0)->algorithm = "ring";
  return plan;
}

TEST_CASE("every field of the schema at its limits: an error, or a proof and a run") {
  std::map<TrialEnd, size_t> ends;
  std::set<std::string> types;
  size_t trials = 0;
  std::vector<SamplePlan> samples = SamplePlans();
  samples.push_back({"everything", Everything()});
  for (const SamplePlan& sample : samples) {
    const std::vector<uint8_t> original = AllFieldsToBytes(*sample.plan);
    const TrialEnd whole = TryPlan(original);
    CHECK((whole == TrialEnd::kRan || whole == TrialEnd::kNotLoaded));  // collectives, captures
    for (const PlanField& field : Chosen(original)) {
      types.insert(field.type);
      const uint64_t old = ReadField(original, field);
      for (const uint64_t number : Numbers(field, old)) {
        if (number == old) continue;
        std::vector<uint8_t> bytes = original;
        WriteField(bytes, field, number);
        INFO(sample.name << ": " << field.type << " at " << field.offset << " = " << number);
        const auto begin = std::chrono::steady_clock::now();
        ++ends[TryPlan(bytes)];
        ++trials;
        if (std::chrono::steady_clock::now() - begin > kLongest) FAIL("this takes too long");
      }
    }
  }
  std::printf(
      "%zu plans with one number changed, of %zu fields: %zu unreadable, %zu refused by the "
      "check, %zu by the prover, %zu by the engine, %zu too large, %zu ran\n",
      trials, types.size(), ends[TrialEnd::kNoPlan], ends[TrialEnd::kNotChecked],
      ends[TrialEnd::kNotProved], ends[TrialEnd::kNotLoaded], ends[TrialEnd::kTooLarge],
      ends[TrialEnd::kRan]);
  for (const TrialEnd end : {TrialEnd::kNoPlan, TrialEnd::kNotChecked, TrialEnd::kNotProved,
                             TrialEnd::kNotLoaded, TrialEnd::kRan}) {
    CHECK(ends[end] > 0);
  }
  std::vector<std::string> missing;
  for (const std::string& type : SchemaFields()) {
    if (types.count(type) == 0) missing.push_back(type);
  }
  CHECK(missing == std::vector<std::string>());
}

// A vector or text that is not counted could be shared by any number of tables.
TEST_CASE("every vector and text of the schema is counted before it is unpacked") {
  std::unique_ptr<Plan> plan = Everything();
  plan->kernels.at(0)->temporaries = {DType::f32};
  const std::vector<uint8_t> bytes = AllFieldsToBytes(*plan);
  const auto count = [](const std::vector<uint8_t>& of) {
    return MeasureUnpacked(*wire::GetPlan(of.data()), ~uint64_t{0} / 2).bytes;
  };
  const uint64_t all = count(bytes);
  CHECK(all <= bytes.size());
  std::set<std::string> counted, uncounted;
  for (const PlanField& field : PlanFields(bytes)) {
    const uint64_t length = ReadField(bytes, field);
    if (!field.is_length || length == 0) continue;
    std::vector<uint8_t> shorter = bytes;
    WriteField(shorter, field, length - 1);
    (count(shorter) < all ? counted : uncounted).insert(field.type);
  }
  CHECK(uncounted == std::set<std::string>());
  for (const std::string& type : SchemaLengths()) {
    INFO(type);
    CHECK(counted.count(type) == 1);
  }
}

}  // namespace
}  // namespace cgraph::plan::testing
