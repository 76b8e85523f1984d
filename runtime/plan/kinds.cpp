#include "runtime/plan/kinds.h"

namespace cgraph::plan {

bool ValidElements(DType dtype, std::span<const uint8_t> bytes) {
  if (dtype != DType::bool_) return true;
  uint8_t seen = 0;  // without a branch, so that many bytes are looked at in one instruction
  for (const uint8_t byte : bytes) seen |= byte;
  return seen <= 1;
}

}  // namespace cgraph::plan
