// Sizes as people read them.
#ifndef CGRAPH_COMPILER_BASE_BYTES_TEXT_H_
#define CGRAPH_COMPILER_BASE_BYTES_TEXT_H_

#include <cstdint>
#include <string>

namespace cgraph {

std::string BytesText(uint64_t bytes);  // "24.1 KiB"

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_BYTES_TEXT_H_
