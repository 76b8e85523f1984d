// Machine: the queues of one engine's deferred devices, and which of them is next.
#ifndef CGRAPH_TESTS_SUPPORT_DEFERRED_MACHINE_H_
#define CGRAPH_TESTS_SUPPORT_DEFERRED_MACHINE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "runtime/base/sync/event_count.h"
#include "runtime/device/cpu/host_queue.h"
#include "tests/support/deferred/deferred.h"

namespace cgraph::testing {

class Machine;

class DeferredQueue : public device::HostQueue {
 public:
  DeferredQueue(const device::QueueOptions& options, device::Memory scratch,
                std::shared_ptr<Machine> machine);
  ~DeferredQueue() override;
  bool Poll(std::vector<device::Report>& reports) override;

 private:
  friend class Machine;
  void Appended() override;

  std::shared_ptr<Machine> machine_;
  EventCount* const issuer_;
  size_t number_ = 0;      // in the order in which they were opened
  uint64_t priority_ = 0;  // under the machine's mutex, and so is:
  bool busy_ = false;
  bool look_again_ = false;  // another thread passed over it while it was busy
  bool closing_ = false;
};

class Machine {
 public:
  explicit Machine(const DeferredOptions& options);
  ~Machine();

  void Add(DeferredQueue* queue);
  void Remove(DeferredQueue* queue);  // waits for an operation of it that runs
  // Carries out one operation, if any may go on. False: none may; true: whoever polls looks again.
  bool RunOne();
  // As RunOne(), or puts the operation off for a while; then it is true, too.
  bool Polled();
  void Appended();
  // What comes now is in another order.
  void Reseed(uint64_t seed);
  EventCount* event_count() { return options_.thread ? &event_count_ : nullptr; }

 private:
  void DrawHabits();
  DeferredQueue* Choose(const std::vector<bool>& tried);
  void Work();

  const DeferredOptions options_;
  std::mutex mutex_;
  std::mt19937_64 random_;
  uint64_t change_every_ = 1;   // operations, on average
  uint64_t eager_one_in_ = 1;   // appended operations after which one is carried out
  uint64_t lazy_one_in_ = 1;    // polls in which one is carried out
  uint64_t put_off_ = 0;        // times in a row
  std::vector<DeferredQueue*> queues_;
  size_t opened_ = 0;            // queues
  uint64_t next_low_ = 1 << 20;  // falls: who is put behind all others
  EventCount event_count_;
  std::atomic<uint64_t> work_{0};
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace cgraph::testing

#endif  // CGRAPH_TESTS_SUPPORT_DEFERRED_MACHINE_H_
