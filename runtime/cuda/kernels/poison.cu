// Kernels that do nothing but carry poison on.
#include "runtime/cuda/kernels/device_code.h"

namespace cgraph::cuda {

// Sets the operation's own flag where something that it checks is poisoned: for an operation that
// is no kernel of ours, such as a library's product or a copy. One thread.
KERNEL(pass_poison, (Guard guard)) { Enter(guard); }

}  // namespace cgraph::cuda
