// Makers of the kernels of std.debug.
#include "runtime/device/cpu/kernels/rules.h"
#include "runtime/device/cuda/kernels/makers.h"

namespace cgraph::cuda {

ExecutableResult MakeCheck(const Making& making) {
  Result<CUfunction> function = making.Find("CheckTrue");
  if (!function.ok()) return function.status();
  const auto launch = [launcher = making.launcher, function = *function](const Call& call) {
    const auto* ok = static_cast<const uint8_t*>(call.inputs[0].data);
    return launcher.Blocks(call, function, 1, 1, ok);
  };
  const std::string message = *device::TextAttribute(making.request, "message");
  return ExecutableOf(launch, {.error_text = [message](const Failure&) { return message; }});
}

ExecutableResult MakeSleep(const Making& making) {
  Result<CUfunction> function = making.Find("Sleep");
  if (!function.ok()) return function.status();
  return ExecutableOf([launcher = making.launcher, function = *function](const Call& call) {
    const auto* ms = static_cast<const int64_t*>(call.inputs[0].data);
    return launcher.Blocks(call, function, 1, 1, ms, device::kLongestSleepMs);
  });
}

// A look at values prints them in the host's words, in the order of the program.
ExecutableResult MakeProbe(const Making&) {
  return Status(StatusCode::kUnsupported,
                "probe writes from CPU devices only; return the value as a result instead, or run "
                "the device on a core with --device-map");
}

}  // namespace cgraph::cuda
