// Which transport carries a value from one device to another, and why.
//
// One function decides, for elaboration (which reports what cannot be served), for the scheduler
// (which lowers the choice) and for `--emit transports` (which prints the reason).
#ifndef CGRAPH_COMPILER_GRAPH_TRANSPORTS_H_
#define CGRAPH_COMPILER_GRAPH_TRANSPORTS_H_

#include <string>

#include "compiler/base/transport.h"
#include "compiler/graph/graph.h"

namespace cgraph {

struct TransportChoice {
  bool possible = false;
  TransportKind transport = TransportKind::kAuto;  // never kAuto when possible
  std::string reason;       // why this one; or why it cannot be, as a clause without a subject
  std::string could_serve;  // when not possible: "auto, shm, mpi or host"
};

// An edge from a device to itself is local whatever was asked. Logical devices are judged, not what
// they are mapped to.
TransportChoice ChooseTransport(const graph::Module& module, graph::DeviceId from,
                                graph::DeviceId to, TransportKind asked);

// How a collective of these devices goes; `asked` kAuto leaves the choice.
TransportChoice ChooseGroupTransport(const graph::Module& module,
                                     const std::vector<graph::DeviceId>& participants,
                                     TransportKind asked);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_GRAPH_TRANSPORTS_H_
