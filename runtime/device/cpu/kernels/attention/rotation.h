// The angles of rope: position times frequency, in f64. A position is 64 a + b, and the turns by
// 64 a and by b are multiplied, so a call computes few sines. The result depends on the position
// alone, and devices agree on its bits.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ATTENTION_ROTATION_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ATTENTION_ROTATION_H_

#include <cstdint>

#include "runtime/device/numbers/power.h"
#include "runtime/device/numbers/trigonometry.h"

namespace cgraph::device {

inline constexpr int64_t kTurnsTogether = 64;

struct Turn { double cosine, sine; };
CGRAPH_INLINE constexpr Turn TurnBy(double angle) { return {CosOf(angle), SinOf(angle)}; }
CGRAPH_INLINE constexpr Turn Joined(Turn a, Turn b) {
  return {Fma(a.cosine, b.cosine, -(a.sine * b.sine)), Fma(a.sine, b.cosine, a.cosine * b.sine)};
}
// The position that is a multiple of kTurnsTogether, at or before a position.
CGRAPH_INLINE constexpr int64_t FirstTogether(int64_t position) {
  return position - (position % kTurnsTogether + kTurnsTogether) % kTurnsTogether;
}

// theta^(-2 pair / e): how much a pair turns from one position to the next.
CGRAPH_INLINE constexpr double FrequencyOf(double theta, int64_t pair, int64_t e) {
  return PowerOf(theta, static_cast<double>(-2 * pair) / static_cast<double>(e));
}

// One pair of elements turned.
template <typename C>
CGRAPH_INLINE constexpr void Turned(C& x, C& y, C cosine, C sine) {
  const C a = Fma(x, cosine, -(y * sine)), b = Fma(y, cosine, x * sine);
  x = a, y = b;
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ATTENTION_ROTATION_H_
