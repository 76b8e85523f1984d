// CPU kernels against the library called directly, or against the memory's bandwidth.
//
// Every round runs ours and the other once, alternating, and the reported number is the median of
// the rounds' ratios: other time / our time, so 1 is as fast and more is faster. One thread. Where
// no library has a kernel of the dtype, the other does as much work: as many bytes of f32 for f64,
// as many elements for f16, and for bf16 where the processor has no AVX-512.
#include "bench/kernels.h"

#include <dlfcn.h>
#ifdef CGRAPH_WITH_HIGHWAY
#include <hwy/contrib/sort/vqsort.h>
#endif

#include <array>
#include <cstring>
#include <random>

#include "runtime/device/cpu/kernels/order/radix_sort.h"
#include "runtime/device/cpu/kernels/workspace.h"
#include "runtime/device/cpu/libraries/blas.h"

namespace cgraph::device {
namespace {

template <typename T>
Action DirectGemm(Gemm<T> gemm, const Ours& like) {
  const Tensor &a = like.in[0].tensor, &b = like.in[1].tensor, &c = like.out[0].tensor;
  const int m = static_cast<int>(c.dims[0]), n = static_cast<int>(c.dims[1]);
  const int k = static_cast<int>(a.dims[1]);
  return [=] {
    gemm(kRowMajor, kNoTranspose, kNoTranspose, m, n, k, 1, a.as<T>(), k, b.as<T>(), n, 0,
         c.as<T>(), n);
  };
}

// OpenBLAS's product of a row and a matrix, which takes the matrix first.
template <typename T>
Action DirectGemv(const char* name, const Ours& like) {
  using Gemv = void (*)(int order, int transpose, int m, int n, T alpha, const T* matrix, int width,
                        const T* x, int x_step, T beta, T* y, int y_step);
  static void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_NOLOAD);
  const auto gemv = library == nullptr ? nullptr : reinterpret_cast<Gemv>(dlsym(library, name));
  if (gemv == nullptr) fmt::print("OpenBLAS has no {}\n", name), std::exit(1);
  const Tensor &a = like.in[0].tensor, &b = like.in[1].tensor, &c = like.out[0].tensor;
  const int k = static_cast<int>(b.dims[0]), n = static_cast<int>(b.dims[1]);
  return [=] {
    gemv(kRowMajor, kTranspose, k, n, 1, b.as<T>(), n, a.as<T>(), 1, 0, c.as<T>(), 1);
  };
}

// Runs the fastest comparable function of OpenBLAS.
Action DirectBlas(const Blas& blas, const Ours& like) {
  const Tensor& c = like.out[0].tensor;
  const bool row = c.dims[0] == 1;
  if (c.dtype == DType::f64) {
    return row ? DirectGemv<double>("cblas_dgemv", like) : DirectGemm(blas.dgemm, like);
  }
  return row ? DirectGemv<float>("cblas_sgemv", like) : DirectGemm(blas.sgemm, like);
}

Ours MatmulOf(DType dtype, int64_t m, int64_t k, int64_t n) {
  return Ours("matmul", {{m, k}, {k, n}}, {m, n}, dtype,
              {{"transpose_a", {0}}, {"transpose_b", {0}}});
}

void Matmuls(Dnnl& dnnl) {
  const Blas& blas = **LoadBlas();
  for (const auto& [m, k, n] : {std::array<int64_t, 3>{1, 64, 32}, {64, 64, 64}, {256, 256, 256},
                                {1, 1024, 1024}, {1024, 1024, 1024}}) {
    const std::string label = fmt::format("matmul {}×{}×{}", m, k, n);
    const double flops = 2.0 * static_cast<double>(m * k * n);
    Ours f32 = MatmulOf(DType::f32, m, k, n), f64 = MatmulOf(DType::f64, m, k, n);
    Ours f16 = MatmulOf(DType::f16, m, k, n), bf16 = MatmulOf(DType::bf16, m, k, n);
    Compare(label, "f32", "OpenBLAS", std::ref(f32), DirectBlas(blas, f32), flops, "GFLOP/s");
    Compare(label, "f64", "OpenBLAS", std::ref(f64), DirectBlas(blas, f64), flops, "GFLOP/s");
    Compare(label, "f16", "OpenBLAS in f32", std::ref(f16), DirectBlas(blas, f32), flops,
            "GFLOP/s");
    Compare(label, "bf16", DnnlName(DType::bf16), std::ref(bf16),
            dnnl.Matmul(HasDnnl(DType::bf16) ? bf16 : f32), flops, "GFLOP/s");
  }
}

void Rows(Dnnl& dnnl) {
  for (const auto& [rows, count] : {std::pair<int64_t, int64_t>{64, 64}, {512, 1024}}) {
    for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
      const std::vector<int64_t> dims = {rows, count};
      const std::string shape = fmt::format("{}×{}", rows, count);
      const double elements = static_cast<double>(rows * count);
      Ours softmax("softmax", {dims}, dims, dtype, {{"dim", {1}}});
      Ours norm("layer_norm", {dims, {count}, {count}}, dims, dtype);
      const DType its = DnnlDType(dtype);
      const int64_t its_rows = dtype == DType::f64 ? 2 * rows : rows;
      const std::vector<int64_t> its_dims = {its_rows, count};
      Ours softmax_its("softmax", {its_dims}, its_dims, its, {{"dim", {1}}});
      Ours norm_its("layer_norm", {its_dims, {count}, {count}}, its_dims, its);
      const std::string other =
          dtype == DType::f64 ? "oneDNN, as many bytes of f32" : DnnlName(dtype);
      Compare("softmax " + shape, Name(dtype), other, std::ref(softmax), dnnl.Softmax(softmax_its),
              elements, "G/s");
      Compare("layer_norm " + shape, Name(dtype), other, std::ref(norm), dnnl.LayerNorm(norm_its),
              elements, "G/s");
      Ours grad("softmax_grad", {dims, dims}, dims, dtype, {{"dim", {1}}});
      Ours grad_its("softmax_grad", {its_dims, its_dims}, its_dims, its, {{"dim", {1}}});
      Compare("softmax_grad " + shape, Name(dtype), other, std::ref(grad),
              dnnl.SoftmaxGrad(grad_its), elements, "G/s");
    }
  }
}

// Sums and maxima of a matrix's rows and of its columns.
void Reductions(Dnnl& dnnl) {
  const struct { const char* ours; dnnl::algorithm dnnl; } reductions[] = {
      {"sum_dim", dnnl::algorithm::reduction_sum}, {"max_dim", dnnl::algorithm::reduction_max}};
  for (const auto& reduction : reductions) {
    for (const int dim : {0, 1}) {
      for (DType dtype : {DType::f32, DType::bf16}) {
        constexpr int64_t kRows = 512, kColumns = 1024;
        const auto make = [&](DType type) {
          return Ours(reduction.ours, {{kRows, kColumns}}, {dim == 0 ? kColumns : kRows}, type,
                      {{"dim", {dim}}});
        };
        Ours ours = make(dtype), its = make(DnnlDType(dtype));
        Compare(fmt::format("{} {} of {}×{}", reduction.ours, dim, kRows, kColumns), Name(dtype),
                DnnlName(dtype), std::ref(ours), dnnl.Reduction(reduction.dnnl, its, dim),
                static_cast<double>(kRows * kColumns), "G/s");
      }
    }
  }
}

// The dimensions of x, weight and y.
std::array<std::vector<int64_t>, 3> DimsOf(const ConvolutionShape& s) {
  return {std::vector{s.images, s.channels, s.height, s.width},
          std::vector{s.out_channels, s.channels / s.groups, s.kernel[0], s.kernel[1]},
          std::vector{s.images, s.out_channels, s.out[0], s.out[1]}};
}

// Compares a part of a convolution with oneDNN's of the operands as they lie; in f64, with that of
// twice the images in f32. `order`: the operands of the part and its result, as in DimsOf.
void ConvolutionPartOf(Dnnl& dnnl, ConvolutionShape s, const std::string& part,
                       const std::array<size_t, 3>& order, DType dtype) {
  const auto dims = DimsOf(s);
  Ours ours(part, {dims[order[0]], dims[order[1]]}, dims[order[2]], dtype,
            {{"stride", {s.stride[0], s.stride[1]}},
             {"padding", {s.padding[0], s.padding[1]}},
             {"dilation", {1, 1}},
             {"groups", {s.groups}}});
  const std::string label =
      fmt::format("{} {}×{}×{}×{}, {} of {}×{}{}{}", part, s.images, s.channels, s.height, s.width,
                  s.out_channels, s.kernel[0], s.kernel[1], s.stride[0] > 1 ? ", stride 2" : "",
                  s.groups > 1 ? ", depthwise" : "");
  const double flops = 2.0 * static_cast<double>(s.images * s.out_channels * s.out[0] * s.out[1]) *
                       static_cast<double>(s.channels / s.groups * s.kernel[0] * s.kernel[1]);
  if (dtype == DType::f64) s.images *= 2;
  std::vector<Operand> its;
  for (const auto& extents : DimsOf(s)) its.emplace_back(DnnlDType(dtype), extents);
  const std::string other = dtype == DType::f64 ? "oneDNN, twice in f32" : DnnlName(dtype);
  Compare(label, Name(dtype), other, std::ref(ours),
          dnnl.Convolution(part, its[0], its[1], its[2], s), flops, "GFLOP/s");
}

void Convolutions(Dnnl& dnnl) {
  const ConvolutionShape shapes[] = {
      {1, 64, 56, 56, 64, {3, 3}, {56, 56}, {1, 1}, {1, 1}, {1, 1}, 1},
      {1, 128, 28, 28, 128, {3, 3}, {14, 14}, {2, 2}, {1, 1}, {1, 1}, 1},
      {1, 64, 56, 56, 256, {1, 1}, {56, 56}, {1, 1}, {0, 0}, {1, 1}, 1},
      {1, 96, 56, 56, 96, {3, 3}, {56, 56}, {1, 1}, {1, 1}, {1, 1}, 96},
      {64, 1, 28, 28, 8, {3, 3}, {28, 28}, {1, 1}, {1, 1}, {1, 1}, 1},
  };
  for (const ConvolutionShape& s : shapes) {
    for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      ConvolutionPartOf(dnnl, s, "conv2d", {0, 1, 2}, dtype);
      ConvolutionPartOf(dnnl, s, "conv2d_input_grad", {1, 2, 0}, dtype);
      ConvolutionPartOf(dnnl, s, "conv2d_weight_grad", {0, 2, 1}, dtype);
    }
  }
}

// A copy of `moved` bytes; it reads and writes as many.
Action Copy(size_t moved) {
  const auto from = std::make_shared<Memory>(Take(static_cast<int64_t>(moved)));
  const auto to = std::make_shared<Memory>(Take(static_cast<int64_t>(moved)));
  std::memset(from->data(), 1, moved);  // pages of its own, whatever the system
  return [=] { std::memcpy(to->data(), from->data(), moved); };
}

constexpr DType kFloats[] = {DType::f32, DType::f64, DType::f16, DType::bf16};

// Compares with a copy of as many bytes: an operation cannot be faster than its memory.
void Elementwise() {
  for (const int64_t count : {int64_t{8192}, int64_t{1} << 24}) {
    for (DType dtype : kFloats) {
      const auto bytes = static_cast<size_t>(count * plan::DTypeBytes(dtype));
      for (const char* name : {"add", "relu", "exp", "tanh", "gelu"}) {
        const bool binary = std::string(name) == "add";
        Ours ours(name, std::vector(binary ? 2 : 1, std::vector{count}), {count}, dtype);
        Compare(fmt::format("{}, {} elements", name, count), Name(dtype), "memcpy", std::ref(ours),
                Copy(bytes * (binary ? 3 : 2) / 2), static_cast<double>(count), "G/s");
      }
    }
  }
}

// Compares four operations of two operands in one pass with a copy and with oneDNN's one pass
// (which does not round between them).
void Chains(Dnnl& dnnl) {
  const struct { const char* function; dnnl::algorithm dnnl; } functions[] = {
      {"relu", dnnl::algorithm::eltwise_relu}, {"silu", dnnl::algorithm::eltwise_swish}};
  for (const auto& function : functions) {
    for (DType dtype : kFloats) {
      constexpr int64_t kCount = int64_t{1} << 24;
      const auto chain = [&](DType type) {
        return Ours({{"multiply", {0, 1, -1}}, {"add", {-1, 0, -2}}, {function.function, {-2, -3}},
                     {"subtract", {-3, 1, 2}}}, {{kCount}, {kCount}}, {kCount}, type);
      };
      Ours ours = chain(dtype), its = chain(DnnlDType(dtype));
      const auto bytes = static_cast<size_t>(kCount * plan::DTypeBytes(dtype));
      const std::string label = fmt::format("multiply+add+{}+subtract", function.function);
      Compare(label, Name(dtype), "memcpy", std::ref(ours), Copy(bytes * 3 / 2),
              static_cast<double>(kCount), "G/s");
      if (dtype == DType::f64) continue;  // oneDNN has none
      Compare(label, Name(dtype), DnnlName(dtype), std::ref(ours), dnnl.Chain(function.dnnl, its),
              static_cast<double>(kCount), "G/s");
    }
  }
}

#if defined(__x86_64__)
// Calls a function of vectors, of one operand or two, over the elements; the types are the callers'
// business.
template <typename T, int bytes, int operands>
struct Vectors {
  typedef T Vector __attribute__((vector_size(bytes)));
  [[gnu::always_inline]] static void Run(void* function, const Ours& like) {
    const int64_t count = like.out[0].tensor.elements();
    for (int64_t i = 0; i < count; i += static_cast<int64_t>(bytes / sizeof(T))) {
      Vector v, w;
      std::memcpy(&v, like.in[0].tensor.as<T>() + i, sizeof v);
      std::memcpy(&w, like.in.back().tensor.as<T>() + i, sizeof w);
      if constexpr (operands == 1) v = reinterpret_cast<Vector (*)(Vector)>(function)(v);
      else v = reinterpret_cast<Vector (*)(Vector, Vector)>(function)(v, w);
      std::memcpy(like.out[0].tensor.as<T>() + i, &v, sizeof v);
    }
  }
};
template <typename T, int operands>
[[gnu::target("avx2")]] void RunNarrow(void* function, const Ours& like) {
  Vectors<T, 32, operands>::Run(function, like);
}
template <typename T, int operands>
[[gnu::target("avx512f")]] void RunWide(void* function, const Ours& like) {
  Vectors<T, 64, operands>::Run(function, like);
}
// A library's function of vectors; null where there is none. The C library's are those that
// compilers call, SLEEF's those within 1 ulp.
Action VectorMath(const char* library, const std::string& name, const Ours& like) {
  const bool sleef = std::string(library) == "libsleef.so.3";
  const bool wide = __builtin_cpu_supports("avx512f");
  const bool is_f64 = like.out[0].tensor.dtype == DType::f64, binary = like.in.size() == 2;
  const int lanes = (wide ? 16 : 8) / (is_f64 ? 2 : 1);
  const std::string symbol =
      sleef ? fmt::format("Sleef_{}{}{}_u10{}", name, is_f64 ? "d" : "f", lanes,
                          wide ? "avx512f" : "avx2")
            : fmt::format("_ZGV{}N{}{}_{}{}", wide ? "e" : "d", lanes, binary ? "vv" : "v", name,
                          is_f64 ? "" : "f");
  void* const opened = dlopen(library, RTLD_NOW);
  void* const function = opened == nullptr ? nullptr : dlsym(opened, symbol.c_str());
  if (function == nullptr || !__builtin_cpu_supports("avx2")) return nullptr;
  using Run = void (*)(void*, const Ours&);
  const auto choose = [=]<typename T>(T) -> Run {
    if (binary) return wide ? RunWide<T, 2> : RunNarrow<T, 2>;
    return wide ? RunWide<T, 1> : RunNarrow<T, 1>;
  };
  const Run run = is_f64 ? choose(double{}) : choose(float{});
  return [=, &like] { run(function, like); };
}
#else
Action VectorMath(const char*, const std::string&, const Ours&) { return nullptr; }
#endif

// Functions against those of libraries: in the first-level cache, and where memory counts.
void Functions(Dnnl& dnnl) {
  constexpr auto kNone = dnnl::algorithm::undef;
  const struct { std::string ours; dnnl::algorithm dnnl; std::string vectors; } functions[] = {
      {"exp", dnnl::algorithm::eltwise_exp, "exp"},
      {"log", dnnl::algorithm::eltwise_log, "log"},
      {"tanh", dnnl::algorithm::eltwise_tanh, "tanh"},
      {"sigmoid", dnnl::algorithm::eltwise_logistic, ""},
      {"gelu", dnnl::algorithm::eltwise_gelu_erf, "erfc"},
      {"erf", kNone, "erf"}, {"sin", kNone, "sin"}, {"cos", kNone, "cos"}, {"pow", kNone, "pow"}};
  for (const int64_t count : {int64_t{8192}, int64_t{1} << 24}) {
    for (const auto& function : functions) {
      for (DType dtype : kFloats) {
        const std::vector<std::vector<int64_t>> in(function.ours == "pow" ? 2 : 1, {count});
        Ours ours(function.ours, in, {count}, dtype);
        const auto compare = [&](const std::string& other_name, const Action& other) {
          if (!other) return;
          Compare(fmt::format("{}, {} elements", function.ours, count), Name(dtype), other_name,
                  std::ref(ours), other, static_cast<double>(count), "G/s");
        };
        if (dtype != DType::f64 && function.dnnl != kNone) {
          Ours its(function.ours, in, {count}, DnnlDType(dtype));
          compare(DnnlName(dtype), dnnl.Function(function.dnnl, its));
        }
        if (function.vectors.empty() || (dtype != DType::f32 && dtype != DType::f64)) continue;
        compare(fmt::format("libmvec's {}", function.vectors),
                VectorMath("libmvec.so.1", function.vectors, ours));
        if (function.vectors == "erfc" || count > 8192) continue;
        compare("SLEEF", VectorMath("libsleef.so.3", function.vectors, ours));
      }
    }
  }
}

#ifdef CGRAPH_WITH_HIGHWAY
uint64_t HighwayEntry(const ShortEntry& entry) { return entry.bits; }
hwy::uint128_t HighwayEntry(const LongEntry& entry) { return {entry.place, entry.bits}; }

// Columns of random elements, one after another, against Highway's vqsort of the same entries.
template <typename T>
void Sorts(const char* dtype) {
  using Entry = EntryOf<T>;
  using Its = decltype(HighwayEntry(Entry{}));
  constexpr int64_t kAll = 1 << 16;  // entries
  std::mt19937_64 random(1);
  Workspace<Entry> entries(kAll), sorted(kAll), room(kAll);
  Workspace<Its> its(kAll), its_sorted(kAll);
  const hwy::Sorter sorter;
  for (const int64_t length : {64, 256, 1024, 65536}) {
    for (int64_t i = 0; i < kAll; ++i) {
      entries[i] = EntryFor(static_cast<T>(random()), i % length, false);
      its[i] = HighwayEntry(entries[i]);
    }
    const auto ours = [&] {
      sorted = entries;
      for (int64_t i = 0; i < kAll; i += length) {
        RadixSort<Entry>::Run(sorted.data() + i, room.data(), length);
      }
    };
    const auto other = [&] {
      its_sorted = its;
      for (int64_t i = 0; i < kAll; i += length) {
        sorter(its_sorted.data() + i, static_cast<size_t>(length), hwy::SortAscending());
      }
    };
    Compare(fmt::format("sort, columns of {}", length), dtype, "vqsort", ours, other,
            static_cast<double>(kAll), "G/s");
  }
}
#endif

}  // namespace
}  // namespace cgraph::device

extern "C" void omp_set_num_threads(int);

int main(int argc, char** argv) {
  using namespace cgraph::device;
  omp_set_num_threads(1);  // oneDNN's
  const std::string only = argc > 1 ? argv[1] : "";
  Dnnl dnnl;
  fmt::print("| kernel | dtype | µs | rate | against | ratio |\n|---|---|---|---|---|---|\n");
  if (only.empty() || only == "matmul") Matmuls(dnnl);
  if (only.empty() || only == "rows") Rows(dnnl);
  if (only.empty() || only == "reductions") Reductions(dnnl);
  if (only.empty() || only == "convolutions") Convolutions(dnnl);
  if (only.empty() || only == "functions") Functions(dnnl);
#ifdef CGRAPH_WITH_HIGHWAY
  if (only.empty() || only == "sorts") Sorts<float>("f32");
  if (only.empty() || only == "sorts") Sorts<double>("f64");
#endif
  if (only.empty() || only == "chains") Chains(dnnl);
  if (only.empty() || only == "elementwise") Elementwise();
}
