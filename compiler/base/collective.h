// Collectives: what the values of several participants can do together, and how they are reduced.
#ifndef CGRAPH_COMPILER_BASE_COLLECTIVE_H_
#define CGRAPH_COMPILER_BASE_COLLECTIVE_H_

#include <cstdint>
#include <optional>

#include "llvm/ADT/StringRef.h"

namespace cgraph {

enum class CollectiveKind : uint8_t {
#define COLLECTIVE(id, name, from, to, rows, reduces) id,
#include "compiler/base/collectives.def"
};

struct CollectiveTraits {
  const char* name;
  enum Who : uint8_t { kEach, kRoot, kNobody } from, to;
  enum Rows : uint8_t { kSame, kTimes, kOver, kExchanged } rows;
  bool reduces;

  constexpr bool rooted() const { return from == kRoot || to == kRoot; }
  constexpr bool divides() const { return rows == kOver || rows == kExchanged; }
};

// By CollectiveKind.
inline constexpr CollectiveTraits kCollectiveTraits[] = {
#define COLLECTIVE(id, name, from, to, rows, reduces) \
  {name, CollectiveTraits::from, CollectiveTraits::to, CollectiveTraits::rows, reduces},
#include "compiler/base/collectives.def"
};

inline const CollectiveTraits& TraitsOf(CollectiveKind kind) {
  return kCollectiveTraits[static_cast<int>(kind)];
}

inline std::optional<CollectiveKind> ParseCollective(llvm::StringRef text) {
#define COLLECTIVE(id, name, from, to, rows, reduces) \
  if (text == name) return CollectiveKind::id;
#include "compiler/base/collectives.def"
  return std::nullopt;
}

enum class Reduction : uint8_t { kSum, kProd, kMin, kMax, kAvg };
inline constexpr const char* kReductionNames[] = {"sum", "prod", "min", "max", "avg"};

inline const char* ReductionName(Reduction reduction) {
  return kReductionNames[static_cast<int>(reduction)];
}

inline std::optional<Reduction> ParseReduction(llvm::StringRef text) {
  for (size_t i = 0; i < std::size(kReductionNames); ++i) {
    if (text == kReductionNames[i]) return static_cast<Reduction>(i);
  }
  return std::nullopt;
}

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_COLLECTIVE_H_
