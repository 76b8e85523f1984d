// Checks of operands and attributes, and their messages.
#include "runtime/device/cpu/kernels/operands.h"

#include <bit>

#include <fmt/format.h>

#include "runtime/base/text.h"

namespace cgraph::device {

std::string TypeText(const OperandType& type) {
  std::string text(plan::DTypeName(type.dtype));
  if (type.rank == 0) return text;
  for (int i = 0; i < type.rank; ++i) {
    text += fmt::format("{}{}{}", i == 0 ? "[" : ", ", type.dynamic[i] ? "<= " : "", type.dims[i]);
  }
  return text + "]";
}

Status Invalid(const Request& request, const std::string& why) {
  return {StatusCode::kInvalid, fmt::format("kernel `{}`: {}", request.kernel, why)};
}

Status NoKernel(const Request& request) {
  std::string types;
  for (const OperandType& input : request.inputs) {
    types += fmt::format("{}{}", types.empty() ? "" : ", ", TypeText(input));
  }
  if (request.inputs.empty() && !request.outputs.empty()) types = TypeText(request.outputs[0]);
  return {StatusCode::kUnsupported,
          fmt::format("kernel `{}` has no CPU version for {}", request.kernel, types)};
}

Status ExpectCounts(const Request& request, size_t inputs, size_t outputs) {
  if (request.inputs.size() == inputs && request.outputs.size() == outputs) return Status::Ok();
  return Invalid(request, fmt::format("it takes {} and makes {}, and is given {} and asked for {}",
                                      Counted(inputs, "tensor"), outputs, request.inputs.size(),
                                      request.outputs.size()));
}

Status ExpectDType(const Request& request, DType dtype) {
  for (std::span<const OperandType> operands : {request.inputs, request.outputs}) {
    for (const OperandType& type : operands) {
      if (type.dtype != dtype) {
        return Invalid(request, fmt::format("an operand is {}, expected {}", TypeText(type),
                                            plan::DTypeName(dtype)));
      }
    }
  }
  return Status::Ok();
}

Status ExpectOneDType(const Request& request) {
  return ExpectDType(request, request.outputs[0].dtype);
}

Status ExpectScalar(const Request& request, const OperandType& type, DType dtype) {
  if (type.rank == 0 && type.dtype == dtype) return Status::Ok();
  return Invalid(request, fmt::format("an operand is {}, expected a single {}", TypeText(type),
                                      plan::DTypeName(dtype)));
}

bool SameDim(const OperandType& a, int i, const OperandType& b, int j) {
  return a.dims[i] == b.dims[j] && a.dynamic[i] == b.dynamic[j];
}

Status ExpectSameDims(const Request& request, const OperandType& a, const OperandType& b) {
  bool same = a.rank == b.rank;
  for (int i = 0; same && i < a.rank; ++i) same = SameDim(a, i, b, i);
  if (same) return Status::Ok();
  return Invalid(request, fmt::format("{} and {} must have the same dimensions", TypeText(a),
                                      TypeText(b)));
}

Status ExpectBroadcast(const Request& request, const OperandType& from, const OperandType& to) {
  bool fits = from.rank <= to.rank;
  for (int i = 1; fits && i <= from.rank; ++i) {
    const bool one = from.dims[from.rank - i] == 1 && !from.dynamic[from.rank - i];
    fits = one || SameDim(from, from.rank - i, to, to.rank - i);
  }
  if (fits) return Status::Ok();
  return Invalid(request, fmt::format("{} does not broadcast to {}", TypeText(from), TypeText(to)));
}

Status ExpectWorkspaceFits(const Request& request, const OperandType& type, int dim) {
  if (type.dims[dim] <= kLongestRow) return Status::Ok();
  return Invalid(request, fmt::format("dimension {} of {} is longer than {}", dim, TypeText(type),
                                      kLongestRow));
}

namespace {

const plan::Attribute* Find(const Request& request, const std::string& name) {
  for (const auto& attribute : request.attributes) {
    if (attribute->name == name) return attribute.get();
  }
  return nullptr;
}

Status NoAttribute(const Request& request, const std::string& name, const char* kind) {
  return Invalid(request, fmt::format("it needs an attribute `{}` that is {}", name, kind));
}

}  // namespace

Result<int64_t> IntAttribute(const Request& request, const std::string& name) {
  const plan::Attribute* attribute = Find(request, name);
  if (attribute == nullptr || attribute->ints.size() != 1) {
    return NoAttribute(request, name, "one integer");
  }
  return attribute->ints[0];
}

Result<std::vector<int64_t>> IntsAttribute(const Request& request, const std::string& name) {
  const plan::Attribute* attribute = Find(request, name);
  if (attribute == nullptr) return NoAttribute(request, name, "a list of integers");
  return attribute->ints;
}

Result<bool> BoolAttribute(const Request& request, const std::string& name) {
  Result<int64_t> value = IntAttribute(request, name);
  if (!value.ok() || (*value != 0 && *value != 1)) {
    return NoAttribute(request, name, "true or false");
  }
  return *value == 1;
}

Result<double> FloatAttribute(const Request& request, const std::string& name) {
  const plan::Attribute* attribute = Find(request, name);
  if (attribute == nullptr || attribute->bits.size() != 1) {
    return NoAttribute(request, name, "one float");
  }
  return std::bit_cast<double>(attribute->bits[0]);
}

Result<std::string> TextAttribute(const Request& request, const std::string& name) {
  const plan::Attribute* attribute = Find(request, name);
  if (attribute == nullptr) return NoAttribute(request, name, "a text");
  return attribute->text;
}

Result<int> DimAttribute(const Request& request, const std::string& name, const OperandType& type) {
  Result<int64_t> dim = IntAttribute(request, name);
  if (!dim.ok()) return dim.status();
  if (*dim == -1 && type.rank > 0) return type.rank - 1;
  if (*dim < 0 || *dim >= type.rank) {
    return Invalid(request, fmt::format("`{}` is {}, but {} has dimensions 0 to {}", name, *dim,
                                        TypeText(type), type.rank - 1));
  }
  return static_cast<int>(*dim);
}

}  // namespace cgraph::device
