// The source of one kernel for a chain of elementwise primitives. It is made of the operations of
// the kernels that the primitives have by themselves, so that its results have their bits.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_CHAIN_SOURCE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_CHAIN_SOURCE_H_

#include <optional>
#include <span>
#include <string>

#include "runtime/device/tensor.h"
#include "runtime/plan/plan.h"

namespace cgraph::cuda {

struct ChainSource {
  std::string name;  // of the kernel: the same for the same text
  std::string text;
};

// Extents are no part of it: one kernel serves all shapes and broadcasts. Nothing where there is a
// primitive that is no operation on elements, or there are more than kMostLoopOperands inputs. The
// kernel is one that CheckKernel (runtime/device/cpu/kernels/makers.h) accepts.
std::optional<ChainSource> SourceOf(const plan::Kernel& kernel,
                                    std::span<const device::OperandType> inputs,
                                    const device::OperandType& output);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_CHAIN_SOURCE_H_
