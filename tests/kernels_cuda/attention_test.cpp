// attention, its gradient and rope on CUDA devices against the CPU.
#include <catch2/catch.hpp>

#include "tests/kernels_cuda/trial.h"

namespace cgraph::cuda::testing {
namespace {

struct AttentionCase {
  std::vector<int64_t> batch;
  int64_t heads, groups, queries, keys, e, d;
  std::vector<int64_t> lengths = {};  // of the batch, or one; empty: all keys
};
// One query and many, tiles that end within a head, odd sizes, elements of more than a tile, none;
// keys in several parts.
const AttentionCase kAttentions[] = {
    {{}, 1, 1, 1, 1, 1, 1},          {{}, 9, 3, 1, 70, 64, 64, {40}},
    {{2}, 4, 2, 5, 100, 20, 33},     {{2, 3}, 2, 1, 7, 130, 8, 16, {7, 130, 64, 65, 99, 8}},
    {{}, 2, 2, 70, 70, 16, 16},      {{}, 6, 1, 33, 65, 16, 80, {40}},
    {{2}, 4, 2, 2, 700, 4, 70, {600, 3}}, {{}, 6, 2, 1, 512, 8, 8},
    {{2}, 1, 1, 3, 5, 130, 4, {3, 5}}, {{1}, 2, 1, 0, 4, 8, 8}, {{}, 2, 1, 3, 9, 4, 4, {3}},
};
struct StoredTypes { DType q, k; };
constexpr StoredTypes kStoredTypes[] = {
    {DType::f32, DType::f32}, {DType::f64, DType::f64},  {DType::f16, DType::f16},
    {DType::bf16, DType::f16}, {DType::f32, DType::bf16}, {DType::f64, DType::f32},
};

double AttentionError(DType dtype) {
  switch (dtype) {
    case DType::f16: return 2e-3;
    case DType::bf16: return 1.6e-2;
    case DType::f32: return 4e-6;
    default: return 1e-14;
  }
}

Operand HeadsOf(DType dtype, const AttentionCase& c, std::vector<int64_t> own, bool dynamic,
                 size_t dynamic_own) {
  Operand operand{dtype, c.batch, {}, Fill::kModerate};
  operand.dims.insert(operand.dims.end(), own.begin(), own.end());
  operand.dynamic.assign(operand.dims.size(), false);
  if (dynamic) {
    for (size_t i = 0; i < c.batch.size(); ++i) operand.dynamic[i] = true;
    operand.dynamic[c.batch.size() + dynamic_own] = true;
  }
  return operand;
}

Trial AttentionTrial(const AttentionCase& c, StoredTypes types, bool causal, bool dynamic) {
  const auto q = HeadsOf(types.q, c, {c.heads, c.queries, c.e}, dynamic, 1);
  const auto k = HeadsOf(types.k, c, {c.groups, c.keys, c.e}, dynamic, 1);
  const auto v = HeadsOf(types.k, c, {c.groups, c.keys, c.d}, dynamic, 1);
  const auto out = HeadsOf(types.q, c, {c.heads, c.queries, c.d}, dynamic, 1);
  Trial trial{.kernel = c.lengths.empty() ? "attention" : "attention_prefix",
              .in = {q, k, v},
              .out = {out},
              .attributes = {.ints = {{"causal", causal}}, .floats = {{"scale", 0.1}}},
              .relative = AttentionError(types.q)};
  trial.absolute = 8 * trial.relative;
  if (!c.lengths.empty()) {
    Operand length{.dtype = DType::i64, .dims = {}, .numbers = c.lengths};
    if (c.lengths.size() > 1) length.dims = c.batch;
    if (c.lengths.size() > 1 && dynamic) length.dynamic.assign(c.batch.size(), true);
    trial.in.push_back(length);
  }
  return trial;
}

}  // namespace

TEST_CASE("attention") {
  const int before = Checked().failures;
  for (const StoredTypes types : kStoredTypes) {
    for (const AttentionCase& c : kAttentions) {
      for (const bool causal : {false, true}) {
        for (const bool dynamic : {false, true}) Check(AttentionTrial(c, types, causal, dynamic));
      }
    }
  }
  CHECK(Checked().failures == before);
  // More queries than keys: rows that see none are NaN.
  Check(AttentionTrial({{}, 2, 1, 70, 5, 4, 4}, kStoredTypes[0], true, false));
}

TEST_CASE("the gradient of attention") {
  for (const StoredTypes types : kStoredTypes) {
    for (const AttentionCase& c : kAttentions) {
      for (const bool causal : {false, true}) {
        Trial trial = AttentionTrial(c, types, causal, false);
        trial.kernel += "_grad";
        const std::vector<Operand> given = trial.in;
        trial.in = {given[0], given[1], given[2], trial.out[0], trial.out[0]};
        if (given.size() == 4) trial.in.push_back(given[3]);
        trial.out = {given[0], given[1], given[2]};
        trial.absolute = 200 * AttentionError(types.k);  // sums over all queries, which cancel
        Check(trial);
      }
    }
  }
}

TEST_CASE("lengths that lie outside") {
  const int before = Checked().failures;
  int failures = 0;
  for (const int64_t length : {int64_t{-1}, int64_t{10}, INT64_MAX, INT64_MIN, int64_t{2}}) {
    const bool causal = length == 2;  // which is less than there are queries
    Check(AttentionTrial({{}, 2, 1, 3, 9, 4, 4, {length}}, kStoredTypes[0], causal, false));
    Check({.kernel = "look",
           .in = {{.dtype = DType::i64, .dims = {}, .numbers = {length}}},
           .attributes = {.texts = {{"op", "attention"}},
                          .lists = {{"extents", {9}}, {"lengths", {causal ? 3 : 0}}}}});
    Check({.kernel = "look",
           .in = {{.dtype = DType::i64, .dims = {}, .numbers = {length}},
                  {.dtype = DType::i64, .dims = {}, .numbers = {causal ? 3 : 0}}},
           .attributes = {.texts = {{"op", "attention"}},
                          .lists = {{"extents", {9}}, {"lengths", {-1}}}}});
    failures += 3;
  }
  Check(AttentionTrial({{3}, 2, 1, 3, 9, 4, 4, {9, 0, 10}}, kStoredTypes[0], false, false));
  Check({.kernel = "look",
         .in = {{.dtype = DType::i64, .dims = {3}, .numbers = {9, 3, 2}}},
         .attributes = {.texts = {{"op", "attention"}}, .lists = {{"extents", {9}},
                                                                  {"lengths", {3}}}}});
  CHECK(Checked().failures == before + failures + 2);
}

TEST_CASE("rope") {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{
             {1, 1, 2}, {3, 70, 6}, {2, 2, 5, 64}, {2, 0, 3, 4}}) {
      const size_t rank = dims.size();
      for (const char* kernel : {"rope", "rope_by", "rope_at", "rope_at_by"}) {
        const bool listed = std::string(kernel).starts_with("rope_at");
        Operand at{.dtype = DType::i64, .dims = {dims.begin(), dims.end() - 3},
                   .fill = Fill::kBelow, .below = 1'000'000};
        if (listed) at.dims.push_back(dims[rank - 2]);
        for (const char* pairs : {"halves", "adjacent"}) {
          Trial trial{.kernel = kernel,
                      .in = {{dtype, dims, {}, Fill::kModerate}, at},
                      .out = {{dtype, dims}},
                      .attributes = {.ints = {{"inverse", pairs[0] == 'a'}},
                                     .floats = {{"theta", 500.0}},
                                     .texts = {{"pairs", pairs}}},
                      .relative = dtype == DType::f64 ? 1e-9 : AttentionError(dtype),
                      .in_place = true};
          trial.absolute = trial.relative;
          if (std::string(kernel).ends_with("by")) {
            trial.in.push_back({DType::f64, {dims[rank - 1] / 2}, {}, Fill::kModerate});
          }
          Check(trial);
        }
      }
    }
  }
}

}  // namespace cgraph::cuda::testing
