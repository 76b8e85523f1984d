// Probe: anchors for the figures of a GPU (scripts/gpu-check): what the driver, cuBLASLt and NCCL
// take for the same work without a runtime above them, through the tables of their functions that
// the runtime uses.
#ifndef CGRAPH_BENCH_GPU_PROBE_PROBE_H_
#define CGRAPH_BENCH_GPU_PROBE_PROBE_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "runtime/device/cuda/gpu/gpu.h"
#include "runtime/device/memory.h"

namespace cgraph::cuda {

[[noreturn]] inline void Fail(const std::string& sentence) {
  std::fprintf(stderr, "gpu_probe: error: %s\n", sentence.c_str());
  std::exit(1);
}
// Says what cannot be measured here, and why; the figure is left out.
inline void Note(const std::string& sentence) {
  std::fprintf(stderr, "gpu_probe: note: %s\n", sentence.c_str());
}

template <typename T>
T Must(Result<T> made) {
  if (!made.ok()) Fail(made.status().message());
  return std::move(*made);
}

struct Probe {
  std::shared_ptr<Gpu> gpu;
  const Driver& driver;
  bool small = false;  // little work: times are of no interest
  CUstream stream = nullptr;
  std::string text;  // members of the JSON object so far

  void Check(CUresult result, const char* what) const {
    if (result != CUDA_SUCCESS) Fail(driver.Check(result, what).message());
  }
  void Wait() const { Check(driver.cuStreamSynchronize(stream), "waiting for the GPU"); }
  device::Memory OnGpu(uint64_t bytes) const {
    return Must(AllocateOnGpu(gpu, bytes, device::MemoryKind::plain, "memory of the probe"));
  }
  device::Memory Pinned(uint64_t bytes) const {
    return Must(AllocatePinned(gpu, bytes, device::MemoryKind::pinned, "memory of the probe"));
  }
  void Copy(const device::Memory& to, const device::Memory& from, uint64_t bytes) const {
    Check(driver.cuMemcpyAsync(AddressOf(to.data()), AddressOf(from.data()), bytes, stream),
          "copying");
  }
  // Fills memory of the GPU.
  void Fill(const device::Memory& memory, unsigned char value, uint64_t bytes) const {
    Check(driver.cuMemsetD8Async(AddressOf(memory.data()), value, bytes, stream), "filling");
  }

  void Add(const std::string& name, double nanoseconds);
  // Adds the median of what `round` takes, which waits for its own end.
  void Measure(const std::string& name, const std::function<void()>& round);
  // Measures what `issue` appends to the stream: as one CUDA graph, or by itself.
  void MeasureGraph(const std::string& name, const std::function<void()>& issue);
  void MeasureEager(const std::string& name, const std::function<void()>& issue);
};

// The groups of figures, each of which is measured beside plans of its own.
void MeasureLaunches(Probe& probe);   // chains of small kernels
void MeasureProducts(Probe& probe);   // by cuBLASLt
void MeasureMemory(Probe& probe);     // copies on the GPU, and to and from the host
void MeasureMessages(Probe& probe);   // a value that goes from one place to another
void MeasureNccl(Probe& probe);       // with itself: one rank
void MeasureProcesses(Probe& probe);  // memory that another process reads by CUDA IPC
// The other process: reads as many bytes of what the handle names, and prints its figures; nothing
// where it cannot open the handle, of which it notes why.
int ImportMemory(Probe& probe, const std::string& handle, uint64_t bytes);

}  // namespace cgraph::cuda

#endif  // CGRAPH_BENCH_GPU_PROBE_PROBE_H_
