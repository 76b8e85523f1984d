// Derived calls: the names of the calls that `grad` derives of a method's.
#ifndef CGRAPH_COMPILER_BASE_DERIVED_CALLS_H_
#define CGRAPH_COMPILER_BASE_DERIVED_CALLS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace cgraph {

// What a derived call computes: all gradients, or in two calls those of activations (kInput) and
// the rest (kWeight).
enum class Half : uint8_t { kWhole, kInput, kWeight };

// Returns what a half's name ends with: "_input" of "backward_input".
const char* SuffixOf(Half half);

// Returns the name of a derived call: "backward" of "forward", "f_backward_input" of "f".
std::string DerivedName(const std::string& method, Half half = Half::kWhole);

struct DerivedFrom {
  std::string method;
  Half half;
};

// Returns what DerivedName has made a name of; nothing where it makes no such name.
std::optional<DerivedFrom> ParseDerivedName(const std::string& name);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_DERIVED_CALLS_H_
