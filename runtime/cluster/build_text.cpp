#include <string>

#include <fmt/format.h>

#include "runtime/cluster/supervision.h"

namespace cgraph::cluster {

const char* BuildText() {
  static const std::string text = fmt::format("cgraph {}, sources {}", CGRAPH_VERSION,
#include "runtime/cluster/sources_digest.inc"
  );
  return text.c_str();
}

}  // namespace cgraph::cluster
