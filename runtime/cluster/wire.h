// Wire: sends bytes between the ranks that a launcher started, on one machine or on several. A
// library of its own implements it for each MPI (runtime/cluster/mpi), behind the table of C
// functions of wire_table.h.
//
// One thread at a time calls it. Nothing blocks but what says so.
#ifndef CGRAPH_RUNTIME_CLUSTER_WIRE_H_
#define CGRAPH_RUNTIME_CLUSTER_WIRE_H_

#include <cstdint>
#include <optional>
#include <string>

namespace cgraph::cluster {

class Wire {
 public:
  // Request: something that was begun; gone once Over() has returned true.
  using Request = uint64_t;
  // Incoming: a message that has arrived, or of which at least its beginning has. It has to be
  // received.
  struct Incoming {
    uint32_t from = 0;
    uint32_t tag = 0;
    uint64_t bytes = 0;
    uint64_t handle = 0;
  };

  virtual ~Wire() = default;
  virtual uint32_t rank() const = 0;
  virtual uint32_t count() const = 0;   // of ranks
  virtual uint32_t most_tag() const = 0;
  virtual std::string library() const = 0;  // "Open MPI v4.1.4"
  // Returns this rank's share of its machine's cores (ShareOfCores).
  virtual double share_of_cores() const = 0;

  // Begins to send `bytes` (a multiple of kMessageUnit) from memory that stays as it is until the
  // request is over. Messages from one rank to another with one tag arrive in the order in which
  // they are begun.
  virtual Request BeginSend(uint32_t to, uint32_t tag, const void* data, uint64_t bytes) = 0;
  virtual std::optional<Incoming> Probe() = 0;
  virtual Request BeginReceive(const Incoming& message, void* to) = 0;
  virtual bool Over(Request request) = 0;

  // Ends the connection, once nobody sends any more; blocks until all ranks have called it.
  virtual void Finish() = 0;
  // Ends all ranks at once; does not return.
  virtual void Abort(int exit_code) = 0;

  static constexpr uint64_t kMessageUnit = 64;
};

}  // namespace cgraph::cluster

#endif  // CGRAPH_RUNTIME_CLUSTER_WIRE_H_
