// A fused kernel: a chain of elementwise primitives in one pass over memory.
//
// The result is made tile by tile. A tile is so small that the result of one primitive is still in
// the first-level cache when the next primitive reads it. Each primitive is run by the loop, or the
// kernel, that it has when it stands alone, so a fused chain gives the same bits as the chain
// itself.
//
// The result may be the memory of an operand of its type: a tile is read before it is written.
#include <optional>

#include <fmt/format.h>

#include "runtime/base/kinds/limits.h"
#include "runtime/device/cpu/kernels/elementwise/walk.h"
#include "runtime/device/cpu/kernels/makers.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::device {
namespace {

constexpr int kMostSteps = kMaxFusedSteps;
constexpr int kMostInputs = kMaxFusedOperands;
constexpr int64_t kTileBytes = 4096;
constexpr int64_t kFarTileBytes = 1024;  // of memory that lies beyond the caches

// One operand of a step: an input or the output of the whole kernel, or a temporary.
struct OperandRef {
  enum { kInput, kTemporary, kOutput } kind;
  int index = 0;
};

struct ChainStep {
  std::unique_ptr<Kernel> kernel;
  std::optional<ElementOp> op;  // what the kernel computes, if it is of the table of loops
  ElementLoop loop = nullptr;   // over the tiles of a row; null where the kernel must run
  std::vector<OperandRef> inputs;
  OperandRef output;
  std::vector<Tensor> tiles;  // of the inputs, then of the output, while it runs
};

class FusedKernel final : public Kernel {
 public:
  FusedKernel(std::vector<ChainStep> steps, const Request& request,
              std::span<const DType> temporaries)
      : steps_(std::move(steps)), out_dtype_(request.outputs[0].dtype) {
    widest_ = plan::DTypeBytes(out_dtype_);
    for (const OperandType& type : request.inputs) {
      in_dtypes_.push_back(type.dtype);
      in_bytes_.push_back(plan::DTypeBytes(type.dtype));
      widest_ = std::max(widest_, in_bytes_.back());
    }
    for (DType dtype : temporaries) {
      temporaries_.push_back(dtype);
      widest_ = std::max<int64_t>(widest_, plan::DTypeBytes(dtype));
    }
    size_t tiles = 0;
    for (ChainStep& step : steps_) {
      step.tiles.resize(step.inputs.size() + 1);
      tiles += step.tiles.size();
    }
    moving_.reserve(tiles);
  }

  bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void*,
           std::string& error) override {
    const Tensor& out = outputs[0];
    if (out.elements() == 0) return true;
    const char* in[kMostInputs] = {};
    for (size_t i = 0; i < inputs.size(); ++i) in[i] = inputs[i].as<char>();
    const Walk<kMostInputs> walk(inputs, out);
    bool ok = true;
    walk.ForEachRow(in, in_bytes_.data(), out.as<char>(), plan::DTypeBytes(out_dtype_),
                    [&](const char* const* at, char* to) {
                      ok = ok && RunRow(walk, at, to, error);
                    });
    return ok;
  }

 private:
  // A tile that moves on by `bytes` after every pass.
  struct Moving {
    Tensor* tile;
    int64_t bytes;
    bool first;  // it is fetched, since none before it moves through the same memory
  };

  bool RunRow(const Walk<kMostInputs>& walk, const char* const* in, char* out, std::string& error) {
    alignas(64) char temporaries[kMostSteps][kTileBytes];
    const int64_t length = walk.extents[0];
    const bool far = length >= kFarElements;
    tile_ = (far ? kFarTileBytes : kTileBytes) / widest_;
    const int64_t out_bytes = length * plan::DTypeBytes(out_dtype_);
    const bool past_caches = steps_.back().op && steps_.back().op->past_caches != nullptr &&
                             GoesPastCaches({in, in_bytes_.size()}, out, out_bytes);
    PlaceTiles(walk, in, out, past_caches, temporaries);
    for (int64_t first = 0; first < length; first += tile_) {
      if (length - first < tile_) Shorten(length - first);
      for (size_t i = 0; i < steps_.size(); ++i) {
        if (far) FetchAhead(i);
        if (!RunStep(steps_[i], error)) return false;
      }
      for (const Moving& m : moving_) m.tile->data = m.tile->as<char>() + m.bytes;
    }
    if (past_caches) FinishPastCaches();
    return true;
  }

  static bool RunStep(const ChainStep& step, std::string& error) {
    const std::span<const Tensor> tiles = step.tiles;
    const size_t inputs = step.inputs.size();
    if (step.loop == nullptr) {
      return step.kernel->Run(tiles.first(inputs), tiles.last(1), nullptr, error);
    }
    const void* in[kMostOperands];
    for (size_t i = 0; i < inputs; ++i) in[i] = tiles[i].data;
    step.loop(in, tiles[inputs].data, tiles[inputs].dims[0]);
    return true;
  }

  // Sets the tiles of the first pass over a row.
  void PlaceTiles(const Walk<kMostInputs>& walk, const char* const* in, char* out,
                  bool past_caches, char (&temporaries)[kMostSteps][kTileBytes]) {
    moving_.clear();
    const int64_t count = std::min(tile_, walk.extents[0]);
    for (ChainStep& step : steps_) {
      bool moves[kMostOperands + 1];
      for (size_t i = 0; i < step.tiles.size(); ++i) {
        const OperandRef& place = i < step.inputs.size() ? step.inputs[i] : step.output;
        Tensor& tile = step.tiles[i];
        moves[i] = true;
        if (place.kind == OperandRef::kTemporary) {
          tile = Tile(temporaries[place.index], temporaries_[place.index], count);
        } else if (place.kind == OperandRef::kOutput) {
          tile = Tile(out, out_dtype_, count);
          Move(tile, tile_ * plan::DTypeBytes(out_dtype_), !past_caches);
        } else {
          const int64_t stride = walk.strides[place.index][0];
          // The one input of a step never stands still: it has the result's dims (MakeStep).
          const bool stands = stride == 0 && step.inputs.size() > 1;
          moves[i] = !stands;
          tile = Tile(in[place.index], in_dtypes_[place.index], stands ? 1 : count);
          Move(tile, tile_ * stride * in_bytes_[place.index], true);
        }
      }
      if (step.op) step.loop = step.op->LoopFor(moves, count);
    }
    ChainStep& last = steps_.back();
    if (past_caches && last.loop == last.op->all) last.loop = last.op->past_caches;
  }

  void Move(Tensor& tile, int64_t bytes, bool fetched) {
    const bool alone = std::none_of(moving_.begin(), moving_.end(), [&](const Moving& moving) {
      return moving.tile->data == tile.data;
    });
    moving_.push_back({&tile, bytes, fetched && alone});
  }

  void Shorten(int64_t count) {
    for (ChainStep& step : steps_) {
      for (Tensor& tile : step.tiles) tile.dims[0] = std::min(tile.dims[0], count);
    }
  }

  // Prefetches memory that lies beyond the caches while steps compute: before each step, its share
  // of what the pass after the next reads and writes. (A prefetch past the end does nothing. It is
  // inline, since GCC drops calls of a function that only prefetches.)
  CGRAPH_INLINE void FetchAhead(size_t step) const {
    constexpr int64_t kLine = 64, kPasses = 2;
    const auto steps = static_cast<int64_t>(steps_.size()), s = static_cast<int64_t>(step);
    for (const Moving& moving : moving_) {
      if (!moving.first) continue;
      const char* next = moving.tile->as<char>() + kPasses * moving.bytes;
      for (int64_t at = moving.bytes * s / steps; at < moving.bytes * (s + 1) / steps;
           at += kLine) {
        __builtin_prefetch(next + at);
      }
    }
  }

  static Tensor Tile(const char* data, DType dtype, int64_t count) {
    Tensor tile;
    tile.data = const_cast<char*>(data);
    tile.dtype = dtype;
    tile.rank = 1;
    tile.dims[0] = count;
    return tile;
  }

  static constexpr int64_t kFarElements = int64_t{1} << 17;  // less lies in the caches
  std::vector<ChainStep> steps_;
  std::vector<Moving> moving_;
  std::vector<DType> in_dtypes_, temporaries_;
  std::vector<int64_t> in_bytes_;
  DType out_dtype_;
  int64_t widest_ = 0;  // bytes of an element
  int64_t tile_ = 0;    // elements of a tile of the row at hand
};

// Makes the plan's primitives, each with the kernel of a tile; every temporary is made before it is
// read.
class Maker {
 public:
  Maker(const plan::Kernel& kernel, const Request& request) : kernel_(kernel), request_(request) {}

  KernelResult Make() {
    CGRAPH_RETURN_IF_ERROR(CheckShape());
    std::vector<ChainStep> steps;
    for (size_t i = 0; i < kernel_.body.size(); ++i) {
      const bool last = i + 1 == kernel_.body.size();
      Result<ChainStep> step = MakeStep(*kernel_.body[i], last);
      CGRAPH_RETURN_IF_ERROR(step.status());
      steps.push_back(std::move(*step));
    }
    return KernelResult(
        std::make_unique<FusedKernel>(std::move(steps), request_, kernel_.temporaries));
  }

 private:
  Status CheckShape() const {
    if (kernel_.body.empty() || kernel_.body.size() > kMostSteps ||
        request_.inputs.size() > kMostInputs || kernel_.temporaries.size() >= kMostSteps ||
        request_.outputs.size() != 1) {
      return Invalid(request_, fmt::format("a fused kernel has 1 to {} steps, at most {} operands "
                                           "and one result",
                                           kMostSteps, kMostInputs));
    }
    for (const OperandType& input : request_.inputs) {
      CGRAPH_RETURN_IF_ERROR(ExpectBroadcast(request_, input, request_.outputs[0]));
    }
    return Status::Ok();
  }

  Result<ChainStep> MakeStep(const plan::Primitive& primitive, bool last) {
    const size_t count = primitive.operands.size();
    if (count == 0 || count > kMostOperands + 1 || !IsElementwise(primitive.op)) {
      return Invalid(request_, fmt::format("`{}` cannot be a step of a fused kernel",
                                           primitive.op));
    }
    ChainStep step;
    std::vector<OperandType> inputs;
    for (size_t i = 0; i + 1 < count; ++i) {
      const OperandRef place = PlaceOf(primitive.operands[i]);
      if (place.kind == OperandRef::kOutput ||
          (place.kind == OperandRef::kTemporary && !made_[place.index])) {
        return Invalid(request_, fmt::format("its step `{}` reads what is not made yet",
                                             primitive.op));
      }
      if (count == 2 &&
          place.kind == OperandRef::kInput) {  // only steps of several operands broadcast
        CGRAPH_RETURN_IF_ERROR(
            ExpectSameDims(request_, request_.inputs[place.index], request_.outputs[0]));
      }
      inputs.push_back(TileType(place));
      step.inputs.push_back(place);
    }
    step.output = PlaceOf(primitive.operands.back());
    if (step.output.kind != (last ? OperandRef::kOutput : OperandRef::kTemporary)) {
      return Invalid(request_, "its last step, and no other, makes its result");
    }
    if (!last) made_[step.output.index] = true;
    const OperandType output = TileType(step.output);
    KernelResult kernel = MakePrimitive(primitive, inputs, {&output, 1});
    CGRAPH_RETURN_IF_ERROR(kernel.status());
    step.kernel = std::move(*kernel);
    step.op = FindElementOp(primitive.op, inputs.back().dtype);
    return step;
  }

  OperandRef PlaceOf(int32_t operand) const {
    const auto inputs = static_cast<int32_t>(request_.inputs.size());
    if (operand < 0) return {OperandRef::kTemporary, -1 - operand};
    if (operand < inputs) return {OperandRef::kInput, operand};
    return {OperandRef::kOutput, operand - inputs};
  }
  OperandType TileType(const OperandRef& place) const {
    OperandType type;
    type.dtype = place.kind == OperandRef::kTemporary ? kernel_.temporaries[place.index]
                 : place.kind == OperandRef::kInput   ? request_.inputs[place.index].dtype
                                                 : request_.outputs[0].dtype;
    type.rank = 1;
    type.dims[0] = kTileBytes;  // at most: elements of a byte each
    type.dynamic[0] = true;
    return type;
  }

  const plan::Kernel& kernel_;
  const Request& request_;
  bool made_[kMostSteps] = {};
};

}  // namespace

KernelResult MakeFused(const plan::Kernel& kernel, const Request& request) {
  return Maker(kernel, request).Make();
}

}  // namespace cgraph::device
