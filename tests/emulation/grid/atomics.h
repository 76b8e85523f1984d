// CUDA's atomic functions of integers, and its fences. They take the types that CUDA's take, so
// that what compiles here compiles there.
#ifndef CGRAPH_TESTS_EMULATION_GRID_ATOMICS_H_
#define CGRAPH_TESTS_EMULATION_GRID_ATOMICS_H_

#include <concepts>
#include <type_traits>

namespace cgraph::emulation {

template <typename T, typename... Allowed>
concept OneOf = (std::same_as<T, Allowed> || ...);

// Replaces what lies there by `change` of it. Returns what was there.
template <typename T, typename Change>
T ChangeAtomically(T* address, Change change) {
  T seen = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(address, &seen, static_cast<T>(change(seen)), false,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return seen;
}

// A fence as a change of a word of its own, which ThreadSanitizer understands.
inline void Fence() {
  static int word = 0;
  __atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
}

}  // namespace cgraph::emulation

template <cgraph::emulation::OneOf<int, unsigned, unsigned long long> T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
template <cgraph::emulation::OneOf<int, unsigned> T>
T atomicSub(T* address, std::type_identity_t<T> value) {
  return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED);
}
template <cgraph::emulation::OneOf<int, unsigned, long long, unsigned long long> T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  using cgraph::emulation::ChangeAtomically;
  return ChangeAtomically(address, [&](T old) { return old < value ? old : value; });
}
template <cgraph::emulation::OneOf<int, unsigned, long long, unsigned long long> T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  using cgraph::emulation::ChangeAtomically;
  return ChangeAtomically(address, [&](T old) { return old > value ? old : value; });
}
template <cgraph::emulation::OneOf<int, unsigned, unsigned long long> T>
T atomicAnd(T* address, std::type_identity_t<T> value) {
  return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}
template <cgraph::emulation::OneOf<int, unsigned, unsigned long long> T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}
template <cgraph::emulation::OneOf<int, unsigned, unsigned long long> T>
T atomicXor(T* address, std::type_identity_t<T> value) {
  return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);
}
template <cgraph::emulation::OneOf<int, unsigned, unsigned long long> T>
T atomicExch(T* address, std::type_identity_t<T> value) {
  return __atomic_exchange_n(address, value, __ATOMIC_RELAXED);
}
template <cgraph::emulation::OneOf<int, unsigned, unsigned short, unsigned long long> T>
T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  __atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return compare;
}

inline void __threadfence_block() { cgraph::emulation::Fence(); }
inline void __threadfence() { cgraph::emulation::Fence(); }
inline void __threadfence_system() { cgraph::emulation::Fence(); }

#endif  // CGRAPH_TESTS_EMULATION_GRID_ATOMICS_H_
