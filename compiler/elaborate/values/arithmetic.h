// Arithmetic on compile-time scalars: checked 64-bit integers, and f64 with + - * / and square
// root, which are exact to the last bit everywhere. exp, log and pow are computed here in 113 bits
// and rounded once, not by the machine's library: one source gives one plan on every machine.
#ifndef CGRAPH_COMPILER_ELABORATE_VALUES_ARITHMETIC_H_
#define CGRAPH_COMPILER_ELABORATE_VALUES_ARITHMETIC_H_

#include <optional>
#include <string>

#include "compiler/elaborate/values/value.h"
#include "runtime/base/kinds/dtype.h"

namespace cgraph::elaborate {

// What came out; else `problem` says why not, and an empty one that the operator is not for these.
struct Folded {
  std::optional<Value> value;
  std::string problem;
};
Folded FoldBinary(BinaryOperator op, const Value& a, const Value& b);
Folded FoldNegate(const Value& value);
// `b` is the second argument, of pow, minimum and maximum.
Folded FoldFunction(program::NumberFunction function, const Value& a, const Value& b);

// The bytes (little endian) of a compile-time number as one element of `dtype`: an int must be
// exact, a float becomes a float type only and must stay finite, a bool is a bool.
struct Encoded {
  std::string bytes;
  std::string problem;
};
Encoded EncodeNumber(const Value& number, DType dtype);
int64_t DecodeI64(const std::string& bytes);

// What a number is when nothing else decides: i64, f32, bool.
DType NaturalDType(const Value& number);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_VALUES_ARITHMETIC_H_
