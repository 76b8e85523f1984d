// The properties of the parts of a topology, and the units that their values are written in.
#ifndef CGRAPH_COMPILER_BASE_TOPOLOGY_PROPERTY_H_
#define CGRAPH_COMPILER_BASE_TOPOLOGY_PROPERTY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"

namespace cgraph {

enum TopologyParts : uint8_t { kOfDevice = 1, kOfResource = 2, kOfLink = 4 };

// The ranges of numbers: ROW(unit, of what, least, most, scale, in words), in the units of kUnits.
// `scale` of these make one of the cost model's units, which are bytes and operations per
// microsecond.
#define CGRAPH_PROPERTY_RANGES(ROW)                                                      \
  ROW(kBytes, "a memory", 1, 0x1p50, 1, "between 1B and 2^50 bytes")                     \
  ROW(kFlops, "a rate", 1e6, 1e18, 1e6, "between 1 MFLOPS and 1000000TFLOPS")            \
  ROW(kTime, "a time", 0, 1e15, 1, "between 0ns and 1000s")                              \
  ROW(kBandwidth, "a bandwidth", 1e6, 1e15, 1e6, "between 1MB/s and 1000000GB/s")        \
  ROW(kNumber, "a capacity", 1, 65535, 1, "between 1 and 65535")

// Generations of gpus, the oldest first.
#define CGRAPH_GENERATIONS(ROW) \
  ROW(kVolta, "volta")          \
  ROW(kAmpere, "ampere")        \
  ROW(kHopper, "hopper")        \
  ROW(kBlackwell, "blackwell")
#define CGRAPH_QUOTED_NAME(id, name) " \"" name "\""
inline constexpr const char* kGenerationNames = "one of" CGRAPH_GENERATIONS(CGRAPH_QUOTED_NAME);

enum class PropertyUnit : uint8_t {
#define CGRAPH_UNIT(unit, what, least, most, scale, words) unit,
  CGRAPH_PROPERTY_RANGES(CGRAPH_UNIT)
#undef CGRAPH_UNIT
  kText, kResources
};

struct PropertyRange {
  double least, most, scale;
  const char* words;
};
// Returns the range of a unit of numbers.
inline constexpr PropertyRange RangeOf(PropertyUnit unit) {
  switch (unit) {
#define CGRAPH_RANGE(unit, what, least, most, scale, words) \
  case PropertyUnit::unit: return {least, most, scale, words};
    CGRAPH_PROPERTY_RANGES(CGRAPH_RANGE)
#undef CGRAPH_RANGE
    case PropertyUnit::kText: case PropertyUnit::kResources: break;
  }
  return {};
}

enum class TopologyProperty : uint8_t {
#define PROPERTY(id, name, unit, parts) id,
#include "compiler/base/topology_properties.def"
};

struct PropertyTraits {
  const char* name;
  PropertyUnit unit;
  int parts;
};
inline const PropertyTraits& TraitsOf(TopologyProperty property) {
  static constexpr PropertyTraits kTraits[] = {
#define PROPERTY(id, name, unit, parts) {name, PropertyUnit::unit, parts},
#include "compiler/base/topology_properties.def"
  };
  return kTraits[static_cast<int>(property)];
}

inline std::optional<TopologyProperty> ParseProperty(llvm::StringRef text, int part) {
#define PROPERTY(id, name, unit, parts) \
  if (text == name && ((parts) & part) != 0) return TopologyProperty::id;
#include "compiler/base/topology_properties.def"
  return std::nullopt;
}

inline std::vector<std::string> PropertiesOf(int part) {
  std::vector<std::string> names;
#define PROPERTY(id, name, unit, parts) \
  if (((parts) & part) != 0) names.push_back(name);
#include "compiler/base/topology_properties.def"
  return names;
}

// A unit of the language: its spelling, the quantity that it measures, and how much of it (bytes,
// bytes in a second, picoseconds, operations in a second).
struct UnitTraits {
  const char* spelling;
  PropertyUnit unit;
  double factor;
};
inline constexpr UnitTraits kUnits[] = {
    {"B", PropertyUnit::kBytes, 1},
    {"KB", PropertyUnit::kBytes, 1e3},
    {"MB", PropertyUnit::kBytes, 1e6},
    {"GB", PropertyUnit::kBytes, 1e9},
    {"KiB", PropertyUnit::kBytes, 1024},
    {"MiB", PropertyUnit::kBytes, 1024.0 * 1024},
    {"GiB", PropertyUnit::kBytes, 1024.0 * 1024 * 1024},
    {"ns", PropertyUnit::kTime, 1e3},
    {"us", PropertyUnit::kTime, 1e6},
    {"ms", PropertyUnit::kTime, 1e9},
    {"s", PropertyUnit::kTime, 1e12},
    {"min", PropertyUnit::kTime, 60e12},
    {"MB/s", PropertyUnit::kBandwidth, 1e6},
    {"GB/s", PropertyUnit::kBandwidth, 1e9},
    {"GFLOPS", PropertyUnit::kFlops, 1e9},
    {"TFLOPS", PropertyUnit::kFlops, 1e12},
};
inline const UnitTraits* FindUnit(llvm::StringRef spelling) {
  for (const UnitTraits& unit : kUnits) {
    if (spelling == unit.spelling) return &unit;
  }
  return nullptr;
}

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_TOPOLOGY_PROPERTY_H_
