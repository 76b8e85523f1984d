// Random damage to plans: every kind a small, seeded change of one thing that the prover must see
// through. Indices stay inside their tables: what is outside them is for fuzzers.
#ifndef CGRAPH_TESTS_MUTANTS_MUTATE_H_
#define CGRAPH_TESTS_MUTANTS_MUTATE_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph::mutants {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  uint32_t Below(size_t bound) { return bound == 0 ? 0 : static_cast<uint32_t>(Next() % bound); }
  bool OneIn(uint32_t n) { return Below(n) == 0; }

 private:
  uint64_t state_;
};

// Damage: one change in progress: the plan that it may look at and change, and the instructions
// that it concerns.
struct Damage {
  plan::Plan& plan;
  plan::Graph& graph;
  Random& random;
  std::set<uint32_t> suspects;  // instructions, by their index after the change
};

// Fault: the mistakes that people or compilers make.
enum class Fault : uint8_t {
  kNone, kOrder, kDroppedEnd, kPeer, kReuse, kMissingWait, kLag, kExtent, kOther,
};
inline constexpr int kFaults = 9;

struct MutationKind {
  Fault fault;
  const char* name;
  bool (*apply)(Damage& damage);  // false: nothing here to change; then nothing was changed
};
const std::vector<MutationKind>& MutationKinds();

// Instructions that touch a buffer.
void SuspectBuffer(Damage& damage, uint32_t buffer);

// The mutations by what they concern: lanes and events; transfers; memory.
const std::vector<MutationKind>& LaneMutations();
const std::vector<MutationKind>& TransferMutations();
const std::vector<MutationKind>& MemoryMutations();

}  // namespace cgraph::mutants

#endif  // CGRAPH_TESTS_MUTANTS_MUTATE_H_
