// OpenBLAS, loaded when the first plan needs a matrix product: linking it costs every start more
// than a millisecond.
//
// The workers are the threads, so the library must start none of its own and yet be safe to call
// from several at once. Its serial build is not safe: without locks two threads can be given the
// same work buffer, and products come out wrong (about 100 of 640,000 elements in a trial with 8
// threads). So its threaded build is taken, with one thread.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_LIBRARIES_BLAS_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_LIBRARIES_BLAS_H_

#include "runtime/base/status.h"

namespace cgraph::device {

// The numbers that CBLAS has for its order and transpositions.
inline constexpr int kRowMajor = 101, kNoTranspose = 111, kTranspose = 112;

template <typename T>
using Gemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, T alpha,
                      const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc);

struct Blas {
  Gemm<float> sgemm = nullptr;
  Gemm<double> dgemm = nullptr;

  // Makes the library take its work memory, which it does with its first large product, at load and
  // not in the steady state.
  void WarmUp() const;
};

// Returns the one library of this process, never unloaded. kNotFound when there is none that is
// safe. Thread-safe.
Result<const Blas*> LoadBlas();

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_LIBRARIES_BLAS_H_
