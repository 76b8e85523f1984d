// Attention and its gradient, tile by tile with running maxima: a block has some queries of the
// heads that read one head of k and v, or some keys, and goes over the others. The grid is that of
// the bounds of the extents; how many keys there are, `length`, is read here.
//
// Every sum is made in an order that the extents alone determine.
#include <limits>

#include "runtime/device/cpu/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/cuda/kernels/attention/arguments.h"
#include "runtime/device/cuda/kernels/device_numbers.h"
#include "runtime/device/cuda/kernels/warp.h"
#include "runtime/device/numbers/binary_format.h"

namespace cgraph::cuda {

constexpr int kTile = kAttentionTile;
constexpr int kEdge = 16, kEach = kTile / kEdge;  // threads along a tile's edge, elements of each

// The element of `part`, whose rank is less, that goes with element i of a batch.
__device__ inline int64_t BroadcastIndex(const View& part, const View& whole, int64_t i) {
  int64_t index = 0, size = 1;
  CGRAPH_KEEP_LOOP for (int d = 1; d <= part.rank; ++d) {
    const int64_t extent = ExtentOf(part.dims[part.rank - d]);
    const int64_t step = ExtentOf(whole.dims[whole.rank - 3 - d]);
    if (extent != 1) index += i % step * size;
    size *= extent;
    i /= step;
  }
  return index;
}

// The extents of a call, and of one head of k and v: those whose queries are `rows` rows.
struct AttentionShape {
  int64_t matrices, rows, queries, keys, e, d;
  int64_t groups;
};
__device__ inline AttentionShape ShapeOf(const Attention& attention) {
  const View& q = attention.q;
  const View& k = attention.k;
  const int rank = static_cast<int>(q.rank);
  int64_t batches = 1;
  CGRAPH_KEEP_LOOP for (int i = 0; i < rank - 3; ++i) batches *= ExtentOf(q.dims[i]);
  const int64_t heads = ExtentOf(q.dims[rank - 3]), groups = ExtentOf(k.dims[rank - 3]);
  const int64_t n = ExtentOf(q.dims[rank - 2]);
  return {batches * groups,
          groups == 0 ? 0 : heads / groups * n,
          n,
          ExtentOf(k.dims[rank - 2]),
          ExtentOf(q.dims[rank - 1]),
          ExtentOf(attention.v.dims[rank - 1]),
          groups};
}

// One head of k and v, and the queries that read it.
template <typename T, typename S>
class AttentionHead {
 public:
  using C = Compute<T>;
  static constexpr int kDepth = sizeof(C) == 8 ? 8 : 16;  // of a strip, by the shared memory

  struct Shared {
    C left[kDepth][kTile + 1], right[kDepth][kTile + 1];
    C tile[kTile][kTile + 1];  // of scores: of a query in each row
  };

  __device__ AttentionHead(const Attention& attention, const AttentionShape& shape, int64_t matrix,
                           Shared& shared)
      : attention_(attention), shape_(shape), shared_(shared), matrix_(matrix),
        first_row_(matrix * shape.rows), length_(shape.keys),
        scale_(static_cast<C>(attention.scale)) {
    q_ = static_cast<const T*>(attention.q.data) + matrix * shape.rows * shape.e;
    k_ = static_cast<const S*>(attention.k.data) + matrix * shape.keys * shape.e;
    v_ = static_cast<const S*>(attention.v.data) + matrix * shape.keys * shape.d;
    if (attention.has_length) {
      const auto* lengths = static_cast<const int64_t*>(attention.length.data);
      length_ = lengths[BroadcastIndex(attention.length, attention.q, matrix / shape.groups)];
    }
  }

  // Makes columns [column, column + kTile) of the result, of rows [row, row + kTile), or of what a
  // part of the keys gives to it.
  __device__ void Forward(int64_t row, int64_t column, int64_t split) {
    C out[kEach][kEach] = {}, most[kEach];
    double sum[kEach] = {};
    for (C& each : most) each = -std::numeric_limits<C>::infinity();
    const int64_t seen = MostSeen(row), end = (split + 1) * attention_.keys_each;
    const int64_t keys = attention_.splits == 1 || seen < end ? seen : end;
    for (int64_t key = split * attention_.keys_each; key < keys; key += kTile) {
      C scores[kEach][kEach] = {};
      AddScores(scores, row, key);
      CGRAPH_UNROLL for (int i = 0; i < kEach; ++i) {
        const C factor = Exponentials(scores[i], most[i], sum[i], Seen(row + RowOf(i)) - key);
        CGRAPH_UNROLL for (int j = 0; j < kEach; ++j) out[i][j] *= factor;
      }
      Share(scores);
      const int64_t some = keys - key < kTile ? keys - key : kTile;
      Add<true, false>(
          out, some, [&](int r, int64_t l) { return shared_.tile[r][l]; },
          [&](int c, int64_t l) { return At(v_, key + l, keys, column + c, shape_.d); });
    }
    if (attention_.splits > 1) return StorePart(out, most, sum, row, column, split);
    T* const to = static_cast<T*>(attention_.out) + first_row_ * shape_.d;
    CGRAPH_UNROLL for (int i = 0; i < kEach; ++i) {
      const C share = ShareOf(sum[i]);
      CGRAPH_UNROLL for (int j = 0; j < kEach; ++j) out[i][j] *= share;
    }
    StoreTile(to, out, row, shape_.rows, column, shape_.d);
  }

  // Makes columns [column, column + kTile) of the result, of rows [row, row + kTile), of what the
  // parts of the keys have given.
  __device__ void JoinParts(int64_t row, int64_t column) {
    const int64_t rows = shape_.matrices * shape_.rows;
    C out[kEach][kEach] = {};
    CGRAPH_UNROLL for (int i = 0; i < kEach; ++i) {
      const int64_t r = row + RowOf(i);
      if (r >= shape_.rows) continue;
      const RowStatistics* const statistics = attention_.statistics + first_row_ + r;
      double most = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t s = 0; s < attention_.splits; ++s) {
        most = statistics[s * rows].most > most ? statistics[s * rows].most : most;
      }
      const C base = BaseOf(static_cast<C>(most));
      for (int64_t s = 0; s < attention_.splits; ++s) {
        const C factor = device::Exp::Of(static_cast<C>(statistics[s * rows].most) - base);
        sum += statistics[s * rows].sum * static_cast<double>(factor);
        const C* const part = static_cast<const C*>(attention_.parts) +
                              (s * rows + first_row_ + r) * shape_.d;
        CGRAPH_UNROLL for (int j = 0; j < kEach; ++j) {
          const int64_t c = column + ColumnOf(j);
          if (c < shape_.d) out[i][j] += part[c] * factor;
        }
      }
      const C share = ShareOf(sum);
      CGRAPH_UNROLL for (int j = 0; j < kEach; ++j) out[i][j] *= share;
    }
    T* const to = static_cast<T*>(attention_.out) + first_row_ * shape_.d;
    StoreTile(to, out, row, shape_.rows, column, shape_.d);
  }

  // Leaves what the gradient needs of rows [row, row + kTile).
  __device__ void MakeStatistics(int64_t row) {
    C most[kEach];
    double sum[kEach] = {};
    for (C& each : most) each = -std::numeric_limits<C>::infinity();
    const int64_t keys = MostSeen(row);
    for (int64_t key = 0; key < keys; key += kTile) {
      C scores[kEach][kEach] = {};
      AddScores(scores, row, key);
      CGRAPH_UNROLL for (int i = 0; i < kEach; ++i) {
        Exponentials(scores[i], most[i], sum[i], Seen(row + RowOf(i)) - key);
      }
    }
    CGRAPH_KEEP_LOOP for (int i = 0; i < kEach; ++i) {
      const int64_t r = row + RowOf(i);
      double shift = 0;
      for (int64_t c = ColumnOf(0); r < shape_.rows && c < shape_.d; c += kEdge) {
        const int64_t at = (first_row_ + r) * shape_.d + c;
        shift += static_cast<double>(Widened(static_cast<const T*>(attention_.y)[at])) *
                 static_cast<double>(Widened(static_cast<const T*>(attention_.gy)[at]));
      }
      shift = JoinedInWarp(shift, kEdge, [](double a, double b) { return a + b; });
      if (ColumnOf(0) == 0 && r < shape_.rows) {
        attention_.statistics[first_row_ + r] = {static_cast<double>(most[i]), sum[i], shift};
      }
    }
  }

  // Makes columns [column, column + kTile) of the gradient of q, of rows [row, row + kTile).
  __device__ void GradientOfQueries(int64_t row, int64_t column) {
    C out[kEach][kEach] = {};
    const int64_t keys = MostSeen(row);
    for (int64_t key = 0; key < keys; key += kTile) {
      C scores[kEach][kEach] = {}, gradients[kEach][kEach] = {};
      AddGradients(scores, gradients, row, key);
      Share(gradients);
      const int64_t some = keys - key < kTile ? keys - key : kTile;
      Add<true, false>(
          out, some, [&](int r, int64_t l) { return shared_.tile[r][l]; },
          [&](int c, int64_t l) { return At(k_, key + l, keys, column + c, shape_.e); });
    }
    T* const to = static_cast<T*>(attention_.out) + first_row_ * shape_.e;
    StoreTile(to, out, row, shape_.rows, column, shape_.e);
  }

  // Makes columns [column, column + kTile) of the gradients of k and v, of keys [key, key + kTile).
  __device__ void GradientOfKeys(int64_t key, int64_t column) {
    C k_out[kEach][kEach] = {}, v_out[kEach][kEach] = {};
    const T* const gy = static_cast<const T*>(attention_.gy) + first_row_ * shape_.d;
    for (int64_t row = 0; row < shape_.rows && key < length_; row += kTile) {
      if (MostSeen(row) <= key) continue;
      C scores[kEach][kEach] = {}, gradients[kEach][kEach] = {};
      AddGradients(scores, gradients, row, key);
      const int64_t some = shape_.rows - row < kTile ? shape_.rows - row : kTile;
      const auto left = [&](int c, int64_t l) { return shared_.tile[l][c]; };
      Share(scores);
      Add<false, false>(v_out, some, left, [&](int c, int64_t l) {
        return At(gy, row + l, shape_.rows, column + c, shape_.d);
      });
      Share(gradients);
      Add<false, false>(k_out, some, left, [&](int c, int64_t l) {
        return At(q_, row + l, shape_.rows, column + c, shape_.e);
      });
    }
    const int64_t first = matrix_ * shape_.keys;
    StoreTile(static_cast<S*>(attention_.k_out) + first * shape_.e, k_out, key, shape_.keys, column,
              shape_.e);
    StoreTile(static_cast<S*>(attention_.v_out) + first * shape_.d, v_out, key, shape_.keys, column,
              shape_.d);
  }

 private:
  // The thread's rows and columns of a tile.
  static __device__ int RowOf(int i) { return static_cast<int>(threadIdx.x) / kEdge + i * kEdge; }
  static __device__ int ColumnOf(int j) {
    return static_cast<int>(threadIdx.x) % kEdge + j * kEdge;
  }

  // Returns how many keys a row sees.
  __device__ int64_t Seen(int64_t row) const {
    if (row >= shape_.rows) return 0;
    if (!attention_.causal) return length_;
    const int64_t seen = length_ - (shape_.queries - 1 - row % shape_.queries);
    return seen < 0 ? 0 : seen;
  }
  // Returns the most that a row of a tile sees: one that is the last of its head, or the last row.
  __device__ int64_t MostSeen(int64_t row) const {
    const int64_t last = row + kTile < shape_.rows ? row + kTile - 1 : shape_.rows - 1;
    const bool ends = row / shape_.queries != last / shape_.queries;
    return ends ? length_ : Seen(last);
  }

  // Returns what a row's sums are multiplied with. A row that sees no keys though there are some is
  // NaN; the sum over no keys is 0.
  __device__ C ShareOf(double sum) const {
    return length_ == 0 ? C(1) : static_cast<C>(1 / sum);
  }
  static __device__ C BaseOf(C most) {
    return most == -std::numeric_limits<C>::infinity() ? C(0) : most;
  }
  __device__ void StorePart(const C (&out)[kEach][kEach], const C (&most)[kEach],
                            const double (&sum)[kEach], int64_t row, int64_t column,
                            int64_t split) {
    const int64_t first = split * shape_.matrices * shape_.rows + first_row_;
    StoreTile(static_cast<C*>(attention_.parts) + first * shape_.d, out, row, shape_.rows, column,
              shape_.d);
    if (column > 0 || ColumnOf(0) > 0) return;
    CGRAPH_UNROLL for (int i = 0; i < kEach; ++i) {
      const int64_t r = row + RowOf(i);
      if (r >= shape_.rows) continue;
      attention_.statistics[first + r] = {static_cast<double>(most[i]), sum[i], 0};
    }
  }

  // Returns an element of a matrix with that many columns; 0 outside.
  template <typename Element>
  static __device__ C At(const Element* matrix, int64_t row, int64_t rows, int64_t column,
                         int64_t columns) {
    if (row >= rows || column >= columns) return C(0);
    return static_cast<C>(Widened(matrix[row * columns + column]));
  }

  // Adds the scores of rows from `row` on, with keys from `key` on.
  __device__ void AddScores(C (&scores)[kEach][kEach], int64_t row, int64_t key) {
    Add<true, true>(
        scores, shape_.e,
        [&](int r, int64_t l) { return At(q_, row + r, shape_.rows, l, shape_.e) * scale_; },
        [&](int c, int64_t l) { return At(k_, key + c, length_, l, shape_.e); });
  }
  // Turns a row's scores into exponentials, those of keys from `seen` on into 0, and returns what
  // earlier sums are to be multiplied with.
  static __device__ C Exponentials(C (&scores)[kEach], C& most, double& sum, int64_t seen) {
    constexpr C kNone = -std::numeric_limits<C>::infinity();
    const auto greater = [](C a, C b) { return b > a ? b : a; };
    C here = kNone;
    CGRAPH_UNROLL for (int j = 0; j < kEach; ++j) {
      if (ColumnOf(j) < seen) here = greater(here, scores[j]);
    }
    here = JoinedInWarp(here, kEdge, greater);
    const C before = most;
    most = greater(before, here);
    const C base = BaseOf(most);
    C added = 0;
    CGRAPH_UNROLL for (int j = 0; j < kEach; ++j) {
      scores[j] = ColumnOf(j) < seen ? device::Exp::Of(scores[j] - base) : C(0);
      added += scores[j];
    }
    added = JoinedInWarp(added, kEdge, [](C a, C b) { return a + b; });
    const C factor = most == before ? C(1) : device::Exp::Of(before - base);
    sum = sum * static_cast<double>(factor) + static_cast<double>(added);
    return factor;
  }

  // Makes the probabilities of a tile, and the gradients of its scores.
  __device__ void AddGradients(C (&scores)[kEach][kEach], C (&gradients)[kEach][kEach], int64_t row,
                               int64_t key) {
    AddScores(scores, row, key);
    const T* const gy = static_cast<const T*>(attention_.gy) + first_row_ * shape_.d;
    Add<true, true>(
        gradients, shape_.d,
        [&](int r, int64_t l) { return At(gy, row + r, shape_.rows, l, shape_.d); },
        [&](int c, int64_t l) { return At(v_, key + c, length_, l, shape_.d); });
    CGRAPH_UNROLL for (int i = 0; i < kEach; ++i) {
      const int64_t r = row + RowOf(i), seen = Seen(r) - key;
      if (r >= shape_.rows) continue;  // where everything is 0 already, but for scores
      const RowStatistics statistics = attention_.statistics[first_row_ + r];
      const C base = BaseOf(static_cast<C>(statistics.most));
      const C share = static_cast<C>(1 / statistics.sum), shift = static_cast<C>(statistics.shift);
      CGRAPH_UNROLL for (int j = 0; j < kEach; ++j) {
        const bool sees = ColumnOf(j) < seen;
        scores[i][j] = sees ? device::Exp::Of(scores[i][j] - base) * share : C(0);
        gradients[i][j] = sees ? scores[i][j] * (gradients[i][j] - shift) * scale_ : C(0);
      }
    }
  }

  // Leaves a tile in shared memory, of which the block has read the one before.
  __device__ void Share(const C (&tile)[kEach][kEach]) {
    CGRAPH_UNROLL for (int i = 0; i < kEach; ++i) {
      CGRAPH_UNROLL for (int j = 0; j < kEach; ++j) {
        shared_.tile[RowOf(i)][ColumnOf(j)] = tile[i][j];
      }
    }
    __syncthreads();
  }

  // Adds to `sums` the products of left(row, l) and right(column, l) over l < depth, in strips.
  // `..._depth_first`: neighbouring threads fetch what is one behind the other in l.
  template <bool left_depth_first, bool right_depth_first, typename Left, typename Right>
  __device__ void Add(C (&sums)[kEach][kEach], int64_t depth, Left left, Right right) {
    constexpr int kLoads = kTile * kDepth / kThreads;
    for (int64_t l = 0; l < depth; l += kDepth) {
      CGRAPH_UNROLL for (int load = 0; load < kLoads; ++load) {
        const int i = static_cast<int>(threadIdx.x) + load * kThreads;
        const int a = left_depth_first ? i % kDepth : i / kTile;
        const int a_edge = left_depth_first ? i / kDepth : i % kTile;
        const int b = right_depth_first ? i % kDepth : i / kTile;
        const int b_edge = right_depth_first ? i / kDepth : i % kTile;
        shared_.left[a][a_edge] = l + a < depth ? left(a_edge, l + a) : C(0);
        shared_.right[b][b_edge] = l + b < depth ? right(b_edge, l + b) : C(0);
      }
      __syncthreads();
      CGRAPH_UNROLL for (int x = 0; x < kDepth; ++x) {
        C a[kEach], b[kEach];
        CGRAPH_UNROLL for (int i = 0; i < kEach; ++i) a[i] = shared_.left[x][RowOf(i)];
        CGRAPH_UNROLL for (int j = 0; j < kEach; ++j) b[j] = shared_.right[x][ColumnOf(j)];
        CGRAPH_UNROLL for (int i = 0; i < kEach; ++i) {
          CGRAPH_UNROLL for (int j = 0; j < kEach; ++j) {
            sums[i][j] = device::Fma(a[i], b[j], sums[i][j]);
          }
        }
      }
      __syncthreads();
    }
  }

  template <typename Element>
  __device__ void StoreTile(Element* to, const C (&tile)[kEach][kEach], int64_t row, int64_t rows,
                            int64_t column, int64_t columns) {
    CGRAPH_UNROLL for (int i = 0; i < kEach; ++i) {
      CGRAPH_UNROLL for (int j = 0; j < kEach; ++j) {
        const int64_t r = row + RowOf(i), c = column + ColumnOf(j);
        if (r < rows && c < columns) to[r * columns + c] = Stored<Element>(tile[i][j]);
      }
    }
  }

  const Attention& attention_;
  const AttentionShape& shape_;
  Shared& shared_;
  const T* q_;
  const S* k_;
  const S* v_;
  const int64_t matrix_;     // of queries
  const int64_t first_row_;  // of the queries, among those of all heads
  int64_t length_;           // of the keys that there are
  const C scale_;
};

__device__ inline int64_t Tiles(int64_t extent) { return (extent + kTile - 1) / kTile; }

// Calls use(head, edge, column, split) for the tiles that are this block's: along `edge`, and of
// `columns` columns, of each head and each of `splits` parts.
template <typename T, typename S, typename Use>
__device__ void ForTiles(const Attention& attention, bool of_keys, int64_t columns, int64_t splits,
                         Use use) {
  __shared__ typename AttentionHead<T, S>::Shared shared;
  const AttentionShape shape = ShapeOf(attention);
  const int64_t edges = Tiles(of_keys ? shape.keys : shape.rows), across = Tiles(columns);
  const int64_t tiles = shape.matrices * edges * across;
  for (int64_t i = blockIdx.x; i < splits * tiles; i += gridDim.x) {
    const int64_t split = i / tiles, tile = i % tiles;
    AttentionHead<T, S> head(attention, shape, tile / (edges * across), shared);
    use(head, tile / across % edges * kTile, tile % across * kTile, split);
    __syncthreads();
  }
}

#define ATTENTION_KERNEL(kernel, of_keys, columns, splits, call, name, T, S)                     \
  KERNEL(kernel##_##name, (Guard guard, const __grid_constant__ Attention attention)) {          \
    if (!Enter(guard)) return;                                                                   \
    const AttentionShape shape = ShapeOf(attention);                                             \
    ForTiles<T, S>(attention, of_keys, columns, splits,                                          \
                   [](auto& head, int64_t edge, int64_t column, int64_t split) { call; });       \
  }
#define ATTENTION_KERNELS(...)                                                                   \
  ATTENTION_KERNEL(Attention, false, shape.d, attention.splits,                                  \
                   head.Forward(edge, column, split), __VA_ARGS__)                               \
  ATTENTION_KERNEL(JoinAttention, false, shape.d, 1, head.JoinParts(edge, column), __VA_ARGS__)  \
  ATTENTION_KERNEL(AttentionStatistics, false, 1, 1, head.MakeStatistics(edge), __VA_ARGS__)     \
  ATTENTION_KERNEL(AttentionQueryGrad, false, shape.e, 1,                                        \
                   head.GradientOfQueries(edge, column), __VA_ARGS__)                            \
  ATTENTION_KERNEL(AttentionKeyGrad, true, shape.e > shape.d ? shape.e : shape.d, 1,             \
                   head.GradientOfKeys(edge, column), __VA_ARGS__)
ATTENTION_KERNELS(f32_f32, float, float)
ATTENTION_KERNELS(f32_f16, float, F16)
ATTENTION_KERNELS(f32_bf16, float, BF16)
ATTENTION_KERNELS(f16_f16, F16, F16)
ATTENTION_KERNELS(f16_bf16, F16, BF16)
ATTENTION_KERNELS(bf16_f16, BF16, F16)
ATTENTION_KERNELS(bf16_bf16, BF16, BF16)
ATTENTION_KERNELS(f64_f64, double, double)
ATTENTION_KERNELS(f64_f32, double, float)
ATTENTION_KERNELS(f64_f16, double, F16)
ATTENTION_KERNELS(f64_bf16, double, BF16)

// Finds the first length that lies outside.
KERNEL(CheckLengths, (Guard guard, View length, Extent least, Extent most)) {
  if (!Enter(guard)) return;
  const auto* lengths = static_cast<const int64_t*>(length.data);
  const int64_t count = ElementsOf(length), low = ExtentOf(least), high = ExtentOf(most);
  for (int64_t i = 0; i < count; ++i) {
    if (lengths[i] >= low && lengths[i] <= high) continue;
    Fail(guard, 0, length.rank == 0 ? -1 : i, lengths[i], low, high);
    return;
  }
}

}  // namespace cgraph::cuda
