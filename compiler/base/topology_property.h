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

enum class PropertyUnit : uint8_t { kBytes, kFlops, kTime, kBandwidth, kNumber, kText, kResources };

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

// How a unit of the language is spelled, of what it is, and how much of it: bytes, bytes in a
// second, picoseconds, operations in a second.
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
