// rope(x): pairs of elements turned by an angle that grows with the position, with the pairs (2i,
// 2i + 1) or (i, i + e/2). x is [*b, h, n, e]. The positions are those of `from` on, or a list;
// they broadcast to the batch.
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "runtime/device/cpu/kernels/attention/rotation.h"
#include "runtime/device/cpu/kernels/makers.h"

namespace cgraph::device {
namespace {

// x and the result are rows of `pairs` pairs, which are turned one by one.
template <typename T>
struct TurnRow {
  using C = Compute<T>;
  CGRAPH_INLINE static void Run(const T* x, T* out, int64_t pairs, int64_t apart, int64_t step,
                                const C* cosines, const C* sines) {
#pragma GCC ivdep
    for (int64_t i = 0; i < pairs; ++i) {
      C a = static_cast<C>(x[i * step]), b = static_cast<C>(x[i * step + apart]);
      Turned(a, b, cosines[i], sines[i]);
      out[i * step] = T(a);
      out[i * step + apart] = T(b);
    }
  }
};

template <typename T>
class RopeKernel final : public Kernel {
 public:
  using C = Compute<T>;
  RopeKernel(const Request& request, bool listed)
      : rank_(request.inputs[0].rank), pairs_(request.inputs[0].dims[rank_ - 1] / 2),
        listed_(listed), halves_(*TextAttribute(request, "pairs") == "halves"),
        sign_(*BoolAttribute(request, "inverse") ? -1 : 1) {
    const auto size = static_cast<size_t>(pairs_);
    frequencies_.resize(size);
    first_.resize(size);
    turns_.resize(size * kTurnsTogether);
    cosines_.resize(size);
    sines_.resize(size);
    if (request.inputs.size() == 2) {
      const double theta = *FloatAttribute(request, "theta");
      for (int64_t i = 0; i < pairs_; ++i) {
        frequencies_[static_cast<size_t>(i)] = FrequencyOf(theta, i, 2 * pairs_);
      }
    }
    Prepare();
  }

  bool Run(std::span<const Tensor> in, std::span<const Tensor> out, void*,
           std::string&) override {
    const Tensor& x = in[0];
    if (x.elements() == 0) return true;
    if (in.size() == 3) TakeFrequencies(in[2]);
    const int64_t heads = x.dims[rank_ - 3], n = x.dims[rank_ - 2], e = 2 * pairs_;
    const int64_t batches = Product(x, 0, rank_ - 3);
    const int own = listed_ ? 1 : 0;
    for (int64_t b = 0; b < batches; ++b) {
      const int64_t* positions = in[1].as<int64_t>() +
                                 BroadcastIndex(in[1], own, x, 3, b) * (listed_ ? n : 1);
      for (int64_t i = 0; i < n; ++i) {
        TurnTo(listed_ ? positions[i] : *positions + i);
        for (int64_t h = 0; h < heads; ++h) {
          const int64_t row = ((b * heads + h) * n + i) * e;
          turn_(x.as<T>() + row, out[0].as<T>() + row, pairs_, halves_ ? pairs_ : 1,
                halves_ ? 1 : 2, cosines_.data(), sines_.data());
        }
      }
    }
    return true;
  }

 private:
  // Makes the turns of the first positions; those by later multiples of their number are made when
  // they are met.
  void Prepare() {
    for (int64_t j = 0; j < kTurnsTogether; ++j) {
      for (int64_t i = 0; i < pairs_; ++i) {
        turns_[static_cast<size_t>(j * pairs_ + i)] =
            TurnBy(static_cast<double>(j) * frequencies_[static_cast<size_t>(i)]);
      }
    }
    has_first_ = false;
  }
  // Most calls have the frequencies of the call before.
  void TakeFrequencies(const Tensor& table) {
    bool same = true;
    for (int64_t i = 0; i < pairs_; ++i) {
      const double frequency = table.as<double>()[i];
      double& old = frequencies_[static_cast<size_t>(i)];
      same &= std::memcmp(&old, &frequency, sizeof old) == 0;
      old = frequency;
    }
    if (!same) Prepare();
  }
  void TurnTo(int64_t position) {
    const int64_t first = FirstTogether(position);
    if (!has_first_ || first != first_position_) {
      for (size_t i = 0; i < first_.size(); ++i) {
        first_[i] = TurnBy(static_cast<double>(first) * frequencies_[i]);
      }
      has_first_ = true;
      first_position_ = first;
    }
    const Turn* turns = turns_.data() + (position - first) * pairs_;
    for (size_t i = 0; i < first_.size(); ++i) {
      const Turn turn = Joined(first_[i], turns[i]);
      cosines_[i] = static_cast<C>(turn.cosine);
      sines_[i] = static_cast<C>(sign_ * turn.sine);
    }
  }

  const int rank_;
  const int64_t pairs_;
  const bool listed_, halves_;
  const double sign_;
  bool has_first_ = false;
  int64_t first_position_ = 0;
  std::vector<double> frequencies_;
  std::vector<Turn> first_, turns_;  // [pairs], [kTurnsTogether, pairs]
  std::vector<C> cosines_, sines_;
  void (*const turn_)(const T*, T*, int64_t, int64_t, int64_t, const C*, const C*) =
      BestOf<TurnRow<T>>();
};

constexpr int64_t kMostPairs = 1 << 12;

// Checks what says at which positions the rows of x are.
Status CheckPositions(const Request& request, bool listed) {
  const OperandType& x = request.inputs[0];
  OperandType at = request.inputs[1], batch = x;
  const bool suits = !listed || (at.rank > 0 && SameDim(at, at.rank - 1, x, x.rank - 2));
  if (at.dtype != DType::i64 || !suits) {
    return Invalid(request, fmt::format("{} does not say where the rows of {} are", TypeText(at),
                                        TypeText(x)));
  }
  at.rank = static_cast<uint8_t>(at.rank - (listed ? 1 : 0));
  batch.rank = static_cast<uint8_t>(x.rank - 3);
  return ExpectBroadcast(request, at, batch);
}
Status CheckFrequencies(const Request& request, bool has_table) {
  if (!has_table) return FloatAttribute(request, "theta").status();
  const OperandType& table = request.inputs[2];
  const OperandType& x = request.inputs[0];
  if (table.rank == 1 && !table.dynamic[0] && table.dtype == DType::f64 &&
      2 * table.dims[0] == x.dims[x.rank - 1]) {
    return Status::Ok();
  }
  return Invalid(request, fmt::format("{} has no frequency for each pair of {}", TypeText(table),
                                      TypeText(x)));
}

KernelResult MakeRopeOf(const Request& request, bool listed, bool has_table) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, has_table ? 3 : 2, 1));
  const OperandType& x = request.inputs[0];
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, x, request.outputs[0]));
  if (x.rank < 3 || x.dynamic[x.rank - 1] || x.dims[x.rank - 1] % 2 != 0 ||
      x.dims[x.rank - 1] > 2 * kMostPairs) {
    return Invalid(request, fmt::format("it turns pairs, at most {}, of heads of positions, not {}",
                                        kMostPairs, TypeText(x)));
  }
  CGRAPH_RETURN_IF_ERROR(CheckPositions(request, listed));
  CGRAPH_RETURN_IF_ERROR(CheckFrequencies(request, has_table));
  const Result<bool> inverse = BoolAttribute(request, "inverse");
  if (!inverse.ok()) return inverse.status();
  const Result<std::string> pairs = TextAttribute(request, "pairs");
  if (!pairs.ok()) return pairs.status();
  if (*pairs != "halves" && *pairs != "adjacent") {
    return Invalid(request,
                   fmt::format("pairs are \"halves\" or \"adjacent\", not \"{}\"", *pairs));
  }
  if (x.dtype != request.outputs[0].dtype || !Contains(DTypes::kFloat, x.dtype)) {
    return NoKernel(request);
  }
  std::unique_ptr<Kernel> kernel;
  WithType(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsFloat<T>) kernel = std::make_unique<RopeKernel<T>>(request, listed);
  });
  return kernel;
}

}  // namespace

KernelResult MakeRope(const Request& request) { return MakeRopeOf(request, false, false); }
KernelResult MakeRopeBy(const Request& request) { return MakeRopeOf(request, false, true); }
KernelResult MakeRopeAt(const Request& request) { return MakeRopeOf(request, true, false); }
KernelResult MakeRopeAtBy(const Request& request) { return MakeRopeOf(request, true, true); }

}  // namespace cgraph::device
