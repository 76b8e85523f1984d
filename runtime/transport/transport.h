// Transport: moves bytes between lanes. Each transport has a folder beside this file, with one
// table of functions: they say of an edge of a plan whether it serves that edge and, if not, why,
// and make the edge's channel or collective.
//
// A plan asks for a transport by its kind. `Choose` takes the one that is asked for where that one
// serves the edge. A plan runs on other hardware than it was compiled for, too, so the rule there
// says what carries the edge instead. What a transport has to know is a property of the edge: which
// ranks have its ends, and which ends are on queues that carry out communications by themselves.
// Only ranks that have an end of an edge ask about it.
#ifndef CGRAPH_RUNTIME_TRANSPORT_TRANSPORT_H_
#define CGRAPH_RUNTIME_TRANSPORT_TRANSPORT_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/links.h"
#include "runtime/device/communicator.h"
#include "runtime/device/device.h"
#include "runtime/device/shared_heap.h"
#include "runtime/plan/plan.h"
#include "runtime/transport/channel.h"
#include "runtime/transport/collective.h"

namespace cgraph::transport {

// Edge: a channel or a collective of a graph, and where its ends are.
struct Edge {
  enum class Kind : uint8_t { kChannel, kCollective };
  struct End {
    uint32_t rank = 0;                 // that has it; ranks that share memory count as one
    device::Device* device = nullptr;  // null: another process's
    bool on_queue = false;             // of this rank, which carries out communications by itself
  };

  const plan::Plan* plan = nullptr;
  const plan::Graph* graph = nullptr;
  Kind kind = Kind::kChannel;
  uint32_t number = 0;  // of the channel or collective in the graph
  uint32_t rank = 0;    // this one
  std::vector<End> ends;  // of a channel the sender and the receiver; else by member
  // Where all ends are on queues: each device that reads reaches the memory of those it reads. Else
  // values go through pinned memory of the host.
  bool reaches = true;
  // The devices' own, which carries out the collective; null: none does.
  std::shared_ptr<device::Communicator> communicator;
  bool tells_flags = false;  // a value may be poisoned, at whatever rank
  uint32_t tag = 0;          // the first of its messages between ranks, the same at all

  plan::TransportKind asked() const;
  // Returns whether this rank, or ranks that share memory with it, have all ends.
  bool within() const {
    return std::all_of(ends.begin(), ends.end(), [&](const End& end) { return end.rank == rank; });
  }
  // Returns whether this rank, or ranks that share memory with it, have any end.
  bool any_here() const {
    return std::any_of(ends.begin(), ends.end(), [&](const End& end) { return end.rank == rank; });
  }
  bool any_on_queue() const {
    return std::any_of(ends.begin(), ends.end(), [](const End& end) { return end.on_queue; });
  }
  bool all_on_queues() const {
    return std::all_of(ends.begin(), ends.end(), [](const End& end) { return end.on_queue; });
  }
  // Returns whether threads take part that issue to queues: for a member on a queue, or since the
  // other end is none.
  bool host_takes_part() const {
    if (!any_on_queue() || communicator != nullptr) return false;
    return !all_on_queues() || (kind == Kind::kCollective && !reaches);
  }
};

// What channels and collectives are made of.
struct Context {
  device::SharedHeap* heap = nullptr;  // of all ranks that share memory
  device::Device* host = nullptr;      // of the caller, in whose memory lies what queues reach
  cluster::Links* links = nullptr;     // to ranks that share no memory; null: there are none
  uint32_t frames = 1;                 // of the graph
};

struct Transport {
  const char* name;

  // Returns null where it serves the edge, else the reason, which goes on from the edge's name:
  // "has an end on a queue".
  const char* (*why_not)(const Edge& edge);

  // Make what an edge that it serves needs; the heap and the links must outlive it. kInvalid when
  // there is no memory for the messages. Null: it serves no channels, or no collectives.
  Result<std::unique_ptr<Channel>> (*make_channel)(const Edge& edge, const ChannelShape& shape,
                                                   const Context& context);
  Result<std::unique_ptr<Collective>> (*make_collective)(const Edge& edge,
                                                         const CollectiveShape& shape,
                                                         const Context& context);
};

// The transports, one for each folder. NoTransport: null.
#define TRANSPORT(id, name, delivery, factory) const Transport* factory();
#include "runtime/base/kinds/transports.def"
const Transport* QueueTransport();  // no plan asks for it

// Returns all transports of this build, each once.
std::vector<const Transport*> Transports();

// Chooses what carries an edge. kUnsupported, with the reason, where nothing does.
Result<const Transport*> Choose(const Edge& edge);

// Returns kUnsupported where no transport carries what the edge asks for, wherever its ends are.
Status CheckAsked(const Edge& edge);

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_TRANSPORT_H_
