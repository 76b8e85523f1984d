// Convolutions and their gradients as matrix products whose operands are read where they lie: a
// block adds up a tile from strips of both in shared memory. f16 and bf16 are added up in f32. The
// terms of an element are added in the order of k; those of a gradient of weights, which are many,
// in parts that are added up afterwards, of which there are as many as the shape says.
#include "runtime/device/cuda/kernels/convolution/arguments.h"
#include "runtime/device/cuda/kernels/device_numbers.h"
#include "runtime/device/numbers/binary_format.h"

namespace cgraph::cuda {

// An element of an image or of the kernel: a channel, or a place in a batch; a row; a column.
struct Point {
  int64_t of, row, column;
};
__device__ inline Point PointOf(int64_t i, int64_t rows, int64_t columns) {
  const Quotient line = Divided(i, columns), plane = Divided(line.whole, rows);
  return {plane.whole, plane.rest, line.rest};
}

// The products: how the columns and the terms of one are read, and where its elements lie. `Left`
// reads element (m, k), `Right` element (k, n), each by the Points of k and n; 0 where there is
// none.
template <typename T>
struct Forward {
  static constexpr ConvolutionPart kPart = ConvolutionPart::kForward;
  static __device__ Point TermOf(const ConvolutionShape& s, int64_t k) {
    return PointOf(k, s.kernel[0], s.kernel[1]);
  }
  static __device__ Point ColumnOf(const ConvolutionShape& s, int64_t n) {
    return PointOf(n, s.out[0], s.out[1]);
  }
  static __device__ T Left(const Convolution& c, int64_t group, int64_t m, int64_t k, const Point&,
                           const ConvolutionProduct& p) {
    return static_cast<const T*>(c.b)[(group * p.m + m) * p.k + k];
  }
  static __device__ T Right(const Convolution& c, int64_t group, const Point& k, const Point& n) {
    const ConvolutionShape& s = c.shape;
    const int64_t row = n.row * s.stride[0] + k.row * s.dilation[0] - s.padding[0];
    const int64_t column = n.column * s.stride[1] + k.column * s.dilation[1] - s.padding[1];
    if (row < 0 || row >= s.height || column < 0 || column >= s.width) return T(0.0f);
    const int64_t channel = n.of * s.channels + group * (s.channels / s.groups) + k.of;
    return static_cast<const T*>(c.a)[(channel * s.height + row) * s.width + column];
  }
  static __device__ int64_t PlaceOf(const ConvolutionShape& s, int64_t group, int64_t m,
                                    const Point& n, const ConvolutionProduct& p) {
    const int64_t channel = n.of * s.out_channels + group * p.m + m;
    return (channel * s.out[0] + n.row) * s.out[1] + n.column;
  }
};

template <typename T>
struct InputGrad {
  static constexpr ConvolutionPart kPart = ConvolutionPart::kInputGradient;
  static __device__ Point TermOf(const ConvolutionShape& s, int64_t k) {
    return PointOf(k, s.kernel[0], s.kernel[1]);
  }
  static __device__ Point ColumnOf(const ConvolutionShape& s, int64_t n) {
    return PointOf(n, s.height, s.width);
  }
  static __device__ T Left(const Convolution& c, int64_t group, int64_t m, int64_t, const Point& k,
                           const ConvolutionProduct& p) {
    const ConvolutionShape& s = c.shape;
    const int64_t channel = (group * (s.out_channels / s.groups) + k.of) * p.m + m;
    return static_cast<const T*>(c.a)[(channel * s.kernel[0] + k.row) * s.kernel[1] + k.column];
  }
  // Returns which element of the result met the one at `at`; -1 where none did.
  static __device__ int64_t Meeting(int64_t at, int64_t stride, int64_t count) {
    if (at < 0) return -1;
    const Quotient place = Divided(at, stride);
    return place.rest == 0 && place.whole < count ? place.whole : -1;
  }
  static __device__ T Right(const Convolution& c, int64_t group, const Point& k, const Point& n) {
    const ConvolutionShape& s = c.shape;
    const int64_t row =
        Meeting(n.row + s.padding[0] - k.row * s.dilation[0], s.stride[0], s.out[0]);
    const int64_t column =
        Meeting(n.column + s.padding[1] - k.column * s.dilation[1], s.stride[1], s.out[1]);
    if (row < 0 || column < 0) return T(0.0f);
    const int64_t channel = n.of * s.out_channels + group * (s.out_channels / s.groups) + k.of;
    return static_cast<const T*>(c.b)[(channel * s.out[0] + row) * s.out[1] + column];
  }
  static __device__ int64_t PlaceOf(const ConvolutionShape& s, int64_t group, int64_t m,
                                    const Point& n, const ConvolutionProduct& p) {
    const int64_t channel = n.of * s.channels + group * p.m + m;
    return (channel * s.height + n.row) * s.width + n.column;
  }
};

template <typename T>
struct WeightGrad {
  static constexpr ConvolutionPart kPart = ConvolutionPart::kWeightGradient;
  static __device__ Point TermOf(const ConvolutionShape& s, int64_t k) {
    return PointOf(k, s.out[0], s.out[1]);
  }
  static __device__ Point ColumnOf(const ConvolutionShape& s, int64_t n) {
    return PointOf(n, s.kernel[0], s.kernel[1]);
  }
  static __device__ T Left(const Convolution& c, int64_t group, int64_t m, int64_t, const Point& k,
                           const ConvolutionProduct& p) {
    const ConvolutionShape& s = c.shape;
    const int64_t channel = k.of * s.out_channels + group * p.m + m;
    return static_cast<const T*>(c.b)[(channel * s.out[0] + k.row) * s.out[1] + k.column];
  }
  static __device__ T Right(const Convolution& c, int64_t group, const Point& k, const Point& n) {
    const ConvolutionShape& s = c.shape;
    const int64_t row = k.row * s.stride[0] + n.row * s.dilation[0] - s.padding[0];
    const int64_t column = k.column * s.stride[1] + n.column * s.dilation[1] - s.padding[1];
    if (row < 0 || row >= s.height || column < 0 || column >= s.width) return T(0.0f);
    const int64_t channel = k.of * s.channels + group * (s.channels / s.groups) + n.of;
    return static_cast<const T*>(c.a)[(channel * s.height + row) * s.width + column];
  }
  static __device__ int64_t PlaceOf(const ConvolutionShape& s, int64_t group, int64_t m,
                                    const Point& n, const ConvolutionProduct& p) {
    return (group * p.m + m) * p.n + (n.of * s.kernel[0] + n.row) * s.kernel[1] + n.column;
  }
};

template <typename T, template <typename> typename Product>
class ConvolutionTiles {
 public:
  static constexpr int kTile = kConvolutionTile, kDepth = 16, kThreads = 256;
  using C = Compute<T>;
  using Read = Product<T>;

  struct Shared {
    C left[kDepth][kTile + 1], right[kDepth][kTile + 1];
  };

  __device__ ConvolutionTiles(const Convolution& convolution, Shared& shared)
      : c_(convolution),
        shared_(shared),
        product_(ProductOf(convolution.shape, ExtentOf(convolution.images), Read::kPart)) {}

  // All threads of a block of kThreads call it.
  __device__ void Run() {
    const int64_t columns = (product_.n + kTile - 1) / kTile;
    const int64_t tiles = product_.tiles(), all = c_.shape.groups * tiles * c_.parts;
    for (int64_t i = blockIdx.x; i < all; i += gridDim.x) {
      const Quotient part = Divided(i, c_.shape.groups * tiles);
      const Quotient group = Divided(part.rest, tiles), tile = Divided(group.rest, columns);
      RunTile(part.whole, group.whole, tile.whole * kTile, tile.rest * kTile);
    }
  }

 private:
  static constexpr int kEdge = 16, kEach = kTile / kEdge;  // threads, and elements of each
  static constexpr int kLoads = kTile * kDepth / kThreads;

  __device__ void RunTile(int64_t part, int64_t group, int64_t first_row, int64_t first_column) {
    const int row = static_cast<int>(threadIdx.x) / kEdge;
    const int column = static_cast<int>(threadIdx.x) % kEdge;
    const int64_t begin = part * c_.length, rest = product_.k - begin;
    const int64_t end = begin + (rest < c_.length ? rest : c_.length);
    C sums[kEach][kEach] = {};
    for (int64_t k = begin; k < end; k += kDepth) {
      ShareLeft(group, first_row, k, end);
      ShareRight(group, first_column, k, end);
      __syncthreads();
      CGRAPH_UNROLL for (int d = 0; d < kDepth; ++d) {
        C left[kEach], right[kEach];
        CGRAPH_UNROLL for (int i = 0; i < kEach; ++i) left[i] = shared_.left[d][row + i * kEdge];
        CGRAPH_UNROLL for (int j = 0; j < kEach; ++j) {
          right[j] = shared_.right[d][column + j * kEdge];
        }
        CGRAPH_UNROLL for (int i = 0; i < kEach; ++i) {
          CGRAPH_UNROLL for (int j = 0; j < kEach; ++j) {
            sums[i][j] = device::Fma(left[i], right[j], sums[i][j]);
          }
        }
      }
      __syncthreads();
    }
    CGRAPH_UNROLL for (int j = 0; j < kEach; ++j) {
      const int64_t n = first_column + column + j * kEdge;
      if (n >= product_.n) continue;
      const Point point = Read::ColumnOf(c_.shape, n);
      CGRAPH_UNROLL for (int i = 0; i < kEach; ++i) {
        const int64_t m = first_row + row + i * kEdge;
        if (m < product_.m) Store(part, group, m, point, sums[i][j]);
      }
    }
  }

  __device__ void Store(int64_t part, int64_t group, int64_t m, const Point& n, C sum) const {
    const int64_t at = Read::PlaceOf(c_.shape, group, m, n, product_);
    if (c_.parts == 1) {
      static_cast<T*>(c_.out)[at] = Stored<T>(sum);
    } else {
      const int64_t results = c_.shape.groups * product_.m * product_.n;
      static_cast<double*>(c_.partials)[part * results + at] = static_cast<double>(sum);
    }
  }

  // A thread reads one term of several rows, and several terms of one column.
  __device__ void ShareLeft(int64_t group, int64_t first_row, int64_t k, int64_t end) {
    const int depth = static_cast<int>(threadIdx.x) % kDepth;
    const Point term = Read::TermOf(c_.shape, k + depth);
    CGRAPH_UNROLL for (int load = 0; load < kLoads; ++load) {
      const int edge = static_cast<int>(threadIdx.x) / kDepth + load * (kThreads / kDepth);
      const int64_t m = first_row + edge;
      const bool there = m < product_.m && k + depth < end;
      shared_.left[depth][edge] =
          there ? C(Widened(Read::Left(c_, group, m, k + depth, term, product_))) : C(0);
    }
  }
  __device__ void ShareRight(int64_t group, int64_t first_column, int64_t k, int64_t end) {
    const int edge = static_cast<int>(threadIdx.x) % kTile;
    const int64_t n = first_column + edge;
    const Point column = Read::ColumnOf(c_.shape, n);
    CGRAPH_UNROLL for (int load = 0; load < kLoads; ++load) {
      const int depth = static_cast<int>(threadIdx.x) / kTile + load * (kThreads / kTile);
      const bool there = n < product_.n && k + depth < end;
      shared_.right[depth][edge] =
          there ? C(Widened(Read::Right(c_, group, Read::TermOf(c_.shape, k + depth), column)))
                : C(0);
    }
  }

  const Convolution& c_;
  Shared& shared_;
  const ConvolutionProduct product_;
};

#define CONVOLUTION_KERNEL(dtype, type, name, product)                                     \
  KERNEL(name##_##dtype, (Guard guard, const __grid_constant__ Convolution convolution)) { \
    __shared__ ConvolutionTiles<type, product>::Shared shared;                             \
    if (Enter(guard)) ConvolutionTiles<type, product>(convolution, shared).Run();          \
  }
FOR_kFloat(CONVOLUTION_KERNEL, Convolve, Forward)
    FOR_kFloat(CONVOLUTION_KERNEL, ConvolveInputGrad, InputGrad)
        FOR_kFloat(CONVOLUTION_KERNEL, ConvolveWeightGrad, WeightGrad)

            template <typename T>
            __device__ void JoinConvolution(const Convolution& convolution, int64_t results) {
  const auto* partials = static_cast<const double*>(convolution.partials);
  for (int64_t i = GridThread(); i < results; i += GridThreads()) {
    double sum = 0;
    for (int64_t part = 0; part < convolution.parts; ++part) sum += partials[part * results + i];
    static_cast<T*>(convolution.out)[i] = Stored<T>(sum);
  }
}
#define JOIN_KERNEL(dtype, type, ...)                                                       \
  KERNEL(JoinConvolution_##dtype,                                                           \
         (Guard guard, const __grid_constant__ Convolution convolution, int64_t results)) { \
    if (Enter(guard)) JoinConvolution<type>(convolution, results);                          \
  }
FOR_kFloat(JOIN_KERNEL)

}  // namespace cgraph::cuda
