// Kernels that do nothing but carry poison on.
#include "runtime/device/cuda/kernels/device_code.h"

namespace cgraph::cuda {

// Sets the operation's own flag where something that it checks is poisoned: for an operation that
// is no kernel of ours, such as a library's product or a copy. One thread.
KERNEL(pass_poison, (Guard guard)) { Enter(guard); }

// Writes whether something that the operation checks is poisoned, for members of a collective that
// do not see this device's flags. One thread.
KERNEL(show_poison, (Guard guard, uint8_t* shown)) {
  bool poisoned = false;
  for (uint32_t i = 0; i < guard.count; ++i) poisoned |= Poisoned(guard, guard.checks[i]);
  *shown = poisoned ? 1 : 0;
}

// Sets the operation's own flag where some member has shown that it is to be. One thread.
KERNEL(take_poison, (Guard guard, const uint8_t* shown)) {
  if (*shown != 0) Poison(guard);
}

}  // namespace cgraph::cuda
