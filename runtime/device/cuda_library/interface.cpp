#include "runtime/device/cuda_library/interface.h"

#include <string>

#include <fmt/format.h>

#include "runtime/plan/plan.h"

namespace cgraph::device {

const char* InterfaceText() {
  static const std::string text =
      fmt::format("cgraph {}, plan format {}, interfaces {}", CGRAPH_VERSION, plan::kFormat,
#include "runtime/device/interface_digest.inc"
      );
  return text.c_str();
}

}  // namespace cgraph::device
