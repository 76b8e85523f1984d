// Elementwise kernels: one operation of the table (element_loops.h) and the broadcasting around it.
//
// Operands of equal size and single elements take one loop. Other broadcasts merge adjacent
// dimensions that the operands walk alike, and run the loop once per remaining row. Two cases go
// through tiles in the first-level cache: f16 and bf16 where the processor has no loops for them
// are widened to f32 there, and an operand that stands still is spread where the operation has no
// loop for that.
//
// A result may be the memory of an operand of its type: element i is read before it is written.
#include <algorithm>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "runtime/device/cpu/kernels/elementwise/element_loops.h"
#include "runtime/device/cpu/kernels/elementwise/walk.h"
#include "runtime/device/cpu/kernels/makers.h"

namespace cgraph::device {
namespace {

constexpr int64_t kTile = 512;  // elements

void Spread(const void* element, int64_t bytes, void* to, int64_t count) {
  switch (bytes) {
    case 1:
      std::fill_n(static_cast<uint8_t*>(to), count, *static_cast<const uint8_t*>(element));
      break;
    case 2:
      std::fill_n(static_cast<uint16_t*>(to), count, *static_cast<const uint16_t*>(element));
      break;
    case 4:
      std::fill_n(static_cast<uint32_t*>(to), count, *static_cast<const uint32_t*>(element));
      break;
    default: std::fill_n(static_cast<uint64_t*>(to), count, *static_cast<const uint64_t*>(element));
  }
}

class ElementwiseKernel final : public Kernel {
 public:
  ElementwiseKernel(const ElementOp& op, const Request& request) : op_(op) {
    for (int o = 0; o < op.operands; ++o) {
      const DType dtype = request.inputs[o].dtype;
      bytes_[o] = plan::DTypeBytes(dtype);
      tile_bytes_[o] = op.widens ? plan::DTypeBytes(ComputeDType(dtype)) : bytes_[o];
      if (op.widens) widen_[o] = HalfLoopsOf(dtype).widen;
    }
    const DType result = request.outputs[0].dtype;
    out_bytes_ = plan::DTypeBytes(result);
    if (op.widens && IsHalf(result)) narrow_ = HalfLoopsOf(result).narrow;
    FindFixedLoop(request);
  }

  bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void*,
           std::string&) override {
    const Tensor& out = outputs[0];
    if (fixed_ != nullptr) {
      const void* at[kMostOperands];
      for (int o = 0; o < op_.operands; ++o) at[o] = inputs[o].data;
      fixed_(at, out.data, fixed_count_);
      return true;
    }
    const int64_t count = out.elements();
    const char* in[kMostOperands];
    bool moves[kMostOperands], one_row = true;
    for (int o = 0; o < op_.operands; ++o) {
      const int64_t elements = inputs[o].elements();
      if (elements == 0) return true;
      in[o] = inputs[o].as<char>();
      moves[o] = elements == count;
      one_row &= moves[o] || elements == 1;
    }
    if (count == 0) return true;
    if (one_row) {
      RunRow(in, moves, out.as<char>(), count);
      return true;
    }
    const Walk walk(inputs, out);
    for (int o = 0; o < op_.operands; ++o) moves[o] = walk.strides[o][0] != 0;
    walk.ForEachRow(in, bytes_, out.as<char>(), out_bytes_,
                    [&](const char* const* at, char* to) {
                      RunRow(at, moves, to, walk.extents[0]);
                    });
    return true;
  }

 private:
  // Chooses the loop at load where all extents are known, one loop does the work, and the result
  // stays in the caches: so small calls cost little more than their loop.
  void FindFixedLoop(const Request& request) {
    constexpr int64_t kSmall = 16 << 10;  // bytes
    const auto elements = [](const OperandType& type) {
      int64_t count = 1;
      for (int d = 0; d < type.rank; ++d) count *= type.dynamic[d] ? 0 : type.dims[d];
      return count;
    };
    const int64_t count = elements(request.outputs[0]);
    if (count == 0 || count > kSmall / out_bytes_) return;
    bool moves[kMostOperands];
    for (int o = 0; o < op_.operands; ++o) {
      const int64_t own = elements(request.inputs[o]);
      if (own != count && own != 1) return;
      moves[o] = own == count;
    }
    fixed_ = op_.LoopFor(moves, count);
    fixed_count_ = count;
  }
  void RunRow(const char* const* in, const bool* moves, char* out, int64_t count) const {
    const void* at[kMostOperands];
    std::copy(in, in + op_.operands, at);
    const ElementLoop loop = op_.LoopFor(moves, count);
    if (loop == nullptr) {
      RunTiles(in, moves, out, count);
    } else if (loop == op_.all && op_.past_caches != nullptr &&
               GoesPastCaches({in, static_cast<size_t>(op_.operands)}, out, count * out_bytes_)) {
      op_.past_caches(at, out, count);
      FinishPastCaches();
    } else {
      loop(at, out, count);
    }
  }
  void RunTiles(const char* const* in, const bool* moves, char* out, int64_t count) const {
    alignas(64) uint64_t tiles[kMostOperands][kTile];
    alignas(64) float result[kTile];
    const void* at[kMostOperands];
    for (int o = 0; o < op_.operands; ++o) {
      if (moves[o]) continue;
      uint64_t element = 0;
      if (widen_[o] != nullptr) widen_[o](in[o], &element, 1);
      Spread(widen_[o] != nullptr ? static_cast<const void*>(&element) : in[o], tile_bytes_[o],
             tiles[o], std::min(count, kTile));
      at[o] = tiles[o];
    }
    for (int64_t i = 0; i < count; i += kTile) {
      const int64_t size = std::min(kTile, count - i);
      for (int o = 0; o < op_.operands; ++o) {
        if (!moves[o]) continue;
        at[o] = in[o] + i * bytes_[o];
        if (widen_[o] == nullptr) continue;
        widen_[o](at[o], tiles[o], size);
        at[o] = tiles[o];
      }
      char* to = out + i * out_bytes_;
      op_.all(at, narrow_ != nullptr ? reinterpret_cast<char*>(result) : to, size);
      if (narrow_ != nullptr) narrow_(result, to, size);
    }
  }

  ElementOp op_;
  ElementLoop fixed_ = nullptr;  // see FindFixedLoop
  int64_t fixed_count_ = 0;
  int64_t bytes_[kMostOperands] = {}, tile_bytes_[kMostOperands] = {}, out_bytes_ = 0;
  void (*widen_[kMostOperands])(const void*, void*, int64_t) = {};
  void (*narrow_)(const void*, void*, int64_t) = nullptr;
};

KernelResult MakeElementwise(const Request& request, DType dtype) {
  std::optional<ElementOp> op = FindElementOp(request.kernel, dtype);
  if (!op) return NoKernel(request);
  return KernelResult(std::make_unique<ElementwiseKernel>(*op, request));
}

// The result has the dimensions that NumPy would give.
Status ExpectBroadcasting(const Request& request) {
  const OperandType& out = request.outputs[0];
  for (const OperandType& in : request.inputs) {
    CGRAPH_RETURN_IF_ERROR(ExpectBroadcast(request, in, out));
  }
  for (int i = 1; i <= out.rank; ++i) {
    const bool given = std::any_of(
        request.inputs.begin(), request.inputs.end(), [&](const OperandType& in) {
          return i <= in.rank && SameDim(in, in.rank - i, out, out.rank - i);
        });
    if (given) continue;
    std::string types;
    for (const OperandType& in : request.inputs) {
      types += (types.empty() ? "" : " and ") + TypeText(in);
    }
    return Invalid(request, types + " do not broadcast to " + TypeText(out));
  }
  return Status::Ok();
}

}  // namespace

bool GoesPastCaches(std::span<const char* const> in, const char* out, int64_t bytes) {
  constexpr int64_t kLeast = int64_t{32} << 20;
  constexpr uintptr_t kLine = 64;
  return bytes >= kLeast && reinterpret_cast<uintptr_t>(out) % kLine == 0 &&
         std::find(in.begin(), in.end(), out) == in.end();
}
void FinishPastCaches() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

KernelResult MakeBinary(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 2, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  CGRAPH_RETURN_IF_ERROR(ExpectBroadcasting(request));
  return MakeElementwise(request, request.outputs[0].dtype);
}

KernelResult MakeCompare(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 2, 1));
  if (request.inputs[0].dtype != request.inputs[1].dtype ||
      request.outputs[0].dtype != DType::bool_) {
    return Invalid(request, "it compares operands of one dtype and gives bool");
  }
  CGRAPH_RETURN_IF_ERROR(ExpectBroadcasting(request));
  return MakeElementwise(request, request.inputs[0].dtype);
}

KernelResult MakeUnary(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, request.inputs[0], request.outputs[0]));
  return MakeElementwise(request, request.outputs[0].dtype);
}

KernelResult MakeTernary(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 3, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  CGRAPH_RETURN_IF_ERROR(ExpectBroadcasting(request));
  return MakeElementwise(request, request.outputs[0].dtype);
}

KernelResult MakeSelect(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 3, 1));
  const DType dtype = request.outputs[0].dtype;
  if (request.inputs[0].dtype != DType::bool_ || request.inputs[1].dtype != dtype ||
      request.inputs[2].dtype != dtype) {
    return Invalid(request, "it takes a bool and two operands of the result's dtype");
  }
  CGRAPH_RETURN_IF_ERROR(ExpectBroadcasting(request));
  return MakeElementwise(request, dtype);
}

}  // namespace cgraph::device
