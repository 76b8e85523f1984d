#include "compiler/inspect/draw/facts/messages.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/inspect/graph_messages.h"
#include "runtime/plan/graph_index.h"

namespace cgraph {
namespace {

// Message: the parts of the sender and the receiver, and the lanes that these are on.
struct Message {
  uint32_t send = 0, receive = 0;
  std::pair<uint32_t, uint32_t> lanes;
};

std::vector<Message> FindMessages(const plan::Plan& plan, const plan::Graph& graph) {
  std::vector<Message> messages;
  const plan::GraphIndex index = IndexMessages(plan, graph);
  for (const CollectiveParts parts : CollectivesOf(index)) {
    const std::optional<size_t> sender = SenderOf(graph, parts);
    if (!sender) continue;
    const plan::CollectivePart &from = parts[*sender], &to = parts[1 - *sender];
    messages.push_back({static_cast<uint32_t>(from.part),
                        static_cast<uint32_t>(to.part),
                        {index.lane(from.instruction), index.lane(to.instruction)}});
  }
  return messages;
}

uint32_t CountTransfers(const plan::Graph& graph) {
  uint32_t count = 0;
  for (const plan::CommPart& part : graph.parts) count += part.part() == plan::Part::send;
  return count;
}

}  // namespace

std::unique_ptr<plan::Plan> WithMessages(const plan::Plan& plan, uint32_t number) {
  const std::vector<Message> messages = FindMessages(plan, plan::GraphAt(plan, number));
  if (messages.empty()) return nullptr;
  auto shown = std::make_unique<plan::Plan>(plan);
  plan::Graph& graph = plan::GraphAt(*shown, number);
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> channels;  // by lanes
  uint32_t transfer = CountTransfers(graph);
  for (const Message& message : messages) {
    const auto [channel, is_new] = channels.try_emplace(
        message.lanes, static_cast<uint32_t>(graph.channels.size()));
    plan::CommPart& send = graph.parts[message.send];
    plan::CommPart& receive = graph.parts[message.receive];
    if (is_new) {
      const plan::Collective& collective = *graph.collectives[send.subject()];
      graph.channels.emplace_back(plan::Protocol::rendezvous, collective.transport,
                                  collective.communicator, message.lanes.first,
                                  message.lanes.second, /*capacity=*/0);
    }
    const auto flags = static_cast<uint8_t>(send.flags() & ~plan::kIsMessage);
    send = {plan::Part::send, flags, send.inputs(), 0, channel->second, transfer,
            send.first()};
    receive = {plan::Part::recv, flags, 0, receive.outputs(), channel->second, transfer,
               receive.first()};
    ++transfer;
  }
  return shown;
}

}  // namespace cgraph
