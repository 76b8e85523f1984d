// The kinds that a plan names by numbers: dtypes, collectives, transports, devices, by the tables
// of runtime/base/kinds, whose order is that of the enums in plan.fbs.
#ifndef CGRAPH_RUNTIME_PLAN_KINDS_H_
#define CGRAPH_RUNTIME_PLAN_KINDS_H_

#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/kinds/collective.h"
#include "runtime/base/kinds/dtype.h"
#include "runtime/base/kinds/logical_device.h"
#include "runtime/base/kinds/transport.h"
#include "runtime/plan/plan.h"

namespace cgraph::plan {

// ---- dtypes -------------------------------------------------------------------------------------

#define DTYPE(id, wire_id, name, bytes, class)                                            \
  static_assert(static_cast<int>(cgraph::DType::id) == static_cast<int>(DType::wire_id)); \
  static_assert(DTypeBytes(DType::wire_id) == bytes);
#include "runtime/base/kinds/dtypes.def"
static_assert(kDTypes == static_cast<size_t>(DType::MAX) + 1);

// False of a number that is no dtype, as a plan that is not checked yet may hold.
constexpr bool IsDType(DType dtype) { return static_cast<size_t>(dtype) < kDTypes; }
constexpr const DTypeTraits& TraitsOf(DType dtype) {
  return kDTypeTraits[static_cast<size_t>(dtype)];
}

// "no dtype" of a number that is none.
constexpr std::string_view DTypeName(DType dtype) {
  return IsDType(dtype) ? TraitsOf(dtype).name : "no dtype";
}
constexpr bool IsFloat(DType dtype) {
  return IsDType(dtype) && TraitsOf(dtype).of == DTypeClass::kFloating;
}

// The bytes of a tensor; nothing when a dimension is negative or they are more than `most`.
// Dimensions are multiplied even where one of them is 0, so that strides never overflow either.
constexpr std::optional<uint64_t> TensorBytes(DType dtype, std::span<const int64_t> dims,
                                              uint64_t most = INT64_MAX) {
  auto bytes = static_cast<uint64_t>(DTypeBytes(dtype));
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    empty |= dim == 0;
    if (dim > 0 && __builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes)) {
      return std::nullopt;
    }
    if (bytes > most) return std::nullopt;
  }
  return empty ? 0 : bytes;
}

// Booleans: a byte each, 0 or 1. Kernels count and compare the bytes, so every border over which
// elements come in from outside checks them: files, inputs, states, results of methods.
inline constexpr char kWrongBooleans[] = "booleans that are neither 0 nor 1";

// Returns false where the bytes are of booleans and one is neither 0 nor 1.
bool ValidElements(DType dtype, std::span<const uint8_t> bytes);

// Returns "np.float32" for a `prefix` of "np": messages tell users what to convert a tensor to.
// NumPy has no bf16; ml_dtypes does.
inline std::string NumpyName(DType dtype, const std::string& prefix) {
  switch (dtype) {
    case DType::bool_: return prefix + ".bool_";
    case DType::i8: return prefix + ".int8";
    case DType::u8: return prefix + ".uint8";
    case DType::i32: return prefix + ".int32";
    case DType::i64: return prefix + ".int64";
    case DType::f16: return prefix + ".float16";
    case DType::bf16: return "ml_dtypes.bfloat16";
    case DType::f32: return prefix + ".float32";
    case DType::f64: return prefix + ".float64";
  }
  return "";
}

// ---- collectives --------------------------------------------------------------------------------

#define COLLECTIVE(id, name, from, to, rows, reduces)           \
  static_assert(static_cast<int>(cgraph::CollectiveKind::id) == \
                static_cast<int>(wire::CollectiveKind::name));
#include "runtime/base/kinds/collectives.def"
static_assert(std::size(kCollectiveTraits) == static_cast<size_t>(wire::CollectiveKind::MAX) + 1);

// Null where the number is no collective's, as in a plan that is not checked yet.
inline const CollectiveTraits* FindTraits(const Collective& collective) {
  const auto index = static_cast<size_t>(collective.kind);
  return index < std::size(kCollectiveTraits) ? &kCollectiveTraits[index] : nullptr;
}

// "all_reduce"
inline const char* CollectiveName(const Collective& collective) {
  const CollectiveTraits* traits = FindTraits(collective);
  return traits == nullptr ? "no collective" : traits->name;
}

static_assert(static_cast<int>(wire::Reduction::none) == std::size(kReductionNames) &&
              wire::Reduction::MAX == wire::Reduction::none);

// Nothing of a collective that does not reduce.
inline std::optional<Reduction> ReductionOf(const Collective& collective) {
  const auto index = static_cast<size_t>(collective.reduction);
  if (index >= std::size(kReductionNames)) return std::nullopt;
  return static_cast<Reduction>(index);
}

// "all_reduce sum", "all_gather"
inline std::string CollectiveText(const Collective& collective) {
  const std::optional<Reduction> reduction = ReductionOf(collective);
  const std::string name = CollectiveName(collective);
  return reduction ? name + " " + ReductionName(*reduction) : name;
}

// ---- transports ---------------------------------------------------------------------------------

#define TRANSPORT(id, name, delivery, factory)                 \
  static_assert(static_cast<int>(cgraph::TransportKind::id) == \
                static_cast<int>(wire::TransportKind::name));
#include "runtime/base/kinds/transports.def"
static_assert(std::size(kTransportTraits) == static_cast<size_t>(wire::TransportKind::MAX) + 1);

constexpr cgraph::TransportKind KindOf(TransportKind transport) {
  return static_cast<cgraph::TransportKind>(transport);
}
constexpr TransportKind KindOf(cgraph::TransportKind transport) {  // not of kAuto
  return static_cast<TransportKind>(transport);
}

// ---- devices ------------------------------------------------------------------------------------

#define DEVICE_KIND(id, name) \
  static_assert(static_cast<int>(cgraph::DeviceKind::id) == static_cast<int>(DeviceKind::name));
#include "runtime/base/kinds/devices.def"
static_assert(std::size(kDeviceKindNames) == static_cast<size_t>(DeviceKind::MAX) + 1);

// The caller where the number is no kind's.
inline LogicalDevice LogicalDeviceOf(const Device& device) {
  if (device.kind == DeviceKind::caller || device.kind > DeviceKind::MAX) return {};
  return {static_cast<cgraph::DeviceKind>(device.kind), device.node, device.index};
}

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_KINDS_H_
