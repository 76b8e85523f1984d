// What the deferred device adds to a device's rules: several threads poll one machine.
#include <catch2/catch.hpp>

#include <functional>
#include <utility>

#include "tests/support/deferred/deferred.h"

namespace cgraph::device::testing {
namespace {

using cgraph::testing::MakeDeferredBackend;

class Once : public Communication {
 public:
  explicit Once(std::function<bool()> advance) : advance_(std::move(advance)) {}
  Progress Advance(uint64_t, std::string&) override {
    return advance_() ? Progress::kDone : Progress::kPending;
  }

 private:
  std::function<bool()> advance_;
};

// Polls until nothing moves, after which an issuer sleeps until somebody notifies it.
void PollUntilIdle(Queue& queue) {
  std::vector<Report> reports;
  while (queue.Poll(reports)) {
  }
}

}  // namespace

// The other issuer's thread looks at the receive too early; the message comes, which notifies the
// receive's own issuer; that one polls while the other thread still holds the queue. When both
// sleep, the receive must be over.
TEST_CASE("a change is seen though another thread holds the queue") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const auto backend = MakeDeferredBackend({.seed = seed});
    plan::Plan plan;
    plan.devices.push_back(std::make_unique<plan::Device>());
    plan.devices.push_back(std::make_unique<plan::Device>());
    plan.devices[1]->kind = plan::DeviceKind::gpu;
    const auto device = std::move(*backend->Open(plan, 1));
    EventCount event_count;
    const auto own = std::move(*device->OpenQueue({&event_count, 0, false}));
    const auto other = std::move(*device->OpenQueue({&event_count, 0, false}));
    bool arrived = false, received = false;
    Once receive([&] {
      if (!std::exchange(arrived, true)) {
        PollUntilIdle(*own);
        return false;
      }
      return received = true;
    });
    own->Communicate({&receive, {}});
    PollUntilIdle(*other);
    REQUIRE(received);
  }
}

}  // namespace cgraph::device::testing
