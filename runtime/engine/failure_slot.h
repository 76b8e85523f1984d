// FailureSlot: what a work queue of another rank reports of the execution that has a frame.
#ifndef CGRAPH_RUNTIME_ENGINE_FAILURE_SLOT_H_
#define CGRAPH_RUNTIME_ENGINE_FAILURE_SLOT_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/ranks/shared_text.h"

namespace cgraph::engine {

// One thread writes, rank 0 reads at any time: a sequence lock. The fields are read while they may
// be written; what was read then is dropped.
class FailureSlot {
 public:
  struct Failure {
    uint32_t program_order;
    std::string text;
  };

  // Keeps the first in program order of several.
  void Set(uint32_t position, std::string_view text) {
    const uint64_t version = version_.load(std::memory_order_relaxed);
    if (version != 0 && program_order_ <= position) return;
    version_.store(version + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    program_order_ = position;
    text_.Set(text);
    version_.store(version + 2, std::memory_order_release);
  }
  // Returns what was set last, if anything was.
  std::optional<Failure> Get() const {
    for (;;) {
      const uint64_t version = version_.load(std::memory_order_acquire);
      // While it is written there is nothing to be had: who waits asks again.
      if (version == 0 || version % 2 != 0) return std::nullopt;
      Failure failure{program_order_, std::string(text_.Get())};
      std::atomic_thread_fence(std::memory_order_acquire);
      if (version_.load(std::memory_order_relaxed) == version) return failure;
    }
  }
  // Returns what was set since this was asked last; one thread asks, and clears.
  std::optional<Failure> GetNew() {
    const uint64_t version = version_.load(std::memory_order_acquire);
    if (version == told_) return std::nullopt;
    std::optional<Failure> failure = Get();
    if (failure) told_ = version;
    return failure;
  }
  // Called when nobody writes.
  void Clear() {
    version_.store(0, std::memory_order_relaxed);
    told_ = 0;
  }

 private:
  std::atomic<uint64_t> version_{0};  // 0: empty; odd: while it is written
  uint64_t told_ = 0;                 // the version that GetNew() gave last
  uint32_t program_order_ = 0;
  ranks::SharedText<2000> text_;
};

// The slots of a frame, one for each work queue; none where there is one rank.
struct FailureSlots {
  std::atomic<bool>* any_set = nullptr;  // whether a slot was written: set afterwards
  std::span<FailureSlot> slots;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_FAILURE_SLOT_H_
