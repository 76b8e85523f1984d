// What carries the bytes of a transport, in the plan's words.
#ifndef CGRAPH_COMPILER_EMIT_CARRIER_H_
#define CGRAPH_COMPILER_EMIT_CARRIER_H_

#include "compiler/base/transport.h"
#include "runtime/plan/plan.h"

namespace cgraph::emit {

inline plan::Carrier PlanCarrier(Transport transport) {
  switch (transport) {
    case Transport::kShm: return plan::Carrier::shm;
    case Transport::kNccl: return plan::Carrier::nccl;
    case Transport::kMpi: return plan::Carrier::mpi;
    case Transport::kHost: return plan::Carrier::host;
    case Transport::kLocal: case Transport::kAuto: return plan::Carrier::local;
  }
  return plan::Carrier::local;
}

}  // namespace cgraph::emit

#endif  // CGRAPH_COMPILER_EMIT_CARRIER_H_
