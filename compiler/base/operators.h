// The binary operators, once: what they are called, how they are written, how strongly they bind
// (1: the loosest). Both what was written and what it means are made of them.
#ifndef CGRAPH_COMPILER_BASE_OPERATORS_H_
#define CGRAPH_COMPILER_BASE_OPERATORS_H_

#include <cstddef>
#include <cstdint>

namespace cgraph {

#define CGRAPH_BINARY_OPERATORS(X) \
  X(kOr, "or", 1)                  \
  X(kAnd, "and", 2)                \
  X(kEqual, "==", 3)               \
  X(kNotEqual, "!=", 3)            \
  X(kLess, "<", 3)                 \
  X(kLessEqual, "<=", 3)           \
  X(kGreater, ">", 3)              \
  X(kGreaterEqual, ">=", 3)        \
  X(kRange, "..", 4)               \
  X(kAdd, "+", 5)                  \
  X(kSubtract, "-", 5)             \
  X(kMultiply, "*", 6)             \
  X(kDivide, "/", 6)               \
  X(kModulo, "%", 6)               \
  X(kMatmul, "@", 6)

enum class BinaryOperator : uint8_t {
#define X(id, spelling, strength) id,
  CGRAPH_BINARY_OPERATORS(X)
#undef X
};

constexpr const char* Spelling(BinaryOperator op) {
  constexpr const char* kSpellings[] = {
#define X(id, spelling, strength) spelling,
      CGRAPH_BINARY_OPERATORS(X)
#undef X
  };
  return kSpellings[static_cast<size_t>(op)];
}

constexpr bool IsEquality(BinaryOperator op) {
  return op == BinaryOperator::kEqual || op == BinaryOperator::kNotEqual;
}

constexpr bool IsComparison(BinaryOperator op) {
  return op >= BinaryOperator::kEqual && op <= BinaryOperator::kGreaterEqual;
}

constexpr int kStrongest = 6;
constexpr int Strength(BinaryOperator op) {
  constexpr int kStrengths[] = {
#define X(id, spelling, strength) strength,
      CGRAPH_BINARY_OPERATORS(X)
#undef X
  };
  return kStrengths[static_cast<size_t>(op)];
}

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_OPERATORS_H_
