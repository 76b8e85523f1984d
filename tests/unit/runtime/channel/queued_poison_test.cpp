// A host's end of a communication that fails by itself, with an extent beyond its bound: the ends
// on queues, whose values and flags are all well, take its poison.
#include <catch2/catch.hpp>

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/channel/local/local_carrier.h"
#include "runtime/channel/queued/hosted_collective.h"
#include "runtime/channel/queued/staged_channel.h"
#include "runtime/device/backends.h"
#include "runtime/device/semaphore_array.h"
#include "runtime/device/sync/semaphore.h"
#include "tests/support/deferred/deferred.h"

namespace cgraph::channel {
namespace {

using cgraph::testing::DeferredOptions;
using device::Bindings;
using device::Operation;
using device::Tensor;

constexpr uint32_t kResult = 0, kUse = 1;  // flags: of what is received, and of what reads it
constexpr uint32_t kChecks[] = {kResult};

// A queue of a device, and a frame with two numbers: what is received, and a copy of it.
struct End {
  std::unique_ptr<device::Backend> backend;
  plan::Plan plan;
  std::unique_ptr<device::Device> host, device;
  std::unique_ptr<device::Queue> queue;
  device::EventCount event_count;
  device::SemaphoreArray done;
  device::Memory memory;
  Tensor tensors[2];
  std::atomic<uint8_t> flags[2] = {};
  std::atomic<bool> poisoned{false};
  Bindings bindings{tensors, nullptr, flags, &poisoned};
  Operation receive{&bindings, {{}, kResult}, {}, {}};
  std::vector<device::Report> reports;

  explicit End(uint64_t seed)
      : backend(cgraph::testing::MakeDeferredBackend(
            {.seed = seed, .communicates = DeferredOptions::Communicates::kAll})) {
    plan.devices.push_back(std::make_unique<plan::Device>());
    plan.devices.push_back(std::make_unique<plan::Device>());
    plan.devices[1]->kind = plan::DeviceKind::gpu;
    host = std::move(*backend->Open(plan, 0));
    device = std::move(*backend->Open(plan, 1));
    queue = std::move(*device->OpenQueue({&event_count, 0, false}));
    done = std::move(*device::SemaphoreArray::Make(*host, 1, "an end"));
    memory = std::move(*device->Allocate(2 * 8, device::MemoryKind::plain, "numbers"));
    for (uint32_t i = 0; i < 2; ++i) {
      tensors[i].dtype = plan::DType::i64;
      tensors[i].data = memory.data() + i * 8;
    }
  }

  // Issues what reads the result, and waits until all is over.
  void UseAndFinish() {
    device::Copy copy{{&bindings, {kChecks, kUse}, {}, {}}, &tensors[0], &tensors[1]};
    queue->Copy(copy);
    queue->Signal(&done[0], 1);
    while (!done[0].Reached(1)) queue->Poll(reports);
    queue->Poll(reports);
  }
  int64_t Number(uint32_t i) {
    int64_t number = 0;
    REQUIRE(device->CopyOut(&number, memory, i * 8, 8).ok());
    return number;
  }
  void CheckPoisoned(bool poison, int64_t number) {
    CHECK(bindings.Poisoned(kResult) == poison);
    CHECK(bindings.Poisoned(kUse) == poison);
    for (uint32_t i : {0, 1}) CHECK(Number(i) == (poison ? 0 : number));
    CHECK(reports.empty());  // the end that failed has one
  }
};

}  // namespace

TEST_CASE("a message that the host has poisoned poisons what a queue receives") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    for (const bool poison : {false, true}) {
      End end(seed);
      auto channel = MakeStagedChannel({1, 1, 1, 8, 8}, {.sends = true}, *end.host);
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
      end.CheckPoisoned(poison, 41);
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
      End end(seed);
      device::SharedHeap heap(*end.host);
      auto carried = LocalCarrier().MakeCollective(shape, heap);
      REQUIRE(carried.ok());
      auto made = MakeHostedCollective(shape, std::move(*carried), {true, false}, *end.host);
      REQUIRE(made.ok());
      Collective& collective = **made;
      device::EventCount event_counts[2];
      for (uint32_t m : {0, 1}) collective.SetEventCount(m, &event_counts[m]);
      int64_t given = 2, got = 0;
      const BufferSpan from{&given, sizeof given}, to{&got, sizeof got};
      collective.Arrive(1, 0, {&from, 1}, {&to, 1}, poison);
      Tensor value = end.tensors[1];  // 0
      const Tensor* const inputs[] = {&value, &value};
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
      end.CheckPoisoned(poison, 2);
    }
  }
}

}  // namespace cgraph::channel
