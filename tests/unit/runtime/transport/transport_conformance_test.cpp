// The rules that every transport must keep, tried by threads of one process on each of Transports()
// that serves such an edge; for the others its reason is said. And what carries which edge.
#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "runtime/device/communicator.h"
#include "runtime/transport/transport.h"
#include "tests/support/host_memory.h"
#include "tests/support/plans/sample_plans.h"

namespace cgraph::transport {
namespace {

Edge AmongThreads(Edge::Kind kind, uint32_t ends) {
  Edge edge;
  edge.kind = kind;
  edge.ends.resize(ends);
  return edge;
}

template <typename Test>
void OnEveryTransport(Edge::Kind kind, Test&& test) {
  size_t here = 0;
  for (const Transport* transport : Transports()) {
    const std::string name(transport->name);
    const char* const why_not = transport->why_not(AmongThreads(kind, 2));
    if (why_not != nullptr) {
      WARN("skipped by " << name << ": an edge among threads " << why_not);
      continue;
    }
    INFO("by " << name);
    ++here;
    test(*transport);
  }
  REQUIRE(here != 0);
}
template <typename Test>
void OnEveryChannel(Test&& test) {
  OnEveryTransport(Edge::Kind::kChannel, test);
}
template <typename Test>
void OnEveryCollective(Test&& test) {
  OnEveryTransport(Edge::Kind::kCollective, test);
}

Context ContextOf(const cgraph::testing::HostMemory& host) {
  Context context;
  context.heap = host.heap.get();
  context.host = host.device.get();
  return context;
}

struct Ends {
  cgraph::testing::HostMemory host;
  std::unique_ptr<Channel> channel;
  EventCount sender, receiver;

  Ends(const Transport& transport, uint32_t capacity, uint32_t outstanding, uint32_t spans = 1) {
    auto made = transport.make_channel(AmongThreads(Edge::Kind::kChannel, 2),
                                      {capacity, outstanding, spans, 64}, ContextOf(host));
    REQUIRE(made.ok());
    channel = std::move(*made);
    channel->SetEventCounts(&sender, &receiver);
  }
  bool Send(uint64_t n, int64_t& number, bool poison = false) {
    const BufferSpan span{&number, sizeof number};
    return channel->TrySend(n, {&span, 1}, poison);
  }
  bool Receive(uint64_t n, int64_t& number) {
    const BufferSpan span{&number, sizeof number};
    return channel->Receive(n, {&span, 1});
  }
};

// An all_reduce by sums of `count` integers.
std::unique_ptr<Collective> MakeSum(const Transport& transport,
                                    const cgraph::testing::HostMemory& host, uint32_t members,
                                    uint64_t count) {
  auto made = transport.make_collective(
      AmongThreads(Edge::Kind::kCollective, members),
      {CollectiveKind::kAllReduce, Reduction::kSum, 0, members, {{plan::DType::i64, count * 8}}},
      ContextOf(host));
  REQUIRE(made.ok());
  return std::move(*made);
}

// A graph with one channel and one collective, both by the same transport.
struct OneOfEach {
  std::unique_ptr<plan::Plan> plan = plan::testing::ProducerConsumerPlan(0, 1, 1, 1, 1);
  plan::Graph& graph = *plan->graphs[0];

  explicit OneOfEach(plan::TransportKind asked) {
    const plan::Channel was = graph.channels[0];
    graph.channels[0] = plan::Channel(was.protocol(), asked, was.communicator(), was.from_lane(),
                                      was.to_lane(), was.capacity());
    graph.collectives.push_back(std::make_unique<plan::Collective>());
    graph.collectives[0]->transport = asked;
  }
  Edge EdgeOf(Edge::Kind kind, std::vector<Edge::End> ends) const {
    Edge edge = AmongThreads(kind, 2);
    edge.plan = plan.get();
    edge.graph = &graph;
    edge.ends = std::move(ends);
    return edge;
  }
};

}  // namespace

TEST_CASE("an edge goes by what the plan asks for, and else by what serves it") {
  using enum plan::TransportKind;
  const Edge::End thread, queue{0, nullptr, true}, far{1, nullptr, false};
  struct Row {
    plan::TransportKind asked;
    std::vector<Edge::End> ends;
    bool communicator;
    const char *channel, *collective;
  };
  const Row rows[] = {
      {local, {thread, thread}, false, "local", "local"},
      {shm, {thread, thread}, false, "local", "local"},
      {nccl, {thread, thread}, false, "local", "local"},
      {mpi, {thread, thread}, false, "local", "local"},
      {mpi, {thread, far}, false, "mpi", "mpi"},
      {mpi, {far, far}, false, "mpi", "mpi"},
      {mpi, {queue, far}, false, "mpi", "queue"},
      {mpi, {queue, far}, true, "mpi", "nccl"},
      {nccl, {queue, queue}, true, "queue", "nccl"},
      {nccl, {queue, queue}, false, "queue", "queue"},
      {shm, {queue, queue}, true, "queue", "nccl"},
      {shm, {queue, thread}, false, "queue", "queue"},
  };
  for (const Row& row : rows) {
    const OneOfEach plan(row.asked);
    INFO("by " << wire::EnumNameTransportKind(row.asked) << ", " << row.channel << ", "
               << row.collective);
    Edge channel = plan.EdgeOf(Edge::Kind::kChannel, row.ends);
    Edge collective = plan.EdgeOf(Edge::Kind::kCollective, row.ends);
    if (row.communicator) collective.communicator = std::make_shared<device::Communicator>();
    for (const auto& [edge, name] :
         {std::pair(channel, row.channel), std::pair(collective, row.collective)}) {
      const auto chosen = Choose(edge);
      REQUIRE(chosen.ok());
      REQUIRE((*chosen)->name == std::string(name));
    }
  }
}

TEST_CASE("what no transport carries is refused with the reason") {
  const OneOfEach plan(plan::TransportKind::host);
  const std::pair<Edge::Kind, const char*> cases[] = {
      {Edge::Kind::kChannel, "is carried by host, which is a copy and no channel"},
      {Edge::Kind::kCollective, "is carried by host, which this engine has not"}};
  for (const auto& [kind, reason] : cases) {
    const Status refused = Choose(plan.EdgeOf(kind, {{}, {}})).status();
    REQUIRE(refused.code() == StatusCode::kUnsupported);
    REQUIRE(refused.message().find(reason) != std::string::npos);
  }
}

TEST_CASE("a rendezvous is over when both have been there") {
  OnEveryChannel([](const Transport& transport) {
    Ends ends(transport, 0, 1);
    int64_t sent = 41, got = 0, next = 42;
    REQUIRE(!ends.channel->Arrived(0));
    REQUIRE(ends.Send(0, sent));
    REQUIRE(!ends.channel->Sent(0));
    REQUIRE(!ends.Send(1, next));  // no room yet
    REQUIRE(ends.channel->Arrived(0));
    REQUIRE(!ends.Receive(0, got));
    REQUIRE(got == 41);
    REQUIRE(ends.channel->Sent(0));
    REQUIRE(!ends.channel->Arrived(1));
    REQUIRE(ends.Send(1, next));
    REQUIRE(!ends.Receive(1, got));
    REQUIRE(got == 42);
  });
}

TEST_CASE("a buffered channel takes as many as it has room for, and keeps what was sent") {
  OnEveryChannel([](const Transport& transport) {
    Ends ends(transport, 2, 2);
    int64_t number = 1, got = 0;
    REQUIRE(ends.Send(0, number));
    REQUIRE(ends.channel->Sent(0));
    number = 2;  // the sender's memory is its own again
    REQUIRE(ends.Send(1, number));
    number = 3;
    REQUIRE(!ends.Send(2, number));
    REQUIRE(!ends.Receive(0, got));
    REQUIRE(got == 1);
    REQUIRE(ends.Send(2, number));
    REQUIRE(!ends.Receive(1, got));
    REQUIRE(got == 2);
    REQUIRE(!ends.Receive(2, got));
    REQUIRE(got == 3);
  });
}

TEST_CASE("a mark travels with its message and moves no bytes") {
  OnEveryChannel([](const Transport& transport) {
    for (uint32_t capacity : {0, 1}) {
      Ends ends(transport, capacity, 1);
      int64_t sent = 7, got = 5;
      REQUIRE(ends.Send(0, sent, true));
      REQUIRE(ends.Receive(0, got));
      REQUIRE(got == 5);
      REQUIRE(ends.Send(1, sent));
      REQUIRE(!ends.Receive(1, got));
      REQUIRE(got == 7);
    }
  });
}

TEST_CASE("two threads, every message once and in order") {
  OnEveryChannel([](const Transport& transport) {
    for (uint32_t capacity : {0, 1, 3}) {
      Ends ends(transport, capacity, std::max(1u, capacity));
      constexpr int64_t kMessages = 500;
      std::thread sender([&] {
        for (int64_t n = 0; n < kMessages; ++n) {
          int64_t number = n * n;
          const auto sent = [&, shown = false]() mutable {
            shown = shown || ends.Send(n, number, n % 7 == 0);
            return shown && ends.channel->Sent(n);
          };
          auto done = sent;
          while (!done()) std::this_thread::yield();
        }
      });
      int64_t wrong = 0;
      for (int64_t n = 0; n < kMessages; ++n) {
        while (!ends.channel->Arrived(n)) std::this_thread::yield();
        int64_t got = -1;
        const bool poison = ends.Receive(n, got);
        wrong += poison != (n % 7 == 0) || got != (poison ? -1 : n * n);
      }
      sender.join();
      REQUIRE(wrong == 0);
    }
  });
}

// Sums over members, small and large: the same bits at all, by member slots that are driven in
// turn.
TEST_CASE("a collective is over when all have been there, and marks everybody") {
  OnEveryCollective([](const Transport& transport) {
    for (uint64_t count : {1, 5, 4000}) {
      constexpr uint32_t kMembers = 3;
      cgraph::testing::HostMemory host;
      const auto made = MakeSum(transport, host, kMembers, count);
      Collective& all = *made;
      EventCount event_count;
      std::vector<std::vector<int64_t>> in(kMembers, std::vector<int64_t>(count)), out = in;
      for (uint32_t m = 0; m < kMembers; ++m) all.SetEventCount(m, &event_count);
      for (uint64_t round = 0; round < 5; ++round) {
        const bool marked = round == 3;
        for (uint32_t m = 0; m < kMembers; ++m) {
          std::iota(in[m].begin(), in[m].end(), static_cast<int64_t>(m * 10 + round));
          REQUIRE(!all.AllArrived(round));
          const BufferSpan from{in[m].data(), count * 8}, to{out[m].data(), count * 8};
          all.Arrive(m, round, {&from, 1}, {&to, 1}, marked && m == 1);
          for (uint32_t other = 0; other < kMembers; ++other) {
            REQUIRE((all.PresenceOf(other, round) == Presence::kAway) == (other > m));
          }
        }
        REQUIRE(all.AllArrived(round));
        for (uint32_t m = 0; m < kMembers; ++m) {
          REQUIRE(all.Reduce(m, round) == marked);
          if (count != 4000) continue;  // who waits for no share need not say who has done his
          for (uint32_t other = 0; other < kMembers; ++other) {
            REQUIRE(all.PresenceOf(other, round) ==
                    (other <= m ? Presence::kLeft : Presence::kPresent));
          }
        }
        REQUIRE(all.Left(round));
        if (marked) continue;
        for (uint64_t i = 0; i < count; ++i) {
          const int64_t sum = 30 + 3 * static_cast<int64_t>(round + i);
          for (uint32_t m = 0; m < kMembers; ++m) REQUIRE(out[m][i] == sum);
        }
      }
    }
  });
}

// A worker may drive several members, in any order. The last one moves here after a worker has
// tried its others and has announced that it sleeps.
TEST_CASE("whoever drives another member hears of the last one that moves") {
  OnEveryCollective([](const Transport& transport) {
    constexpr uint32_t kMembers = 4;
    constexpr uint64_t kCount = 4000;  // so large that members wait for each other's shares
    for (uint32_t workers = 0; workers < 1u << kMembers; ++workers) {  // a bit per member
      for (uint32_t last = 0; last < kMembers; ++last) {
        for (uint32_t sleeper = 0; sleeper < 2; ++sleeper) {
          const uint32_t driven = (sleeper == 0 ? ~workers : workers) & ((1u << kMembers) - 1);
          if ((driven & ~(1u << last)) == 0) continue;  // it drives no other one
          INFO("workers " << workers << ", last " << last << ", sleeper " << sleeper);
          cgraph::testing::HostMemory host;
          const auto made = MakeSum(transport, host, kMembers, kCount);
          Collective& all = *made;
          EventCount event_counts[2];
          std::vector<std::vector<int64_t>> in(kMembers, std::vector<int64_t>(kCount)), out = in;
          const auto arrive = [&](uint32_t m) {
            const BufferSpan from{in[m].data(), kCount * 8}, to{out[m].data(), kCount * 8};
            all.Arrive(m, 0, {&from, 1}, {&to, 1}, false);
          };
          const auto hears_of = [&](auto&& move) {
            return event_counts[sleeper].Wait(
                [&] {
                  move(last);
                  return false;
                },
                std::chrono::steady_clock::now() + std::chrono::seconds(5));
          };
          for (uint32_t m = 0; m < kMembers; ++m) {
            all.SetEventCount(m, &event_counts[workers >> m & 1]);
          }
          for (uint32_t m = 0; m < kMembers; ++m) {
            if (m != last) arrive(m);
          }
          REQUIRE(hears_of(arrive));
          for (uint32_t m = 0; m < kMembers; ++m) {
            if (m != last) all.Reduce(m, 0);
          }
          REQUIRE(hears_of([&](uint32_t m) { all.Reduce(m, 0); }));
          REQUIRE(all.Left(0));
        }
      }
    }
  });
}

}  // namespace cgraph::transport
