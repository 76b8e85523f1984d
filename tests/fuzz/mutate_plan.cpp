// Plans changed field by field: one or a few numbers of the plan become a number at which things
// break, a neighbour of what they were, or the same field of another element. Plain bytes rarely
// hit a field, and mostly break the file's own offsets, so that is done only now and then.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "tests/support/plans/plan_fields.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  using namespace cgraph::plan::testing;
  std::minstd_rand random(seed);
  const auto below = [&](size_t limit) { return random() % limit; };
  if (below(16) == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::vector<PlanField> fields = PlanFields({data, size});
  if (fields.empty()) return LLVMFuzzerMutate(data, size, max_size);
  for (size_t changes = 1 + below(3); changes > 0; --changes) {
    const PlanField& field = fields[below(fields.size())];
    const uint64_t old = ReadField({data, size}, field);
    uint64_t now = old;
    switch (below(4)) {
      case 0: now = old + 1; break;
      case 1: now = old - 1; break;
      case 2: now = uint64_t{1} << below(64); break;
      default: {
        const PlanField& other = fields[below(fields.size())];
        now = ReadField({data, size}, other);
      }
    }
    if (field.is_length) now = std::min(now, old);
    WriteField({data, size}, field, now);
  }
  return size;
}
