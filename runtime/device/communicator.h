// Communicator: devices of one backend that carry out collectives among themselves, by a library
// of the backend's. Each member has a rank, as in the plan's communicator.
//
// A member's queue takes its parts of collectives (Queue::Collect) and issues those of one group
// together (Queue::EndCollectives). All members issue the same collectives in the same order. A
// collective moves values whether or not they are poisoned; the flags of results follow from those
// of all members, as for every operation.
#ifndef CGRAPH_RUNTIME_DEVICE_COMMUNICATOR_H_
#define CGRAPH_RUNTIME_DEVICE_COMMUNICATOR_H_

#include <optional>

#include "runtime/kinds/collective.h"
#include "runtime/plan/plan.h"

namespace cgraph::device {

class Communicator {
 public:
  virtual ~Communicator() = default;  // no operation of it is pending
  // Returns whether it carries out collectives of this kind on elements of this type.
  virtual bool Serves(CollectiveKind kind, std::optional<Reduction> reduction,
                      plan::DType dtype) const = 0;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_COMMUNICATOR_H_
