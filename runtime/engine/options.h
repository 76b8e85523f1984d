// The rows of EngineOptions (cgraph/options.def), one by one: what flags, Python and other ranks
// make of them.
#ifndef CGRAPH_RUNTIME_ENGINE_OPTIONS_H_
#define CGRAPH_RUNTIME_ENGINE_OPTIONS_H_

#include <cgraph/engine.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "runtime/base/kinds/limits.h"
#include "runtime/base/usage_text.h"
#include "runtime/device/gpus.h"

namespace cgraph {

namespace engine {

// OptionRow: what options.def says of an option beside its kind.
struct OptionRow {
  enum KnownBy { kCaller, kRanks };
  const char* name;
  KnownBy known_by;
  const char *flag, *value, *help;
};

// Calls visit(kind, row, member) for every option.
template <typename Options, typename Visit>
void ForEachOption(Options& options, Visit&& visit) {
#define OPTION(kind, name, initial, known_by, flag, value, help) \
  visit(option::kind(), OptionRow{#name, OptionRow::known_by, flag, value, help}, options.name);
#define EXCLUDES(one, other, why)
#include <cgraph/options.def>
}

// Exclusion: two options of which one alone is given.
struct Exclusion {
  const char *one, *other, *why;
};
inline constexpr Exclusion kExclusions[] = {
#define OPTION(kind, name, initial, known_by, flag, value, help)
#define EXCLUDES(one, other, why) {#one, #other, why},
#include <cgraph/options.def>
};

// Returns whether options.def has a row of that name, or it is `device_map`.
constexpr bool IsOption(std::string_view name) {
  bool found = name == "device_map";
#define OPTION(kind, row, initial, known_by, flag, value, help) found = found || name == #row;
#define EXCLUDES(one, other, why)
#include <cgraph/options.def>
  return found;
}
#define OPTION(kind, name, initial, known_by, flag, value, help)
#define EXCLUDES(one, other, why) static_assert(IsOption(#one) && IsOption(#other));
#include <cgraph/options.def>

// Returns the most that a Count may be; 0 of another kind.
template <typename Kind>
constexpr uint32_t MostOf(Kind) {
  return 0;
}
template <uint32_t most>
constexpr uint32_t MostOf(option::Count<most>) {
  return most;
}
constexpr uint32_t MostOfOption(std::string_view name) {
  uint32_t found = 0;
#define OPTION(kind, row, initial, known_by, flag, value, help) \
  if (name == #row) found = MostOf(option::kind());
#define EXCLUDES(one, other, why)
#include <cgraph/options.def>
  return found;
}
static_assert(MostOfOption("workers") == kMaxWorkers);
static_assert(MostOfOption("inflight") == kMaxInflight);
static_assert(std::is_same_v<decltype(EngineOptions::gpu_map), device::GpuMap>);

// The options that other ranks load the plan with, as bytes for processes of this program.
std::string TextForRanks(const EngineOptions& options);
// Reads such bytes, in which nothing else is. False where they are no such text.
bool ReadTextForRanks(std::string_view text, EngineOptions& options);

}  // namespace engine
}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_ENGINE_OPTIONS_H_
