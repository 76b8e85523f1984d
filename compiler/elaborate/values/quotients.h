// Quotients of compile-time ints that were rounded down. Where one becomes a float, a quotient of
// floats was likely meant: `x * (1 / B)` is 0.
#ifndef CGRAPH_COMPILER_ELABORATE_VALUES_QUOTIENTS_H_
#define CGRAPH_COMPILER_ELABORATE_VALUES_QUOTIENTS_H_

#include <cstdint>
#include <map>
#include <tuple>

#include "compiler/base/source.h"
#include "compiler/elaborate/values/value.h"

namespace cgraph::elaborate {

struct ElaborationContext;

struct RoundedQuotient {
  int64_t dividend, divisor;
  bool warned = false;
};
// By the source and where in it the division stands.
using RoundedQuotients = std::map<std::tuple<uint32_t, uint32_t, uint32_t>, RoundedQuotient>;

// Remembers a division of ints that does not divide exactly.
void RememberQuotient(ElaborationContext& elaboration, Range range, int64_t dividend,
                      int64_t divisor);
// Warns, once, where an int that becomes a float is such a quotient itself.
void WarnOfQuotientAsFloat(ElaborationContext& elaboration, const Value& value, Range range);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_VALUES_QUOTIENTS_H_
