#include "compiler/elaborate/values/quotients.h"

#include <fmt/format.h>

#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/report.h"

namespace cgraph::elaborate {
namespace {

std::tuple<uint32_t, uint32_t, uint32_t> KeyOf(Range range) {
  return {range.source.index, range.begin, range.end};
}

}  // namespace

void RememberQuotient(ElaborationContext& elaboration, Range range, int64_t dividend,
                      int64_t divisor) {
  RoundedQuotient& quotient = elaboration.rounded[KeyOf(range)];
  quotient.dividend = dividend;
  quotient.divisor = divisor;
}

void WarnOfQuotientAsFloat(ElaborationContext& elaboration, const Value& value, Range range) {
  const int64_t* const number = value.As<int64_t>();
  const auto found = elaboration.rounded.find(KeyOf(range));
  if (number == nullptr || found == elaboration.rounded.end() || found->second.warned) return;
  found->second.warned = true;
  Report(elaboration, Code::kW0503, range,
         fmt::format("{0} / {1} is {2}, which becomes a float: a quotient of ints is rounded down; "
                     "write {0}.0 / {1} for one of floats",
                     found->second.dividend, found->second.divisor, *number));
}

}  // namespace cgraph::elaborate
