#include "runtime/ranks/shared/exchange.h"

#include <atomic>
#include <chrono>
#include <cstring>

namespace cgraph::ranks {
namespace {

// Who is interrupted is not always notified of it.
constexpr auto kBetweenLooks = std::chrono::milliseconds(20);

}  // namespace

// The words and the bytes are not written when they are made: another rank may have given its own
// by then.
Result<std::vector<std::span<const std::byte>>> Exchange::All(std::span<const std::byte> own,
                                                              const std::string& what) {
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
  for (uint32_t rank = 0; rank < count_; ++rank) {
    const auto come = [&] {
      return std::atomic_ref<uint32_t>((*given)[rank]).load(std::memory_order_seq_cst) != 0;
    };
    while (!come()) {
      if (interrupted_()) {
        was_interrupted_ = true;
        return Status(StatusCode::kLost, "another process has ended while the plan was loaded");
      }
      control_.changed.Wait(come, std::chrono::steady_clock::now() + kBetweenLooks);
    }
  }
  return all;
}

}  // namespace cgraph::ranks
