#include "tests/kernels_cuda/trial.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/device/cpu/kernels/operands.h"
#include "tests/kernels_cuda/trial_target.h"

namespace cgraph::cuda::testing {
namespace {

using device::OperandType;
using device::Tensor;

constexpr int64_t kBeyond = 3;  // how far the bound of a dynamic dim is beyond its extent
constexpr uint8_t kUntouched = 0xa5;
constexpr uint32_t kOwn = 2, kCheckedFlag = 1;

Counts counts;

uint64_t Mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

bool IsDynamic(const Operand& operand, size_t dim) {
  return dim < operand.dynamic.size() && operand.dynamic[dim];
}

OperandType TypeOf(const Operand& operand) {
  OperandType type;
  type.dtype = operand.dtype;
  type.rank = static_cast<uint8_t>(operand.dims.size());
  for (size_t i = 0; i < operand.dims.size(); ++i) {
    type.dynamic[i] = IsDynamic(operand, i);
    type.dims[i] = operand.dims[i] + (type.dynamic[i] ? kBeyond : 0);
  }
  return type;
}

const std::vector<int64_t>& ExtentsOf(const Operand& operand) {
  return operand.actual.empty() ? operand.dims : operand.actual;
}

// Memory of an operand: as much as its bound needs, and some beyond.
struct Buffer {
  std::vector<uint64_t> words;
  Tensor tensor;

  explicit Buffer(const Operand& operand) {
    const OperandType type = TypeOf(operand);
    int64_t bound = plan::DTypeBytes(type.dtype);
    for (int i = 0; i < type.rank; ++i) bound *= type.dims[i];
    words.assign(static_cast<size_t>(bound / 8 + 8), 0);
    std::memset(words.data(), kUntouched, words.size() * 8);
    tensor.data = words.data();
    tensor.dtype = operand.dtype;
    tensor.rank = type.rank;
    std::copy_n(ExtentsOf(operand).begin(), tensor.rank, tensor.dims);
  }
  Buffer(const Buffer& other) : words(other.words), tensor(other.tensor) {
    tensor.data = words.data();
  }
  Buffer& operator=(const Buffer& other) {
    words = other.words;
    tensor = other.tensor;
    tensor.data = words.data();
    return *this;
  }
};

template <typename T>
T NumberOf(const Operand& operand, uint64_t bits, int64_t i) {
  if (!operand.numbers.empty()) {
    return static_cast<T>(operand.numbers[static_cast<size_t>(i)]);
  }
  if (operand.dtype == DType::bool_) return static_cast<T>(bits >> 17 & 1);
  if (operand.fill == Fill::kBelow) {
    return static_cast<T>(static_cast<int64_t>(bits % static_cast<uint64_t>(operand.below)));
  }
  if constexpr (device::kIsFloat<T>) {
    const double moderate = static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-61;  // -4 .. 4
    if (operand.fill == Fill::kModerate || i % 4 == 1) return static_cast<T>(moderate);
    if (i % 4 == 2) return static_cast<T>(moderate * 30);
    constexpr double kSpecial[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 0.5, 1e-40, -2, 88};
    if (i % 4 == 3) return static_cast<T>(kSpecial[bits % std::size(kSpecial)]);
    T any;
    std::memcpy(&any, &bits, sizeof(T));
    return any;
  } else {
    if (operand.fill == Fill::kModerate || i % 2 == 1) {
      return static_cast<T>(static_cast<int64_t>(bits >> 20 & 15) - 7);
    }
    return static_cast<T>(bits);
  }
}

void FillIn(const Operand& operand, uint64_t seed, Buffer& buffer) {
  device::WithType(operand.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < buffer.tensor.elements(); ++i) {
      const uint64_t bits = Mixed(seed + static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15u);
      buffer.tensor.as<T>()[i] = NumberOf<T>(operand, bits, i);
    }
  });
}

std::vector<Buffer> BuffersOf(const std::vector<Operand>& operands, uint64_t seed) {
  std::vector<Buffer> buffers;
  for (size_t i = 0; i < operands.size(); ++i) {
    buffers.emplace_back(operands[i]);
    if (seed != 0) FillIn(operands[i], Mixed(seed * 64 + i), buffers.back());
  }
  return buffers;
}

template <typename T>
std::string DifferenceOf(const Trial& trial, const Tensor& got, const Tensor& expected) {
  for (int64_t i = 0; i < got.elements(); ++i) {
    const T a = got.as<T>()[i], b = expected.as<T>()[i];
    if (std::memcmp(&a, &b, sizeof(T)) == 0) continue;
    const auto x = static_cast<double>(a), y = static_cast<double>(b);
    if (device::kIsFloat<T> && std::isnan(x) && std::isnan(y)) continue;
    const double limit =
        std::max(trial.absolute, trial.relative * std::max(std::fabs(x), std::fabs(y)));
    if (limit > 0 && std::fabs(x - y) <= limit) continue;
    return fmt::format("element {} is {}, expected {}", i, x, y);
  }
  return {};
}

std::string DifferenceOf(const Trial& trial, const Tensor& got, const Tensor& expected) {
  std::string difference;
  device::WithType(got.dtype, [&](auto zero) {
    difference = DifferenceOf<decltype(zero)>(trial, got, expected);
  });
  return difference;
}

bool IsUntouched(const Buffer& buffer, uint64_t from) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(buffer.words.data());
  for (uint64_t i = from; i < buffer.words.size() * 8; ++i) {
    if (bytes[i] != kUntouched) return false;
  }
  return true;
}

// One launch on the device and what came of it.
struct Outcome {
  std::vector<Buffer> out;
  FailureLog log;
  Failure failure;  // the log's one entry
  uint8_t flags[4] = {}, host_flags[4] = {};
};
struct Manner {
  bool on_device = false;  // where dynamic extents lie
  bool poisoned = false;
  bool in_place = false;
  bool shifted = false;  // operands begin one element behind where their memory does
  uint64_t seed = 0;
};

// Moves what a buffer holds by so many bytes, into or out of the room at its end.
void Shift(Buffer& buffer, int64_t bytes) {
  auto* data = reinterpret_cast<uint8_t*>(buffer.words.data());
  const size_t rest = buffer.words.size() * 8 - static_cast<size_t>(std::abs(bytes));
  std::memmove(bytes > 0 ? data + bytes : data, bytes > 0 ? data : data - bytes, rest);
  std::memset(bytes > 0 ? data : data + rest, kUntouched, static_cast<size_t>(std::abs(bytes)));
}

std::unique_ptr<Outcome> LaunchOnce(CudaExecutable& executable, const Trial& trial,
                                    std::vector<Buffer> in, const Manner& manner) {
  auto outcome = std::make_unique<Outcome>();
  outcome->out = BuffersOf(trial.out, 0);
  const std::unique_ptr<Staging> staging = MakeStaging();
  std::vector<std::vector<int64_t>> extents;  // on the device
  const auto shift_of = [&](const Buffer& buffer) {
    return manner.shifted ? plan::DTypeBytes(buffer.tensor.dtype) : 0;
  };
  const auto view_of = [&](const Operand& operand, Buffer& buffer) {
    Shift(buffer, shift_of(buffer));
    extents.push_back(ExtentsOf(operand));
    auto* where = static_cast<int64_t*>(
        staging->Put(extents.back().data(), extents.back().size() * sizeof(int64_t)));
    View view;
    view.data = static_cast<char*>(staging->Put(buffer.words.data(), buffer.words.size() * 8)) +
                shift_of(buffer);
    view.rank = buffer.tensor.rank;
    for (size_t i = 0; i < operand.dims.size(); ++i) {
      view.dims[i].number = ExtentsOf(operand)[i];
      if (!manner.on_device || !IsDynamic(operand, i)) continue;
      view.dims[i].number = operand.dims[i] + kBeyond;
      view.dims[i].where = where + i;
    }
    return view;
  };
  extents.reserve(trial.in.size() + trial.out.size());
  std::vector<View> in_views, out_views;
  for (size_t i = 0; i < trial.in.size(); ++i) in_views.push_back(view_of(trial.in[i], in[i]));
  for (size_t i = 0; i < trial.out.size(); ++i) {
    Buffer& buffer = outcome->out[i];
    const bool in_place = manner.in_place && i == 0;
    if (in_place) buffer = in[0];
    out_views.push_back(view_of(trial.out[i], buffer));
    if (in_place) in_views[0].data = out_views[0].data;
  }
  uint32_t checks[] = {0, manner.poisoned ? kCheckedFlag | kElsewhere : 3};
  outcome->host_flags[kCheckedFlag] = manner.poisoned ? 1 : 0;
  const auto put = [&](auto* what, size_t bytes) {
    return static_cast<decltype(what)>(staging->Put(what, bytes));
  };
  outcome->log.entries = put(&outcome->failure, sizeof outcome->failure);
  Call call;
  call.guard = {.checks = put(checks, sizeof checks),
                .flags = put(outcome->flags, sizeof outcome->flags),
                .host_flags = put(outcome->host_flags, sizeof outcome->host_flags),
                .log = put(&outcome->log, sizeof outcome->log),
                .count = 2,
                .own = kOwn,
                .looks = true,
                .graph = 5,
                .step = 6,
                .frame = 7,
                .bound_count = 0,
                .bounds = {}};
  call.inputs = in_views;
  call.outputs = out_views;
  const auto words = static_cast<size_t>(executable.scratch() / 8 + 33);
  std::vector<uint64_t> scratch(words, 0xdbdbdbdbdbdbdbdbu);
  const auto begin = (reinterpret_cast<uintptr_t>(scratch.data()) + 255) / 256 * 256;
  const auto* past = reinterpret_cast<uint8_t*>(scratch.data() + words);
  call.scratch = staging->Put(reinterpret_cast<void*>(begin),
                              static_cast<size_t>(past - reinterpret_cast<uint8_t*>(begin)));
  staging->Upload();
  SetGridSeed(manner.seed);
  REQUIRE(executable.Launch(call) == CUDA_SUCCESS);
  staging->Download();
  for (Buffer& buffer : outcome->out) Shift(buffer, -shift_of(buffer));
  const auto* end = reinterpret_cast<uint8_t*>(begin) + executable.scratch();
  for (const auto* at = end; at < past; ++at) {
    REQUIRE(*at == 0xdb);
  }
  return outcome;
}

void CheckPoisoned(CudaExecutable& executable, const Trial& trial, const std::vector<Buffer>& in) {
  const auto outcome = LaunchOnce(executable, trial, in, {.poisoned = true});
  CHECK(outcome->flags[kOwn] == 1);
  CHECK(outcome->host_flags[kOwn] == 1);
  CHECK(outcome->log.count == 0);
  if (trial.writes_poisoned) return;
  for (const Buffer& out : outcome->out) CHECK(IsUntouched(out, 0));
}

void CheckFailed(const Outcome& outcome, CudaExecutable& executable, const std::string& error) {
  REQUIRE(outcome.log.count == 1);
  const Failure& failure = outcome.failure;
  CHECK(executable.ErrorText(failure) == error);
  CHECK((failure.graph == 5 && failure.step == 6 && failure.frame == 7));
  CHECK((outcome.flags[kOwn] == 1 && outcome.host_flags[kOwn] == 1));
  for (const Buffer& out : outcome.out) CHECK(IsUntouched(out, 0));
}

void CheckResults(const Outcome& outcome, const Trial& trial, const std::vector<Buffer>& expected) {
  CHECK(outcome.log.count == 0);
  CHECK(outcome.flags[kOwn] == 0);
  for (size_t i = 0; i < expected.size(); ++i) {
    INFO("result " << i);
    CHECK(DifferenceOf(trial, outcome.out[i].tensor, expected[i].tensor) == "");
    CHECK(IsUntouched(outcome.out[i], expected[i].tensor.bytes()));
  }
}

plan::Kernel KernelOf(const Trial& trial) {
  plan::Kernel kernel = device::testing::Named(trial.kernel, trial.attributes);
  if (trial.steps.empty()) return kernel;
  kernel.body.clear();
  for (const Step& step : trial.steps) {
    kernel.body.push_back(std::make_unique<plan::Primitive>());
    kernel.body.back()->op = step.op;
    kernel.body.back()->operands = step.operands;
  }
  kernel.temporaries = trial.temporaries;
  return kernel;
}

std::string TextOf(const Trial& trial) {
  std::string text = trial.kernel;
  for (const auto* operands : {&trial.in, &trial.out}) {
    text += operands == &trial.in ? "(" : ") -> ";
    for (const Operand& operand : *operands) text += device::TypeText(TypeOf(operand)) + " ";
  }
  return text;
}

// Checks that results are the same wherever the operands lie; a NaN is like any other. Products of
// a library are not made where operands are not aligned.
void CheckSameNumbers(const Trial& trial, const std::vector<Buffer>& first,
                      const std::vector<Buffer>& out) {
  if (trial.kernel == "matmul") return;
  Trial exact = trial;
  exact.relative = exact.absolute = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    CHECK(DifferenceOf(exact, out[i].tensor, first[i].tensor) == "");
  }
}

}  // namespace

Counts Checked() { return counts; }

void Check(const Trial& trial, uint64_t seed) {
  INFO(TextOf(trial));
  std::vector<OperandType> in_types, out_types;
  for (const Operand& operand : trial.in) in_types.push_back(TypeOf(operand));
  for (const Operand& operand : trial.out) out_types.push_back(TypeOf(operand));
  const plan::Kernel kernel = KernelOf(trial);
  auto cpu = device::MakeCpuKernel(kernel, in_types, out_types);
  INFO((cpu.ok() ? "" : cpu.status().message()));
  REQUIRE(cpu.ok());
  auto cuda = MakeCudaKernel(TrialTarget(), kernel, in_types, out_types);
  INFO((cuda.ok() ? "" : cuda.status().message()));
  REQUIRE(cuda.ok());
  ++counts.trials;

  const std::vector<Buffer> in = BuffersOf(trial.in, seed);
  std::vector<Buffer> expected = BuffersOf(trial.out, 0);
  std::vector<Tensor> in_tensors, out_tensors;
  for (const Buffer& buffer : in) in_tensors.push_back(buffer.tensor);
  for (const Buffer& buffer : expected) out_tensors.push_back(buffer.tensor);
  std::string error;
  const bool done = (*cpu)->Run(in_tensors, out_tensors, nullptr, error);
  counts.failures += !done;
  bool dynamic = false;
  for (const auto* operands : {&trial.in, &trial.out}) {
    for (const Operand& operand : *operands) {
      for (const bool dim : operand.dynamic) dynamic |= dim;
    }
  }
  CheckPoisoned(**cuda, trial, in);
  std::vector<Buffer> first;
  for (const Manner& manner :
       {Manner{}, Manner{.seed = seed + 7}, Manner{.shifted = true}, Manner{.on_device = true},
        Manner{.on_device = true, .in_place = true}}) {
    if (manner.on_device && !dynamic && !manner.in_place) continue;
    if (manner.in_place && (!trial.in_place || !done)) continue;
    INFO("extents on the device: " << manner.on_device << ", in place: " << manner.in_place);
    const auto outcome = LaunchOnce(**cuda, trial, in, manner);
    if (!done) {
      CheckFailed(*outcome, **cuda, error);
      continue;
    }
    if (manner.in_place) {
      CHECK(DifferenceOf(trial, outcome->out[0].tensor, expected[0].tensor) == "");
      continue;
    }
    CheckResults(*outcome, trial, expected);
    if (first.empty()) first = outcome->out;
    if (manner.shifted) {
      CheckSameNumbers(trial, first, outcome->out);
      continue;
    }
    for (size_t i = 0; i < first.size(); ++i) CHECK(first[i].words == outcome->out[i].words);
  }
}

}  // namespace cgraph::cuda::testing
