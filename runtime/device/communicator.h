// Communicator: devices of one backend that carry out collectives among themselves, by a library
// of the backend's. Each member has a rank, as in the plan's communicator.
//
// Values of a communicator's collectives lie in memory of the kind `symmetric`. Once all of it has
// its place, the engine has the members' memory registered, so that the library may read and write
// it where it lies.
//
// A member's queue takes its parts of collectives (Queue::Collect) and issues those of one group
// together (Queue::EndCollectives). All members issue the same collectives in the same order. A
// collective moves values whether or not they are poisoned; the flags of results follow from those
// of all members, as for every operation.
#ifndef CGRAPH_RUNTIME_DEVICE_COMMUNICATOR_H_
#define CGRAPH_RUNTIME_DEVICE_COMMUNICATOR_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "runtime/base/kinds/collective.h"
#include "runtime/base/status.h"
#include "runtime/device/memory.h"
#include "runtime/plan/plan.h"

namespace cgraph::device {

// What the processes of one communicator know each other by.
struct CommunicatorId {
  std::array<std::byte, 128> bytes{};
};

// What a process says of a communicator before anybody joins.
struct CommunicatorOffer {
  bool joins = false;
  CommunicatorId id;  // where it was to make one
};

class Communicator {
 public:
  virtual ~Communicator() = default;  // no operation of it is pending
  // Registers memory in which values of its collectives lie, by rank; before any is issued. In the
  // first `common` bytes each value lies at one offset at all ranks that have it; 0: it does not.
  // From then on a member's issuer may wait in EndCollectives until all members have issued the
  // same, so each needs a thread of its own. Where the library cannot, nothing is registered.
  // kFailed with its error.
  virtual Status Register(std::span<const Memory* const> /*blocks*/, uint64_t /*common*/) {
    return Status::Ok();
  }
  // Undoes it, before the memory is freed. No operation is pending.
  virtual void Deregister() {}
  // Lets issuers that wait for others give up: these issue nothing any more.
  virtual void Stop() {}
  // Waits until what was aborted of it has ended, at most for this long (0: for ever). Called when
  // the queues are closed. False where the library has not ended it by then, which is as if a queue
  // could not be closed (Queue::Close).
  virtual bool Close(std::chrono::nanoseconds /*stall_timeout*/) { return true; }
};

class Device;

// Communicators: a device that makes communicators with others of its backend.
class Communicators {
 public:
  virtual ~Communicators() = default;
  // Returns whether communicators that this device is the first of carry out collectives of this
  // kind on elements of this type.
  virtual bool CarriesOut(CollectiveKind kind, std::optional<Reduction> reduction,
                          plan::DType dtype) const = 0;
  // Makes the communicator of these devices, by rank, which is number `number` of the plan; this
  // device is the first of them. The same arguments give the same communicator. Null where the
  // backend has none for them. kFailed with the error of the backend's library.
  virtual Result<std::shared_ptr<Communicator>> MakeCommunicator(
      uint32_t number, std::span<Device* const> members) = 0;
  // The same of devices that several processes serve: each joins with its own. `units`: by rank, a
  // number of the physical device, which none on any machine shares. What a process would do is
  // said first; all join or none, by one id, which one of them has made (`makes_id`). `members`: by
  // rank, null for another process's.
  virtual Result<CommunicatorOffer> OfferCommunicator(uint32_t number,
                                                      std::span<const uint32_t> units,
                                                      bool makes_id) = 0;
  virtual Result<std::shared_ptr<Communicator>> JoinCommunicator(
      uint32_t number, std::span<Device* const> members, std::span<const uint32_t> units,
      const CommunicatorId& id) = 0;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_COMMUNICATOR_H_
