// A number as the sum of two, for what 53 bits do not hold: a product, a reduced argument.
#ifndef CGRAPH_RUNTIME_DEVICE_NUMBERS_TWO_NUMBERS_H_
#define CGRAPH_RUNTIME_DEVICE_NUMBERS_TWO_NUMBERS_H_

#include "runtime/device/numbers/binary_format.h"

namespace cgraph::device {

// The second is less than a unit in the last place of the first.
struct TwoNumbers {
  double high, low;
};
CGRAPH_INLINE constexpr TwoNumbers SumOfTwo(double a, double b) {  // Knuth's, for any a and b
  const double sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
CGRAPH_INLINE constexpr TwoNumbers ProductOfTwo(double a, double b) {
  const double product = a * b;
  return {product, Fma(a, b, -product)};
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_NUMBERS_TWO_NUMBERS_H_
