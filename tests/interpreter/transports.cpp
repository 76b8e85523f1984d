#include "tests/interpreter/transports.h"

namespace cgraph::interpreter {

Transports::Transports(const View& view, bool loose)
    : view_(view), loose_(loose), channels_(view.graph->channels.size()) {}

Ticket Transports::Start(uint32_t lane, Message message) {
  const PartView& part = *message.part;
  if (part.part == plan::Part::collective) {
    const uint32_t communicator = view_.graph->collectives[part.subject]->communicator;
    const uint32_t member = MemberOf(view_, communicator, lane);
    const uint64_t index = started_[{communicator, member}]++;
    Rendezvous& meeting = meetings_[{communicator, index}];
    meeting.messages.resize(Members(view_, communicator));
    meeting.started.resize(Members(view_, communicator), false);
    meeting.messages[member] = std::move(message);
    meeting.started[member] = true;
    return {communicator, member, index};
  }
  ChannelState& channel = channels_[part.subject];
  auto& queue = part.part == plan::Part::send ? channel.sent : channel.awaited;
  queue.push_back(std::move(message));
  return {part.subject, 0, queue.size() - 1};
}

bool Transports::Ready(const PartView& part, const Ticket& ticket) const {
  if (part.part == plan::Part::recv) {
    return channels_[ticket.group].sent.size() > ticket.index;
  }
  if (part.part == plan::Part::send) {
    const plan::Channel& channel = view_.graph->channels[ticket.group];
    const uint64_t capacity =
        channel.protocol() == plan::Protocol::buffered ? channel.capacity() : 0;
    return loose_ || channels_[ticket.group].awaited.size() + capacity > ticket.index;
  }
  const Rendezvous& meeting = meetings_.at({ticket.group, ticket.index});
  for (uint32_t from = 0; from < meeting.started.size(); ++from) {
    const bool needed =
        !loose_ || Flows(*view_.graph->collectives[part.subject], from, ticket.member);
    if (needed && !meeting.started[from]) {
      return false;
    }
  }
  return true;
}

std::vector<Content> Transports::Receive(const PartView& part, const Ticket& ticket,
                                       const std::vector<uint64_t>& lengths,
                                       std::string& mismatch) const {
  if (part.part == plan::Part::send) {
    return {};
  }
  if (part.part == plan::Part::recv) {
    const ChannelState& channel = channels_[ticket.group];
    return ReceiveMessage(channel.sent[ticket.index], channel.awaited[ticket.index], mismatch);
  }
  const Rendezvous& meeting = meetings_.at({ticket.group, ticket.index});
  const Message& own = meeting.messages[ticket.member];
  std::vector<std::vector<Content>> given(meeting.messages.size());
  for (uint32_t from = 0; from < meeting.messages.size(); ++from) {
    if (!meeting.started[from]) {
      continue;
    }
    const Message& message = meeting.messages[from];
    if (message.part->subject != part.subject || message.execution != own.execution) {
      mismatch = "members of a communicator meet in different collectives";
    }
    given[from] = message.contents;
  }
  return CollectiveOutputs(*view_.graph->collectives[part.subject], ticket.member, given, lengths);
}

std::vector<Content> Transports::ReceiveMessage(const Message& sent, const Message& awaited,
                                              std::string& mismatch) const {
  if (sent.execution != awaited.execution) {
    mismatch = "the ends of a transfer work for different executions";
  } else if (sent.part->at_bound != awaited.part->at_bound) {
    mismatch = "one end of a transfer moves the bound, the other the extent";
  } else if (sent.shapes.size() != awaited.shapes.size()) {
    mismatch = "the ends of a transfer have different numbers of values";
  } else if (!sent.empty && sent.shapes != awaited.shapes) {
    mismatch = "the ends of a transfer disagree in type or extent";
  }
  return sent.contents;
}

}  // namespace cgraph::interpreter
