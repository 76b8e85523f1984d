// PlanFields: where every number of a plan's bytes lies, found by walking the schema: for tests
// that change one at a time and leave the file's own offsets alone.
#ifndef CGRAPH_TESTS_SUPPORT_PLANS_PLAN_FIELDS_H_
#define CGRAPH_TESTS_SUPPORT_PLANS_PLAN_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph::plan::testing {

struct PlanField {
  std::string type;         // "Instruction.subject", "Graph.instructions" for its length
  size_t offset = 0;        // in the bytes
  size_t bytes = 0;         // 1, 2, 4 or 8
  bool is_length = false;   // of a vector or a text: may only become less
};

// Returns every scalar and every length, in the order of the walk; none for bytes that are no plan.
std::vector<PlanField> PlanFields(std::span<const uint8_t> bytes);
uint64_t ReadField(std::span<const uint8_t> bytes, const PlanField& field);
void WriteField(std::span<uint8_t> bytes, const PlanField& field, uint64_t number);

// Returns the types of all fields that a plan can have: those that a walk over a plan with one of
// everything finds.
std::vector<std::string> SchemaFields();
// Returns those of them that are vectors and texts.
std::vector<std::string> SchemaLengths();

// Returns a plan's bytes with fields that have their default written as well, so that the walk
// finds them.
std::vector<uint8_t> AllFieldsToBytes(const Plan& plan);

}  // namespace cgraph::plan::testing

#endif  // CGRAPH_TESTS_SUPPORT_PLANS_PLAN_FIELDS_H_
