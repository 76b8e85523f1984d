#include "runtime/device/cuda/device/logical_gpu.h"

#include <fmt/format.h>

namespace cgraph::cuda {

std::string LogicalGpu::name() const {
  return fmt::format("{} (cuda:{})", plan_name_, gpu_->ordinal());
}

Status LogicalGpu::Check(CUresult result, const std::string& what) const {
  if (result == CUDA_SUCCESS) return Status::Ok();
  return {StatusCode::kFailed, ErrorText(result, what)};
}

std::string LogicalGpu::ErrorText(CUresult error, const std::string& what) const {
  return gpu_->ErrorText(error, what, name());
}

std::string LogicalGpu::FailureText(CUresult error) const {
  return fmt::format("{} has failed: {}\n{}", name(), driver().ErrorText(error), MendOf(error));
}

void LogicalGpu::SetFailure(const std::string& why) {
  std::lock_guard lock(mutex_);
  if (failure_.ok()) {
    failure_ = {StatusCode::kFailed, why};
    if (tell_failure_) tell_failure_(failure_);
  }
  failed_ = true;
}

Status LogicalGpu::Failure() const {
  if (!failed_) return Status::Ok();
  std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace cgraph::cuda
