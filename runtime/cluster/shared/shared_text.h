// SharedText: a text of bounded length in memory that several processes map.
#ifndef CGRAPH_RUNTIME_CLUSTER_SHARED_SHARED_TEXT_H_
#define CGRAPH_RUNTIME_CLUSTER_SHARED_SHARED_TEXT_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cgraph::cluster {

// Longer texts are cut. Whoever reads one does not trust its length: its writer may have died.
template <uint32_t kMost>
struct SharedText {
  uint32_t length = 0;
  char bytes[kMost];

  void Set(std::string_view text) {
    length = static_cast<uint32_t>(std::min<size_t>(text.size(), kMost));
    std::memcpy(bytes, text.data(), length);
  }
  std::string_view Get() const {
    const uint32_t now = *const_cast<const volatile uint32_t*>(&length);  // once
    return {bytes, std::min(now, kMost)};
  }
};

}  // namespace cgraph::cluster

#endif  // CGRAPH_RUNTIME_CLUSTER_SHARED_SHARED_TEXT_H_
