// Network: wires between the virtual ranks of a simulation, and who tells rank 0 that one is gone.
//
// A message is late by a time that the seed decides. Those from one rank to another with one tag
// keep their order; nothing else does (runtime/cluster/wire.h promises no more). What is sent is
// read from the sender's memory as late as may be and compared with what it was when the send
// began; a receive writes its memory when it begins, and what has come when it is over.
//
// When a rank is killed, a part of what it was sending is lost, each tag from some message on; what
// is sent to it stays under way for ever. Rank 0 hears of it some time later.
#ifndef CGRAPH_TESTS_SIMULATION_NETWORK_H_
#define CGRAPH_TESTS_SIMULATION_NETWORK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cluster/supervision.h"
#include "runtime/cluster/wire.h"
#include "tests/simulation/scheduler.h"

namespace cgraph::simulation {

// What is wrong with a network, to see that somebody notices.
enum class WireFault {
  kNone,
  kTwice,  // a message comes twice
  kLost,   // a message never comes
  kEarly,  // a receive is over before its bytes are there
};

class Network {
 public:
  Network(Scheduler& scheduler, uint32_t ranks, WireFault wire_fault);
  ~Network();

  cluster::Wire& wire(uint32_t rank);
  // The message that goes wrong, of those that channels and collectives send.
  void FailAt(uint64_t which) { fails_at_ = which; }
  // A rank is gone now.
  void Cut(uint32_t rank);
  // The supervision of rank 0.
  std::unique_ptr<cluster::Supervision> Supervise();
  // From now on the rank has its wire for itself: what it sends has left at once, and what it hears
  // is that rank 0 ends its engine and then its process.
  void Isolate(uint32_t rank);
  // Returns whether a rank has ended all of them at once (Wire::Abort).
  bool aborted() const { return aborted_; }
  // Returns what was done that a wire does not allow; empty: nothing.
  const std::string& fault() const { return fault_; }
  // Returns when rank 0 was told that a rank is gone.
  std::optional<int64_t> told_ns() const { return told_ns_; }

 private:
  using Wire = cluster::Wire;
  class End;
  class Told;

  struct Message {
    uint32_t from = 0, tag = 0;
    const std::byte* data = nullptr;  // the sender's memory
    std::vector<std::byte> bytes;     // what was in it when the send began
    bool eager = false;               // the sender does not wait for the receiver
    bool received = false;
    bool unfilled = false;             // never copied: a fault
    int64_t seen_ns = 0, sent_ns = 0;  // from when on it is seen, and has left
  };
  using MessagePointer = std::shared_ptr<Message>;
  struct Receive {
    MessagePointer message;
    std::byte* to = nullptr;
    int64_t over_ns = 0;
  };
  struct Rank {
    bool cut = false, isolated = false;
    bool bidden = false;  // an isolated rank has heard that its engine is to end
    int64_t next_farewell_ns = 0;
    bool finishes = false;
    bool inside = false;  // a call: one at a time
    std::map<std::pair<uint32_t, uint32_t>, std::deque<MessagePointer>> coming;  // by from, tag
  };

  uint64_t BeginSend(uint32_t from, uint32_t to, uint32_t tag, const std::byte* data,
                     uint64_t bytes);
  std::optional<Wire::Incoming> Probe(uint32_t rank);
  uint64_t BeginReceive(const Wire::Incoming& incoming, std::byte* to);
  bool Over(uint32_t rank, uint64_t request);
  void Finish(uint32_t rank);
  static MessagePointer Farewell(bool quit);
  void CheckMemory(const Message& message);
  int64_t Delay();

  Scheduler& scheduler_;
  const WireFault wire_fault_;
  uint64_t fails_at_ = ~0ull, sent_ = 0;
  std::string fault_;
  bool aborted_ = false;
  uint64_t last_ = 0;  // request or handle
  std::vector<Rank> ranks_;
  std::map<uint64_t, MessagePointer> sends_, probed_;
  std::map<uint64_t, Receive> receives_;
  std::vector<std::unique_ptr<End>> ends_;
  Told* told_ = nullptr;
  std::optional<int64_t> told_ns_;
};

}  // namespace cgraph::simulation

#endif  // CGRAPH_TESTS_SIMULATION_NETWORK_H_
