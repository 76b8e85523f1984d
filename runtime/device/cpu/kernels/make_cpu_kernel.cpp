// MakeCpuKernel: looks a kernel of the plan up in kernels.def and calls its maker.
#include "runtime/device/kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/text.h"
#include "runtime/device/cpu/kernels/makers.h"

namespace cgraph::device {
namespace {

struct Entry {
  const char* name;
  KernelResult (*make)(const Request& request);
  bool elementwise;
};
constexpr Entry kKernels[] = {
#define BINARY(name, operation, dtypes) {name, MakeBinary, true},
#define COMPARE(name, operation, dtypes) {name, MakeCompare, true},
#define UNARY(name, operation, dtypes) {name, MakeUnary, true},
#define SELECT(name, operation, dtypes) {name, MakeSelect, true},
#define TERNARY(name, operation, dtypes) {name, MakeTernary, true},
#define ELEMENTWISE(name, maker) {name, maker, true},
#define KERNEL(name, maker) {name, maker, false},
#include "runtime/device/cpu/kernels/kernels.def"
};

const Entry* Find(std::string_view kernel) {
  const auto entry = std::find_if(std::begin(kKernels), std::end(kKernels),
                                  [&](const Entry& e) { return e.name == kernel; });
  return entry == std::end(kKernels) ? nullptr : entry;
}

// Checks that a kernel of one primitive hands its operands on in order.
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

bool IsElementwise(std::string_view kernel) {
  const Entry* entry = Find(kernel);
  return entry != nullptr && entry->elementwise;
}

KernelResult MakePrimitive(const plan::Primitive& primitive, std::span<const OperandType> inputs,
                           std::span<const OperandType> outputs) {
  const Request request{primitive.op, primitive.attributes, inputs, outputs};
  CGRAPH_RETURN_IF_ERROR(CheckOperands(request));
  if (const Entry* entry = Find(primitive.op)) return entry->make(request);
  std::vector<std::string> names;
  for (const Entry& entry : kKernels) names.push_back(entry.name);
  return Status(StatusCode::kUnsupported,
                fmt::format("there is no CPU kernel `{}`{}; the ops of the library, std/*.cgraph, "
                            "name all there are",
                            primitive.op, DidYouMeanHint(primitive.op, names)));
}

Status CheckKernel(const plan::Kernel& kernel, std::span<const OperandType> inputs,
                   std::span<const OperandType> outputs) {
  const bool one = kernel.library.empty() && kernel.body.size() == 1;
  const std::optional<ConvolutionPart> part =
      one ? ConvolutionPartOf(kernel.body[0]->op) : std::nullopt;
  const std::string op = one ? kernel.body[0]->op : "";
  const bool packed = op == "matmul_q8_0" || op == "matmul_q4_1";
  if (op != "matmul" && !packed && !part) {
    return MakeCpuKernel(kernel, inputs, outputs).status();
  }
  CGRAPH_RETURN_IF_ERROR(CheckOrder(*kernel.body[0]));
  const Request request{kernel.body[0]->op, kernel.body[0]->attributes, inputs, outputs};
  CGRAPH_RETURN_IF_ERROR(CheckOperands(request));
  if (part) return ConvolutionOf(request, *part).status();
  return packed ? CheckPackedMatmul(request) : CheckMatmul(request);
}

KernelResult MakeCpuKernel(const plan::Kernel& kernel, std::span<const OperandType> inputs,
                           std::span<const OperandType> outputs) {
  if (!kernel.library.empty()) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("`{}` of {} is native code, which is no kernel of a device",
                              kernel.symbol, kernel.library));
  }
  if (kernel.body.size() != 1) {
    const Request request{kernel.name, {}, inputs, outputs};
    CGRAPH_RETURN_IF_ERROR(CheckOperands(request));
    return MakeFused(kernel, request);
  }
  CGRAPH_RETURN_IF_ERROR(CheckOrder(*kernel.body[0]));
  return MakePrimitive(*kernel.body[0], inputs, outputs);
}

}  // namespace cgraph::device
