#include "compiler/base/bytes_text.h"

#include <iterator>

#include <fmt/format.h>

namespace cgraph {

std::string BytesText(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double number = static_cast<double>(bytes);
  size_t unit = 0;
  for (; unit + 1 < std::size(kUnits) && number >= 1024; ++unit) {
    number /= 1024;
  }
  std::string text = fmt::format("{:.1f}", number);
  if (text.ends_with(".0")) {
    text.resize(text.size() - 2);
  }
  return text + " " + kUnits[unit];
}

}  // namespace cgraph
