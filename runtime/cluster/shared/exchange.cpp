#include "runtime/cluster/shared/exchange.h"

#include <unistd.h>

#include <atomic>
#include <cstring>

#include <fmt/format.h>

#include "runtime/base/text.h"

namespace cgraph::cluster {
namespace {

using Clock = std::chrono::steady_clock;

// All() looks this often by itself: an interrupted rank may receive no notification.
constexpr auto kBetweenLooks = std::chrono::milliseconds(20);

}  // namespace

// The words and the bytes are not written when they are made: another rank may have given its own
// by then.
Result<std::vector<std::span<const std::byte>>> Exchange::All(std::span<const std::byte> own,
                                                              const std::string& what) {
  RankState& state = control_.states[rank_];
  state.process.store(getpid(), std::memory_order_relaxed);
  state.step.Set(what);
  state.steps.fetch_add(1, std::memory_order_release);
  auto given = heap_.MakeZeroed<uint32_t>(count_, what);
  if (!given.ok()) return given.status();
  std::vector<std::span<const std::byte>> all;
  for (uint32_t rank = 0; rank < count_; ++rank) {
    auto bytes = heap_.MakeZeroed<std::byte>(own.size(), what);
    if (!bytes.ok()) return bytes.status();
    if (rank == rank_ && !own.empty()) std::memcpy(bytes->data(), own.data(), own.size());
    all.push_back(*bytes);
  }
  std::atomic_ref<uint32_t>((*given)[rank_]).store(1, std::memory_order_seq_cst);
  control_.changed.Notify();
  CGRAPH_RETURN_IF_ERROR(Await(*given, what));
  return all;
}

// Waits until all ranks have given theirs.
Status Exchange::Await(std::span<uint32_t> given, const std::string& what) {
  const Clock::time_point begun = Clock::now();
  for (uint32_t rank = 0; rank < count_; ++rank) {
    const auto come = [&] {
      return std::atomic_ref<uint32_t>(given[rank]).load(std::memory_order_seq_cst) != 0;
    };
    while (!come()) {
      if (interrupted_()) {
        return Status(StatusCode::kLost, "another process has ended while the plan was loaded");
      }
      if (patience_.count() > 0 && Clock::now() - begun > patience_) {
        return LateAt(given, what);
      }
      control_.changed.Wait(come, Clock::now() + kBetweenLooks);
    }
  }
  return Status::Ok();
}

// Says who has not come to the step that this rank is at, and who waits there.
Status Exchange::LateAt(std::span<uint32_t> given, const std::string& what) const {
  std::vector<uint32_t> waiting, missing;
  for (uint32_t rank = 0; rank < count_; ++rank) {
    const bool come = std::atomic_ref<uint32_t>(given[rank]).load(std::memory_order_acquire) != 0;
    (come ? waiting : missing).push_back(rank);
  }
  std::string text = fmt::format(
      "while the plan was loaded, {} {} waited {} s for {} to tell \"{}\"",
      RangesText(waiting, "rank ", ""), waiting.size() == 1 ? "has" : "have",
      std::chrono::duration<double>(patience_).count(), RangesText(missing, "rank ", ""), what);
  for (uint32_t rank : missing) {
    const RankState& late = control_.states[rank];
    if (late.steps.load(std::memory_order_acquire) == 0) {
      text += fmt::format("\nrank {} has told nothing yet", rank);
    } else {
      text += fmt::format("\nrank {} (process {}) has told \"{}\" last", rank,
                          late.process.load(std::memory_order_relaxed), late.step.Get());
    }
  }
  return Status(StatusCode::kTimeout, std::move(text));
}

}  // namespace cgraph::cluster
