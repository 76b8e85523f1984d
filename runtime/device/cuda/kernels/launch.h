// How makers launch: grids that are large enough for the device and no larger, and executables that
// are a function of the call.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_LAUNCH_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_LAUNCH_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "runtime/device/cuda/kernels/abi.h"
#include "runtime/device/cuda/kernels/dims.h"
#include "runtime/device/cuda/kernels/executable.h"

namespace cgraph::cuda {

// Launcher: launches kernels on one device. All of them take the call's guard first.
class Launcher {
 public:
  static Result<Launcher> Make(const Target& target);

  // Launches that many blocks, or as many as may be in a grid. None: poison is passed on.
  template <typename... Args>
  CUresult Blocks(const Call& call, CUfunction function, int64_t blocks, uint32_t threads,
                  const Args&... args) const {
    if (blocks == 0) return PassPoison(call);
    const auto count = static_cast<uint32_t>(std::min(blocks, kMostBlocks));
    return LaunchGrid(*driver_, call.stream, function, count, threads, call.guard, args...);
  }
  // Launches a thread for each item, or as many as keep the device busy: the kernel goes on with
  // the item that is a grid further. No items: poison is passed on.
  template <typename... Args>
  CUresult Items(const Call& call, CUfunction function, int64_t items, const Args&... args) const {
    const int64_t blocks = items / kThreads + (items % kThreads != 0);
    return Blocks(call, function, std::min(blocks, most_), kThreads, args...);
  }
  // Sets the operation's own flag where one that it checks is set.
  CUresult PassPoison(const Call& call) const;

  // The blocks of kThreads threads that keep the device busy.
  int64_t most() const { return most_; }

 private:
  static constexpr int64_t kMostBlocks = (int64_t{1} << 31) - 1;
  static constexpr int64_t kBlocksEach = 16;  // on a multiprocessor: two waves of those it can hold

  const Driver* driver_ = nullptr;
  CUfunction pass_poison_ = nullptr;
  int64_t most_ = 0;
};

// Returns the call for a kernel behind one that checks: it looks at the operation's own flag.
inline Call Checked(Call call) {
  call.guard.looks = true;
  return call;
}

inline int64_t BoundOfElements(const View& view) { return BoundsOf(view).elements(); }

// An executable that is a function of its call.
struct ExecutableOptions {
  uint64_t scratch = 0;  // bytes
  std::function<std::string(const Failure&)> error_text;
};
template <typename Function>
class FunctionExecutable final : public CudaExecutable {
 public:
  FunctionExecutable(Function launch, ExecutableOptions options)
      : launch_(std::move(launch)), options_(std::move(options)) {}
  CUresult Launch(const Call& call) override { return launch_(call); }
  uint64_t scratch() const override { return options_.scratch; }
  std::string ErrorText(const Failure& failure) const override {
    return options_.error_text ? options_.error_text(failure) : std::string();
  }

 private:
  Function launch_;
  ExecutableOptions options_;
};
template <typename Function>
std::unique_ptr<CudaExecutable> ExecutableOf(Function launch, ExecutableOptions options = {}) {
  return std::make_unique<FunctionExecutable<Function>>(std::move(launch), std::move(options));
}

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_LAUNCH_H_
