// CPU kernels against the library called directly, or against the memory's bandwidth.
//
// Every round runs ours and the other once, alternating, and the reported number is the median of
// the rounds' ratios: other time / our time, so 1 is as fast and more is faster. One thread. Where
// no library has a kernel of the dtype, the other does as much work: as many bytes of f32 for f64,
// as many elements for f16, and for bf16 where the processor has no AVX-512.
#include <dlfcn.h>
#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "runtime/device/cpu/kernels/convolution/shape.h"
#include "runtime/device/cpu/libraries/blas.h"
#include "runtime/device/kernel.h"
#include "runtime/device/memory.h"
#include "runtime/device/numbers/half.h"
#include "runtime/plan/kinds.h"

namespace cgraph::device {
namespace {

using plan::DType;
using Action = std::function<void()>;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double Microseconds(const Action& action, int times) {
  const auto now = [] {  // of this thread alone: other programs do not count
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
  };
  const double start = now();
  for (int i = 0; i < times; ++i) action();
  return (now() - start) / times;
}

// Allocates memory as plans have it: large blocks lie in huge pages.
Memory Take(int64_t bytes) {
  Result<Memory> memory = Memory::Allocate(static_cast<uint64_t>(bytes), "an operand");
  if (!memory.ok()) fmt::print("{}\n", memory.status().message()), std::exit(1);
  return std::move(*memory);
}

// A tensor of small numbers.
struct Operand {
  Memory memory;  // moving it keeps where it lies
  Tensor tensor;
  OperandType type;

  Operand(Operand&&) = default;

  Operand(DType dtype, const std::vector<int64_t>& dims) {
    tensor.dtype = type.dtype = dtype;
    tensor.rank = type.rank = static_cast<uint8_t>(dims.size());
    std::copy(dims.begin(), dims.end(), tensor.dims);
    std::copy(dims.begin(), dims.end(), type.dims);
    const int64_t count = tensor.elements();
    memory = Take(count * plan::DTypeBytes(dtype));
    tensor.data = memory.data();
    for (int64_t i = 0; i < count; ++i) {
      const float value = static_cast<float>(i * 7 % 31) * 0.1f - 1.5f;
      if (dtype == DType::f32) tensor.as<float>()[i] = value;
      else if (dtype == DType::f64) tensor.as<double>()[i] = value;
      else if (dtype == DType::f16) tensor.as<F16>()[i] = F16(value);
      else tensor.as<BF16>()[i] = BF16(value);
    }
  }
};

// A step of a kernel: its operands are inputs, then the output; -1, -2, ... are temporaries.
struct ChainStep {
  std::string op;
  std::vector<int32_t> operands;
};

using Attributes = std::vector<std::pair<const char*, std::vector<int64_t>>>;

struct Ours {
  std::vector<Operand> in, out;
  std::unique_ptr<Kernel> kernel;

  Ours(const std::string& name, const std::vector<std::vector<int64_t>>& shapes,
       const std::vector<int64_t>& result, DType dtype,
       const Attributes& ints = {})
      : Ours(std::vector{ChainStep{name, UpTo(shapes.size() + 1)}}, shapes, result, dtype, ints) {}

  Ours(const std::vector<ChainStep>& steps, const std::vector<std::vector<int64_t>>& shapes,
       const std::vector<int64_t>& result, DType dtype,
       const Attributes& ints = {}) {
    for (const auto& dims : shapes) in.emplace_back(dtype, dims);
    out.emplace_back(dtype, result);
    plan::Kernel plan_kernel;
    for (const ChainStep& step : steps) AddPrimitive(step, ints, plan_kernel);
    plan_kernel.temporaries.assign(steps.size() - 1, dtype);
    std::vector<OperandType> in_types, out_types;
    for (const Operand& o : in) in_types.push_back(o.type), in_.push_back(o.tensor);
    for (const Operand& o : out) out_types.push_back(o.type), out_.push_back(o.tensor);
    auto made = MakeCpuKernel(plan_kernel, in_types, out_types);
    if (!made.ok()) fmt::print("{}\n", made.status().message()), std::exit(1);
    kernel = std::move(*made);
  }
  void operator()() {
    if (!kernel->Run(in_, out_, nullptr, error_)) fmt::print("{}\n", error_), std::exit(1);
  }

 private:
  static std::vector<int32_t> UpTo(size_t count) {
    std::vector<int32_t> operands(count);
    std::iota(operands.begin(), operands.end(), 0);
    return operands;
  }
  static void AddPrimitive(const ChainStep& step, const Attributes& ints, plan::Kernel& kernel) {
    kernel.body.push_back(std::make_unique<plan::Primitive>());
    plan::Primitive& primitive = *kernel.body.back();
    primitive.op = step.op;
    primitive.operands = step.operands;
    const auto add = [&](const char* key) {
      primitive.attributes.push_back(std::make_unique<plan::Attribute>());
      primitive.attributes.back()->name = key;
      return primitive.attributes.back().get();
    };
    for (const auto& [key, value] : ints) add(key)->ints = value;
    add("epsilon")->bits = {std::bit_cast<uint64_t>(1e-5)};
  }

  std::vector<Tensor> in_, out_;
  std::string error_;
};

// `work` is the work of one run in units of `unit` per microsecond / 1000, for people.
void Compare(const std::string& label, const std::string& dtype, const std::string& other_name,
             const Action& ours, const Action& other, double work, const char* unit) {
  ours(), other();
  const int times = std::max(1, static_cast<int>(1000 / std::max(0.05, Microseconds(ours, 3))));
  std::vector<double> ratios, mine;
  for (int round = 0; round < 15; ++round) {
    const double us = Microseconds(ours, times);
    ratios.push_back(Microseconds(other, times) / us);
    mine.push_back(us);
  }
  const double us = Median(mine);
  fmt::print("| {} | {} | {:.1f} | {:.1f} {} | {} | {:.2f} |\n", label, dtype, us,
             work / us / 1000, unit, other_name, Median(ratios));
}

const char* Name(DType dtype) { return plan::DTypeName(dtype).data(); }

// ---- oneDNN -------------------------------------------------------------------------------------

using Tag = dnnl::memory::format_tag;
dnnl::memory::data_type DnnlType(DType dtype) {
  return dtype == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

bool HasDnnl(DType dtype) {
  if (dtype != DType::bf16) return dtype == DType::f32;
  return dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core;
}
// Returns the dtype in which oneDNN does as many elements.
DType DnnlDType(DType dtype) { return HasDnnl(dtype) ? dtype : DType::f32; }
std::string DnnlName(DType dtype) { return HasDnnl(dtype) ? "oneDNN" : "oneDNN in f32"; }

class Dnnl {
 public:
  Dnnl() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  Action Matmul(const Ours& like) {
    const auto a = Memory(like.in[0]), b = Memory(like.in[1]), c = Memory(like.out[0]);
    const dnnl::matmul primitive({{a.get_desc(), b.get_desc(), c.get_desc()}, engine_});
    return [=, this] {
      Execute(primitive, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
    };
  }
  Action Softmax(const Ours& like) {
    const auto x = Memory(like.in[0]), y = Memory(like.out[0]);
    const dnnl::softmax_forward primitive(
        {{dnnl::prop_kind::forward_inference, x.get_desc(), 1}, engine_});
    return [=, this] { Execute(primitive, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}}); };
  }
  Action SoftmaxGrad(const Ours& like) {
    const auto y = Memory(like.in[0]), gy = Memory(like.in[1]), gx = Memory(like.out[0]);
    const dnnl::softmax_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, y.get_desc(), 1}, engine_);
    const dnnl::softmax_backward primitive({{gy.get_desc(), y.get_desc(), 1}, engine_, forward});
    return [=, this] {
      Execute(primitive,
              {{DNNL_ARG_DST, y}, {DNNL_ARG_DIFF_DST, gy}, {DNNL_ARG_DIFF_SRC, gx}});
    };
  }
  // Of a matrix, along one of its dimensions.
  Action Reduction(dnnl::algorithm how, const Ours& like, int dim) {
    const auto x = Memory(like.in[0]);
    const Tensor& t = like.in[0].tensor;
    const dnnl::memory::dims dims = {dim == 0 ? 1 : t.dims[0], dim == 1 ? 1 : t.dims[1]};
    const dnnl::memory y({dims, DnnlType(t.dtype), Tag::ab}, engine_, like.out[0].tensor.data);
    const dnnl::reduction primitive({{how, x.get_desc(), y.get_desc(), 0, 0}, engine_});
    return [=, this] { Execute(primitive, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}}); };
  }
  Action Function(dnnl::algorithm function, const Ours& like) {
    const auto x = Memory(like.in[0]), y = Memory(like.out[0]);
    const dnnl::eltwise_forward primitive(
        {{dnnl::prop_kind::forward_inference, function, x.get_desc(), 0, 0}, engine_});
    return [=, this] { Execute(primitive, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}}); };
  }
  // ((a * b) + a, through the function) - b: one primitive with three operations after it.
  Action Chain(dnnl::algorithm function, const Ours& like) {
    const auto a = Memory(like.in[0]), b = Memory(like.in[1]), c = Memory(like.out[0]);
    dnnl::post_ops then;
    then.append_binary(dnnl::algorithm::binary_add, a.get_desc());
    then.append_eltwise(1, function, function == dnnl::algorithm::eltwise_swish ? 1 : 0, 0);
    then.append_binary(dnnl::algorithm::binary_sub, b.get_desc());
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(then);
    const dnnl::binary primitive({{dnnl::algorithm::binary_mul, a.get_desc(), b.get_desc(),
                                   c.get_desc()}, attributes, engine_});
    return [=, this] {
      Execute(primitive, {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, c},
                          {DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, a},
                          {DNNL_ARG_ATTR_MULTIPLE_POST_OP(2) | DNNL_ARG_SRC_1, b}});
    };
  }
  Action LayerNorm(const Ours& like) {
    const auto x = Memory(like.in[0]), y = Memory(like.out[0]);
    const auto kept = std::make_shared<Operand>(DType::f32, std::vector{like.in[1].tensor.dims[0]});
    const auto gain = Memory(*kept), bias = Memory(*kept);
    const dnnl::layer_normalization_forward primitive(
        {{dnnl::prop_kind::forward_inference, x.get_desc(), 1e-5f,
          dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift}, engine_});
    return [=, this] {
      Execute(
          primitive,
          {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}, {DNNL_ARG_SCALE, gain}, {DNNL_ARG_SHIFT, bias}});
      (void)kept;
    };
  }

  // With the operands as they lie in tensors.
  Action Convolution(const std::string& kernel, const Operand& x_operand, const Operand& weight,
                     const Operand& y_operand, const ConvolutionShape& s) {
    const auto x = Memory(x_operand), y = Memory(y_operand);
    const dnnl::memory w({{s.groups, s.out_channels / s.groups, s.channels / s.groups,
                           s.kernel[0], s.kernel[1]}, DnnlType(weight.tensor.dtype), Tag::goihw},
                         engine_, weight.tensor.data);
    const dnnl::memory::dims stride(s.stride, s.stride + 2), none = {0, 0};
    const dnnl::memory::dims padding(s.padding, s.padding + 2);
    dnnl::memory::dims behind(2);  // less than the padding where strides leave a rest
    for (int i = 0; i < 2; ++i) {
      behind[i] = (s.out[i] - 1) * s.stride[i] + s.kernel[i] - x_operand.tensor.dims[2 + i] -
                  s.padding[i];
    }
    const auto xd = x.get_desc(), wd = w.get_desc(), yd = y.get_desc();
    const auto by = dnnl::algorithm::convolution_auto;
    const dnnl::convolution_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, by, xd, wd, yd, stride, none, padding, behind},
        engine_);
    if (kernel == "conv2d") {
      const dnnl::convolution_forward primitive(forward);
      return [=, this] {
        Execute(primitive, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}});
      };
    }
    if (kernel == "conv2d_input_grad") {
      const dnnl::convolution_backward_data primitive(
          {{by, xd, wd, yd, stride, none, padding, behind}, engine_, forward});
      return [=, this] {
        Execute(primitive, {{DNNL_ARG_DIFF_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_DST, y}});
      };
    }
    const dnnl::convolution_backward_weights primitive(
        {{by, xd, wd, yd, stride, none, padding, behind}, engine_, forward});
    return [=, this] {
      Execute(primitive, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_WEIGHTS, w}, {DNNL_ARG_DIFF_DST, y}});
    };
  }

 private:
  dnnl::memory Memory(const Operand& operand) {
    const Tensor& t = operand.tensor;
    const dnnl::memory::dims dims(t.dims, t.dims + t.rank);
    const Tag tags[] = {Tag::a, Tag::a, Tag::ab, Tag::abc, Tag::abcd};
    return dnnl::memory({dims, DnnlType(t.dtype), tags[t.rank]}, engine_, t.data);
  }
  void Execute(const dnnl::primitive& primitive,
               const std::unordered_map<int, dnnl::memory>& arguments) {
    primitive.execute(stream_, arguments);
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
};

// ---- the tables ---------------------------------------------------------------------------------

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
// Calls a function of vectors over the elements; their types are the callers' business.
template <int bytes>
struct Vectors {
  using Vector = double __attribute__((vector_size(bytes)));
  using Function = Vector (*)(Vector);
  [[gnu::always_inline]] static void Run(Function function, const Ours& like) {
    const double* x = like.in[0].tensor.as<double>();
    double* y = like.out[0].tensor.as<double>();
    const int64_t count = like.out[0].tensor.elements();
    for (int64_t i = 0; i < count; i += static_cast<int64_t>(bytes / sizeof(double))) {
      Vector v;
      std::memcpy(&v, x + i, sizeof v);
      v = function(v);
      std::memcpy(y + i, &v, sizeof v);
    }
  }
};
[[gnu::target("avx2")]] void Run4(void* function, const Ours& like) {
  Vectors<32>::Run(reinterpret_cast<Vectors<32>::Function>(function), like);
}
[[gnu::target("avx512f")]] void Run8(void* function, const Ours& like) {
  Vectors<64>::Run(reinterpret_cast<Vectors<64>::Function>(function), like);
}
// The C library's vector functions of f64, as compilers call them.
Action VectorMath(const char* name, const Ours& like) {
  static void* const library = dlopen("libmvec.so.1", RTLD_NOW);
  if (library == nullptr || !__builtin_cpu_supports("avx2")) return nullptr;
  const bool wide = __builtin_cpu_supports("avx512f");
  const auto symbol = fmt::format("_ZGV{}v_{}", wide ? "eN8" : "dN4", name);
  void* const function = dlsym(library, symbol.c_str());
  if (function == nullptr) return nullptr;
  return [=, &like] { (wide ? Run8 : Run4)(function, like); };
}
#else
Action VectorMath(const char*, const Ours&) { return nullptr; }
#endif

// Functions against those of a library: in the first-level cache, and where memory counts.
void Functions(Dnnl& dnnl) {
  const struct { const char* ours; dnnl::algorithm dnnl; const char* libmvec; } functions[] = {
      {"exp", dnnl::algorithm::eltwise_exp, "exp"},
      {"log", dnnl::algorithm::eltwise_log, "log"},
      {"tanh", dnnl::algorithm::eltwise_tanh, "tanh"},
      {"sigmoid", dnnl::algorithm::eltwise_logistic, nullptr},
      {"gelu", dnnl::algorithm::eltwise_gelu_erf, "erfc"}};
  for (const int64_t count : {int64_t{8192}, int64_t{1} << 24}) {
    for (const auto& function : functions) {
      for (DType dtype : kFloats) {
        Ours ours(function.ours, {{count}}, {count}, dtype);
        Ours its(function.ours, {{count}}, {count}, DnnlDType(dtype));
        Action other = dtype != DType::f64           ? dnnl.Function(function.dnnl, its)
                       : function.libmvec == nullptr ? nullptr
                                                     : VectorMath(function.libmvec, ours);
        if (!other) continue;
        Compare(fmt::format("{}, {} elements", function.ours, count), Name(dtype),
                dtype == DType::f64 ? fmt::format("libmvec's {}", function.libmvec)
                                    : DnnlName(dtype),
                std::ref(ours), other, static_cast<double>(count), "G/s");
      }
    }
  }
}

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
  if (only.empty() || only == "chains") Chains(dnnl);
  if (only.empty() || only == "elementwise") Elementwise();
}
