// Exchange: what the ranks of one machine tell each other while they load a plan. Each step is one
// of all ranks: every one of them gives as many bytes, and gets those of all.
#ifndef CGRAPH_RUNTIME_CLUSTER_SHARED_EXCHANGE_H_
#define CGRAPH_RUNTIME_CLUSTER_SHARED_EXCHANGE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/shared/control.h"
#include "runtime/device/shared_heap.h"

namespace cgraph::cluster {

class Exchange {
 public:
  // `interrupted`: returns whether some rank will not come any more. `patience`: how long a step
  // waits for all to come; 0: for ever.
  Exchange(uint32_t rank, uint32_t count, device::SharedHeap& heap, Control& control,
           std::function<bool()> interrupted, std::chrono::nanoseconds patience)
      : rank_(rank),
        count_(count),
        heap_(heap),
        control_(control),
        interrupted_(std::move(interrupted)),
        patience_(patience) {}

  uint32_t rank() const { return rank_; }
  uint32_t count() const { return count_; }

  // Gives `own` and waits for those of all ranks; returns them, by rank: they stay as long as the
  // heap. Every rank calls it as often and with as many bytes. kLost where it was interrupted;
  // kTimeout, with who has not come and who waits, where not all come in time.
  Result<std::vector<std::span<const std::byte>>> All(std::span<const std::byte> own,
                                                      const std::string& what);

 private:
  Status Await(std::span<uint32_t> given, const std::string& what);
  Status LateAt(std::span<uint32_t> given, const std::string& what) const;

  const uint32_t rank_, count_;
  device::SharedHeap& heap_;
  Control& control_;
  const std::function<bool()> interrupted_;
  const std::chrono::nanoseconds patience_;
};

}  // namespace cgraph::cluster

#endif  // CGRAPH_RUNTIME_CLUSTER_SHARED_EXCHANGE_H_
