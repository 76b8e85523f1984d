// attention(q, k, v): softmax(q @ transpose(k) * scale) @ v of each head, and its gradient, tile by
// tile with running maxima: no matrix of scores is ever in memory.
//
// q is [*b, h, n, e], k [*b, g, m, e] and v [*b, g, m, d], where h / g query heads that follow one
// another read the same head of k and v. So the queries of such a group are rows of one matrix, a
// block of which takes the keys tile by tile. f16 and bf16 are widened on the way, q once and k and
// v by tiles, and everything is computed in f32.
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/kinds/limits.h"
#include "runtime/device/cpu/kernels/attention/tiles.h"
#include "runtime/device/cpu/kernels/elementwise/element_loops.h"
#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cpu/kernels/makers.h"
#include "runtime/device/cpu/kernels/workspace.h"

namespace cgraph::device {
namespace {

// Fewer queries than these are multiplied with keys as they lie: transposing takes longer.
constexpr int64_t kFewQueries = 8;

// Conversions between elements as they are stored and as they are computed with.
struct Conversion {
  void (*widen)(const void* from, void* to, int64_t count);
  void (*narrow)(const void* from, void* to, int64_t count);
};
template <typename C, typename T>
Conversion ConversionOf() {
  return {[](const void* from, void* to, int64_t count) {
            const T* x = static_cast<const T*>(from);
            for (int64_t i = 0; i < count; ++i) static_cast<C*>(to)[i] = static_cast<C>(x[i]);
          },
          [](const void* from, void* to, int64_t count) {
            const C* x = static_cast<const C*>(from);
            for (int64_t i = 0; i < count; ++i) static_cast<T*>(to)[i] = T(x[i]);
          }};
}
template <typename C>
Conversion ConversionFor(DType dtype) {
  if (std::is_same_v<C, float> && IsHalf(dtype)) {
    const HalfLoops half = HalfLoopsOf(dtype);
    return {half.widen, half.narrow};
  }
  Conversion conversion{};
  WithType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsFloat<T>) conversion = ConversionOf<C, T>();
  });
  return conversion;
}

// How the rows of a tensor are brought to where they are computed with.
template <typename C>
struct RowConverter {
  DType dtype;
  int64_t width;  // bytes of an element
  Conversion conversion;
  bool direct;    // elements are stored as they are computed with

  explicit RowConverter(DType of)
      : dtype(of), width(plan::DTypeBytes(of)), conversion(ConversionFor<C>(of)),
        direct(width == sizeof(C)) {}

  const char* At(const Tensor& tensor, int64_t element) const {
    return tensor.as<char>() + element * width;
  }
  // Brings rows into memory whose rows are `to_width` apart, with 0 behind the columns.
  void Load(const void* from, int64_t rows, int64_t columns, C* to, int64_t to_width) const {
    if (columns == to_width) return conversion.widen(from, to, rows * columns);
    for (int64_t i = 0; i < rows; ++i, to += to_width) {
      conversion.widen(static_cast<const char*>(from) + i * columns * width, to, columns);
      std::fill(to + columns, to + to_width, C(0));
    }
  }
  // The rows where they lie, or in `space` where they must be converted.
  const C* RowsOf(const void* from, int64_t rows, int64_t columns, C* space) const {
    if (direct) return static_cast<const C*>(from);
    conversion.widen(from, space, rows * columns);
    return space;
  }
  // The same, with rows of whole panels.
  const C* PanelsOf(const void* from, int64_t rows, int64_t columns, C* space) const {
    if (columns == Padded<C>(columns)) return RowsOf(from, rows, columns, space);
    Load(from, rows, columns, space, Padded<C>(columns));
    return space;
  }
};

// The extents of a call.
struct Extents {
  int64_t batches, heads, groups, queries, keys, e, d;  // `groups`: the heads of k and v
  // Query heads of a head of k and v.
  int64_t together() const { return groups == 0 ? 0 : heads / groups; }
};

// A block of queries: rows [first, first + rows) of a group.
struct QueryBlock { int64_t first, rows; };

// Attention: what the kernel and its gradient have in common.
template <typename C>
class Attention {
 public:
  explicit Attention(const Request& request, bool has_length)
      : q_(request.inputs[0].dtype), k_(request.inputs[1].dtype), rank_(request.inputs[0].rank),
        causal_(*BoolAttribute(request, "causal")),
        scale_(static_cast<C>(*FloatAttribute(request, "scale"))),
        has_length_(has_length), most_(ExtentsOf(request.inputs)) {
    query_.resize(static_cast<size_t>(kTileRows * Padded<C>(most_.e)));
    scores_.resize(static_cast<size_t>(kTileRows * kTileKeys));
    transposed_.resize(static_cast<size_t>(kTileKeys * std::max(most_.e, most_.d)));
    keys_.resize(static_cast<size_t>(kTileKeys * Padded<C>(most_.e)));
    values_.resize(static_cast<size_t>(kTileKeys * Padded<C>(most_.d)));
  }

 protected:
  // Works for tensors and for their types, whose dims are bounds.
  template <typename Operands>
  static Extents ExtentsOf(const Operands& in) {
    const int rank = in[0].rank;
    int64_t batches = 1;
    for (int i = 0; i < rank - 3; ++i) batches *= in[0].dims[i];
    return {batches, in[0].dims[rank - 3], in[1].dims[rank - 3], in[0].dims[rank - 2],
            in[1].dims[rank - 2], in[0].dims[rank - 1], in[2].dims[rank - 1]};
  }
  // The extents of an execution. Of heads, that of q is as many times that of k as the bounds say.
  Extents ExtentsOfRun(std::span<const Tensor> in) const {
    Extents extents = ExtentsOf(in);
    if (most_.groups != most_.heads) return extents;
    extents.groups = extents.heads;
    return extents;
  }

  // Returns false, with `error`, where a length lies outside.
  bool CheckLengths(const Extents& extents, const Tensor& length, std::string& error) const {
    return HaveLengths(length.as<int64_t>(), length.rank == 0 ? -1 : length.elements(),
                       causal_ ? extents.queries : 0, extents.keys, error);
  }
  int64_t LengthOf(const Extents& extents, std::span<const Tensor> in, int64_t batch) const {
    if (!has_length_) return extents.keys;
    const Tensor& length = in.back();
    return length.as<int64_t>()[BroadcastIndex(length, 0, in[0], 3, batch)];
  }

  // Calls use(block) for each block of queries of a group. A block is a part of a head, or some
  // heads.
  template <typename Use>
  void ForBlocks(const Extents& extents, Use use) const {
    // Of smaller blocks causal rows see more of what is computed. With 128 queries of 32 elements
    // that gains some percent of the gradient's time, with 512 larger products gain more.
    const int64_t n = extents.queries;
    const int64_t most = causal_ && n < 2 * kTileRows ? kTileRows / 2 : kTileRows;
    const int64_t heads = std::clamp<int64_t>(most / std::max<int64_t>(n, 1), 1, most);
    for (int64_t h = 0; h < extents.together(); h += heads) {
      const int64_t rows = n * std::min(heads, extents.together() - h);
      for (int64_t i = 0; i < rows; i += most) {
        use(QueryBlock{h * n + i, std::min(most, rows - i)});
      }
    }
  }

  // Sets how many keys each row of a block sees, and returns the most.
  int64_t SeeKeys(const Extents& extents, const QueryBlock& block, int64_t length) {
    int64_t most = 0;
    for (int64_t r = 0; r < block.rows; ++r) {
      const int64_t behind = extents.queries - 1 - (block.first + r) % extents.queries;
      const int64_t hidden = causal_ ? behind : 0;
      sees_[r] = std::max<int64_t>(0, length - hidden);
      most = std::max(most, sees_[r]);
    }
    return most;
  }
  // Sets how many of the `keys` keys of a tile, which begin at `first`, each row sees.
  void SeeTile(const QueryBlock& block, int64_t first, int64_t keys) {
    for (int64_t r = 0; r < block.rows; ++r) {
      sees_tile_[r] = std::clamp<int64_t>(sees_[r] - first, 0, keys);
    }
  }

  // Brings a block of queries, times the scale. Rows are `width` apart.
  void LoadQueries(const Extents& extents, const void* from, const QueryBlock& block,
                   int64_t width) {
    q_.Load(from, block.rows, extents.e, query_.data(), width);
    for (int64_t i = 0; i < block.rows * width; ++i) query_[static_cast<size_t>(i)] *= scale_;
  }
  // Whether keys are multiplied as they lie.
  bool FewRows(const QueryBlock& block) const { return block.rows < kFewQueries; }

  // Computes the scores of a block's queries, whose rows are `width` apart, with some keys.
  void Scores(const QueryBlock& block, const C* k, int64_t keys, int64_t e, int64_t width) {
    loops_.transpose(k, e, keys, e, transposed_.data());
    Multiply({.a = query_.data(), .a_row = width, .a_step = 1, .b = transposed_.data(),
              .b_width = kTileKeys, .c = scores_.data(), .c_width = kTileKeys, .m = block.rows,
              .n = Padded<C>(keys), .k = e, .add = false});
  }
  void Multiply(const TileProduct<C>& product) const { loops_.product(product); }

  // v is as k, and results are as what they are results or gradients of.
  const RowConverter<C> q_, k_;
  const int rank_;
  const bool causal_;
  const C scale_;
  const bool has_length_;
  const Extents most_;
  const TileLoops<C> loops_;
  int64_t sees_[kTileRows], sees_tile_[kTileRows];
  RunningRow<C> running_[kTileRows];
  Workspace<C> query_, scores_, transposed_, keys_, values_;
};

template <typename C>
class AttentionKernel final : public Kernel, Attention<C> {
 public:
  AttentionKernel(const Request& request, bool has_length)
      : Attention<C>(request, has_length) {
    sums_.resize(static_cast<size_t>(kTileRows * Padded<C>(this->most_.d)));
  }

  bool Run(std::span<const Tensor> in, std::span<const Tensor> out, void*,
           std::string& error) override {
    const Extents extents = this->ExtentsOfRun(in);
    if (this->has_length_ && !this->CheckLengths(extents, in.back(), error)) return false;
    if (out[0].elements() == 0) return true;
    const int64_t rows = extents.together() * extents.queries;
    for (int64_t i = 0; i < extents.batches * extents.groups; ++i) {
      const int64_t length = this->LengthOf(extents, in, i / extents.groups);
      this->ForBlocks(extents, [&](const QueryBlock& block) {
        const int64_t row = i * rows + block.first;
        RunBlock(extents, block, length, this->q_.At(in[0], row * extents.e),
                 this->k_.At(in[1], i * extents.keys * extents.e),
                 this->k_.At(in[2], i * extents.keys * extents.d),
                 out[0].as<char>() + row * extents.d * this->q_.width);
      });
    }
    return true;
  }

 private:
  void RunBlock(const Extents& extents, const QueryBlock& block, int64_t length, const void* q,
                const char* k, const char* v, void* out) {
    const int64_t e = extents.e, d = extents.d, width = Padded<C>(d);
    const int64_t most = this->SeeKeys(extents, block, length);
    this->LoadQueries(extents, q, block, e);
    std::fill_n(this->running_, block.rows, kNoScores<C>);
    if (most == 0) std::fill_n(sums_.data(), block.rows * width, C(0));
    for (int64_t first = 0; first < most; first += kTileKeys) {
      const int64_t keys = std::min(kTileKeys, most - first);
      this->SeeTile(block, first, keys);
      const C* const k_rows = this->k_.RowsOf(k + first * e * this->k_.width, keys, e,
                                              this->keys_.data());
      if (this->FewRows(block)) {
        this->loops_.dots(this->query_.data(), block.rows, k_rows, keys, e, this->scores_.data());
      } else {
        this->Scores(block, k_rows, keys, e, e);
      }
      this->loops_.softmax(this->scores_.data(), block.rows, keys, this->sees_tile_,
                           this->running_, sums_.data(), width);
      const C* const v_rows = this->k_.PanelsOf(v + first * d * this->k_.width, keys, d,
                                                this->values_.data());
      this->Multiply({.a = this->scores_.data(), .a_row = kTileKeys, .a_step = 1, .b = v_rows,
                      .b_width = width, .c = sums_.data(), .c_width = width, .m = block.rows,
                      .n = width, .k = keys, .add = first > 0});
    }
    Store(block, length, d, out);
  }
  // Divides the sums by those of the exponentials. A row that sees no keys though there are some is
  // NaN, as softmax of -inf; the sum over no keys is 0.
  void Store(const QueryBlock& block, int64_t length, int64_t d, void* out) {
    const int64_t width = Padded<C>(d);
    for (int64_t r = 0; r < block.rows; ++r) {
      C* const sums = sums_.data() + r * width;
      const C share = length == 0 ? C(1) : static_cast<C>(1 / this->running_[r].sum);
      for (int64_t j = 0; j < d; ++j) sums[j] *= share;
      this->q_.conversion.narrow(sums, static_cast<char*>(out) + r * d * this->q_.width, d);
    }
  }

  Workspace<C> sums_;
};

// The gradient walks twice over the keys that a block of queries sees: once for the greatest score
// and the sum of each row, and back for the probabilities and what is made of them; the last tile
// is still there then. What k and v get is added up for a whole head of theirs. Operands: q, k, v,
// y, the gradient of y, the length; results: the gradients of q, k and v.
template <typename C>
class AttentionGradKernel final : public Kernel, Attention<C> {
 public:
  AttentionGradKernel(const Request& request, bool has_length)
      : Attention<C>(request, has_length) {
    const int64_t e = Padded<C>(this->most_.e), d = Padded<C>(this->most_.d);
    gradients_.resize(static_cast<size_t>(kTileRows * kTileKeys));
    result_.resize(static_cast<size_t>(kTileRows * d));
    given_.resize(static_cast<size_t>(kTileRows * d));
    q_sums_.resize(static_cast<size_t>(kTileRows * e));
    k_sums_.resize(static_cast<size_t>(this->most_.keys * e));
    v_sums_.resize(static_cast<size_t>(this->most_.keys * d));
  }

  bool Run(std::span<const Tensor> in, std::span<const Tensor> out, void*,
           std::string& error) override {
    const Extents extents = this->ExtentsOfRun(in);
    if (this->has_length_ && !this->CheckLengths(extents, in.back(), error)) return false;
    const int64_t e = extents.e, d = extents.d, rows = extents.together() * extents.queries;
    for (int64_t i = 0; i < extents.batches * extents.groups; ++i) {
      const int64_t length = this->LengthOf(extents, in, i / extents.groups);
      std::fill_n(k_sums_.data(), extents.keys * Padded<C>(e), C(0));
      std::fill_n(v_sums_.data(), extents.keys * Padded<C>(d), C(0));
      const char* const k = this->k_.At(in[1], i * extents.keys * e);
      const char* const v = this->k_.At(in[2], i * extents.keys * d);
      this->ForBlocks(extents, [&](const QueryBlock& block) {
        const int64_t row = i * rows + block.first, most = this->SeeKeys(extents, block, length);
        this->LoadQueries(extents, this->q_.At(in[0], row * e), block, Padded<C>(e));
        LoadGradients(block, d, this->q_.At(in[3], row * d), this->q_.At(in[4], row * d));
        FindSums(block, most, k, e);
        std::fill_n(q_sums_.data(), block.rows * Padded<C>(e), C(0));
        const int64_t last = (most - 1) / kTileKeys * kTileKeys;
        for (int64_t first = last; most > 0 && first >= 0; first -= kTileKeys) {
          AddTile(block, first, std::min(kTileKeys, most - first), first == last, k, v, e, d);
        }
        // What k gets is made of queries that LoadQueries() has scaled.
        for (C& sum : q_sums_) sum *= this->scale_;
        Store(q_sums_.data(), this->q_, block.rows, e, out[0], row * e);
      });
      Store(k_sums_.data(), this->k_, extents.keys, e, out[1], i * extents.keys * e);
      Store(v_sums_.data(), this->k_, extents.keys, d, out[2], i * extents.keys * d);
    }
    return true;
  }

 private:
  // Brings the gradients of results, and makes the sum of each row's results times them.
  void LoadGradients(const QueryBlock& block, int64_t d, const void* y, const void* gy) {
    const int64_t width = Padded<C>(d);
    this->q_.Load(y, block.rows, d, result_.data(), width);
    this->q_.Load(gy, block.rows, d, given_.data(), width);
    for (int64_t r = 0; r < block.rows; ++r) {
      this->loops_.dots(result_.data() + r * width, 1, given_.data() + r * width, 1, width,
                        this->scores_.data());
      shift_[r] = this->scores_[0];
    }
  }
  void FindSums(const QueryBlock& block, int64_t most, const char* k, int64_t e) {
    std::fill_n(this->running_, block.rows, kNoScores<C>);
    for (int64_t first = 0; first < most; first += kTileKeys) {
      const int64_t keys = std::min(kTileKeys, most - first);
      this->SeeTile(block, first, keys);
      this->Scores(block, KeysFrom(k, first, keys, e), keys, e, Padded<C>(e));
      this->loops_.softmax(this->scores_.data(), block.rows, keys, this->sees_tile_,
                           this->running_, nullptr, 0);
    }
  }
  const C* KeysFrom(const char* k, int64_t first, int64_t keys, int64_t e) {
    return this->k_.RowsOf(k + first * e * this->k_.width, keys, e, this->keys_.data());
  }

  // Adds what keys from `first` on give to q, and what the block gives to them and their values.
  // `are_made`: their exponentials are in scores_.
  void AddTile(const QueryBlock& block, int64_t first, int64_t keys, bool are_made, const char* k,
               const char* v, int64_t e, int64_t d) {
    const int64_t e_width = Padded<C>(e), d_width = Padded<C>(d);
    this->SeeTile(block, first, keys);
    if (!are_made) this->Scores(block, KeysFrom(k, first, keys, e), keys, e, e_width);
    const C* const values = this->k_.RowsOf(v + first * d * this->k_.width, keys, d,
                                            this->values_.data());
    this->loops_.transpose(values, d, keys, d, this->transposed_.data());
    this->Multiply({.a = given_.data(), .a_row = d_width, .a_step = 1,
                    .b = this->transposed_.data(), .b_width = kTileKeys, .c = gradients_.data(),
                    .c_width = kTileKeys, .m = block.rows, .n = Padded<C>(keys), .k = d,
                    .add = false});
    this->loops_.softmax_grad(this->scores_.data(), gradients_.data(), block.rows, keys,
                              this->sees_tile_, this->running_, shift_, are_made);
    this->Multiply({.a = this->scores_.data(), .a_row = 1, .a_step = kTileKeys,
                    .b = given_.data(), .b_width = d_width, .c = v_sums_.data() + first * d_width,
                    .c_width = d_width, .m = keys, .n = d_width, .k = block.rows, .add = true});
    this->Multiply({.a = gradients_.data(), .a_row = 1, .a_step = kTileKeys,
                    .b = this->query_.data(), .b_width = e_width,
                    .c = k_sums_.data() + first * e_width, .c_width = e_width, .m = keys,
                    .n = e_width, .k = block.rows, .add = true});
    const C* const panels = this->k_.PanelsOf(k + first * e * this->k_.width, keys, e,
                                              this->keys_.data());
    this->Multiply({.a = gradients_.data(), .a_row = kTileKeys, .a_step = 1, .b = panels,
                    .b_width = e_width, .c = q_sums_.data(), .c_width = e_width, .m = block.rows,
                    .n = e_width, .k = keys, .add = true});
  }

  // Rounds rows of whole panels into those of a result, from an element on.
  static void Store(const C* from, const RowConverter<C>& converter, int64_t rows,
                    int64_t columns, const Tensor& out, int64_t element) {
    char* to = out.as<char>() + element * converter.width;
    for (int64_t r = 0; r < rows; ++r) {
      converter.conversion.narrow(from + r * Padded<C>(columns), to + r * columns * converter.width,
                                  columns);
    }
  }

  C shift_[kTileRows];
  Workspace<C> gradients_, result_, given_, q_sums_, k_sums_, v_sums_;
};

// Checks q, k, v and `out`, which is the result or like it, and the length, if that is not null.
Status CheckAttention(const Request& request, const OperandType* length, const OperandType& out) {
  const OperandType& q = request.inputs[0];
  const OperandType& k = request.inputs[1];
  const OperandType& v = request.inputs[2];
  const int rank = q.rank;
  bool fits = rank >= 3 && k.rank == rank && v.rank == rank && out.rank == rank;
  for (int i = 0; fits && i < rank - 3; ++i) {
    fits = SameDim(q, i, k, i) && SameDim(q, i, v, i) && SameDim(q, i, out, i);
  }
  fits = fits && SameDim(k, rank - 3, v, rank - 3) && SameDim(q, rank - 3, out, rank - 3) &&
         SameDim(q, rank - 2, out, rank - 2) && SameDim(k, rank - 2, v, rank - 2) &&
         SameDim(q, rank - 1, k, rank - 1) && SameDim(v, rank - 1, out, rank - 1);
  if (fits && !SameDim(q, rank - 3, k, rank - 3)) {
    const int64_t heads = q.dims[rank - 3], groups = k.dims[rank - 3];
    fits = !q.dynamic[rank - 3] && !k.dynamic[rank - 3] && groups > 0 && heads % groups == 0;
  }
  if (!fits) {
    return Invalid(request, fmt::format("{}, {} and {} do not give {}", TypeText(q), TypeText(k),
                                        TypeText(v), TypeText(out)));
  }
  if (q.dynamic[rank - 1] || v.dynamic[rank - 1] || q.dims[rank - 1] > kMaxHeadElements ||
      v.dims[rank - 1] > kMaxHeadElements) {
    return Invalid(request, fmt::format("the last dimensions of {} and {} must be at most {}",
                                        TypeText(q), TypeText(v), kMaxHeadElements));
  }
  if (length == nullptr) return Status::Ok();
  if (length->dtype != DType::i64) return Invalid(request, "the length is i64");
  OperandType batch = q;
  batch.rank = static_cast<uint8_t>(rank - 3);
  return ExpectBroadcast(request, *length, batch);
}
Status CheckDTypes(const Request& request, const OperandType& out) {
  const DType q = request.inputs[0].dtype, k = request.inputs[1].dtype;
  const bool same = request.inputs[2].dtype == k && out.dtype == q;
  if (!same || !Contains(DTypes::kFloat, q) || !Contains(DTypes::kFloat, k) ||
      plan::DTypeBytes(k) > plan::DTypeBytes(q)) {
    return NoKernel(request);
  }
  return Status::Ok();
}
Status CheckAttributes(const Request& request) {
  if (const Result<bool> causal = BoolAttribute(request, "causal"); !causal.ok()) {
    return causal.status();
  }
  return FloatAttribute(request, "scale").status();
}

// Makes Kernel<f32> or Kernel<f64>; a result is like q of `out`.
template <template <typename> typename KernelOf>
KernelResult MakeOf(const Request& request, bool has_length, const OperandType& out) {
  const OperandType* length = has_length ? &request.inputs.back() : nullptr;
  CGRAPH_RETURN_IF_ERROR(CheckAttention(request, length, out));
  CGRAPH_RETURN_IF_ERROR(CheckDTypes(request, out));
  CGRAPH_RETURN_IF_ERROR(CheckAttributes(request));
  std::unique_ptr<Kernel> kernel;
  WithComputeType(request.inputs[0].dtype, [&](auto zero) {
    using C = decltype(zero);
    if constexpr (kIsFloat<C>) kernel = std::make_unique<KernelOf<C>>(request, has_length);
  });
  return kernel;
}

KernelResult MakeForward(const Request& request, bool has_length) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, has_length ? 4 : 3, 1));
  return MakeOf<AttentionKernel>(request, has_length, request.outputs[0]);
}

// The inputs are q, k, v, the result, its gradient and perhaps the length.
KernelResult MakeGradient(const Request& request, bool has_length) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, has_length ? 6 : 5, 3));
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, request.inputs[3], request.inputs[4]));
  for (size_t i = 0; i < 3; ++i) {
    CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, request.inputs[i], request.outputs[i]));
    if (request.outputs[i].dtype != request.inputs[i].dtype) return NoKernel(request);
  }
  if (request.inputs[3].dtype != request.inputs[4].dtype) return NoKernel(request);
  const OperandType& k = request.inputs[1];
  if (k.rank >= 2) CGRAPH_RETURN_IF_ERROR(ExpectWorkspaceFits(request, k, k.rank - 2));
  return MakeOf<AttentionGradKernel>(request, has_length, request.inputs[3]);
}

}  // namespace

KernelResult MakeAttention(const Request& request) { return MakeForward(request, false); }
KernelResult MakeAttentionPrefix(const Request& request) { return MakeForward(request, true); }
KernelResult MakeAttentionGrad(const Request& request) { return MakeGradient(request, false); }
KernelResult MakeAttentionPrefixGrad(const Request& request) { return MakeGradient(request, true); }

}  // namespace cgraph::device
