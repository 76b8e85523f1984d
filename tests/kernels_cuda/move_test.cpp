// Kernels of CUDA devices that move or make elements: the same bits as the CPU's.
#include <catch2/catch.hpp>

#include "tests/kernels_cuda/trial.h"

namespace cgraph::cuda::testing {
namespace {

const std::vector<std::vector<int64_t>> kDims = {{}, {0}, {3, 0}, {1}, {13}, {5, 7, 3}, {64, 67}};

}  // namespace

TEST_CASE("copy and reshape") {
  for (const DType dtype : kDTypes) {
    for (const auto& dims : kDims) {
      for (const std::vector<bool>& dynamic : {std::vector<bool>{}, {true}, {true, true}}) {
        const Operand x{dtype, dims, dynamic};
        Check({.kernel = "copy", .in = {x}, .out = {x}, .in_place = true});
        Check({.kernel = "reshape", .in = {x}, .out = {x}, .in_place = true});
      }
    }
    Check({.kernel = "reshape", .in = {{dtype, {4, 6}}}, .out = {{dtype, {3, 2, 4}}}});
    Check({.kernel = "reshape",
           .in = {{dtype, {4, 6}, {true}}},
           .out = {{dtype, {8, 3}, {true}}}});
  }
  for (const std::vector<bool>& dynamic : {std::vector<bool>{}, {true}}) {
    Check({.kernel = "reshape",
           .in = {{DType::f32, {1, 1}, dynamic}},
           .out = {{DType::f32, {7, 3}, dynamic}}});
  }
  CHECK(Checked().failures >= 2);
}

TEST_CASE("zeros, ones, full, iota, normal") {
  for (const DType dtype : kDTypes) {
    for (const auto& dims : kDims) {
      for (const std::vector<bool>& dynamic : {std::vector<bool>{}, {true, true}}) {
        const Operand out{dtype, dims, dynamic};
        Check({.kernel = "zeros", .out = {out}});
        if (dtype == DType::bool_) continue;
        Check({.kernel = "ones", .out = {out}});
        Check({.kernel = "full", .out = {out}, .attributes = {.floats = {{"value", 7}}}});
        Check({.kernel = "iota", .out = {out}});
        if (!plan::IsFloat(dtype)) continue;
        Check({.kernel = "full", .out = {out}, .attributes = {.floats = {{"value", -0.3}}}});
        Check({.kernel = "normal", .out = {out}, .attributes = {.ints = {{"seed", -5}}}});
      }
    }
  }
  Check({.kernel = "normal",
         .out = {{DType::f64, {20000}}},
         .attributes = {.ints = {{"seed", 1234}}}});
}

TEST_CASE("transpose and permute") {
  struct Order {
    std::vector<int64_t> dims, order;
    std::vector<bool> dynamic = {};
  };
  const Order orders[] = {
      {{}, {}},
      {{7}, {0}},
      {{5, 1, 3}, {2, 1, 0}},
      {{70, 45}, {1, 0}},
      {{3, 33, 64}, {0, 2, 1}},
      {{3, 33, 64}, {2, 0, 1}},
      {{4, 5, 32}, {1, 0, 2}},
      {{4, 5, 3}, {1, 0, 2}},
      {{2, 3, 4, 5}, {3, 1, 0, 2}},
      {{2, 3, 2, 3, 2, 3, 2, 3}, {7, 0, 6, 1, 5, 2, 4, 3}},
      {{2, 40, 3, 8}, {0, 2, 1, 3}},
      {{2, 0, 3}, {2, 0, 1}},
      {{9, 40}, {1, 0}, {true, false}},
      {{4, 5, 6}, {2, 0, 1}, {true, true, true}},
      {{1, 5, 6}, {2, 0, 1}, {true, true, true}},
  };
  for (const DType dtype : kDTypes) {
    for (const Order& o : orders) {
      Trial trial{.kernel = "permute",
                  .in = {{dtype, o.dims, o.dynamic}},
                  .out = {{dtype, {}}},
                  .attributes = {.lists = {{"order", o.order}}}};
      for (const int64_t i : o.order) {
        trial.out[0].dims.push_back(o.dims[static_cast<size_t>(i)]);
        if (!o.dynamic.empty()) {
          trial.out[0].dynamic.push_back(o.dynamic[static_cast<size_t>(i)]);
        }
      }
      Check(trial);
    }
    Check({.kernel = "transpose", .in = {{dtype, {2, 35, 40}}}, .out = {{dtype, {2, 40, 35}}}});
  }
}

TEST_CASE("expand") {
  for (const DType dtype : kDTypes) {
    Check({.kernel = "expand", .in = {{dtype, {}}}, .out = {{dtype, {3, 5}}}});
    Check({.kernel = "expand", .in = {{dtype, {16}}}, .out = {{dtype, {9, 16}}}});
    Check({.kernel = "expand", .in = {{dtype, {3, 1, 4}}}, .out = {{dtype, {2, 3, 5, 4}}}});
    Check({.kernel = "expand", .in = {{dtype, {3, 1}}}, .out = {{dtype, {3, 0}}}});
    Check({.kernel = "expand",
           .in = {{dtype, {7, 1}, {true, false}}},
           .out = {{dtype, {7, 6}, {true, true}}}});
  }
}

TEST_CASE("stack, concat and split") {
  for (const DType dtype : kDTypes) {
    for (const std::vector<bool>& dynamic : {std::vector<bool>{}, {true, false}, {true, true}}) {
      std::vector<bool> stacked = dynamic;
      if (!stacked.empty()) stacked.insert(stacked.begin(), false);
      const Operand item{dtype, {3, 5}, dynamic};
      Check({.kernel = "stack",
             .in = std::vector<Operand>(20, item),
             .out = {{dtype, {20, 3, 5}, stacked}}});
    }
    for (const int64_t inner : {1, 4, 16}) {
      for (const bool dynamic : {false, true}) {
        const auto of = [&](int64_t extent) {
          return Operand{dtype, {6, extent, inner}, {dynamic, false, dynamic}};
        };
        const std::vector<Operand> parts = {of(1), of(0), of(7), of(4)};
        const Attributes attributes{.ints = {{"dim", 1}}};
        Check({.kernel = "concat", .in = parts, .out = {of(12)}, .attributes = attributes});
        Check({.kernel = "split", .in = {of(12)}, .out = parts, .attributes = attributes});
      }
    }
    std::vector<Operand> many;
    int64_t sum = 0;
    for (int64_t i = 0; i < 37; ++i) {
      many.push_back({dtype, {i % 5}});
      sum += i % 5;
    }
    Check({.kernel = "concat",
           .in = many,
           .out = {{dtype, {sum}}},
           .attributes = {.ints = {{"dim", -1}}}});
  }
}

TEST_CASE("slice and update") {
  const int before = Checked().failures;
  const auto place = [](int64_t at) { return Operand{.dtype = DType::i64, .dims = {},
                                                     .numbers = {at}}; };
  for (const DType dtype : kDTypes) {
    for (const int64_t from : {0, 2, 5}) {
      for (const int64_t inner : {1, 3, 16}) {
        Check({.kernel = "slice",
               .in = {{dtype, {4, 9, inner}, {true}}, place(from), place(4)},
               .out = {{dtype, {4, 4, inner}, {true, true}}},
               .attributes = {.ints = {{"dim", 1}}}});
        Check({.kernel = "update",
               .in = {{dtype, {4, 9, inner}}, {dtype, {2, 4, inner}}, place(1), place(from),
                      place(0)},
               .out = {{dtype, {4, 9, inner}}},
               .in_place = true});
        Check({.kernel = "update",
               .in = {{dtype, {7, 9, inner}, {true, true}}, {dtype, {1, 4, inner}, {true, true}},
                      place(from), place(3), place(0)},
               .out = {{dtype, {7, 9, inner}, {true, true}}}});
      }
    }
    Check({.kernel = "slice",
           .in = {{dtype, {5}}, place(5), place(0)},
           .out = {{dtype, {0}, {true}}},
           .attributes = {.ints = {{"dim", 0}}}});
    Check({.kernel = "update", .in = {{dtype, {}}, {dtype, {}}}, .out = {{dtype, {}}}});
    Check({.kernel = "update",
           .in = {{dtype, {3, 2}}, {dtype, {3, 2}}, place(0), place(0)},
           .out = {{dtype, {3, 2}}}});
    for (const int64_t row : {0, 3}) {
      Check({.kernel = "update_row",
             .in = {{dtype, {4, 5}}, {dtype, {5}}, place(row)},
             .out = {{dtype, {4, 5}}},
             .in_place = true});
      Check({.kernel = "update_row",
             .in = {{dtype, {4, 5}, {true, true}}, {dtype, {5}, {true}}, place(row)},
             .out = {{dtype, {4, 5}, {true, true}}}});
    }
  }
  CHECK(Checked().failures == before);
  const Operand x{DType::f32, {4, 9}, {true, true}};
  // Outside, a length that is negative, a result of another length, numbers near the limits.
  struct Wrong {
    int64_t from, length, result;
  };
  int failures = 0;
  for (const Wrong& w : {Wrong{6, 4, 4}, Wrong{-1, 4, 4}, Wrong{0, -2, 4}, Wrong{0, 4, 3},
                         Wrong{10, 0, 0}, Wrong{INT64_MAX, INT64_MAX, 3}}) {
    Check({.kernel = "slice",
           .in = {x, place(w.from), place(w.length)},
           .out = {{DType::f32, {4, w.result}, {true, true}}},
           .attributes = {.ints = {{"dim", 1}}}});
    Check({.kernel = "look",
           .in = {place(w.from), place(w.length)},
           .attributes = {.texts = {{"op", "slice"}}, .lists = {{"extents", {9}},
                                                                {"lengths", {}}}}});
    failures += w.result == 3 && w.from == 0 ? 1 : 2;
  }
  for (const auto& [a, b] : std::vector<std::pair<int64_t, int64_t>>{{3, 0}, {0, 6}, {3, 6}}) {
    Check({.kernel = "update",
           .in = {{DType::f32, {4, 9}}, {DType::f32, {2, 4}}, place(a), place(b)},
           .out = {{DType::f32, {4, 9}}}});
    Check({.kernel = "look",
           .in = {place(a), place(b)},
           .attributes = {.texts = {{"op", "update"}}, .lists = {{"extents", {4, 9}},
                                                                 {"lengths", {2, 4}}}}});
    Check({.kernel = "look",
           .in = {place(a), place(b), place(4)},
           .attributes = {.texts = {{"op", "update"}}, .lists = {{"extents", {4, 9}},
                                                                 {"lengths", {2, -1}}}}});
    failures += 3;
  }
  for (const int64_t row : {int64_t{-1}, int64_t{4}, INT64_MIN}) {
    Check({.kernel = "update_row",
           .in = {{DType::f32, {4, 5}}, {DType::f32, {5}}, place(row)},
           .out = {{DType::f32, {4, 5}}}});
    Check({.kernel = "look",
           .in = {place(row)},
           .attributes = {.texts = {{"op", "update_row"}}, .lists = {{"extents", {4}},
                                                                     {"lengths", {}}}}});
    failures += 2;
  }
  CHECK(Checked().failures == before + failures);
}

TEST_CASE("look where nothing fails, same, check and sleep") {
  const int before = Checked().failures;
  const auto number = [](int64_t at) { return Operand{.dtype = DType::i64, .dims = {},
                                                      .numbers = {at}}; };
  Check({.kernel = "look",
         .in = {number(2), number(7)},
         .attributes = {.texts = {{"op", "slice"}}, .lists = {{"extents", {9}},
                                                              {"lengths", {}}}}});
  Trial same{.kernel = "same",
             .in = {{DType::f32, {5}, {true}}, {DType::f32, {5, 3}, {true}}},
             .out = {{DType::f32, {5, 3}, {true}}},
             .attributes = {.ints = {{"dim", 0}}}};
  Check(same);
  CHECK(Checked().failures == before);
  same.in[0].actual = {4};
  Check(same);
  CHECK(Checked().failures == before + 1);
  for (const DType dtype : kDTypes) {
    Check({.kernel = "same",
           .in = {{dtype, {5}}, {dtype, {5, 3}}},
           .out = {{dtype, {5, 3}}},
           .attributes = {.ints = {{"dim", 0}}}});
  }
  int failed = 0;
  for (uint64_t seed = 1; seed < 9; ++seed) {
    const int failures = Checked().failures;
    Check({.kernel = "check",
           .in = {{DType::bool_, {}}},
           .attributes = {.texts = {{"message", "it must hold"}}}},
          seed);
    failed += Checked().failures - failures;
  }
  CHECK((failed > 0 && failed < 8));
  Check({.kernel = "sleep", .in = {number(2)}});
  Check({.kernel = "sleep", .in = {number(-5)}});
}

TEST_CASE("gather_rows and its gradient, causal_mask") {
  const int before = Checked().failures;
  struct Rows {
    std::vector<int64_t> table, index;
    std::vector<bool> table_dynamic = {}, index_dynamic = {};
  };
  const Rows cases[] = {
      {{7, 5}, {11}},
      {{3, 300}, {900}},
      {{1, 16}, {40}},
      {{50, 2, 8}, {3, 4}},
      {{7}, {9}},
      {{7, 4}, {0}},
      {{7, 0}, {3}},
      {{700, 3}, {}},
      {{9, 16}, {12}, {true, true}, {true}},
  };
  const auto joined = [](const auto& index, const auto& table) {
    auto rows = index;
    for (size_t i = 1; i < table.size(); ++i) rows.push_back(table[i]);
    return rows;
  };
  for (const DType dtype : kDTypes) {
    for (const Rows& r : cases) {
      const Operand table{dtype, r.table, r.table_dynamic};
      const Operand index{DType::i64, r.index, r.index_dynamic, Fill::kBelow, r.table[0]};
      Operand rows{dtype, joined(r.index, r.table), {}};
      if (!r.table_dynamic.empty()) rows.dynamic = joined(r.index_dynamic, r.table_dynamic);
      Check({.kernel = "gather_rows", .in = {table, index}, .out = {rows}});
      if (dtype == DType::bool_) continue;
      rows.fill = plan::IsFloat(dtype) ? Fill::kModerate : Fill::kAny;
      Check({.kernel = "gather_rows_grad", .in = {index, rows}, .out = {table}});
    }
    if (!plan::IsFloat(dtype)) continue;
    for (const auto& dims : std::vector<std::vector<int64_t>>{{5, 5}, {3, 7}, {7, 3}, {2, 4, 4}}) {
      for (const std::vector<bool>& dynamic : {std::vector<bool>{}, {true, true}}) {
        const Operand x{dtype, dims, dynamic};
        Check({.kernel = "causal_mask", .in = {x}, .out = {x}, .in_place = true});
      }
    }
  }
  CHECK(Checked().failures == before);
  for (const int64_t wrong : {-1, 7}) {
    const Operand table{DType::f32, {7, 5}}, rows{DType::f32, {6, 5}};
    Operand index{.dtype = DType::i64, .dims = {6}, .numbers = {1, 2, 6, wrong, 0, 99}};
    Check({.kernel = "gather_rows", .in = {table, index}, .out = {rows}});
    Check({.kernel = "gather_rows_grad", .in = {index, rows}, .out = {table}});
  }
  CHECK(Checked().failures == before + 4);
}

}  // namespace cgraph::cuda::testing
