// FailureSlot: what a work queue of another rank reports of the execution that has a frame.
#ifndef CGRAPH_RUNTIME_LOAD_FAILURE_SLOT_H_
#define CGRAPH_RUNTIME_LOAD_FAILURE_SLOT_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/cluster/shared/shared_text.h"

namespace cgraph::engine {

// One thread writes, rank 0 reads at any time: a sequence lock. The fields are read while they may
// be written; what was read then is dropped.
class FailureSlot {
 public:
  struct Failure {
    uint32_t program_order;
    std::string text;
    uint64_t version;  // of the slot: another one for each change
  };

  // Keeps the first in program order of several.
  void Set(uint32_t position, std::string_view text) {
    if (full_ && program_order_ <= position) return;
    Write([&] {
      full_ = true;
      program_order_ = position;
      text_.Set(text);
    });
  }
  // Returns what was set last, if anything was.
  std::optional<Failure> Get() const {
    for (;;) {
      const uint64_t version = version_.load(std::memory_order_acquire);
      // While it is written there is nothing to return; the reader asks again.
      if (version % 2 != 0) return std::nullopt;
      const bool full = full_;
      Failure failure{program_order_, full ? std::string(text_.Get()) : "", version};
      std::atomic_thread_fence(std::memory_order_acquire);
      if (version_.load(std::memory_order_relaxed) != version) continue;
      return full ? std::optional(std::move(failure)) : std::nullopt;
    }
  }
  // Called when no other thread sets it.
  void Clear() {
    if (full_) Write([&] { full_ = false; });
  }

 private:
  template <typename Change>
  void Write(Change&& change) {
    const uint64_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    change();
    version_.store(version + 2, std::memory_order_release);
  }

  std::atomic<uint64_t> version_{0};  // odd: while it is written
  bool full_ = false;
  uint32_t program_order_ = 0;
  cluster::SharedText<2000> text_;
};

// The slots of a frame, one for each work queue; none where there is one rank.
struct FailureSlots {
  std::atomic<bool>* any_set = nullptr;  // whether a slot was written: set afterwards
  std::span<FailureSlot> slots;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_FAILURE_SLOT_H_
