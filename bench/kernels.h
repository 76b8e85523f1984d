// What the tables of kernels.cpp are made of: our kernels and oneDNN's primitives, ready to be
// called, and the comparison of two actions.
#ifndef CGRAPH_BENCH_KERNELS_H_
#define CGRAPH_BENCH_KERNELS_H_

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <bit>
#include <ctime>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/device/cpu/kernels/convolution/shape.h"
#include "runtime/device/kernel.h"
#include "runtime/device/memory.h"
#include "runtime/device/numbers/half.h"
#include "runtime/plan/kinds.h"

namespace cgraph::device {

using plan::DType;
using Action = std::function<void()>;

inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

inline double Microseconds(const Action& action, int times) {
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
inline Memory Take(int64_t bytes) {
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
inline void Compare(const std::string& label, const std::string& dtype,
                    const std::string& other_name, const Action& ours, const Action& other,
                    double work, const char* unit) {
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

inline const char* Name(DType dtype) { return plan::DTypeName(dtype).data(); }

using Tag = dnnl::memory::format_tag;
inline dnnl::memory::data_type DnnlType(DType dtype) {
  return dtype == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

inline bool HasDnnl(DType dtype) {
  if (dtype != DType::bf16) return dtype == DType::f32;
  return dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core;
}
// Returns the dtype in which oneDNN does as many elements.
inline DType DnnlDType(DType dtype) { return HasDnnl(dtype) ? dtype : DType::f32; }
inline std::string DnnlName(DType dtype) {
  return HasDnnl(dtype) ? "oneDNN" : "oneDNN in f32";
}

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

}  // namespace cgraph::device

#endif  // CGRAPH_BENCH_KERNELS_H_
