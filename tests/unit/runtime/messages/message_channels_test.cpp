// Channels and collectives between ranks that share no memory, over wires that are late with
// everything: order, slots, capacity, poison flags and results.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <set>

#include "runtime/plan/kinds.h"
#include "runtime/transport/local/local_collective.h"
#include "runtime/transport/mpi/collective/sections.h"
#include "runtime/transport/mpi/mpi_transport.h"
#include "tests/support/host_memory.h"
#include "tests/unit/runtime/messages/wires.h"

namespace cgraph::testing {
namespace {

using transport::BufferSpan;
using transport::Channel;
using transport::ChannelShape;
using transport::Collective;
using transport::CollectiveShape;
using cluster::Messenger;

// Value: memory of its own for each value, so that whoever goes beyond it is found by a sanitizer.
using Value = std::vector<std::byte>;

Value Random(std::mt19937_64& random, uint64_t bytes) {
  Value value(bytes);
  for (uint64_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t number = random();
    std::memcpy(value.data() + at, &number, std::min(sizeof(number), bytes - at));
  }
  return value;
}
std::vector<BufferSpan> SpansOf(std::vector<Value>& values) {
  std::vector<BufferSpan> spans;
  for (Value& value : values) spans.push_back({value.data(), value.size()});
  return spans;
}
void Scribble(std::vector<Value>& values) {
  for (Value& value : values) std::fill(value.begin(), value.end(), std::byte{0xee});
}

struct Ranks {
  Network network;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Messenger>> messengers;

  Ranks(uint32_t ranks, uint64_t seed) : network(ranks, seed), random(seed) {
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      messengers.push_back(std::make_unique<Messenger>(network.wire(rank)));
    }
  }
  uint32_t count() const { return network.count(); }
  uint64_t Below(uint64_t end) { return random() % end; }
  void PollOne() { messengers[Below(count())]->Poll(); }
  void Settle() {
    bool all = false;
    for (int i = 0; i < 100000 && !all; ++i) {
      all = true;
      for (const auto& messenger : messengers) {
        messenger->Poll();
        all &= messenger->AllSent();
      }
      all &= network.Quiet();
    }
    REQUIRE(all);
    REQUIRE(network.fault() == "");
  }
};

// ---- channels -----------------------------------------------------------------------------------

// Transfer: a channel, with what is to go through it.
struct Transfer {
  ChannelShape shape;
  uint32_t from = 0, to = 0;
  std::vector<std::unique_ptr<Channel>> at;  // by rank
  EventCount sender, receiver;
  struct Message {
    std::vector<Value> values;
    bool poison = false;
  };
  std::vector<Message> messages;
  uint64_t sent = 0, received = 0;

  Transfer(Ranks& ranks, uint32_t tag) {
    from = static_cast<uint32_t>(ranks.Below(ranks.count()));
    to = (from + 1 + ranks.Below(ranks.count() - 1)) % ranks.count();
    shape.capacity = ranks.Below(5);
    shape.outstanding = 1 + ranks.Below(4);
    shape.spans = 1 + ranks.Below(3);
    shape.value_bytes = ranks.Below(8) == 0 ? 5000 : ranks.Below(120);
    shape.message_bytes = shape.spans * shape.value_bytes;
    for (uint64_t n = 20 + ranks.Below(20); n > 0; --n) {
      Message message;
      message.poison = ranks.Below(6) == 0;
      for (uint64_t values = 1 + ranks.Below(shape.spans); values > 0; --values) {
        message.values.push_back(Random(ranks.random, ranks.Below(shape.value_bytes + 1)));
      }
      messages.push_back(std::move(message));
    }
    for (uint32_t rank = 0; rank < ranks.count(); ++rank) {
      auto made = transport::MakeMessageChannel(shape, *ranks.messengers[rank], tag, from, to);
      REQUIRE(made.ok());
      (*made)->SetEventCounts(&sender, &receiver);
      at.push_back(std::move(*made));
    }
  }
  bool over() const { return received == messages.size(); }
  uint32_t slots() const {
    return shape.capacity == 0 ? shape.outstanding : std::min(shape.outstanding, shape.capacity);
  }

  // Sends the next message, from memory that is the sender's again afterwards.
  bool TrySend() {
    if (sent == messages.size()) return false;
    std::vector<Value> values = messages[sent].values;
    if (!at[from]->TrySend(sent, SpansOf(values), messages[sent].poison)) return false;
    REQUIRE(at[from]->Sent(sent));
    Scribble(values);
    ++sent;
    REQUIRE(sent - received <= slots());
    return true;
  }
  bool TryReceive() {
    if (over() || !at[to]->Arrived(received)) return false;
    REQUIRE(received < sent);
    REQUIRE(!at[to]->Arrived(sent));
    const Message& message = messages[received];
    std::vector<Value> values, untouched;
    for (const Value& value : message.values) values.emplace_back(value.size(), std::byte{0x11});
    untouched = values;
    REQUIRE(at[to]->Receive(received, SpansOf(values)) == message.poison);
    REQUIRE(values == (message.poison ? untouched : message.values));
    ++received;
    return true;
  }
};

TEST_CASE("messages of a channel arrive in order, as many at once as it has room for") {
  uint64_t full = 0;
  for (uint64_t seed = 1; seed <= 2000 / kSanitizedShare; ++seed) {
    CAPTURE(seed);
    Ranks ranks(2 + seed % 3, seed);
    std::vector<std::unique_ptr<Transfer>> transfers;
    for (uint32_t i = 0; i < 1 + seed % 4; ++i) {
      transfers.push_back(std::make_unique<Transfer>(ranks, 1 + i));
    }
    uint64_t steps = 0;
    const auto over = [](const auto& transfer) { return transfer->over(); };
    while (!std::all_of(transfers.begin(), transfers.end(), over)) {
      REQUIRE(++steps < 1'000'000);
      ranks.PollOne();
      Transfer& transfer = *transfers[ranks.Below(transfers.size())];
      if (ranks.Below(2) == 0) {
        full += !transfer.TrySend();
      } else {
        transfer.TryReceive();
      }
    }
    ranks.Settle();
    for (const auto& transfer : transfers) {
      REQUIRE(!transfer->at[transfer->to]->Arrived(transfer->received));
    }
  }
  REQUIRE(full > 0);  // there were channels without room
}

TEST_CASE("a channel is made again with tags that late messages do not have") {
  for (uint64_t seed = 1; seed <= 300 / kSanitizedShare; ++seed) {
    CAPTURE(seed);
    Ranks ranks(2, seed);
    uint32_t tag = 1;
    for (int round = 0; round < 3; ++round, ++tag) {
      Transfer transfer(ranks, tag);
      // Ends before all of it was received: what is left over is dropped where it arrives.
      for (int step = 0; step < 60; ++step) {
        ranks.PollOne();
        if (ranks.Below(2) == 0) transfer.TrySend();
        else transfer.TryReceive();
      }
      for (const auto& messenger : ranks.messengers) {
        while (!messenger->AllSent()) ranks.PollOne();
      }
    }
    ranks.Settle();
  }
}

// ---- collectives --------------------------------------------------------------------------------

constexpr CollectiveKind kKinds[] = {
#define COLLECTIVE(id, name, from, to, rows, reduces) CollectiveKind::id,
#include "runtime/base/kinds/collectives.def"
};
constexpr plan::DType kDTypes[] = {plan::DType::f32, plan::DType::f16, plan::DType::bf16,
                                   plan::DType::i32, plan::DType::i64};

// Gathering: a collective with what its members bring in each round, and what they got of the same
// in one address space.
struct Gathering {
  CollectiveShape shape;
  const uint32_t first_tag;
  std::vector<uint32_t> rank_of;                // by member
  std::vector<std::unique_ptr<Collective>> at;  // by rank
  std::vector<EventCount> event_counts;
  struct Part {
    std::vector<Value> inputs, outputs;  // by tensor
    bool poison = false, poisoned = false;
  };
  std::vector<std::vector<Part>> rounds;  // by member
  enum Phase { kBefore, kArrived, kReduced };
  struct Member {
    uint64_t round = 0;
    Phase phase = kBefore;
    std::vector<Value> inputs, outputs;
  };
  std::vector<Member> members;

  Gathering(Ranks& ranks, uint32_t tag, device::SharedHeap& heap) : first_tag(tag) {
    MakeShape(ranks);
    for (uint32_t m = 0; m < shape.members; ++m) {
      rank_of.push_back(static_cast<uint32_t>(ranks.Below(ranks.count())));
    }
    event_counts = std::vector<EventCount>(shape.members);
    members.resize(shape.members);
    for (uint32_t rank = 0; rank < ranks.count(); ++rank) {
      auto made = transport::MakeMessageCollective(shape, *ranks.messengers[rank], first_tag,
                                                 rank_of);
      REQUIRE(made.ok());
      for (uint32_t m = 0; m < shape.members; ++m) (*made)->SetEventCount(m, &event_counts[m]);
      at.push_back(std::move(*made));
    }
    auto local = transport::LocalCollective::Make(shape, heap);
    REQUIRE(local.ok());
    for (uint32_t m = 0; m < shape.members; ++m) (*local)->SetEventCount(m, &event_counts[m]);
    for (uint64_t n = 0; n < 6; ++n) rounds.push_back(MakeRound(ranks, **local, n));
  }

  void MakeShape(Ranks& ranks) {
    shape.kind = kKinds[ranks.Below(std::size(kKinds))];
    const CollectiveTraits& traits = TraitsOf(shape.kind);
    shape.members = 1 + ranks.Below(5);
    shape.root = traits.rooted() ? ranks.Below(shape.members) : 0;
    const uint64_t tensors = shape.kind == CollectiveKind::kBarrier ? 0 : 1 + ranks.Below(3);
    if (traits.reduces) shape.reduction = static_cast<Reduction>(ranks.Below(5));
    for (uint64_t t = 0; t < tensors; ++t) {
      plan::DType dtype = kDTypes[ranks.Below(std::size(kDTypes))];
      if (shape.reduction == Reduction::kAvg) dtype = kDTypes[ranks.Below(3)];
      // Some are as large as what is divided into slices.
      const uint64_t elements = ranks.Below(6) == 0 ? 1500 : ranks.Below(40);
      const uint64_t large = ranks.Below(8) == 0 ? transport::kSlicedBytes : 0;
      const uint64_t unit = shape.members * plan::DTypeBytes(dtype);
      shape.tensors.push_back({dtype, (large / unit + elements) * unit});
    }
  }

  std::vector<Part> MakeRound(Ranks& ranks, Collective& local, uint64_t n) {
    const CollectiveTraits& traits = TraitsOf(shape.kind);
    std::vector<Part> parts(shape.members);
    for (const CollectiveShape::Tensor& tensor : shape.tensors) {
      // Extents differ between rounds, not between members; a part is a whole number of elements.
      const uint64_t unit = plan::DTypeBytes(tensor.dtype) * (traits.divides() ? shape.members : 1);
      const uint64_t given = ranks.Below(3) == 0 ? tensor.bytes
                                                 : ranks.Below(tensor.bytes / unit + 1) * unit;
      const uint64_t got = traits.rows == CollectiveTraits::kTimes  ? given * shape.members
                           : traits.rows == CollectiveTraits::kOver ? given / shape.members
                                                                    : given;
      for (uint32_t m = 0; m < shape.members; ++m) {
        if (traits.gives(m, shape.root)) {
          parts[m].inputs.push_back(Random(ranks.random, given));
        }
        if (traits.gets(m, shape.root)) parts[m].outputs.emplace_back(got, std::byte{0x22});
      }
    }
    for (uint32_t m = 0; m < shape.members; ++m) {
      parts[m].poison = ranks.Below(12) == 0;
      local.Arrive(m, n, SpansOf(parts[m].inputs), SpansOf(parts[m].outputs), parts[m].poison);
    }
    REQUIRE(local.AllArrived(n));
    for (uint32_t m = 0; m < shape.members; ++m) parts[m].poisoned = local.Reduce(m, n);
    REQUIRE(local.Left(n));
    return parts;
  }

  bool over() const {
    return std::all_of(members.begin(), members.end(),
                       [&](const Member& member) { return member.round == rounds.size(); });
  }

  // Returns the bytes of values that go from rank to rank in all rounds, by the formula of the
  // kind: m members, of which k are at one of n ranks, each give s bytes.
  uint64_t FormulaBytes() const {
    const auto at = [&](uint32_t member) {
      return std::count(rank_of.begin(), rank_of.end(), rank_of[member]);
    };
    const uint64_t others = std::set<uint32_t>(rank_of.begin(), rank_of.end()).size() - 1;
    uint64_t bytes = 0;
    for (const std::vector<Part>& parts : rounds) {
      bool poisoned = false;
      for (const Part& part : parts) poisoned |= part.poison;
      for (uint32_t m = 0; m < shape.members; ++m) {
        for (size_t t = 0; t < parts[m].inputs.size(); ++t) {
          const uint64_t s = parts[m].inputs[t].size(), elsewhere = shape.members - at(m);
          const bool to_other = rank_of[m] != rank_of[shape.root];
          uint64_t inputs = 0, slices = 0;
          switch (shape.kind) {
            case CollectiveKind::kAllReduce:
              if (shape.tensors[t].bytes >= transport::kSlicedBytes) {
                for (uint32_t of = 0; of < shape.members; ++of) {
                  const auto slice = transport::SectionRange(transport::Division::kSlices,
                                                           shape.members, of, s);
                  if (rank_of[of] != rank_of[m]) inputs += slice.bytes;
                  if (of == m) slices = others * slice.bytes;
                }
                break;
              }
              [[fallthrough]];
            case CollectiveKind::kAllGather:
            case CollectiveKind::kBroadcast: inputs = others * s; break;
            case CollectiveKind::kReduce:
            case CollectiveKind::kGather: inputs = to_other ? s : 0; break;
            case CollectiveKind::kReduceScatter:
            case CollectiveKind::kAllToAll:
            case CollectiveKind::kScatter: inputs = elsewhere * (s / shape.members); break;
            case CollectiveKind::kBarrier: break;
          }
          if (!parts[m].poison) bytes += inputs;
          if (!poisoned) bytes += slices;
        }
      }
    }
    return bytes;
  }
  // Compares it with what was sent. A message has a header of a unit or more, and ends with a unit;
  // its sections, at most one for each member and tensor, begin at multiples of 16.
  void CheckSent(Ranks& ranks) const {
    const auto [messages, sent] = ranks.network.Sent(first_tag, first_tag + shape.members);
    const uint64_t values = FormulaBytes();
    CAPTURE(int(shape.kind), shape.members, rank_of);
    REQUIRE(sent >= values + 64 * messages);
    REQUIRE(sent <= values + messages * (2 * 64 + 24 * shape.members * shape.tensors.size() + 63));
  }
  bool sliced() const {
    return shape.kind == CollectiveKind::kAllReduce &&
           std::any_of(shape.tensors.begin(), shape.tensors.end(), [](const auto& tensor) {
             return tensor.bytes >= transport::kSlicedBytes;
           });
  }
  bool between_ranks() const {
    return std::count(rank_of.begin(), rank_of.end(), rank_of[0]) < long(rank_of.size());
  }

  // Has one member do the next thing that it can.
  void Step(uint32_t m) {
    Member& member = members[m];
    if (member.round == rounds.size()) return;
    Collective& collective = *at[rank_of[m]];
    const Part& part = rounds[member.round][m];
    if (member.phase == kBefore) {
      member.inputs = part.inputs;
      member.outputs.clear();
      for (const Value& value : part.outputs) {
        member.outputs.emplace_back(value.size(), std::byte{0x22});
      }
      collective.Arrive(m, member.round, SpansOf(member.inputs), SpansOf(member.outputs),
                        part.poison);
      member.phase = kArrived;
    } else if (member.phase == kArrived) {
      if (!collective.AllArrived(member.round)) return;
      for (const Member& other : members) {
        REQUIRE(other.round + (other.phase != kBefore) > member.round);
      }
      const bool poisoned = collective.Reduce(m, member.round);
      REQUIRE(poisoned == part.poisoned);
      member.phase = kReduced;
    } else if (collective.Left(member.round)) {
      if (!part.poisoned) REQUIRE(member.outputs == part.outputs);
      Scribble(member.inputs);
      ++member.round;
      member.phase = kBefore;
    }
  }
};

TEST_CASE("a collective has the results of one address space, in every round") {
  HostMemory host;
  uint64_t between = 0, sliced = 0;
  std::array<uint64_t, std::size(kKinds)> of_kind{};
  for (uint64_t seed = 1; seed <= 3000 / kSanitizedShare; ++seed) {
    CAPTURE(seed);
    Ranks ranks(2 + seed % 3, seed);
    host.heap = std::make_unique<device::SharedHeap>(*host.device);
    std::vector<std::unique_ptr<Gathering>> gatherings;
    uint32_t tag = 1;
    for (uint32_t i = 0; i < 1 + seed % 2; ++i) {
      gatherings.push_back(std::make_unique<Gathering>(ranks, tag, *host.heap));
      tag += gatherings.back()->shape.members;
      if (!gatherings.back()->between_ranks()) continue;
      ++between;
      ++of_kind[static_cast<size_t>(gatherings.back()->shape.kind)];
      sliced += gatherings.back()->sliced();
    }
    uint64_t steps = 0;
    const auto over = [](const auto& gathering) { return gathering->over(); };
    while (!std::all_of(gatherings.begin(), gatherings.end(), over)) {
      REQUIRE(++steps < 1'000'000);
      ranks.PollOne();
      Gathering& gathering = *gatherings[ranks.Below(gatherings.size())];
      gathering.Step(static_cast<uint32_t>(ranks.Below(gathering.shape.members)));
    }
    ranks.Settle();
    for (const auto& gathering : gatherings) gathering->CheckSent(ranks);
  }
  REQUIRE(between > 2000 / kSanitizedShare);  // collectives with members at several ranks
  REQUIRE(sliced > 20 / kSanitizedShare);
  for (uint64_t collectives : of_kind) REQUIRE(collectives > 100 / kSanitizedShare);
}

}  // namespace
}  // namespace cgraph::testing
