// Collectives: what the values of several participants can do together, and how they are reduced.
#ifndef CGRAPH_RUNTIME_BASE_KINDS_COLLECTIVE_H_
#define CGRAPH_RUNTIME_BASE_KINDS_COLLECTIVE_H_

#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace cgraph {

enum class CollectiveKind : uint8_t {
#define COLLECTIVE(id, name, from, to, rows, reduces) id,
#include "runtime/base/kinds/collectives.def"
};

struct CollectiveTraits {
  CollectiveKind kind;
  const char* name;
  enum Who : uint8_t { kEach, kRoot, kNobody } from, to;
  enum Rows : uint8_t { kSame, kTimes, kOver, kExchanged } rows;
  bool reduces;

  constexpr bool rooted() const { return from == kRoot || to == kRoot; }
  // Return whether the participant of this rank gives a value, or gets one; `root`: of what is
  // rooted.
  constexpr bool gives(uint32_t rank, uint32_t root) const { return IsAmong(from, rank, root); }
  constexpr bool gets(uint32_t rank, uint32_t root) const { return IsAmong(to, rank, root); }
  // divides(): a result has 1/n of a given dimension 0. joins(): it has parts of several givers.
  constexpr bool divides() const { return rows == kOver || rows == kExchanged; }
  constexpr bool joins() const { return rows == kTimes || rows == kExchanged; }

  static constexpr bool IsAmong(Who who, uint32_t rank, uint32_t root) {
    return who == kEach || (who == kRoot && rank == root);
  }
};

// By CollectiveKind.
inline constexpr CollectiveTraits kCollectiveTraits[] = {
#define COLLECTIVE(id, name, from, to, rows, reduces)                            \
  {CollectiveKind::id,     #name,  CollectiveTraits::from, CollectiveTraits::to, \
   CollectiveTraits::rows, reduces},
#include "runtime/base/kinds/collectives.def"
};

constexpr const CollectiveTraits& TraitsOf(CollectiveKind kind) {
  return kCollectiveTraits[static_cast<size_t>(kind)];
}

// Nothing where `text` names no collective.
constexpr std::optional<CollectiveKind> ParseCollective(std::string_view text) {
  for (const CollectiveTraits& traits : kCollectiveTraits) {
    if (text == traits.name) return traits.kind;
  }
  return std::nullopt;
}

enum class Reduction : uint8_t { kSum, kProd, kMin, kMax, kAvg };
inline constexpr const char* kReductionNames[] = {"sum", "prod", "min", "max", "avg"};

constexpr const char* ReductionName(Reduction reduction) {
  return kReductionNames[static_cast<size_t>(reduction)];
}

// Nothing where `text` names no reduction.
constexpr std::optional<Reduction> ParseReduction(std::string_view text) {
  for (size_t i = 0; i < std::size(kReductionNames); ++i) {
    if (text == kReductionNames[i]) return static_cast<Reduction>(i);
  }
  return std::nullopt;
}

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_KINDS_COLLECTIVE_H_
