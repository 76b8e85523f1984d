#include "tests/support/deferred/machine.h"

#include <algorithm>

namespace cgraph::testing {

DeferredQueue::DeferredQueue(const device::QueueOptions& options, device::Memory scratch,
                             std::shared_ptr<Machine> machine)
    : HostQueue(options, std::move(scratch)),
      machine_(std::move(machine)),
      issuer_(options.on_report) {
  machine_->Add(this);
}

DeferredQueue::~DeferredQueue() { machine_->Remove(this); }

void DeferredQueue::Appended() { machine_->Appended(); }

bool DeferredQueue::Poll(std::vector<device::Report>& reports) {
  const bool any = machine_->event_count() == nullptr && machine_->Polled();
  const size_t before = reports.size();
  TakeReports(reports);
  return any || reports.size() != before;
}

Machine::Machine(const DeferredOptions& options) : options_(options), random_(options.seed) {
  DrawHabits();
  if (options.thread) thread_ = std::thread([this] { Work(); });
}

void Machine::DrawHabits() {
  change_every_ = uint64_t{1} << (random_() % 6);   // 1 .. 32
  eager_one_in_ = uint64_t{1} << (random_() % 12);  // often none at all
  lazy_one_in_ = uint64_t{1} << (random_() % 6);
}

void Machine::Reseed(uint64_t seed) {
  std::lock_guard lock(mutex_);
  random_.seed(seed);
  DrawHabits();
  next_low_ = 1 << 20;
  for (DeferredQueue* queue : queues_) queue->priority_ = (1 << 20) + random_() % (1 << 20);
}

Machine::~Machine() {
  ended_ = true;
  event_count_.Notify();
  if (thread_.joinable()) thread_.join();
}

void Machine::Add(DeferredQueue* queue) {
  std::lock_guard lock(mutex_);
  queue->number_ = opened_++;
  queue->priority_ = (1 << 20) + random_() % (1 << 20);
  queues_.push_back(queue);
}

void Machine::Remove(DeferredQueue* queue) {
  for (;;) {
    {
      std::lock_guard lock(mutex_);
      queue->closing_ = true;
      if (!queue->busy_) {
        std::erase(queues_, queue);
        return;
      }
    }
    std::this_thread::yield();
  }
}

void Machine::Appended() {
  if (options_.thread) {
    work_.fetch_add(1, std::memory_order_release);
    event_count_.Notify();
    return;
  }
  bool eager;
  {
    std::lock_guard lock(mutex_);
    eager = random_() % eager_one_in_ == 0;
  }
  if (eager) RunOne();
}

// Returns, of the queues that no thread is working on and that were not tried in vain, the one with
// the highest priority. A busy queue is marked, so that the thread that works on it looks again:
// that thread may have looked before a change that the caller was notified of.
DeferredQueue* Machine::Choose(const std::vector<bool>& tried) {
  DeferredQueue* best = nullptr;
  for (DeferredQueue* queue : queues_) {
    queue->look_again_ |= queue->busy_;
    if (queue->busy_ || queue->closing_ || tried[queue->number_]) continue;
    if (best == nullptr || queue->priority_ > best->priority_) best = queue;
  }
  return best;
}

bool Machine::RunOne() {
  constexpr int kMostAgain = 16;
  std::vector<bool> tried;  // by number
  for (int again = 0;;) {
    DeferredQueue* queue;
    {
      std::lock_guard lock(mutex_);
      tried.resize(opened_);
      queue = Choose(tried);
      if (queue == nullptr) return false;
      queue->busy_ = true;
      queue->look_again_ = false;
    }
    const auto outcome = queue->RunHead();
    const bool done = outcome == DeferredQueue::Outcome::kDone;
    std::lock_guard lock(mutex_);
    queue->busy_ = false;
    if (!done) {
      tried[queue->number_] = !queue->look_again_;
      if (!queue->look_again_ || ++again < kMostAgain) continue;
      // Two threads that pass over each other's queues would look again for ever. The issuer looks.
      if (queue->issuer_ != nullptr) queue->issuer_->Notify();
      return true;
    }
    if (random_() % change_every_ == 0) queue->priority_ = --next_low_;
    // What is behind it may go on. The issuer is told once it can find the queue free: this thread
    // may never poll again.
    if (!options_.thread && queue->issuer_ != nullptr) queue->issuer_->Notify();
    return true;
  }
}

// Polls keep the issuer looking often while nothing moves.
bool Machine::Polled() {
  constexpr uint64_t kMost = 50;
  {
    std::lock_guard lock(mutex_);
    if (random_() % lazy_one_in_ != 0 && ++put_off_ < kMost) return true;
    put_off_ = 0;
  }
  return RunOne();
}

void Machine::Work() {
  while (!ended_) {
    const uint64_t seen = work_.load(std::memory_order_acquire);
    bool any = false;
    while (RunOne()) any = true;
    if (any) continue;
    // The change may also be a semaphore of somebody else's: whatever notifies the event count is
    // looked at.
    event_count_.Wait(
        [&] { return ended_ || work_.load(std::memory_order_acquire) != seen || RunOne(); });
  }
}

}  // namespace cgraph::testing
