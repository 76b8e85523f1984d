// Kernels for the tests of the emulation itself; nvcc compiles them, too.
#include "runtime/device/cuda/kernels/device_code.h"

// The sum of each row of n numbers, a block a row: within warps by shuffles, then in shared memory.
KERNEL(emulation_row_sum, (const int64_t* in, int64_t* out, int64_t n)) {
  __shared__ int64_t part[32];
  int64_t sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) sum += in[blockIdx.x * n + i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  for (unsigned step = 16; step > 0; step /= 2) {
    if (threadIdx.x < step && threadIdx.x + step < blockDim.x / 32) {
      part[threadIdx.x] += part[threadIdx.x + step];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

// The same with a barrier left out: wrong for some order of threads.
KERNEL(emulation_row_sum_racy, (const int64_t* in, int64_t* out, int64_t n)) {
  __shared__ int64_t part[1024];
  part[threadIdx.x] = threadIdx.x < n ? in[blockIdx.x * n + threadIdx.x] : 0;
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

// to[i] = i * scale + offset.
KERNEL(emulation_fill, (int64_t* to, int64_t n, int64_t scale, int64_t offset)) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) to[i] = i * scale + offset;
}

// to[i] = a[i] + b[i].
KERNEL(emulation_add, (const int64_t* a, const int64_t* b, int64_t* to, int64_t n)) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) to[i] = a[i] + b[i];
}

// Threads whose index is odd end before a barrier.
KERNEL(emulation_divergent, (int64_t* to)) {
  if (threadIdx.x % 2 == 1) return;
  __syncthreads();
  to[threadIdx.x] = 1;
}

// One half waits at a barrier, the other for lanes of the first.
KERNEL(emulation_deadlock, (int64_t* to)) {
  if (threadIdx.x < 16) {
    __syncthreads();
  } else {
    __syncwarp();
  }
  to[threadIdx.x] = 1;
}

// What votes and shuffles give each thread, added to `start`.
struct WarpResults {
  int64_t values[10];
};
KERNEL(emulation_warp_calls, (WarpResults* out, WarpResults start)) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  WarpResults results = start;
  results.values[0] += __ballot_sync(0xffffffff, lane % 3 == 0);
  results.values[1] += __shfl_sync(0xffffffff, lane, 5);
  results.values[2] += __shfl_up_sync(0xffffffff, lane, 4);
  results.values[3] += __shfl_down_sync(0xffffffff, lane, 4);
  results.values[4] += __shfl_down_sync(0xffffffff, lane * 1.5, 1, 8) * 2;
  results.values[5] += __syncthreads_count(threadIdx.x % 4 == 0);
  results.values[6] += __syncthreads_or(threadIdx.x == 7);
  results.values[7] += __syncthreads_and(threadIdx.x != 7);
  if (lane < 8) results.values[8] += __shfl_xor_sync(0xff, lane, 1);
  __syncwarp();
  results.values[9] += __any_sync(0xffffffff, lane == 40) + 2 * __all_sync(0xffffffff, lane < 32);
  out[threadIdx.x] = results;
}

// Counts, in a total, the threads of the grid.
KERNEL(emulation_count, (unsigned long long* total, int* least)) {
  atomicAdd(total, 1);
  atomicMin(least, -static_cast<int>(blockIdx.x));
}
