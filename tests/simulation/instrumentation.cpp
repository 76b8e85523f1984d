// What the compiler calls in code that it has instrumented for ThreadSanitizer. Here each atomic
// operation is a point of the scheduler; other accesses of memory are none, since another thread
// that could see them would be a race. (ThreadSanitizer itself looks for these, in other builds.)
#include <cstddef>
#include <cstdint>

#include "tests/simulation/scheduler.h"

namespace {

inline void Point() {
  if (auto* const scheduler = cgraph::simulation::Scheduler::Current()) {
    scheduler->Point("comes to an atomic operation");
  }
}

}  // namespace

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void*, size_t) {}
void __tsan_write_range(void*, size_t) {}
void __tsan_atomic_thread_fence(int) { Point(); }
void __tsan_atomic_signal_fence(int) {}

#define PLAIN(bytes)                           \
  void __tsan_read##bytes(void*) {}            \
  void __tsan_write##bytes(void*) {}           \
  void __tsan_unaligned_read##bytes(void*) {}  \
  void __tsan_unaligned_write##bytes(void*) {} \
  void __tsan_volatile_read##bytes(void*) {}   \
  void __tsan_volatile_write##bytes(void*) {}
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
#undef PLAIN

// There is one thread, so plain operations will do.
#define READ_MODIFY_WRITE(bits, name, expression)                                                \
  uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t* at, uint##bits##_t value, \
                                              int) {                                             \
    Point();                                                                                     \
    const uint##bits##_t before = *at;                                                           \
    *at = static_cast<uint##bits##_t>(expression);                                               \
    return before;                                                                               \
  }
#define ATOMIC(bits)                                                                              \
  uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* at, int) {             \
    Point();                                                                                      \
    return *at;                                                                                   \
  }                                                                                               \
  void __tsan_atomic##bits##_store(volatile uint##bits##_t* at, uint##bits##_t value, int) {      \
    Point();                                                                                      \
    *at = value;                                                                                  \
  }                                                                                               \
  READ_MODIFY_WRITE(bits, exchange, value)                                                        \
  READ_MODIFY_WRITE(bits, fetch_add, before + value)                                              \
  READ_MODIFY_WRITE(bits, fetch_sub, before - value)                                              \
  READ_MODIFY_WRITE(bits, fetch_and, before& value)                                               \
  READ_MODIFY_WRITE(bits, fetch_or, before | value)                                               \
  READ_MODIFY_WRITE(bits, fetch_xor, before ^ value)                                              \
  int __tsan_atomic##bits##_compare_exchange_strong(                                              \
      volatile uint##bits##_t* at, uint##bits##_t* expected, uint##bits##_t value, int, int) {    \
    Point();                                                                                      \
    const uint##bits##_t before = *at;                                                            \
    const bool same = before == *expected;                                                        \
    if (same) *at = value;                                                                        \
    *expected = before;                                                                           \
    return same;                                                                                  \
  }                                                                                               \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile uint##bits##_t* at,                    \
                                                  uint##bits##_t* expected, uint##bits##_t value, \
                                                  int first, int second) {                        \
    return __tsan_atomic##bits##_compare_exchange_strong(at, expected, value, first, second);     \
  }
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)
#undef ATOMIC
#undef READ_MODIFY_WRITE

}  // extern "C"
