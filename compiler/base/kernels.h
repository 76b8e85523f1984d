// The kernels that mean something to the compiler. It finds an op's operands and attributes by what
// such a kernel takes, so an op that names one is declared in just that way; `Check` sees to it.
#ifndef CGRAPH_COMPILER_BASE_KERNELS_H_
#define CGRAPH_COMPILER_BASE_KERNELS_H_

#include "runtime/base/kinds/native.h"

namespace cgraph {

#define KERNEL(constant, name, declaration) inline constexpr const char* constant = name;
#include "compiler/base/kernels.def"

// The parameters by which an op names one of its first tensor's dimensions, and several.
inline constexpr const char* kDimParameter = "dim";
inline constexpr const char* kStartDimParameter = "start_dim";
inline constexpr const char* kEndDimParameter = "end_dim";
inline constexpr const char* kDimsParameter = "dims";

// `grad by auto`: PyTorch differentiates the method in Python.
inline constexpr const char* kGradientAuto = "auto";

struct KnownKernel {
  const char* name;
  const char* declaration;
};

inline constexpr KnownKernel kKnownKernels[] = {
#define KERNEL(constant, name, declaration) {name, declaration},
#include "compiler/base/kernels.def"
};

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_KERNELS_H_
