// MakeCpuKernel: from a kernel of the plan to the maker in kernels.def.
#include "runtime/device/kernel.h"

#include <fmt/format.h>

#include "runtime/device/kernels/makers.h"

namespace cgraph::device {
namespace {

struct Entry {
  const char* name;
  KernelResult (*make)(const Request& request);
};
constexpr Entry kKernels[] = {
#define BINARY(name, operation, dtypes) {name, MakeBinary},
#define COMPARE(name, operation, dtypes) {name, MakeCompare},
#define UNARY(name, operation, dtypes) {name, MakeUnary},
#define SELECT(name, operation, dtypes) {name, MakeSelect},
#define KERNEL(name, maker) {name, maker},
#include "runtime/device/kernels/kernels.def"
};

// A kernel of one primitive hands its operands on as they are.
Status CheckOrder(const plan::Primitive& primitive) {
  for (size_t i = 0; i < primitive.operands.size(); ++i) {
    if (primitive.operands[i] != static_cast<int32_t>(i)) {
      return {StatusCode::kUnsupported,
              fmt::format("kernel `{}` exchanges its operands, which cannot be run", primitive.op)};
    }
  }
  return Status::Ok();
}

Status CheckOperands(const Request& request) {
  for (std::span<const OperandType> operands : {request.inputs, request.outputs}) {
    for (const OperandType& type : operands) {
      if (type.rank > kMaxRank || plan::DTypeBytes(type.dtype) == 0) {
        return Invalid(request, "an operand has no valid type");
      }
      for (int i = 0; i < type.rank; ++i) {
        if (type.dims[i] < 0) return Invalid(request, "an operand has a negative dimension");
      }
    }
  }
  return Status::Ok();
}

}  // namespace

KernelResult MakeCpuKernel(const plan::Kernel& kernel, std::span<const OperandType> inputs,
                           std::span<const OperandType> outputs) {
  if (!kernel.library.empty()) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("kernel `{}` is native code of `{}`, which cannot be loaded yet",
                              kernel.name, kernel.library));
  }
  if (kernel.body.size() != 1) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("kernel `{}` has {} primitives; only kernels of one can be run",
                              kernel.name, kernel.body.size()));
  }
  const plan::Primitive& primitive = *kernel.body[0];
  CGRAPH_RETURN_IF_ERROR(CheckOrder(primitive));
  const Request request{primitive.op, primitive.attributes, inputs, outputs};
  CGRAPH_RETURN_IF_ERROR(CheckOperands(request));
  for (const Entry& entry : kKernels) {
    if (primitive.op == entry.name) return entry.make(request);
  }
  return Status(StatusCode::kUnsupported,
                fmt::format("there is no CPU kernel `{}`", primitive.op));
}

}  // namespace cgraph::device
