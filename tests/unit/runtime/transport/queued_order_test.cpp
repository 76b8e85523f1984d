// What waits for what in communications of queues: what a queue is to do is issued when the host
// has done its part, and memory that others read is written again when they have.
#include <catch2/catch.hpp>

#include <utility>
#include <vector>

#include "runtime/transport/queue/queue_transport.h"
#include "runtime/transport/transport.h"
#include "tests/unit/runtime/transport/queued_end.h"

namespace cgraph::transport {

// Whether it is poisoned is known then, and no stream waits for the host.
TEST_CASE("a queue receives a message of the host's when it has been sent") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    for (const bool poison : {false, true}) {
      QueuedEnd end(seed);
      auto channel = MakeStagedChannel({1, 1, 1, 8, 8}, /*host_sends=*/true,
                                       /*host_receives=*/false, *end.host);
      REQUIRE(channel.ok());
      int64_t number = 41;
      const BufferSpan span{&number, sizeof number};
      const QueuedMessage message{end.queue.get(), 0, &end.receive, nullptr, end.tensors, 1};
      const bool early = (*channel)->ReadyToReceive(0);
      CHECK(!early);
      if (early) (*channel)->IssueReceive(Pass::kMove, message);
      REQUIRE((*channel)->TrySend(0, {&span, 1}, poison));
      REQUIRE((*channel)->ReadyToReceive(0));
      if (!early) (*channel)->IssueReceive(Pass::kMove, message);
      end.UseAndFinish();
      end.CheckAll(poison, 41);
    }
  }
}

TEST_CASE("a queue sends a message when the one before it in its slot has been taken") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    QueuedEnd end(seed);
    EventCount event_count;
    auto sender = end.device->OpenQueue({&event_count, 0, false});
    REQUIRE(sender.ok());
    auto channel = MakeStagedChannel({1, 1, 1, 8, 8}, false, false, *end.host);
    REQUIRE(channel.ok());
    const device::Operation send{&end.bindings, {{}, device::kNoFlag}, {}, {}};
    int64_t numbers[] = {41, 42};
    device::Tensor from[2];
    for (uint32_t n : {0, 1}) {
      from[n].dtype = plan::DType::i64;
      from[n].data = &numbers[n];
      (*channel)->IssueSend(Pass::kShow, {sender->get(), n, &send, &from[n], nullptr, 1});
    }
    while ((*sender)->Poll(end.reports)) continue;  // all that goes on without the receiver
    for (uint32_t n : {0, 1}) {
      (*channel)->IssueReceive(Pass::kMove,
                               {end.queue.get(), n, &end.receive, nullptr, end.tensors, 1});
      end.UseAndFinish();
      end.CheckAll(/*poison=*/false, numbers[n]);
    }
  }
}

TEST_CASE("a member goes on when all others have taken its values where they lie") {
  CollectiveShape shape;
  shape.kind = CollectiveKind::kBroadcast;
  shape.members = 2;
  shape.tensors = {{plan::DType::i64, 8}};
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    QueuedEnd end(seed);
    EventCount event_count;
    auto root = end.device->OpenQueue({&event_count, 0, false});
    REQUIRE(root.ok());
    device::Device* const devices[] = {end.device.get(), end.device.get()};
    auto collective = MakeQueuedCollective(shape, devices, *end.host, /*frames=*/1);
    REQUIRE(collective.ok());
    int64_t numbers[] = {41, 42};
    device::Tensor values[2];
    for (uint32_t i : {0, 1}) {
      values[i].dtype = plan::DType::i64;
      values[i].data = &numbers[i];
    }
    const device::Operation send{&end.bindings, {{}, device::kNoFlag}, {}, {}};
    const device::Tensor* const inputs[] = {&values[0], nullptr};
    const QueuedMember gives{root->get(), 0, 0, &send, inputs, nullptr, {}, false};
    const QueuedMember gets{end.queue.get(), 0, 1, &end.receive, inputs, end.tensors, {}, false};
    (*collective)->Issue(Pass::kShow, gets);
    for (Pass pass : {Pass::kShow, Pass::kMove, Pass::kEnd}) (*collective)->Issue(pass, gives);
    (*root)->Copy({send, &values[1], &values[0]});
    while ((*root)->Poll(end.reports)) continue;  // all that goes on without the other member
    (*collective)->Issue(Pass::kMove, gets);
    (*collective)->Issue(Pass::kEnd, gets);
    end.UseAndFinish();
    end.CheckAll(/*poison=*/false, 41);
  }
}

// Each member makes a part of a large result for all others.
TEST_CASE("a queue takes the result of a collective when all members have made their part") {
  constexpr uint64_t kCount = 1024;
  CollectiveShape shape;
  shape.kind = CollectiveKind::kAllReduce;
  shape.reduction = Reduction::kSum;
  shape.members = 2;
  shape.tensors = {{plan::DType::i64, kCount * 8}};
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    QueuedEnd end(seed, kCount);
    device::SharedHeap heap(*end.host);
    auto carried = LocalTransport()->make_collective(Edge(), shape, {&heap, end.host.get()});
    REQUIRE(carried.ok());
    auto made = MakeHostedCollective(shape, std::move(*carried), {true, false}, *end.host);
    REQUIRE(made.ok());
    Collective& collective = **made;
    EventCount event_counts[2];
    for (uint32_t m : {0, 1}) collective.SetEventCount(m, &event_counts[m]);
    std::vector<int64_t> given(kCount, 2), got(kCount);
    const BufferSpan from{given.data(), kCount * 8}, to{got.data(), kCount * 8};
    collective.Arrive(1, 0, {&from, 1}, {&to, 1}, /*poison=*/false);
    device::Tensor value = end.tensors[1];  // 0
    const device::Tensor* const inputs[] = {&value, &value};
    const QueuedMember member{end.queue.get(), 0, 0, &end.receive, inputs, end.tensors, {}, false};
    bool shared = false;
    for (Pass pass : {Pass::kShow, Pass::kMove, Pass::kEnd}) {
      // The host's member does its share when the queue has done all that it could do without.
      while (!collective.Prepare(pass, member)) {
        end.Finish();
        if (pass == Pass::kEnd && !std::exchange(shared, true)) collective.Reduce(1, 0);
      }
      collective.Issue(pass, member);
      end.Finish();
    }
    if (!shared) collective.Reduce(1, 0);
    end.UseAndFinish();
    end.CheckAll(/*poison=*/false, 2);
    CHECK(got == given);
  }
}

}  // namespace cgraph::transport
