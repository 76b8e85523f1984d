#include "runtime/device/cuda/kernels/launch.h"

namespace cgraph::cuda {

Result<Launcher> Launcher::Make(const Target& target) {
  Result<CUfunction> pass_poison = target.module->Find("pass_poison");
  if (!pass_poison.ok()) return pass_poison.status();
  Launcher launcher;
  launcher.driver_ = target.driver;
  launcher.pass_poison_ = *pass_poison;
  launcher.most_ = std::max<int64_t>(target.multiprocessors, 1) * kBlocksEach;
  return launcher;
}

CUresult Launcher::PassPoison(const Call& call) const {
  if (!call.guard.looks) return CUDA_SUCCESS;
  return LaunchGrid(*driver_, call.stream, pass_poison_, 1, 1, call.guard);
}

}  // namespace cgraph::cuda
