// Product: what a call of cublasLtMatmul computes, d = alpha * op(a) @ op(b) + beta * c for each
// matrix of a batch, on the host.
#ifndef CGRAPH_TESTS_EMULATION_CUBLASLT_PRODUCT_H_
#define CGRAPH_TESTS_EMULATION_CUBLASLT_PRODUCT_H_

#include <cstdint>

#include "tests/emulation/cublaslt/objects.h"

namespace cgraph::emulation {

struct Matrix {
  cuda::LtLayoutObject layout;
  const void* data = nullptr;
};

struct Product {
  cuda::LtProductObject description;
  Matrix a, b, c;
  Matrix d;                     // is written
  double alpha = 1, beta = 0;
  uint32_t splits = 1;  // parts of the sums, which are added up at the end
};

int64_t BytesOf(int type);  // of an element
// Returns the bytes from the first element to the last.
int64_t SpanOf(const cuda::LtLayoutObject& layout);
void Compute(const Product& product);

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_CUBLASLT_PRODUCT_H_
