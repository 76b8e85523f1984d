// What the kernels of attention and rope take.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ARGUMENTS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ARGUMENTS_H_

#include "runtime/device/cuda/kernels/dims.h"

namespace cgraph::cuda {

inline constexpr int kAttentionTile = 64;  // queries, keys and columns of a block's work

// What the gradient needs of a row of scores, and what joins the parts of its keys.
struct RowStatistics {
  double most, sum;  // the greatest score, and the sum of what exp() gives of all less it
  double shift;      // for the gradient: the sum of the result times its gradient
};

// q is [*b, h, n, e], k [*b, g, m, e], v [*b, g, m, d]; `length` is read where has_length says so.
struct Attention {
  View q, k, v, length;
  void* out = nullptr;
  // Of the gradient alone.
  const void* y = nullptr;
  const void* gy = nullptr;
  void* k_out = nullptr;
  void* v_out = nullptr;
  RowStatistics* statistics = nullptr;  // of each row of q; where keys are split, for each part
  void* parts = nullptr;                // [splits, rows of q, d]: what each part of the keys gives
  int64_t splits = 1, keys_each = 0;    // parts of the keys, and how many keys each has at the most
  int32_t causal = false, has_length = false;
  double scale = 1;
};
static_assert(sizeof(Attention) == 4 * sizeof(View) + 7 * sizeof(void*) + 2 * sizeof(int64_t) +
                                       2 * sizeof(int32_t) + sizeof(double));  // no padding

// x and the result are [*b, h, n, e].
struct Rope {
  View x, positions;
  void* out = nullptr;
  const double* frequencies = nullptr;  // a table; null: theta says what they are
  double theta = 0;
  int32_t listed = false;    // whether each row has a position, else only the first
  int32_t adjacent = false;  // whether the elements of a pair are
  int64_t inverse = false;
};
static_assert(sizeof(Rope) == 2 * sizeof(View) + 2 * sizeof(void*) + sizeof(double) +
                                  2 * sizeof(int32_t) + sizeof(int64_t));

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_ARGUMENTS_H_
