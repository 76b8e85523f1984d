// Collectives whose operands all lie on one CUDA device: the same bits as the CPU's.
#include <catch2/catch.hpp>

#include "runtime/base/kinds/collective.h"
#include "tests/kernels_cuda/trial.h"

namespace cgraph::cuda::testing {
namespace {

using Traits = CollectiveTraits;

// Two tensors of a collective of `members`, of which the first has extents that may be dynamic.
Trial TrialOf(const Traits& traits, const char* reduction, int64_t members, DType dtype,
              bool dynamic) {
  Trial trial{.kernel = "collective",
              .attributes = {.ints = {{"members", members}, {"root", members - 1}},
                             .texts = {{"kind", traits.name}, {"reduction", reduction}}}};
  const auto add = [&](std::vector<Operand>& to, Traits::Who who, int64_t rows) {
    for (int64_t m = 0; m < (who == Traits::kEach ? members : 1); ++m) {
      to.push_back({dtype, {rows, 5}, {false, dynamic}});
      to.push_back({dtype, {rows * 40, 33}});
    }
  };
  add(trial.in, traits.from, traits.divides() ? 3 * members : 3);
  add(trial.out, traits.to, traits.joins() ? 3 * members : 3);
  return trial;
}

}  // namespace

TEST_CASE("collectives on one device") {
  for (const Traits& traits : kCollectiveTraits) {
    if (traits.from == Traits::kNobody) continue;
    for (const DType dtype : kDTypes) {
      if (traits.reduces && dtype == DType::bool_) continue;
      for (const int64_t members : {1, 2, 5}) {
        for (const bool dynamic : {false, true}) {
          for (const char* reduction : kReductionNames) {
            if (!traits.reduces && reduction != kReductionNames[0]) continue;
            if (reduction == std::string("avg") && !plan::IsFloat(dtype)) continue;
            Check(TrialOf(traits, reduction, members, dtype, dynamic));
          }
        }
      }
    }
  }
}

}  // namespace cgraph::cuda::testing
