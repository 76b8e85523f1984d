// A host's end of a communication that fails by itself, with an extent beyond its bound: the ends
// on queues, whose values and flags are all well, take its poison.
#include <catch2/catch.hpp>

#include "runtime/transport/queue/queue_transport.h"
#include "runtime/transport/transport.h"
#include "tests/unit/runtime/transport/queued_end.h"

namespace cgraph::transport {

TEST_CASE("a message that the host has poisoned poisons what a queue receives") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    for (const bool poison : {false, true}) {
      QueuedEnd end(seed);
      auto channel = MakeStagedChannel({1, 1, 1, 8, 8}, /*host_sends=*/true,
                                       /*host_receives=*/false, *end.host);
      REQUIRE(channel.ok());
      int64_t number = 41;
      const BufferSpan span{&number, sizeof number};
      REQUIRE((*channel)->TrySend(0, {&span, 1}, poison));
      REQUIRE((*channel)->ReadyToReceive(0));
      const QueuedMessage message{end.queue.get(), 0, &end.receive, nullptr, end.tensors, 1};
      for (Pass pass : {Pass::kShow, Pass::kMove, Pass::kEnd}) {
        (*channel)->IssueReceive(pass, message);
      }
      end.UseAndFinish();
      end.CheckAll(poison, 41);
    }
  }
}

TEST_CASE("a member of the host's that fails by itself poisons the result of one on a queue") {
  CollectiveShape shape;
  shape.kind = CollectiveKind::kAllReduce;
  shape.reduction = Reduction::kSum;
  shape.members = 2;
  shape.tensors = {{plan::DType::i64, 8}};
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    for (const bool poison : {false, true}) {
      QueuedEnd end(seed);
      device::SharedHeap heap(*end.host);
      auto carried = LocalTransport()->make_collective(Edge(), shape, {&heap, end.host.get()});
      REQUIRE(carried.ok());
      auto made = MakeHostedCollective(shape, std::move(*carried), {true, false}, *end.host);
      REQUIRE(made.ok());
      Collective& collective = **made;
      EventCount event_counts[2];
      for (uint32_t m : {0, 1}) collective.SetEventCount(m, &event_counts[m]);
      int64_t given = 2, got = 0;
      const BufferSpan from{&given, sizeof given}, to{&got, sizeof got};
      collective.Arrive(1, 0, {&from, 1}, {&to, 1}, poison);
      device::Tensor value = end.tensors[1];  // 0
      const device::Tensor* const inputs[] = {&value, &value};
      const QueuedMember member{end.queue.get(), 0,           0,  &end.receive,
                                inputs,          end.tensors, {}, false};
      for (Pass pass : {Pass::kShow, Pass::kMove, Pass::kEnd}) {
        for (int tries = 0; !collective.Prepare(pass, member); ++tries) {
          REQUIRE(tries < 1'000'000);
          end.queue->Poll(end.reports);
          if (pass == Pass::kEnd && tries == 0) collective.Reduce(1, 0);
        }
        collective.Issue(pass, member);
      }
      end.UseAndFinish();
      end.CheckAll(poison, 2);
    }
  }
}

}  // namespace cgraph::transport
