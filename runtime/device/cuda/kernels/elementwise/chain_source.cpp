// For a chain of add, relu and cast:
//
//   template <>
//   __device__ inline int32_t Computed<Chain, int32_t, float, float>(float x0, float x1) {
//     const float t0 = Computed<Add, float, float, float>(x0, x1);
//     const float t1 = Computed<Relu, float, float>(t0);
//     const int32_t t2 = Computed<Cast<int32_t>::Operation<float>, int32_t, float>(t1);
//     return t2;
//   }
//
// and a loop over elements (elements.h) of the operation Chain.
#include "runtime/device/cuda/kernels/elementwise/chain_source.h"

#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/device/cuda/kernels/makers.h"

namespace cgraph::cuda {
namespace {

// The operations by their names in plans.
struct NamedOperation {
  std::string_view name;
  const char* operation;
};
constexpr NamedOperation kOperations[] = {
#define BINARY(name, operation, dtypes) {name, #operation},
#define UNARY(name, operation, dtypes) {name, #operation},
#define COMPARE(name, operation, dtypes) {name, #operation},
#define TERNARY(name, operation, dtypes) {name, #operation},
#include "runtime/device/cpu/kernels/elementwise/operations.def"
};

const char* TypeOf(DType dtype) {
  switch (dtype) {
    case DType::bool_:
    case DType::u8: return "uint8_t";
    case DType::i8: return "int8_t";
    case DType::i32: return "int32_t";
    case DType::i64: return "int64_t";
    case DType::f16: return "F16";
    case DType::bf16: return "BF16";
    case DType::f32: return "float";
    case DType::f64: return "double";
  }
  return nullptr;
}

// A value of the chain, by its name in the source.
struct Element {
  std::string name;
  DType dtype = DType::f32;
};

class Writer {
 public:
  Writer(const plan::Kernel& kernel, std::span<const device::OperandType> inputs,
         const device::OperandType& output)
      : kernel_(kernel), inputs_(inputs), output_(output) {}

  // Writes the steps; false where one is none of ours.
  bool WriteSteps() {
    for (const auto& step : kernel_.body) {
      std::vector<Element> in;
      for (size_t i = 0; i + 1 < step->operands.size(); ++i) {
        in.push_back(ElementOf(step->operands[i]));
      }
      const int32_t to = step->operands.back();
      const DType dtype =
          to < 0 ? kernel_.temporaries[static_cast<size_t>(-1 - to)] : output_.dtype;
      const std::string value = ValueOf(step->op, in, dtype);
      if (value.empty()) return false;
      last_ = {fmt::format("t{}", steps_++), dtype};
      text_ += fmt::format("  const {} {} = {};\n", TypeOf(dtype), last_.name, value);
      made_[to] = last_;
    }
    return last_.dtype == output_.dtype && kernel_.body.back()->operands.back() >= 0;
  }

  ChainSource Finish() const {
    std::vector<std::string> parameters, types = {TypeOf(output_.dtype)};
    for (size_t i = 0; i < inputs_.size(); ++i) {
      types.emplace_back(TypeOf(inputs_[i].dtype));
      parameters.push_back(fmt::format("{} x{}", types.back(), i));
    }
    const std::string all_types = fmt::format("{}", fmt::join(types, ", "));
    const std::string chain = fmt::format(
        "template <>\n__device__ inline {} Computed<Chain, {}>({}) {{\n{}  return {};\n}}\n",
        types[0], all_types, fmt::join(parameters, ", "), text_, last_.name);
    ChainSource source;
    source.name = fmt::format("chain_{:016x}", DigestOf(chain));
    source.text = fmt::format(
        "#include \"runtime/device/cuda/kernels/elementwise/cast_operations.h\"\n"
        "#include \"runtime/device/cuda/kernels/elementwise/elements.h\"\n\n"
        "namespace cgraph::cuda {{\n\nusing namespace device;\n\nstruct Chain;\n{}"
        "ELEMENTWISE_KERNEL({}, {}, Chain, {})\n\n}}  // namespace cgraph::cuda\n",
        chain, source.name, inputs_.size(), all_types);
    return source;
  }

 private:
  // FNV-1a.
  static uint64_t DigestOf(std::string_view text) {
    uint64_t digest = 0xcbf29ce484222325;
    for (const char c : text) digest = (digest ^ static_cast<uint8_t>(c)) * 0x100000001b3;
    return digest;
  }

  Element ElementOf(int32_t operand) const {
    const auto index = static_cast<size_t>(operand);
    if (operand >= 0 && index < inputs_.size()) {
      return {fmt::format("x{}", operand), inputs_[index].dtype};
    }
    return made_.at(operand);
  }

  static std::string ValueOf(std::string_view op, const std::vector<Element>& in, DType dtype) {
    const std::string to = TypeOf(dtype);
    if (op == "copy") return in[0].name;
    if (op == "select") {  // moves bits
      return fmt::format("{} != 0 ? {} : {}", in[0].name, in[1].name, in[2].name);
    }
    if (op == "cast") {
      const char* from = TypeOf(in[0].dtype);
      const std::string operation =
          dtype == DType::bool_ ? "CastToBool"
                                : fmt::format("Cast<{}>::Operation<{}>", to, from);
      return fmt::format("Computed<{}, {}, {}>({})", operation, to, from, in[0].name);
    }
    for (const NamedOperation& known : kOperations) {
      if (known.name != op) continue;
      std::vector<std::string> types = {to}, names;
      for (const Element& element : in) {
        types.emplace_back(TypeOf(element.dtype));
        names.push_back(element.name);
      }
      return fmt::format("Computed<{}, {}>({})", known.operation, fmt::join(types, ", "),
                         fmt::join(names, ", "));
    }
    return "";
  }

  const plan::Kernel& kernel_;
  const std::span<const device::OperandType> inputs_;
  const device::OperandType& output_;
  std::map<int32_t, Element> made_;  // by operand: temporaries, and the output
  Element last_;
  int steps_ = 0;
  std::string text_;
};

}  // namespace

std::optional<ChainSource> SourceOf(const plan::Kernel& kernel,
                                    std::span<const device::OperandType> inputs,
                                    const device::OperandType& output) {
  if (inputs.empty() || inputs.size() > kMostLoopOperands || kernel.body.empty()) {
    return std::nullopt;
  }
  Writer writer(kernel, inputs, output);
  if (!writer.WriteSteps()) return std::nullopt;
  return writer.Finish();
}

}  // namespace cgraph::cuda
