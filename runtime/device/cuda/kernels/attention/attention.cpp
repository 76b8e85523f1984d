// attention and its gradient: a check of the lengths, where there are any, and then the tiles.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cuda/kernels/attention/arguments.h"
#include "runtime/device/cuda/kernels/makers.h"

namespace cgraph::cuda {
namespace {

// Finds the kernel for the dtypes of q and of k: "Attention_f32_bf16".
Result<CUfunction> Find(const Making& making, const std::string& name) {
  return making.Find(fmt::format("{}_{}_{}", name, ElementName(making.in(0).dtype),
                                 ElementName(making.in(1).dtype)));
}

// How many tiles there are at the bounds.
struct Tiles {
  int64_t rows, keys, e, d;

  Tiles(const Dims& q, const Dims& k, const Dims& v) {
    const int rank = static_cast<int>(q.rank);
    const int64_t matrices = k.Product(0, rank - 2);
    const int64_t together = k.of[rank - 3] == 0 ? 0 : q.of[rank - 3] / k.of[rank - 3];
    rows = matrices * Of(together * q.of[rank - 2]);
    keys = matrices * Of(k.of[rank - 2]);
    e = Of(q.of[rank - 1]);
    d = Of(v.of[rank - 1]);
  }
  static int64_t Of(int64_t extent) { return (extent + kAttentionTile - 1) / kAttentionTile; }
};

ExecutableOptions OptionsOf(uint64_t scratch) {
  return {.scratch = scratch, .error_text = [](const Failure& failure) {
    return device::NoLengthText(failure.numbers[0], failure.numbers[1], failure.numbers[2],
                                failure.numbers[3]);
  }};
}

// What both makers need: the attributes, and the check.
struct Parts {
  Launcher launcher;
  CUfunction check = nullptr;
  bool has_length;
  int32_t causal;
  double scale;

  static Result<Parts> Make(const Making& making, bool has_length) {
    Parts parts{making.launcher, nullptr, has_length,
                *device::BoolAttribute(making.request, "causal"),
                *device::FloatAttribute(making.request, "scale")};
    if (!has_length) return parts;
    Result<CUfunction> check = making.Find("CheckLengths");
    if (!check.ok()) return check.status();
    parts.check = *check;
    return parts;
  }
  // Fills in the operands and, where lengths are given, launches their check.
  CUresult Begin(const Call& call, Attention& attention) const {
    attention.q = call.inputs[0];
    attention.k = call.inputs[1];
    attention.v = call.inputs[2];
    attention.causal = causal;
    attention.scale = scale;
    attention.has_length = has_length;
    if (!has_length) return CUDA_SUCCESS;
    attention.length = call.inputs.back();
    const Extent least = causal ? attention.q.dims[attention.q.rank - 2] : Extent{};
    return launcher.Blocks(call, check, 1, 1, attention.length, least,
                           attention.k.dims[attention.k.rank - 2]);
  }
};

// How many parts the keys of a head are cut into, where few queries leave a GPU without work. The
// bounds of the extents alone say it, so that all GPUs give the same bits.
int64_t SplitsOf(const Tiles& tiles, int64_t keys) {
  constexpr int64_t kEnough = 64, kMost = 32, kTilesEach = 4;
  if (tiles.rows * tiles.d >= kEnough) return 1;
  return std::clamp<int64_t>(Tiles::Of(keys) / kTilesEach, 1, kMost);
}

ExecutableResult MakeForward(const Making& making, bool has_length) {
  Result<Parts> parts = Parts::Make(making, has_length);
  if (!parts.ok()) return parts.status();
  Result<CUfunction> function = Find(making, "Attention"), join = Find(making, "JoinAttention");
  if (!function.ok()) return function.status();
  if (!join.ok()) return join.status();
  const Dims q = BoundsOf(making.in(0)), k = BoundsOf(making.in(1)), v = BoundsOf(making.in(2));
  const int64_t keys = k.of[k.rank - 2], splits = SplitsOf(Tiles(q, k, v), keys);
  const int64_t computed = std::max<int64_t>(plan::DTypeBytes(making.out().dtype), sizeof(float));
  const int64_t rows = q.Product(0, static_cast<int>(q.rank) - 1);
  const int64_t statistics = splits * rows * static_cast<int64_t>(sizeof(RowStatistics));
  const auto launch = [parts = *parts, function = *function, join = *join, splits, keys,
                       statistics](const Call& call) {
    Attention attention;
    CUresult result = parts.Begin(call, attention);
    if (result != CUDA_SUCCESS) return result;
    attention.out = call.outputs[0].data;
    attention.splits = splits;
    attention.keys_each = (Tiles::Of(keys) + splits - 1) / splits * kAttentionTile;
    attention.statistics = static_cast<RowStatistics*>(call.scratch);
    attention.parts = static_cast<char*>(call.scratch) + statistics;
    const Tiles tiles(BoundsOf(attention.q), BoundsOf(attention.k), BoundsOf(attention.v));
    const Call next = parts.has_length ? Checked(call) : call;
    result = parts.launcher.Blocks(next, function, splits * tiles.rows * tiles.d, kThreads,
                                   attention);
    if (result != CUDA_SUCCESS || splits == 1) return result;
    return parts.launcher.Blocks(next, join, tiles.rows * tiles.d, kThreads, attention);
  };
  const int64_t scratch = statistics + splits * rows * v.of[v.rank - 1] * computed;
  return ExecutableOf(launch, OptionsOf(splits == 1 ? 0 : static_cast<uint64_t>(scratch)));
}

ExecutableResult MakeGradient(const Making& making, bool has_length) {
  Result<Parts> parts = Parts::Make(making, has_length);
  if (!parts.ok()) return parts.status();
  Result<CUfunction> statistics = Find(making, "AttentionStatistics");
  Result<CUfunction> queries = Find(making, "AttentionQueryGrad");
  Result<CUfunction> keys = Find(making, "AttentionKeyGrad");
  for (const Result<CUfunction>* function : {&statistics, &queries, &keys}) {
    if (!function->ok()) return function->status();
  }
  const auto launch = [parts = *parts, statistics = *statistics, queries = *queries,
                       keys = *keys](const Call& call) {
    Attention attention;
    CUresult result = parts.Begin(call, attention);
    attention.y = call.inputs[3].data;
    attention.gy = call.inputs[4].data;
    attention.out = call.outputs[0].data;
    attention.k_out = call.outputs[1].data;
    attention.v_out = call.outputs[2].data;
    attention.statistics = static_cast<RowStatistics*>(call.scratch);
    const Tiles tiles(BoundsOf(attention.q), BoundsOf(attention.k), BoundsOf(attention.v));
    const Call next = parts.has_length ? Checked(call) : call;
    const Launcher& launcher = parts.launcher;
    if (result == CUDA_SUCCESS) {
      result = launcher.Blocks(next, statistics, tiles.rows, kThreads, attention);
    }
    if (result == CUDA_SUCCESS) {
      result = launcher.Blocks(next, queries, tiles.rows * tiles.e, kThreads, attention);
    }
    if (result == CUDA_SUCCESS) {
      result = launcher.Blocks(next, keys, tiles.keys * std::max(tiles.e, tiles.d), kThreads,
                               attention);
    }
    return result;
  };
  const Dims q = BoundsOf(making.in(0));
  const auto rows = static_cast<uint64_t>(q.Product(0, static_cast<int>(q.rank) - 1));
  return ExecutableOf(launch, OptionsOf(rows * sizeof(RowStatistics)));
}

}  // namespace

ExecutableResult MakeLookAtLengths(const Making& making, int64_t least, int64_t most) {
  Result<CUfunction> check = making.Find("CheckLengths");
  if (!check.ok()) return check.status();
  const auto launch = [launcher = making.launcher, check = *check, least,
                       most](const Call& call) {
    Extent queries{least, nullptr};
    if (least < 0) queries = {INT64_MAX, static_cast<const int64_t*>(call.inputs[1].data)};
    return launcher.Blocks(call, check, 1, 1, call.inputs[0], queries, Extent{most, nullptr});
  };
  return ExecutableOf(launch, OptionsOf(0));
}

ExecutableResult MakeAttention(const Making& making) { return MakeForward(making, false); }
ExecutableResult MakeAttentionPrefix(const Making& making) { return MakeForward(making, true); }
ExecutableResult MakeAttentionGrad(const Making& making) { return MakeGradient(making, false); }
ExecutableResult MakeAttentionPrefixGrad(const Making& making) {
  return MakeGradient(making, true);
}

}  // namespace cgraph::cuda
