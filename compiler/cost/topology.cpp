#include "compiler/cost/topology.h"

namespace cgraph::cost {

const Topology& AssumedTopology() {
  // Orders of magnitude, rounded:
  // - cpu: one AVX2 core at 3 GHz (2 FMA units x 8 f32 = 96 GFLOP/s at most, a half of it reached),
  //   10 GB/s of memory per core (a 256 MiB memcpy on a 2-core cloud machine), 20 ns a call. An
  //   f64 is twice as wide.
  // - gpu: NVIDIA H200's data sheet, 67 TFLOP/s f32, 34 f64, 989 f16 and bf16 by its tensor cores
  //   (without sparsity), and 4.8 TB/s; 4 us per kernel launch.
  // - local copy and shm: the same machine's memcpy; 100 ns between cores, shm copies twice.
  // - nccl: NCCL's own tuning table, LL ring: base latency 6.6 us, 0.6 us a hop over NVLink, of
  //   which SM90 has 18 x 20.6 GB/s.
  // - host: PCIe gen 5 x16 as cudaMemcpyAsync reaches it, about 50 GB/s and 10 us.
  // - network: one port of 200 Gb/s at each machine; 5 us, as MPI over TCP takes for a few bytes.
  static const Topology kTopology = {
      .name = "AVX2 cores, H200 GPUs on NVLink and PCIe gen 5 (assumed)",
      .cpu = {.overhead_ps = 20'000,
              .flops_per_us = 48'000,
              .memory_bytes_per_us = 10'000,
              .f64_flops_per_us = 24'000},
      .gpu = {.overhead_ps = 4'000'000,
              .flops_per_us = 67'000'000,
              .memory_bytes_per_us = 4'800'000,
              .f16_flops_per_us = 989'000'000,
              .f64_flops_per_us = 34'000'000},
      .local_copy = {.latency_ps = 20'000, .hop_ps = 0, .bytes_per_us = 10'000},
      .shm = {.latency_ps = 100'000, .hop_ps = 100'000, .bytes_per_us = 6'600},
      .nccl = {.latency_ps = 6'600'000, .hop_ps = 600'000, .bytes_per_us = 370'000},
      .host = {.latency_ps = 10'000'000, .hop_ps = 0, .bytes_per_us = 50'000},
      .network = {.latency_ps = 5'000'000, .hop_ps = 5'000'000, .bytes_per_us = 25'000},
  };
  return kTopology;
}

}  // namespace cgraph::cost
