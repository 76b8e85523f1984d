// Messages between lanes: channels and collectives in progress.
//
// A strict transport holds exactly what its protocol says; a loose one buffers anything, so a send
// may be over before anybody receives. Deadlocks show under strict ones, races under loose ones.
#ifndef CGRAPH_TESTS_INTERPRETER_TRANSPORTS_H_
#define CGRAPH_TESTS_INTERPRETER_TRANSPORTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/interpreter/meaning.h"
#include "tests/interpreter/symbolic.h"
#include "tests/interpreter/view.h"

namespace cgraph::interpreter {

// One value as an end of a transfer describes it: dtype, bytes, and each extent as that end knows
// it. The ends must agree.
using Shape = std::vector<Tag>;

// One part of a communication that has started.
struct Message {
  const PartView* part = nullptr;
  int64_t execution = 0;
  bool empty = false;             // of an execution that nobody submitted
  std::vector<Content> contents;  // sent or contributed
  std::vector<Shape> shapes;      // of what is sent or contributed; of what is received, for recv
};

// Ticket: the position of a started part among those that it must meet.
struct Ticket {
  uint32_t group = 0;   // channel or communicator
  uint32_t member = 0;  // of the communicator
  uint64_t index = 0;   // counted over rounds
};

class Transports {
 public:
  Transports(const View& view, bool loose);

  Ticket Start(uint32_t lane, Message message);
  // Returns whether the other parts that the part needs have started.
  bool Ready(const PartView& part, const Ticket& ticket) const;
  // Returns contents for the part's outputs, once ready; sets `mismatch` when the ends disagree.
  std::vector<Content> Receive(const PartView& part, const Ticket& ticket,
                               const std::vector<uint64_t>& lengths, std::string& mismatch) const;

 private:
  struct ChannelState {
    std::vector<Message> sent;
    std::vector<Message> awaited;
  };
  // Rendezvous: the index-th collective of a communicator, with what each member has started.
  struct Rendezvous {
    std::vector<Message> messages;
    std::vector<bool> started;
  };
  std::vector<Content> ReceiveMessage(const Message& sent, const Message& awaited,
                                      std::string& mismatch) const;

  const View& view_;
  const bool loose_;
  std::vector<ChannelState> channels_;
  std::map<std::pair<uint32_t, uint64_t>, Rendezvous> meetings_;  // by communicator and index
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> started_;  // by communicator and member
};

}  // namespace cgraph::interpreter

#endif  // CGRAPH_TESTS_INTERPRETER_TRANSPORTS_H_
