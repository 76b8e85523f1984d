// The rules that every carrier must keep. A candidate is a carrier of Carriers(), or a name with
// the reason why it is not here; then its cases are skipped with that sentence.
#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <set>
#include <thread>

#include "runtime/transport/carrier.h"
#include "tests/support/host_memory.h"
#include "tests/support/plans/sample_plans.h"

namespace cgraph::transport {
namespace {

template <typename Test>
void OnEveryCarrier(Test&& test) {
  std::set<std::string_view> here;
  for (const Carrier* carrier : Carriers()) {
    INFO("by " << carrier->name());
    here.insert(carrier->name());
    test(*carrier);
  }
  for (const char* name : {"shared", "mpi", "nccl"}) {
    if (!here.contains(name)) {
      WARN("skipped by " << name << ": this build has no carrier of that name");
    }
  }
  REQUIRE(!here.empty());
}

struct Ends {
  cgraph::testing::HostMemory host;
  std::unique_ptr<Channel> channel;
  EventCount sender, receiver;

  Ends(const Carrier& carrier, uint32_t capacity, uint32_t outstanding, uint32_t spans = 1) {
    auto made = carrier.MakeChannel({capacity, outstanding, spans, 64}, *host.heap);
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
std::unique_ptr<Collective> MakeSum(const Carrier& carrier, device::SharedHeap& heap,
                                    uint32_t members, uint64_t count) {
  auto made = carrier.MakeCollective(
      {CollectiveKind::kAllReduce, Reduction::kSum, 0, members, {{plan::DType::i64, count * 8}}},
      heap);
  REQUIRE(made.ok());
  return std::move(*made);
}

}  // namespace

TEST_CASE("an edge is served, or refused with the reason") {
  auto plan = plan::testing::ProducerConsumerPlan(0, 1, 1, 1, 1);
  plan::Graph& graph = *plan->graphs[0];
  REQUIRE(CarrierOfChannel(*plan, graph, 0).ok());
  const plan::Channel was = graph.channels[0];
  graph.channels[0] = plan::Channel(was.protocol(), plan::Carrier::host, was.communicator(),
                                    was.from_lane(), was.to_lane(), was.capacity());
  const Status refused = CarrierOfChannel(*plan, graph, 0).status();
  REQUIRE(refused.code() == StatusCode::kUnsupported);
  REQUIRE(refused.message().find("is carried by host, which is a copy") !=
          std::string::npos);
}

TEST_CASE("a rendezvous is over when both have been there") {
  OnEveryCarrier([](const Carrier& carrier) {
    Ends ends(carrier, 0, 1);
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
  OnEveryCarrier([](const Carrier& carrier) {
    Ends ends(carrier, 2, 2);
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
  OnEveryCarrier([](const Carrier& carrier) {
    for (uint32_t capacity : {0, 1}) {
      Ends ends(carrier, capacity, 1);
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
  OnEveryCarrier([](const Carrier& carrier) {
    for (uint32_t capacity : {0, 1, 3}) {
      Ends ends(carrier, capacity, std::max(1u, capacity));
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
  OnEveryCarrier([](const Carrier& carrier) {
    for (uint64_t count : {1, 5, 4000}) {
      constexpr uint32_t kMembers = 3;
      cgraph::testing::HostMemory host;
      const auto made = MakeSum(carrier, *host.heap, kMembers, count);
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
  OnEveryCarrier([](const Carrier& carrier) {
    constexpr uint32_t kMembers = 4;
    constexpr uint64_t kCount = 4000;  // so large that members wait for each other's shares
    for (uint32_t workers = 0; workers < 1u << kMembers; ++workers) {  // a bit per member
      for (uint32_t last = 0; last < kMembers; ++last) {
        for (uint32_t sleeper = 0; sleeper < 2; ++sleeper) {
          const uint32_t driven = (sleeper == 0 ? ~workers : workers) & ((1u << kMembers) - 1);
          if ((driven & ~(1u << last)) == 0) continue;  // it drives no other one
          INFO("workers " << workers << ", last " << last << ", sleeper " << sleeper);
          cgraph::testing::HostMemory host;
          const auto made = MakeSum(carrier, *host.heap, kMembers, kCount);
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
