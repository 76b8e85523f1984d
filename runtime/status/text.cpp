#include "runtime/status/text.h"

#include <fmt/format.h>

#include <iterator>

namespace cgraph {

std::string TimeText(uint64_t picoseconds) {
  constexpr const char* kUnits[] = {"ps", "ns", "us", "ms", "s"};
  uint64_t scale = 1;
  size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && picoseconds / scale >= 1000) {
    scale *= 1000;
    ++unit;
  }
  std::string number = std::to_string(picoseconds / scale);
  if (scale > 1) {
    const uint64_t thousandths = picoseconds % scale / (scale / 1000);
    number += fmt::format(".{:03}", thousandths);
    number.erase(number.find_last_not_of('0') + 1);
    number.erase(number.find_last_not_of('.') + 1);
  }
  return number + " " + kUnits[unit];
}

std::string Counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace cgraph
