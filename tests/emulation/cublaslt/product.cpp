// The arithmetic: products and sums in f32 or, of f64, in f64, and one rounding at the end.
#include "tests/emulation/cublaslt/product.h"

#include <algorithm>
#include <vector>

#include "runtime/device/numbers/half.h"

namespace cgraph::emulation {
namespace {

using cuda::LtLayoutObject;
namespace lt = cuda::lt;

template <typename Body>
void WithType(int type, const Body& body) {
  switch (type) {
    case lt::kF64: return body(double());
    case lt::kF16: return body(device::F16());
    case lt::kBF16: return body(device::BF16());
    default: return body(float());
  }
}

// Returns the matrix of a batch as `Sum`, its columns side by side; transposed where asked.
template <typename Sum>
std::vector<Sum> Unpacked(const Matrix& matrix, int64_t number, bool transpose) {
  const LtLayoutObject& layout = matrix.layout;
  const auto rows = static_cast<int64_t>(layout.rows);
  const auto columns = static_cast<int64_t>(layout.columns);
  std::vector<Sum> all(static_cast<size_t>(rows * columns));
  WithType(layout.type, [&](auto zero) {
    const auto* from =
        static_cast<const decltype(zero)*>(matrix.data) + number * layout.batch_stride;
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t i = 0; i < rows; ++i) {
        all[static_cast<size_t>(transpose ? i * columns + j : j * rows + i)] =
            static_cast<Sum>(from[j * layout.stride + i]);
      }
    }
  });
  return all;
}

template <typename Sum>
void ComputeIn(const Product& product) {
  const auto m = static_cast<int64_t>(product.d.layout.rows);
  const auto n = static_cast<int64_t>(product.d.layout.columns);
  const bool transpose_a = product.description.transpose_a != 0;
  const auto k = static_cast<int64_t>(transpose_a ? product.a.layout.rows
                                                  : product.a.layout.columns);
  const int64_t splits = std::min<int64_t>(product.splits, std::max<int64_t>(k, 1));
  for (int64_t number = 0; number < product.d.layout.count; ++number) {
    const auto a = Unpacked<Sum>(product.a, number, transpose_a);
    const auto b = Unpacked<Sum>(product.b, number, product.description.transpose_b != 0);
    std::vector<Sum> sums(static_cast<size_t>(m * n), 0);
    for (int64_t split = 0; split < splits; ++split) {
      std::vector<Sum> part(static_cast<size_t>(m));
      for (int64_t j = 0; j < n; ++j) {
        std::fill(part.begin(), part.end(), Sum(0));
        for (int64_t l = k * split / splits; l < k * (split + 1) / splits; ++l) {
          const Sum factor = b[static_cast<size_t>(j * k + l)];
          const Sum* column = a.data() + l * m;
          for (int64_t i = 0; i < m; ++i) part[static_cast<size_t>(i)] += column[i] * factor;
        }
        for (int64_t i = 0; i < m; ++i) {
          sums[static_cast<size_t>(j * m + i)] += part[static_cast<size_t>(i)];
        }
      }
    }
    std::vector<Sum> c;  // not even looked at where beta is 0
    if (product.beta != 0) c = Unpacked<Sum>(product.c, number, false);
    const LtLayoutObject& layout = product.d.layout;
    WithType(layout.type, [&](auto zero) {
      using T = decltype(zero);
      T* to = static_cast<T*>(const_cast<void*>(product.d.data)) + number * layout.batch_stride;
      for (int64_t i = 0; i < m * n; ++i) {
        Sum sum = static_cast<Sum>(product.alpha) * sums[static_cast<size_t>(i)];
        if (!c.empty()) sum += static_cast<Sum>(product.beta) * c[static_cast<size_t>(i)];
        to[i / m * layout.stride + i % m] = static_cast<T>(sum);
      }
    });
  }
}

}  // namespace

int64_t BytesOf(int type) {
  int64_t bytes = 0;
  WithType(type, [&](auto zero) { bytes = sizeof(zero); });
  return bytes;
}

int64_t SpanOf(const LtLayoutObject& layout) {
  return BytesOf(layout.type) * ((layout.count - 1) * layout.batch_stride +
                                 (static_cast<int64_t>(layout.columns) - 1) * layout.stride +
                                 static_cast<int64_t>(layout.rows));
}

void Compute(const Product& product) {
  if (product.description.compute == lt::kComputeF64) return ComputeIn<double>(product);
  ComputeIn<float>(product);
}

}  // namespace cgraph::emulation
