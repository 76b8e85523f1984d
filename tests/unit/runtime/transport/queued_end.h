// An end of a communication on a queue of the deferred device, for tests that do by hand what a
// worker does: the host's part of it first, and then what the queue is to do.
#ifndef CGRAPH_TESTS_UNIT_RUNTIME_CHANNEL_QUEUED_END_H_
#define CGRAPH_TESTS_UNIT_RUNTIME_CHANNEL_QUEUED_END_H_

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/sync/semaphore.h"
#include "runtime/device/backends.h"
#include "runtime/device/semaphore_array.h"
#include "tests/support/deferred/queue_of_device.h"

namespace cgraph::transport {

inline constexpr uint32_t kResult = 0, kUse = 1;  // flags: of what is received, of what reads it
inline constexpr uint32_t kChecks[] = {kResult};

// A queue of a device, and a frame with two values: what is received, and a copy of it.
struct QueuedEnd : cgraph::testing::QueueOfDevice {
  device::SemaphoreArray done;
  uint64_t finished = 0;
  device::Memory memory;
  device::Tensor tensors[2];
  std::atomic<uint8_t> flags[2] = {};
  std::atomic<bool> poisoned{false};
  device::Bindings bindings{tensors, nullptr, flags, &poisoned};
  device::Operation receive{&bindings, {{}, kResult}, {}, {}};

  // Each value has `count` numbers.
  explicit QueuedEnd(uint64_t seed, uint64_t count = 1) : QueueOfDevice(seed) {
    done = std::move(*device::SemaphoreArray::Make(*host, 1, "an end"));
    memory = std::move(*device->Allocate(2 * 8 * count, device::MemoryKind::plain, "numbers"));
    for (uint32_t i = 0; i < 2; ++i) {
      tensors[i].dtype = plan::DType::i64;
      tensors[i].data = memory.data() + i * 8 * count;
      tensors[i].rank = 1;
      tensors[i].dims[0] = static_cast<int64_t>(count);
    }
  }

  // Waits until all that was issued is over.
  void Finish() {
    queue->Signal(&done[0], ++finished);
    while (!done[0].Reached(finished)) queue->Poll(reports);
    queue->Poll(reports);
  }
  // Issues what reads the result, and waits until all is over.
  void UseAndFinish() {
    queue->Copy({{&bindings, {kChecks, kUse}, {}, {}}, &tensors[0], &tensors[1]});
    Finish();
  }
  std::vector<int64_t> Numbers(uint32_t value) {
    std::vector<int64_t> numbers(static_cast<size_t>(tensors[value].dims[0]));
    const auto offset = static_cast<uint64_t>(static_cast<std::byte*>(tensors[value].data) -
                                              memory.data());
    REQUIRE(device->CopyOut(numbers.data(), memory, offset, numbers.size() * 8).ok());
    return numbers;
  }
  // Checks that both values have this number everywhere or, where they are poisoned, nothing.
  void CheckAll(bool poison, int64_t number) {
    CHECK(bindings.Poisoned(kResult) == poison);
    CHECK(bindings.Poisoned(kUse) == poison);
    for (uint32_t value : {0, 1}) {
      const std::vector<int64_t> numbers = Numbers(value);
      const auto expected = std::count(numbers.begin(), numbers.end(), poison ? 0 : number);
      CHECK(expected == tensors[value].dims[0]);
    }
    CHECK(reports.empty());  // the end that failed has one
  }
};

}  // namespace cgraph::transport

#endif  // CGRAPH_TESTS_UNIT_RUNTIME_CHANNEL_QUEUED_END_H_
