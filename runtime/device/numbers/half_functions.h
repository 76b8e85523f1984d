// exp, tanh, the logistic function, silu and gelu for results in f16 and bf16: computed in f32 by
// fewer instructions, as exactly as 11 bits need. numbers_test tries every f16 and bf16: once
// rounded, exp and the functions made of it are within 0.52 units in the last place, tanh within
// 0.6 and gelu within 0.65.
//
// The polynomials have the least relative error of their degree (found by Lawson's iteration), and
// the errors stated are theirs.
#ifndef CGRAPH_RUNTIME_DEVICE_NUMBERS_HALF_FUNCTIONS_H_
#define CGRAPH_RUNTIME_DEVICE_NUMBERS_HALF_FUNCTIONS_H_

#include "runtime/device/numbers/exponential.h"

namespace cgraph::device {

// The square root of exp(x): 2^n exp(r / 2), where x = 2 n ln 2 + r. It is a normal number even
// where its square is none or infinite. n is kept so small that it can be the exponent; r takes the
// rest. Relative error 2^-18.
CGRAPH_INLINE constexpr float RootOfExp(float x) {
  constexpr float kLeast = -105, kMostShifted = kOnceBiased<float> + 65;
  const float a = AtLeast(x, kLeast);
  const float shifted = NumberAtMost(Fma(a, 0.72134752f, kOnceBiased<float>), kMostShifted);
  const float r = Fma(shifted - kOnceBiased<float>, -1.38629436f, a);
  constexpr float kP[] = {2.59460532e-3f, 2.09844913e-2f, 0.125007555f, 0.4999834f, 1};
  return Polynomial(kP, r) * FromBits<float>(BitsOf(shifted) << 23);
}

CGRAPH_INLINE constexpr float HalfExpOf(float x) {
  const float root = RootOfExp(x);
  return root * root;
}

CGRAPH_INLINE constexpr float OneAndHalfExpOfMinus(float x) {
  const float root = RootOfExp(-x);
  return Fma(root, root, 1.0f);
}
CGRAPH_INLINE constexpr float HalfSigmoidOf(float x) { return 1.0f / OneAndHalfExpOfMinus(x); }
CGRAPH_INLINE constexpr float HalfSiluOf(float x) { return x / OneAndHalfExpOfMinus(x); }

// tanh(x) as x P(x^2) / Q(x^2), up to where it rounds to 1. Relative error 2^-14.9.
CGRAPH_INLINE constexpr float HalfTanhOf(float x) {
  constexpr float kP[] = {7.09583575e-4f, 0.103624731f, 0.999967933f};
  constexpr float kQ[] = {1.31970551e-2f, 0.436747193f, 1};
  const float a = AtLeast(AtMost(x, 4.6f), -4.6f), square = a * a;
  return a * Polynomial(kP, square) / Polynomial(kQ, square);
}

// gelu(x) = max(x, 0) - z F(-z), where z = |x| and F is the distribution function of the standard
// normal distribution: F(-z) is 2^h squared, and h a polynomial. Relative error 2^-13.9 up to z =
// 5.7, beyond which an f16 is 0; 2^-9.9 up to z = 14.2, beyond which a bf16 is 0.
CGRAPH_INLINE constexpr float HalfGeluOf(float x) {
  constexpr float kH[] = {1.59965730e-8f, -1.00009379e-6f, 2.67354426e-5f, -4.04701626e-4f,
                          3.90507956e-3f, -2.60164794e-2f, -0.230467513f, -0.57503438f,
                          -0.50004530f};
  constexpr float kP[] = {9.57000628e-3f, 5.59186861e-2f, 0.240247533f, 0.693121731f, 0.999999285f};
  const float z = NumberAtMost(std::fabs(x), 14.2f), h = Polynomial(kH, z);
  const float shifted = h + kOnceBiased<float>;
  const float p = Polynomial(kP, h - (shifted - kOnceBiased<float>));
  const float root = p * FromBits<float>(BitsOf(shifted) << 23);
  return Fma(-(z * root), root, x < 0 ? 0.0f : x);
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_NUMBERS_HALF_FUNCTIONS_H_
