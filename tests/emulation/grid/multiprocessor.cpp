#include "tests/emulation/grid/multiprocessor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "tests/emulation/misuse.h"

constinit thread_local uint3 threadIdx;
constinit thread_local uint3 blockIdx;
constinit thread_local dim3 blockDim;
constinit thread_local dim3 gridDim;

namespace cgraph::emulation {
namespace {

constexpr unsigned char kGarbage = 0xcd;

uint3 PositionOf(uint32_t thread) {
  return {thread % blockDim.x, thread / blockDim.x % blockDim.y,
          thread / blockDim.x / blockDim.y};
}

}  // namespace

Multiprocessor& Multiprocessor::Current() {
  thread_local Multiprocessor multiprocessor;
  return multiprocessor;
}

uint64_t Multiprocessor::Random() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return random_;
}

std::string Multiprocessor::Where() const {
  return fmt::format("kernel {}, block ({}, {}, {})", kernel_->name, blockIdx.x, blockIdx.y,
                     blockIdx.z);
}

void Multiprocessor::RunBlock(const HostKernel& kernel, void** parameters, size_t shared_bytes,
                              uint64_t order) {
  kernel_ = &kernel;
  parameters_ = parameters;
  threads_ = blockDim.x * blockDim.y * blockDim.z;
  begun_ = ended_ = 0;
  random_ = order;
  votes_ = {};
  order_.resize(threads_);
  std::iota(order_.begin(), order_.end(), 0);
  if (random_ != 0) {
    for (uint32_t i = threads_; i > 1; --i) std::swap(order_[i - 1], order_[Random() % i]);
  }
  warps_.resize((threads_ + 31) / 32);
  for (size_t i = 0; i < warps_.size(); ++i) {
    const uint32_t lanes = std::min<uint32_t>(32, threads_ - static_cast<uint32_t>(i) * 32);
    warps_[i].live = lanes == 32 ? ~0u : (1u << lanes) - 1;
    warps_[i].meetings.clear();
  }
  shared_.resize((shared_bytes + sizeof(Shared) - 1) / sizeof(Shared));
  if (!shared_.empty()) std::memset(shared_.data(), kGarbage, shared_.size() * sizeof(Shared));

  while (ended_ < threads_) {
    running_ = NextFiber();
    threadIdx = PositionOf(running_->thread);
    running_->Resume();
  }
}

// Returns a fiber that can go on, or one for a thread that has not begun.
Fiber* Multiprocessor::NextFiber() {
  const bool begin = begun_ < threads_;
  if (begin && (ready_.empty() || random_ == 0 || Random() % 2 == 0)) {
    if (idle_.empty()) {
      fibers_.push_back(std::make_unique<Fiber>(&RunFiber, this));
      idle_.push_back(fibers_.back().get());
    }
    Fiber* const fiber = idle_.back();
    idle_.pop_back();
    return fiber;
  }
  if (ready_.empty()) {
    FatalMisuse(fmt::format("{}: {} of {} threads wait in __syncthreads, the others for lanes of "
                            "their warps that do not come",
                            Where(), at_barrier_.size(), threads_ - ended_));
  }
  if (random_ != 0) std::swap(ready_.back(), ready_[Random() % ready_.size()]);
  Fiber* const fiber = ready_.back();
  ready_.pop_back();
  return fiber;
}

void Multiprocessor::RunFiber(void* multiprocessor) {
  auto* const self = static_cast<Multiprocessor*>(multiprocessor);
  for (Fiber* const fiber = self->running_;;) {
    self->RunThreads(fiber);
    self->idle_.push_back(fiber);
    fiber->Park();
  }
}

void Multiprocessor::RunThreads(Fiber* fiber) {
  while (begun_ < threads_) {
    fiber->thread = order_[begun_++];
    threadIdx = PositionOf(fiber->thread);
    kernel_->Invoke(parameters_);
    EndThread(fiber->thread);
    // Whoever waits may go on in between.
    if (random_ != 0 && !ready_.empty()) return;
  }
}

void Multiprocessor::EndThread(uint32_t thread) {
  ++ended_;
  Warp& warp = warps_[thread / 32];
  warp.live &= ~(1u << thread % 32);
  for (const auto& meeting : warp.meetings) {
    if (meeting->arrived != 0 && meeting->arrived == (meeting->mask & warp.live)) {
      FinishMeeting(*meeting);
    }
  }
  if (!at_barrier_.empty() && at_barrier_.size() == threads_ - ended_) FinishBarrier();
}

Votes Multiprocessor::SyncThreads(bool predicate) {
  votes_.any |= predicate;
  votes_.all &= predicate;
  votes_.count += predicate ? 1 : 0;
  Fiber* const fiber = running_;
  at_barrier_.push_back(fiber);
  if (at_barrier_.size() == threads_ - ended_) FinishBarrier();
  fiber->Park();
  return last_barrier_;
}

void Multiprocessor::FinishBarrier() {
  if (ended_ != 0) {
    Misuse(fmt::format("{}: {} threads wait in __syncthreads for {} that have ended", Where(),
                       at_barrier_.size(), ended_));
  }
  last_barrier_ = std::exchange(votes_, {});
  // The first to arrive goes on first.
  ready_.insert(ready_.end(), at_barrier_.rbegin(), at_barrier_.rend());
  at_barrier_.clear();
}

const WarpValues& Multiprocessor::MeetWarp(WarpCall call, uint32_t mask, uint64_t value) {
  Fiber* const fiber = running_;
  const uint32_t lane = fiber->thread % 32;
  Warp& warp = warps_[fiber->thread / 32];
  if ((mask >> lane & 1) == 0) {
    FatalMisuse(fmt::format("{}: lane {} makes a call with the mask {:#x}, which it is not in",
                            Where(), lane, mask));
  }
  const auto found = std::find_if(warp.meetings.begin(), warp.meetings.end(),
                                  [&](const auto& meeting) { return meeting->mask == mask; });
  WarpMeeting& meeting = found != warp.meetings.end()
                             ? **found
                             : *warp.meetings.emplace_back(std::make_unique<WarpMeeting>());
  meeting.mask = mask;
  WarpValues& brought = meeting.brought[meeting.round % 2];
  if (meeting.arrived == 0) {
    meeting.call = call;
    brought.lanes = 0;
  } else if (meeting.call != call) {
    FatalMisuse(fmt::format("{}: lanes of one mask, {:#x}, make different calls", Where(), mask));
  }
  meeting.arrived |= 1u << lane;
  brought.values[lane] = value;
  brought.lanes |= 1u << lane;
  meeting.waiting.push_back(fiber);
  if (meeting.arrived == (mask & warp.live)) FinishMeeting(meeting);
  fiber->Park();
  return brought;
}

void Multiprocessor::FinishMeeting(WarpMeeting& meeting) {
  meeting.arrived = 0;
  ++meeting.round;
  ready_.insert(ready_.end(), meeting.waiting.rbegin(), meeting.waiting.rend());
  meeting.waiting.clear();
}

Votes SyncThreads(bool predicate) { return Multiprocessor::Current().SyncThreads(predicate); }

const WarpValues& MeetWarp(WarpCall call, uint32_t mask, uint64_t value) {
  return Multiprocessor::Current().MeetWarp(call, mask, value);
}

int Lane() { return Multiprocessor::Current().Lane(); }

void* DynamicShared() { return Multiprocessor::Current().DynamicShared(); }

}  // namespace cgraph::emulation
