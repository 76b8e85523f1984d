// Numbers as people read them.
#ifndef CGRAPH_RUNTIME_STATUS_TEXT_H_
#define CGRAPH_RUNTIME_STATUS_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace cgraph {

// "33 ps", "1.204 us": the largest unit in which it is at least 1, at most three decimals.
std::string TimeText(uint64_t picoseconds);
// "1 graph", "2 graphs".
std::string Counted(uint64_t count, std::string_view noun);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_STATUS_TEXT_H_
