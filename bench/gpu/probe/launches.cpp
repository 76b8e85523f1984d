// The chain of bench/gpu/launches.cgraph: a copy in, small kernels, a copy out.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "bench/gpu/probe/probe.h"
#include "runtime/device/cuda/kernels/executable.h"

namespace cgraph::cuda {
namespace {

using device::Memory;
using device::OperandType;
using plan::DType;

constexpr int kRows = 4, kColumns = 64;
constexpr uint64_t kBytes = kRows * kColumns * sizeof(float);

std::unique_ptr<CudaExecutable> MakeSoftmax(const Probe& probe) {
  OperandType type;
  type.dtype = DType::f32;
  type.rank = 2;
  type.dims[0] = kRows;
  type.dims[1] = kColumns;
  plan::Kernel kernel;
  kernel.name = "softmax";
  kernel.body.push_back(std::make_unique<plan::Primitive>());
  kernel.body[0]->op = "softmax";
  kernel.body[0]->attributes.push_back(std::make_unique<plan::Attribute>());
  kernel.body[0]->attributes[0]->name = "dim";
  kernel.body[0]->attributes[0]->ints = {1};
  const OperandType types[] = {type};
  return Must(MakeCudaKernel(probe.gpu->target(), kernel, types, types));
}

void MeasureChain(Probe& probe, int count) {
  const auto executable = MakeSoftmax(probe);
  const Memory in = probe.Pinned(kBytes), out = probe.Pinned(kBytes);
  const Memory a = probe.OnGpu(kBytes);
  View view;
  view.data = a.data();
  view.rank = 2;
  view.dims[0].number = kRows;
  view.dims[1].number = kColumns;
  const Memory scratch = probe.OnGpu(std::max<uint64_t>(executable->scratch(), 256));
  const auto issue = [&] {
    probe.Copy(a, in, kBytes);
    for (int i = 0; i < count; ++i) {
      Call call{probe.stream, {}, {&view, 1}, {&view, 1}, scratch.data()};
      probe.Check(executable->Launch(call), "launching a kernel");
    }
    probe.Copy(out, a, kBytes);
  };
  probe.MeasureGraph(fmt::format("launches_{}_graph", count), issue);
  probe.MeasureEager(fmt::format("launches_{}_eager", count), issue);
}

}  // namespace

void MeasureLaunches(Probe& probe) {
  for (const int count : probe.small ? std::vector{8} : std::vector{8, 64, 512}) {
    MeasureChain(probe, count);
  }
}

}  // namespace cgraph::cuda
