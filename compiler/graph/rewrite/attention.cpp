// softmax(q @ transpose(k) * scale) @ v in one call becomes one op, attention, and so does what
// causal_mask masks. Keys that are repeated for several heads, by unsqueeze and expand, are read
// where they were before that. Where k and v are the first rows of a cache, by slices whose length
// is known while running, the op takes the cache and the length; so does an attention that was
// written as one.
//
// Scores that anything else reads stay: the gradient of softmax reads its result, so a forward call
// of a training is as it was written.
#include <bit>
#include <cstring>
#include <utility>

#include "compiler/base/kernels.h"
#include "compiler/graph/prune.h"
#include "compiler/graph/rewrite/passes.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/kinds/limits.h"

namespace cgraph::graph {
namespace {

using Dims = std::vector<Dim>;

template <typename T>
const T* AttributeOf(const Op& op, const char* name) {
  for (const Attribute& attribute : op.attributes) {
    if (attribute.name == name) return std::get_if<T>(&attribute.value);
  }
  return nullptr;
}
bool Flag(const Op& op, const char* name) {
  const bool* flag = AttributeOf<bool>(op, name);
  return flag != nullptr && *flag;
}

Dims Without(const Dims& dims, size_t last) { return Dims(dims.begin(), dims.end() - last); }
bool IsOne(const Dim& dim) { return dim == Dim{1, {}}; }
// Returns the dims that are not 1: of dense tensors, a view that only adds or drops ones has the
// same.
Dims WithoutOnes(Dims dims) {
  llvm::erase_if(dims, IsOne);
  return dims;
}

// Keys: where the keys or values of a product lie. `dims` are [*b, rows, elements].
struct Keys {
  ValueId value;
  Dims dims;
  ValueId length;  // how many rows of `rows` are read; invalid: all
  OpId slice;      // that took these rows, where there is a length
};

// Found: an attention that is written out; `last` is the op that it replaces.
struct Found {
  OpId last;
  ValueId q;
  Dims q_dims;
  Keys k, v;
  double scale = 1;
  bool causal = false;
};

class AttentionRewriter {
 public:
  AttentionRewriter(const Module& module, Graph& graph)
      : module_(module), graph_(graph), reads_(graph.values.size()) {
    for (const Op& op : graph.ops) {
      for (const Use& use : op.operands) ++reads_[RootOf(graph, use.value).index];
    }
    for (const Port& port : graph.outputs) reads_[RootOf(graph, port.use.value).index] += 2;
    for (const Symbol& symbol : graph.symbols) ++reads_[RootOf(graph, symbol.extent).index];
  }

  void Run(std::vector<Rewritten>& done) {
    const size_t count = graph_.ops.size();
    for (size_t i = 0; i < count; ++i) {
      const OpId id(i);
      std::optional<Found> found = Find(id);
      if (!found || !Suits(*found)) continue;
      if (IsWritten(found->k, id) || IsWritten(found->v, id)) continue;
      done.push_back({.places = {graph_.ops[id].range}});
      Replace(*found);
      changed_ = true;
    }
    if (changed_) Prune(graph_);
  }

 private:
  const Value& Get(ValueId id) const { return graph_.values[id]; }
  // Returns the op of this call that makes all of a value, by the value or a view of all of it.
  const Op* MakerIn(ValueId id, CallId call) const {
    const Value& root = Get(RootOf(graph_, id));
    if (root.storage != Value::kTemporary || !root.producer.valid()) return nullptr;
    const Op& op = graph_.ops[root.producer];
    const bool whole = Get(id).offset == 0 &&
                       WithoutOnes(Get(id).type.dims) == WithoutOnes(root.type.dims);
    return op.call == call && op.results.size() == 1 && whole ? &op : nullptr;
  }
  // The same, where nothing else reads it and it has the very type.
  const Op* OnlyMaker(ValueId id, CallId call, llvm::StringRef kernel) const {
    const Op* op = MakerIn(id, call);
    const bool own = op != nullptr && op->kernel == kernel && op->results[0] == id &&
                     reads_[id.index] == 1 && !op->fails;
    return own ? op : nullptr;
  }

  std::optional<double> Number(ValueId id) const {
    const Value& value = Get(id);
    if (value.storage != Value::kConstant || !value.type.dims.empty()) return std::nullopt;
    const auto as = [&](auto number) {
      std::memcpy(&number, value.constant.data(), sizeof number);
      return number;
    };
    switch (value.type.dtype) {
      case DType::kF32: return as(float{});
      case DType::kF64: return as(double{});
      case DType::kBF16: return std::bit_cast<float>(uint32_t{as(uint16_t{})} << 16);
      default: return std::nullopt;
    }
  }

  // Returns the attention whose result the op makes, if there is one.
  std::optional<Found> Find(OpId id) const {
    const Op& op = graph_.ops[id];
    const Call& call = graph_.calls[op.call];
    // Recomputed calls must be as the calls that they repeat.
    if (!call.instance.valid() || call.differentiated || call.recompute ||
        call.derived_from.valid()) {
      return std::nullopt;
    }
    std::optional<Found> found = op.kernel == "attention" ? AsWritten(op) : Product(op);
    if (!found) return std::nullopt;
    found->last = id;
    const bool alike = found->k.length == found->v.length &&
                       Get(found->k.value).type.dtype == Get(found->v.value).type.dtype;
    if (!alike) return std::nullopt;
    const bool prefix = found->k.length.valid();
    // On GPUs, and of bf16, products are a library's, which may be faster; a cache that is not
    // copied pays.
    const bool library = module_.devices[op.device].kind == DeviceKind::kGpu ||
                         Get(found->q).type.dtype == DType::kBF16;
    if (!prefix && (library || op.kernel == "attention")) return std::nullopt;
    return found;
  }
  std::optional<Found> AsWritten(const Op& op) const {
    Found found;
    found.q = op.operands[0].value;
    found.q_dims = Get(found.q).type.dims;
    found.scale = *AttributeOf<double>(op, "scale");
    found.causal = Flag(op, "causal");
    found.k = KeysOf(op.operands[1].value, op.call);
    found.v = KeysOf(op.operands[2].value, op.call);
    return found;
  }
  std::optional<Found> Product(const Op& op) const {
    if (op.kernel != "matmul" || Flag(op, "transpose_a") || Flag(op, "transpose_b")) {
      return std::nullopt;
    }
    const Op* softmax = OnlyMaker(op.operands[0].value, op.call, "softmax");
    if (softmax == nullptr) return std::nullopt;
    const auto rank = static_cast<int64_t>(Get(softmax->results[0]).type.dims.size());
    const int64_t dim = *AttributeOf<int64_t>(*softmax, "dim");
    if (rank < 3 || (dim != -1 && dim != rank - 1)) return std::nullopt;
    Found found;
    ValueId scores = softmax->operands[0].value;
    if (const Op* mask = OnlyMaker(scores, op.call, "causal_mask")) {
      found.causal = true;
      scores = mask->operands[0].value;
    }
    scores = Scaled(scores, op.call, found.scale);
    const Op* product = OnlyMaker(scores, op.call, "matmul");
    if (product == nullptr || Flag(*product, "transpose_a")) return std::nullopt;
    ValueId keys = product->operands[1].value;
    if (!Flag(*product, "transpose_b")) {
      const Op* transpose = OnlyMaker(keys, op.call, "transpose");
      if (transpose == nullptr) return std::nullopt;
      keys = transpose->operands[0].value;
    }
    found.q = product->operands[0].value;
    found.q_dims = Get(found.q).type.dims;
    found.k = KeysOf(keys, op.call);
    found.v = KeysOf(op.operands[1].value, op.call);
    const Type& q = Get(found.q).type;
    const bool shape = q.dims.size() == static_cast<size_t>(rank) &&
                       Get(op.results[0]).type.dims.size() == static_cast<size_t>(rank);
    return shape ? std::optional(found) : std::nullopt;
  }
  // Takes a factor off the scores, where they have one.
  ValueId Scaled(ValueId scores, CallId call, double& scale) const {
    const Op* multiply = OnlyMaker(scores, call, "multiply");
    const Op* divide = multiply == nullptr ? OnlyMaker(scores, call, "divide") : nullptr;
    const Op* op = multiply != nullptr ? multiply : divide;
    if (op == nullptr || op->operands.size() != 2) return scores;
    const std::optional<double> second = Number(op->operands[1].value);
    if (second) {
      scale = divide != nullptr ? 1 / *second : *second;
      return op->operands[0].value;
    }
    const std::optional<double> first = Number(op->operands[0].value);
    if (!first || divide != nullptr) return scores;
    scale = *first;
    return op->operands[1].value;
  }

  // Finds what keys or values were before they were repeated for several heads and widened, and the
  // cache whose first rows they are.
  Keys KeysOf(ValueId id, CallId call) const {
    Keys keys{id, Get(id).type.dims, {}, {}};
    if (keys.dims.size() < 2) return keys;
    TakeRepeated(keys, call);
    TakeUnshaped(keys, call);
    const Op* cast = MakerIn(keys.value, call);
    if (cast != nullptr && cast->kernel == "cast") {
      const DType from = Get(cast->operands[0].value).type.dtype;
      const bool half = from == DType::kF16 || from == DType::kBF16;
      const DType to = Get(cast->results[0]).type.dtype;
      if (half && (to == DType::kF32 || to == DType::kF64)) keys.value = cast->operands[0].value;
    }
    TakeUnshaped(keys, call);
    const Op* slice = MakerIn(keys.value, call);
    if (slice != nullptr && slice->kernel == kSliceKernel) TakeCache(keys, *slice);
    TakeUnshaped(keys, call);
    return keys;
  }
  // Goes back through reshapes that only add or drop dimensions of 1.
  void TakeUnshaped(Keys& keys, CallId call) const {
    const ValueId unshaped = Unshaped(keys.value, call);
    if (WithoutOnes(Get(unshaped).type.dims) == WithoutOnes(keys.dims)) keys.value = unshaped;
  }
  ValueId Unshaped(ValueId id, CallId call) const {
    const Op* op = MakerIn(id, call);
    while (op != nullptr && op->kernel == "reshape") {
      id = op->operands[0].value;
      op = MakerIn(id, call);
    }
    return id;
  }
  void TakeRepeated(Keys& keys, CallId call) const {
    const Op* expand = MakerIn(Unshaped(keys.value, call), call);
    if (expand == nullptr || expand->kernel != "expand" || !IsRepeated(*expand)) return;
    const Dims& from = Get(expand->operands[0].value).type.dims;
    const Dims& to = Get(expand->results[0]).type.dims;
    Dims joined = from;  // the repeated dimension as one with that before it
    joined.erase(joined.end() - 3);
    Dims whole = joined;
    whole[whole.size() - 3].extent *= to[to.size() - 3].extent;
    if (keys.dims != to && keys.dims != whole) return;
    keys.dims = keys.dims == to ? from : joined;
    keys.value = expand->operands[0].value;
  }
  void TakeCache(Keys& keys, const Op& slice) const {
    if (reads_[slice.results[0].index] != 1) return;
    const Type& part = Get(slice.results[0]).type;
    const Type& whole = Get(slice.operands[0].value).type;
    const auto dim = static_cast<size_t>(*AttributeOf<int64_t>(slice, "dim"));
    const Value& from = Get(slice.operands[1].value);
    const bool first = from.storage == Value::kConstant &&
                       llvm::all_of(from.constant, [](char byte) { return byte == 0; });
    const bool rows = dim + 2 == part.dims.size() && dim + 2 == whole.dims.size() &&
                      part.dims[dim].symbol.valid() && !whole.dims[dim].symbol.valid() &&
                      graph_.symbols[part.dims[dim].symbol].extent == slice.operands[2].value;
    if (!first || !rows) return;
    keys.dims[keys.dims.size() - 2] = whole.dims[dim];
    keys.value = slice.operands[0].value;
    keys.length = slice.operands[2].value;
    keys.slice = graph_.values[slice.results[0]].producer;
  }
  // Returns whether an op between the slice of a cache and the last op may be in the cache's
  // memory: it could not be there any more if the last op read the cache.
  bool IsWritten(const Keys& keys, OpId last) const {
    if (!keys.slice.valid()) return false;
    const ValueId root = RootOf(graph_, keys.value);
    for (OpId id(keys.slice.index + 1); id < last; id = OpId(id.index + 1)) {
      const Op& op = graph_.ops[id];
      for (const auto& [operand, result] : op.inplace) {
        if (RootOf(graph_, op.operands[operand].value) == root) return true;
      }
    }
    return false;
  }
  // Returns whether an expand repeats only the dimension before rows and elements, by an extent
  // that is known, behind one that is.
  bool IsRepeated(const Op& expand) const {
    const Dims& from = Get(expand.operands[0].value).type.dims;
    const Dims& to = Get(expand.results[0]).type.dims;
    if (from.size() != to.size() || to.size() < 4) return false;
    for (size_t i = 0; i < to.size(); ++i) {
      if (i + 3 != to.size() && from[i] != to[i]) return false;
    }
    return IsOne(from[to.size() - 3]) && !to[to.size() - 3].symbol.valid() &&
           !to[to.size() - 4].symbol.valid();
  }

  // Returns whether the op takes these: [*b, h, n, e], [*b, g, m, e] and [*b, g, m, d].
  static bool Suits(const Found& found) {
    const Dims q = Without(found.q_dims, 2), k = Without(found.k.dims, 2);
    if (q.empty() || q.size() != k.size() || k != Without(found.v.dims, 2)) return false;
    for (const Dim& dim : {found.q_dims.back(), found.v.dims.back()}) {
      if (dim.symbol.valid() || dim.extent > kMaxHeadElements) return false;
    }
    if (q == k) return true;
    const Dim &heads = q.back(), &groups = k.back();
    return Without(q, 1) == Without(k, 1) && !heads.symbol.valid() && !groups.symbol.valid() &&
           groups.extent > 0 && heads.extent % groups.extent == 0;
  }

  // Returns the value, or a view of it, with these dims.
  Use As(ValueId id, const Dims& dims) {
    if (Get(id).type.dims == dims) return {id, {}, Get(id).range, {}};
    Value view = Get(id);
    view.base = RootOf(graph_, id);
    view.type.dims = dims;
    const Range range = view.range;
    return {graph_.values.Add(std::move(view)), {}, range, {}};
  }

  void Replace(const Found& found) {
    const Use q = As(found.q, found.q_dims), k = As(found.k.value, found.k.dims),
              v = As(found.v.value, found.v.dims);
    for (const Keys* keys : {&found.k, &found.v}) {
      if (keys->slice.valid()) graph_.ops[keys->slice].fails = false;  // this op fails instead
    }
    Op& op = graph_.ops[found.last];
    op.name = "attention";
    op.kernel = found.k.length.valid() ? kAttentionPrefixKernel : "attention";
    op.attributes = {{"scale", found.scale}, {"causal", found.causal}};
    op.operands = {q, k, v};
    op.fails = found.k.length.valid();
    if (op.fails) op.operands.push_back({found.k.length, {}, op.range, {}});
    op.inplace.clear();
    const Type& queries = Get(q.value).type;
    const int64_t e = queries.dims.back().extent, d = found.v.dims.back().extent;
    const int64_t keys = found.k.dims[found.k.dims.size() - 2].extent;
    op.flops = queries.elements() / std::max<int64_t>(e, 1) * 2 * keys * (e + d + 7);
    op.bytes = queries.bytes() + Get(k.value).type.bytes() + Get(v.value).type.bytes() +
               Get(op.results[0]).type.bytes();
  }
  const Module& module_;
  Graph& graph_;
  std::vector<uint32_t> reads_;  // by root
  bool changed_ = false;
};

}  // namespace

void RewriteAttention(const Module& module, const RewriteOptions&, Graph& graph,
                      std::vector<Rewritten>& done) {
  const bool any = std::any_of(graph.ops.begin(), graph.ops.end(), [](const Op& op) {
    return op.kernel == "softmax" || op.kernel == "attention";
  });
  if (any) AttentionRewriter(module, graph).Run(done);
}

}  // namespace cgraph::graph
