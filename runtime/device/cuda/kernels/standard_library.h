// What device code uses of the C++ library, for NVRTC, which has none: a compilation finds this
// header under each of the standard names (<bit>, <cmath>, ...). nvcc and the host's compiler use
// the real ones. Functions of cmath are NVRTC's own, in the global namespace.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_STANDARD_LIBRARY_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_STANDARD_LIBRARY_H_

using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long;
using uint64_t = unsigned long;
using uintptr_t = unsigned long;
using size_t = decltype(sizeof(0));

// Each rounds once, as the host's.
#define __builtin_fmaf(a, b, c) ::__fmaf_rn(a, b, c)
#define __builtin_fma(a, b, c) ::__fma_rn(a, b, c)

namespace std {

using ::int8_t, ::uint8_t, ::int16_t, ::uint16_t, ::int32_t, ::uint32_t, ::int64_t, ::uint64_t;
using ::uintptr_t, ::size_t;

// ---- type_traits --------------------------------------------------------------------------------

template <typename T> struct Remade { using type = T; };
template <typename T> struct Remade<const T> : Remade<T> {};
template <typename T> struct Remade<volatile T> : Remade<T> {};
template <typename T> struct Remade<const volatile T> : Remade<T> {};

template <typename, typename> inline constexpr bool is_same_v = false;
template <typename T> inline constexpr bool is_same_v<T, T> = true;

template <bool, typename Then, typename> struct conditional { using type = Then; };
template <typename Then, typename Else>
struct conditional<false, Then, Else> { using type = Else; };
template <bool condition, typename Then, typename Else>
using conditional_t = typename conditional<condition, Then, Else>::type;

template <typename T, typename... Others>
inline constexpr bool kOneOf = (is_same_v<typename Remade<T>::type, Others> || ...);
template <typename T>
inline constexpr bool is_floating_point_v = kOneOf<T, float, double>;
template <typename T>
inline constexpr bool is_integral_v =
    kOneOf<T, bool, char, signed char, unsigned char, short, unsigned short, int, unsigned, long,
           unsigned long, long long, unsigned long long>;
template <typename T>
inline constexpr bool is_arithmetic_v = is_integral_v<T> || is_floating_point_v<T>;
template <typename T>
inline constexpr bool is_signed_v = [] {
  if constexpr (is_arithmetic_v<T>) return T(-1) < T(0);
  else return false;
}();

template <typename T> struct make_unsigned;
template <typename T> struct make_signed;
#define CGRAPH_SIGNS(type)                                                          \
  template <> struct make_unsigned<type> { using type_ = unsigned type; };          \
  template <> struct make_signed<type> { using type_ = type; };                     \
  template <> struct make_unsigned<unsigned type> { using type_ = unsigned type; }; \
  template <> struct make_signed<unsigned type> { using type_ = type; };
CGRAPH_SIGNS(short)
CGRAPH_SIGNS(int)
CGRAPH_SIGNS(long)
CGRAPH_SIGNS(long long)
#undef CGRAPH_SIGNS
template <> struct make_unsigned<signed char> { using type_ = unsigned char; };
template <> struct make_signed<signed char> { using type_ = signed char; };
template <> struct make_unsigned<unsigned char> { using type_ = unsigned char; };
template <> struct make_signed<unsigned char> { using type_ = signed char; };
template <typename T> using make_unsigned_t = typename make_unsigned<T>::type_;
template <typename T> using make_signed_t = typename make_signed<T>::type_;

// The host has checked it; sizes here are the same.
template <typename T> inline constexpr bool has_unique_object_representations_v = true;

// ---- utility, bit, algorithm, limits ------------------------------------------------------------

template <typename T, T... of> struct integer_sequence {};
template <size_t... of> using index_sequence = integer_sequence<size_t, of...>;
template <size_t count, size_t... of>
struct MadeSequence : MadeSequence<count - 1, count - 1, of...> {};
template <size_t... of>
struct MadeSequence<0, of...> { using type = index_sequence<of...>; };
template <size_t count>
using make_index_sequence = typename MadeSequence<count>::type;

template <typename To, typename From>
constexpr To bit_cast(const From& from) { return __builtin_bit_cast(To, from); }

template <typename T>
constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <typename T>
constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }

template <typename T> struct numeric_limits {
  static constexpr int digits = 8 * sizeof(T) - is_signed_v<T>;
  static constexpr T max() {
    return static_cast<T>(~make_unsigned_t<T>(0) >> (is_signed_v<T> ? 1 : 0));
  }
  static constexpr T lowest() { return static_cast<T>(is_signed_v<T> ? -max() - 1 : 0); }
  static constexpr T min() { return lowest(); }
};
template <> struct numeric_limits<float> {
  static constexpr int digits = 24, max_exponent = 128, min_exponent = -125;
  static constexpr float max() { return 0x1.fffffep127f; }
  static constexpr float lowest() { return -max(); }
  static constexpr float min() { return 0x1p-126f; }
  static constexpr float infinity() { return bit_cast<float>(0x7f800000u); }
  static constexpr float quiet_NaN() { return bit_cast<float>(0x7fc00000u); }
  static constexpr float epsilon() { return 0x1p-23f; }
};
template <> struct numeric_limits<double> {
  static constexpr int digits = 53, max_exponent = 1024, min_exponent = -1021;
  static constexpr double max() { return 0x1.fffffffffffffp1023; }
  static constexpr double lowest() { return -max(); }
  static constexpr double min() { return 0x1p-1022; }
  static constexpr double infinity() { return bit_cast<double>(0x7ff0000000000000u); }
  static constexpr double quiet_NaN() { return bit_cast<double>(0x7ff8000000000000u); }
  static constexpr double epsilon() { return 0x1p-52; }
};

// ---- cmath --------------------------------------------------------------------------------------

constexpr float fabs(float x) { return bit_cast<float>(bit_cast<uint32_t>(x) & 0x7fffffffu); }
constexpr double fabs(double x) {
  return bit_cast<double>(bit_cast<uint64_t>(x) & 0x7fffffffffffffffu);
}
constexpr float copysign(float x, float sign) { return __builtin_copysignf(x, sign); }
constexpr double copysign(double x, double sign) { return __builtin_copysign(x, sign); }
__device__ inline float sqrt(float x) { return ::sqrtf(x); }
__device__ inline double sqrt(double x) { return ::sqrt(x); }
__device__ inline float trunc(float x) { return ::truncf(x); }
__device__ inline double trunc(double x) { return ::trunc(x); }
constexpr bool signbit(float x) { return (bit_cast<uint32_t>(x) >> 31) != 0; }
constexpr bool signbit(double x) { return (bit_cast<uint64_t>(x) >> 63) != 0; }
__device__ inline float fmod(float x, float y) { return ::fmodf(x, y); }
__device__ inline double fmod(double x, double y) { return ::fmod(x, y); }
__device__ inline float ldexp(float x, int exponent) { return ::ldexpf(x, exponent); }
__device__ inline double ldexp(double x, int exponent) { return ::ldexp(x, exponent); }

}  // namespace std

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_STANDARD_LIBRARY_H_
