// HoistChecks, per call, from the first op that may write in place on: each op that may fail gets a
// `look` op, and the looks, with the ops that they read from, move before the first writing op.
// Those ops are pure, and read values that a call reads at its start, since states are written at
// its end.
#include "compiler/graph/fuse/fuse.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/base/kernels.h"
#include "compiler/graph/renumber.h"

namespace cgraph {
namespace {

using graph::Attribute;
using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Type;
using graph::Use;
using graph::Value;
using graph::ValueId;

using Extents = std::vector<int64_t>;

// Returns the extents of a type; nothing if one is known only while running.
std::optional<Extents> ExtentsOf(const Type& type) {
  Extents extents;
  for (const graph::Dim& dim : type.dims) {
    if (dim.symbol.valid()) return std::nullopt;
    extents.push_back(dim.extent);
  }
  return extents;
}

class CheckHoister {
 public:
  explicit CheckHoister(Graph& graph) : graph_(graph), committed_(graph.values.size(), false) {}

  void Run() {
    for (const Op& op : graph_.ops) {
      if (op.kernel != kCopyKernel || graph_.values[op.results[0]].storage != Value::kState)
        continue;
      committed_[op.operands[0].value.index] = true;
    }
    const size_t count = graph_.ops.size();  // without the looks, which are added behind them
    for (size_t begin = 0, end = 0; begin < count; begin = end) {
      const graph::CallId call = graph_.ops[OpId(begin)].call;
      while (end < count && graph_.ops[OpId(end)].call == call) ++end;
      AddCall(begin, end);
    }
    if (looks_ > 0) Renumber(graph_, {.ops = graph::IdsByOrder(order_)});
  }

 private:
  void AddCall(size_t begin, size_t end) {
    const size_t writer = FirstWriter(begin, end);
    std::vector<Op> looks;
    if (!LooksOf(writer, end, looks)) looks.clear();
    std::vector<char> moves(end - begin, false);
    if (looks.empty() || !FindMoving(writer, begin, end, looks, moves)) {
      for (size_t i = begin; i < end; ++i) order_.push_back(OpId(i));
      return;
    }
    for (size_t i = begin; i < writer; ++i) order_.push_back(OpId(i));
    for (size_t i = writer; i < end; ++i) {
      if (moves[i - begin]) order_.push_back(OpId(i));
    }
    for (Op& look : looks) {
      const OpId id(graph_.ops.size());
      for (ValueId result : look.results) graph_.values[result].producer = id;
      order_.push_back(graph_.ops.Add(std::move(look)));
      ++looks_;
    }
    for (size_t i = writer; i < end; ++i) {
      graph_.ops[OpId(i)].fails = false;
      if (!moves[i - begin]) order_.push_back(OpId(i));
    }
  }

  // Returns the first op that makes a state's new value; elementwise ops do not count, since Fuse
  // lets them write it where the call ends. `end` if there is none.
  size_t FirstWriter(size_t begin, size_t end) const {
    size_t i = begin;
    while (i < end && !IsWriter(graph_.ops[OpId(i)])) ++i;
    return i;
  }
  bool IsWriter(const Op& op) const {
    return !op.elementwise && op.results.size() == 1 && committed_[op.results[0].index];
  }

  // Makes a look for each op of [writer, end) that may fail. Returns false if one cannot be looked
  // at or stands behind an effect, or if none comes behind the writer, which looks for itself.
  bool LooksOf(size_t writer, size_t end, std::vector<Op>& looks) const {
    bool behind = false, effect = false;
    for (size_t i = writer; i < end; ++i) {
      const Op& op = graph_.ops[OpId(i)];
      effect |= op.effect;
      if (!op.fails) continue;
      std::optional<Op> look = LookOf(op);
      if (effect || !look) return false;
      behind |= i > writer;
      const auto same = [&](const Op& other) { return LookAtTheSame(*look, other); };
      if (std::none_of(looks.begin(), looks.end(), same)) looks.push_back(std::move(*look));
    }
    return behind;
  }

  // Returns whether two looks are equal: an op that looks at what another one has looked at never
  // fails.
  static bool LookAtTheSame(const Op& look, const Op& other) {
    return std::equal(look.attributes.begin(), look.attributes.end(), other.attributes.begin(),
                      [](const Attribute& a, const Attribute& b) { return a.value == b.value; }) &&
           std::equal(look.operands.begin(), look.operands.end(), other.operands.begin(),
                      other.operands.end(),
                      [](const Use& a, const Use& b) { return a.value == b.value; });
  }

  // Returns the dimension of a slice whose result is as long as its operand says, which may be as
  // much as there is. For another op with this kernel only the kernel knows whether it fails.
  std::optional<size_t> SlicedDim(const Op& op) const {
    // The one attribute that the declaration of the kernel has (kernels.def).
    const auto dim = static_cast<uint64_t>(std::get<int64_t>(op.attributes[0].value));
    const Type& whole = TypeOf(op.operands[0]);
    const Type& part = graph_.values[op.results[0]].type;
    if (dim >= whole.dims.size() || dim >= part.dims.size()) return std::nullopt;
    const graph::Dim& side = part.dims[dim];
    const ValueId length = op.operands[2].value;
    const bool is_length = side.symbol.valid() ? graph_.symbols[side.symbol].extent == length &&
                                                     side.extent >= whole.dims[dim].extent
                                               : IsConstant(length, side.extent);
    return is_length ? std::optional<size_t>(dim) : std::nullopt;
  }
  bool IsConstant(ValueId id, int64_t number) const {
    const Value& value = graph_.values[id];
    return value.storage == Value::kConstant && value.constant.size() == sizeof number &&
           std::memcmp(value.constant.data(), &number, sizeof number) == 0;
  }

  // Returns none for an op that cannot be looked at; the kernel finds out what is wrong with its
  // operands.
  std::optional<Op> LookOf(const Op& op) const {
    if (op.kernel == kAttentionPrefixKernel) return LookOfAttention(op);
    const bool slice = op.kernel == kSliceKernel, row = op.kernel == kUpdateRowKernel;
    if (!slice && !row && op.kernel != kUpdateKernel) return std::nullopt;
    const Type& whole = TypeOf(op.operands[0]);
    const size_t first = slice ? 1 : 2;  // the operand that says where
    Type sides{whole.dtype, {}}, parts = sides;
    if (slice) {
      const std::optional<size_t> dim = SlicedDim(op);
      if (!dim) return std::nullopt;
      sides.dims = {whole.dims[*dim]};
    } else if (row) {
      if (whole.dims.empty()) return std::nullopt;
      sides.dims = {whole.dims[0]};
    } else {
      sides = whole;
      parts = TypeOf(op.operands[1]);
      const size_t rank = whole.dims.size();
      if (parts.dims.size() != rank || op.operands.size() != first + rank) return std::nullopt;
    }
    const std::optional<Extents> extents = ExtentsOf(sides);
    if (!extents) return std::nullopt;
    return LookAt(op, op.kernel, *extents, parts.dims, first);
  }
  // Lengths are from 0, or from the number of queries where these are the last positions, to the
  // number of keys.
  std::optional<Op> LookOfAttention(const Op& op) const {
    const auto& q = TypeOf(op.operands[0]).dims;
    const auto& k = TypeOf(op.operands[1]).dims;
    if (q.size() < 3 || q.size() != k.size()) return std::nullopt;
    const graph::Dim& queries = q[q.size() - 2];
    const graph::Dim& keys = k[k.size() - 2];
    // The attributes that the declaration of the kernel has (kernels.def): scale, causal.
    const bool causal = std::get<bool>(op.attributes[1].value);
    if (keys.symbol.valid()) return std::nullopt;
    return LookAt(op, "attention", {keys.extent}, {causal ? queries : graph::Dim{}}, 3);
  }
  // Makes a look whose operands are those of the op from `first` on, and behind them the lengths
  // that are known only while running: `lengths` has -1 for each of them.
  Op LookAt(const Op& op, const std::string& name, const Extents& extents,
            const std::vector<graph::Dim>& parts, size_t first) const {
    Op look;
    look.operands.assign(op.operands.begin() + static_cast<std::ptrdiff_t>(first),
                         op.operands.end());
    Extents lengths;
    for (const graph::Dim& dim : parts) {
      lengths.push_back(dim.symbol.valid() ? -1 : dim.extent);
      if (dim.symbol.valid()) look.operands.push_back({graph_.symbols[dim.symbol].extent});
    }
    look.name = look.kernel = kLookKernel;
    look.attributes = {{"op", name}, {"extents", extents}, {"lengths", lengths}};
    look.call = op.call;
    look.device = op.device;
    look.range = op.range;
    look.fails = true;
    look.bytes = static_cast<int64_t>(8 * look.operands.size());
    return look;
  }

  const Type& TypeOf(const Use& use) const { return graph_.values[use.value].type; }

  // Marks the ops of [writer, end) that the looks read, directly or through others. Returns false
  // if one of them may fail.
  bool FindMoving(size_t writer, size_t begin, size_t end, const std::vector<Op>& looks,
                  std::vector<char>& moves) const {
    const auto mark_maker = [&](ValueId id) {
      const OpId maker = graph_.values[RootOf(graph_, id)].producer;
      if (maker.valid() && maker.index >= writer && maker.index < end) {
        moves[maker.index - begin] = true;
      }
    };
    const auto mark_extents = [&](ValueId id) {
      for (const graph::Dim& dim : graph_.values[id].type.dims) {
        if (dim.symbol.valid()) mark_maker(graph_.symbols[dim.symbol].extent);
      }
    };
    const auto mark = [&](const Op& reader) {
      for (const Use& operand : reader.operands) {
        mark_maker(operand.value);
        mark_extents(operand.value);
      }
      for (ValueId result : reader.results) mark_extents(result);
    };
    for (const Op& look : looks) mark(look);
    for (size_t i = end; i-- > writer;) {
      if (!moves[i - begin]) continue;
      const Op& op = graph_.ops[OpId(i)];
      if (op.fails || op.effect || op.collective) return false;
      mark(op);
    }
    return true;
  }

  Graph& graph_;
  std::vector<char> committed_;  // by value
  std::vector<OpId> order_;
  size_t looks_ = 0;
};

}  // namespace

void HoistChecks(graph::Module& module) {
  for (Graph& graph : module.graphs) CheckHoister(graph).Run();
}

}  // namespace cgraph
