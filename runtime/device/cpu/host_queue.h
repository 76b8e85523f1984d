// HostQueue: a queue whose operations a thread of the host carries out. Kinds of host devices
// differ in which thread calls RunHead, and when.
//
// The issuer appends, other threads ask for the head, and some thread runs the operation at the
// front: without the lock, since a kernel may take long. `running_` keeps a second thread from
// running it, too.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_HOST_QUEUE_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_HOST_QUEUE_H_

#include <deque>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/device/queue.h"

namespace cgraph::device {

class HostQueue : public Queue, public Recorder {
 public:
  HostQueue(const QueueOptions& options, Memory scratch)
      : on_report_(options.on_report), measured_(options.measured), scratch_(std::move(scratch)) {}

  void Launch(const device::Launch& launch) override;
  void Copy(const device::Copy& copy) override { Append(copy); }
  void Store(const device::Store& store) override { Append(store); }
  void Communicate(const device::Communicate& communicate) override { Append(communicate); }
  void Wait(const TimelineSemaphore* semaphore, uint64_t value, const Tag& tag) override {
    Append(WaitFor{semaphore, value, tag});
  }
  void Signal(TimelineSemaphore* semaphore, uint64_t value) override {
    Append(SignalTo{semaphore, value});
  }
  std::optional<device::Head> Head() override;
  Recorder* recorder() override { return this; }
  void BeginRecording() override { recorded_ = std::make_unique<Recorded>(); }
  Result<std::unique_ptr<Recording>> EndRecording() override {
    return std::unique_ptr<Recording>(std::move(recorded_));
  }
  void Replay(Recording& recording, const Tag& tag) override;

 protected:
  // kBlocked: the front has to wait, and with it all that is behind; it is tried again later.
  enum class Outcome { kNone, kBlocked, kDone };

  // Carries out the operation at the front, if it can run and no other thread is running it.
  Outcome RunHead();
  // Called after an operation was appended.
  virtual void Appended() = 0;
  void TakeReports(std::vector<Report>& reports);

 private:
  struct WaitFor {
    const TimelineSemaphore* semaphore;
    uint64_t value;
    Tag tag;
  };
  struct SignalTo {
    TimelineSemaphore* semaphore;
    uint64_t value;
    Tag tag = {};
  };
  using Item = std::variant<device::Launch, device::Copy, device::Store, device::Communicate,
                            WaitFor, SignalTo>;

  struct Recorded : Recording {
    std::vector<device::Launch> launches;
  };

  void Append(Item item);
  bool Run(const device::Launch& launch);
  bool Run(const device::Copy& copy);
  bool Run(const device::Store& store);
  bool Run(const device::Communicate& communicate);
  bool Run(const WaitFor& wait) { return wait.semaphore->Reached(wait.value); }
  bool Run(const SignalTo& signal) {
    signal.semaphore->Signal(signal.value);
    return true;
  }
  // Returns whether the operation is to be carried out; reports its failure.
  bool Begins(const Operation& operation);
  void Fail(const Operation& operation, Report report);
  void AddReport(Report report);

  EventCount* const on_report_;
  const bool measured_;
  Memory scratch_;
  std::unique_ptr<Recorded> recorded_;  // while it is made

  std::mutex mutex_;  // of what follows
  std::deque<Item> items_;
  bool running_ = false;
  uint64_t finished_ = 0;
  uint64_t begun_ns_ = 0;  // when the front was first tried
  std::vector<Report> reports_;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_HOST_QUEUE_H_
