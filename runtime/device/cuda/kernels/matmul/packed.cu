// Products of f32 and packed weights of 8 or 4 bits (stdlib/std/quant.cgraph): a thread sums one
// element of the result, in the order of the CPU's product of a few rows, and with its bits.
#include "runtime/device/cuda/kernels/device_numbers.h"
#include "runtime/device/cuda/kernels/matmul/arguments.h"
#include "runtime/device/numbers/binary_format.h"

namespace cgraph::cuda {

constexpr int kOutputs = 16, kBlock = 32, kParts = 4;  // as in packed_product.h

// Returns the sum of a block of x, in eight lanes.
__device__ inline float SumOfBlock(const float* x) {
  float lanes[8] = {};
  CGRAPH_UNROLL for (int i = 0; i < kBlock; ++i) lanes[i % 8] += x[i];
  CGRAPH_UNROLL for (int half = 4; half > 0; half /= 2) {
    CGRAPH_UNROLL for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

template <bool nibbles>
__device__ inline float PackedElement(const PackedMatmul& packed, const float* x, int64_t output) {
  const int64_t group = output / kOutputs, lane = output % kOutputs;
  float total = 0;
  for (int64_t b = 0; b < packed.blocks; ++b, x += kBlock) {
    const int64_t block = group * packed.blocks + b;
    float parts[kParts] = {};
    if constexpr (nibbles) {
      // Bytes, since those of a caller's tensor may lie anywhere.
      const auto* pairs =
          static_cast<const uint8_t*>(packed.q) + block * kBlock / 2 * kOutputs + lane * 4;
      CGRAPH_KEEP_LOOP for (int word = 0; word < 4; ++word, pairs += 4 * kOutputs) {
        CGRAPH_UNROLL for (int i = 0; i < 8; ++i) {
          const float number = static_cast<float>(pairs[i / 2] >> i % 2 * 4 & 15);
          const float factor = x[i % 2 * kBlock / 2 + 4 * word + i / 2];
          parts[i % kParts] = device::Fma(factor, number, parts[i % kParts]);
        }
      }
    } else {
      const auto* numbers =
          static_cast<const int8_t*>(packed.q) + block * kBlock * kOutputs + lane;
      CGRAPH_UNROLL for (int i = 0; i < kBlock; ++i) {
        parts[i % kParts] = device::Fma(x[i], static_cast<float>(numbers[i * kOutputs]),
                                        parts[i % kParts]);
      }
    }
    const float sum = (parts[0] + parts[2]) + (parts[1] + parts[3]);
    total = device::Fma(Widened(packed.scale[block * kOutputs + lane]), sum, total);
    if constexpr (nibbles) {
      total = device::Fma(Widened(packed.minimum[block * kOutputs + lane]), SumOfBlock(x), total);
    }
  }
  return total;
}

template <bool nibbles>
__device__ inline void RunPacked(const PackedMatmul& packed) {
  const int64_t elements = ElementsOf(packed.c);
  for (int64_t i = GridThread(); i < elements; i += GridThreads()) {
    const Quotient place = Divided(i, packed.groups * kOutputs);
    const float* x = static_cast<const float*>(packed.x) + place.whole * packed.blocks * kBlock;
    static_cast<float*>(packed.c.data)[i] = PackedElement<nibbles>(packed, x, place.rest);
  }
}

KERNEL(MatmulQ8, (Guard guard, const __grid_constant__ PackedMatmul packed)) {
  if (Enter(guard)) RunPacked<false>(packed);
}
KERNEL(MatmulQ4, (Guard guard, const __grid_constant__ PackedMatmul packed)) {
  if (Enter(guard)) RunPacked<true>(packed);
}

}  // namespace cgraph::cuda
