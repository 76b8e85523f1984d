// CGRAPH_ASSERT: an invariant of the engine, checked in debug builds (the sanitizers' among them).
// Release builds evaluate nothing; data that only an assertion reads is under `#if CGRAPH_ASSERTS`.
#ifndef CGRAPH_RUNTIME_BASE_ASSERT_H_
#define CGRAPH_RUNTIME_BASE_ASSERT_H_

#ifdef NDEBUG
#define CGRAPH_ASSERTS 0
#define CGRAPH_ASSERT(condition) static_cast<void>(0)
#else
#include <cstdio>
#include <cstdlib>
#define CGRAPH_ASSERTS 1
#define CGRAPH_ASSERT(condition)                                                                 \
  do {                                                                                           \
    if (!(condition)) {                                                                          \
      std::fprintf(stderr, "%s:%d: the engine asserts: %s\n", __FILE__, __LINE__, #condition);    \
      std::abort();                                                                              \
    }                                                                                            \
  } while (false)
#endif

#endif  // CGRAPH_RUNTIME_BASE_ASSERT_H_
