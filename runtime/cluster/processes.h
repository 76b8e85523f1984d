// Processes: the ranks of an engine but the first, each a process that rank 0 has started, and what
// is noticed of their ends.
//
// A rank is `cgrun --rank=K` (EndWithRankZero is its side). It inherits two descriptors: the
// region, and its end of a socket on which nothing is ever sent: it closes when rank 0 is gone,
// however that happened. Rank 0 watches the others by descriptors of their processes, so an end is
// pushed, never polled for. All of it is one thread's work, which starts the processes, too: the
// system kills them when the thread that started them ends.
#ifndef CGRAPH_RUNTIME_CLUSTER_PROCESSES_H_
#define CGRAPH_RUNTIME_CLUSTER_PROCESSES_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/shared/control.h"
#include "runtime/cluster/shared/region.h"

namespace cgraph::cluster {

class Processes {
 public:
  // Called by the watching thread when a rank has ended though nobody asked it to, with what is
  // known of how: "was killed by signal 9 (Killed)".
  using Lost = std::function<void(uint32_t rank, int pid, const std::string& exit_text)>;

  // Starts ranks 1 to `ranks` - 1. `command`: the path of the program that they run, and its
  // arguments, to which the number of the rank is added. kNotFound where the system refuses.
  static Result<std::unique_ptr<Processes>> Start(const std::vector<std::string>& command,
                                                  uint32_t ranks, std::shared_ptr<Region> region,
                                                  Control& control, Lost lost);
  ~Processes();  // End() without patience

  // Waits until all ranks have loaded the plan and none is gone. A rank's own error where it
  // refused; kLost where a rank is gone; kTimeout after `patience` (0: never).
  Status AwaitLoaded(std::chrono::nanoseconds patience);
  // Returns whether some rank is gone, or has refused to load the plan.
  bool AnyGoneOrRefused();
  // kLost with the first rank that is gone without having said why; Ok where there is none.
  Status WhyGone();
  // Once `control.ended` is set: waits until all ranks have closed their queues or are gone, at
  // most for `patience`, and lets them end.
  void ReleaseClosed(std::chrono::nanoseconds patience);
  int pid(uint32_t rank) const { return processes_[rank].pid; }
  // Returns whether a signal has stopped the process of a rank, which then waits to be continued.
  bool IsStopped(uint32_t rank) const;

  // Waits until all ranks are gone, once `control.ended` is set. Kills those that are not after
  // `patience`: a kernel may never return.
  void End(std::chrono::nanoseconds patience);

 private:
  struct Process {
    int pid = -1;
    int descriptor = -1;  // of the process
    int lifeline = -1;    // rank 0's end
    bool gone = false;
    std::string exit_text;    // once it is gone: how it ended
  };

  Processes(std::shared_ptr<Region> region, Control& control, Lost lost)
      : region_(std::move(region)), control_(control), lost_(std::move(lost)) {}
  Status StartAll(const std::vector<std::string>& command);
  Status StartOne(const std::vector<std::string>& command, uint32_t rank);
  // Returns a rank's own error where it refused the plan, kLost where it is gone, else Ok. Asked
  // while the plan is loaded; `lost_` tells of an end after that.
  Status LoadErrorOf(uint32_t rank);
  Status LateAt(uint32_t rank, std::chrono::nanoseconds patience) const;
  void Watch();
  void Reap(uint32_t rank);

  const std::shared_ptr<Region> region_;
  Control& control_;
  const Lost lost_;
  std::mutex mutex_;                 // of `processes_`, once the thread runs
  std::vector<Process> processes_;   // by rank; rank 0 has none
  bool watches_ = false;  // all were started, and the thread waits for their ends
  std::thread thread_;
};

// Lifeline: how a process that rank 0 has started learns what it is, and that rank 0 is gone.
inline constexpr char kRankOption[] = "--rank=";  // the only argument of such a process
// What such a process inherits.
inline constexpr int kRegionDescriptor = 3, kLifelineDescriptor = 4, kFirstFree = 5;

// Returns the rank that a command line names, if it is that of a rank that was started by another.
std::optional<uint32_t> RankOf(int argc, char** argv);

// Ends this process, without a word, when rank 0 is gone: it may be in a kernel, or stopped. Called
// once, before anything is made in the region.
void EndWithRankZero();

}  // namespace cgraph::cluster

#endif  // CGRAPH_RUNTIME_CLUSTER_PROCESSES_H_
