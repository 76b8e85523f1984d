#include "runtime/command/machines.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/cluster/launcher.h"
#include "runtime/command/gpus.h"
#include "runtime/engine/ranks/machines.h"
#include "runtime/engine/ranks/serve.h"

namespace cgraph::command {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

// What an MPI does may take long on many machines, or on busy ones.
constexpr nanoseconds kPatience = std::chrono::minutes(1);
constexpr nanoseconds kShortestLook = std::chrono::milliseconds(10);
constexpr nanoseconds kLongestLook = std::chrono::milliseconds(500);

// MpiWatchdog: ends this process where what an MPI does takes too long. Its calls block, and no
// engine watches them. Where a process is stopped, that is after --timeout; where one may be slow,
// after a minute, if that is longer. Of several processes on a machine the first one speaks, unless
// it is stopped itself.
class MpiWatchdog {
 public:
  // `what` has not happened when the process ends, with `code`.
  MpiWatchdog(std::string what, nanoseconds timeout, ExitCode code)
      : what_(std::move(what)), timeout_(timeout), code_(code), thread_([this] { Watch(); }) {
    pthread_setname_np(thread_.native_handle(), "mpi watchdog");
  }
  ~MpiWatchdog() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  MpiWatchdog(const MpiWatchdog&) = delete;
  MpiWatchdog& operator=(const MpiWatchdog&) = delete;

 private:
  void Watch() {
    const nanoseconds look = std::clamp(timeout_ / 8, kShortestLook, kLongestLook);
    const auto launch = cluster::FindLaunch();
    const nanoseconds turn = 2 * kLongestLook * std::min(launch ? launch->local_rank : 0, 4u);
    nanoseconds waited(0);  // as this thread sees it: not while this process is stopped itself
    bool was_stopped = false;
    std::unique_lock lock(mutex_);
    for (Clock::time_point last = Clock::now(); !over_;) {
      changed_.wait_for(lock, look, [this] { return over_; });
      const Clock::time_point now = Clock::now();
      waited += std::min<nanoseconds>(now - std::exchange(last, now), 2 * look);
      if (over_ || waited < timeout_ + turn) continue;
      // Not where a whole job is let go on, one process after the other.
      const std::string stopped = cluster::StoppedProcesses();
      const bool is_late = waited >= std::max(timeout_, kPatience) + turn;
      if (is_late || (was_stopped && !stopped.empty())) End(stopped);
      was_stopped = !stopped.empty();
    }
  }

  [[noreturn]] void End(const std::string& stopped) {
    const double seconds =
        std::chrono::duration<double>(stopped.empty() ? std::max(timeout_, kPatience) : timeout_)
            .count();
    Report({}, kFailure,
           fmt::format("{} in {} s; {}", what_, seconds,
                       stopped.empty() ? "a process may not have begun, or not go on, or a machine "
                                         "cannot be reached"
                                       : stopped));
    std::fflush(nullptr);
    // A launcher ends all with the first that ends, maybe before the message is out.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::_Exit(code_);
  }

  const std::string what_;
  const nanoseconds timeout_;
  const ExitCode code_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;   // under mutex_
  std::thread thread_;  // last: it reads the others
};

std::string NotEnded(ExitCode code) {
  return fmt::format("{}the processes of the launcher have not ended together",
                     code == kSuccess ? "all results are written, and " : "");
}

}  // namespace

ExitCode ConnectMachines(nanoseconds timeout, cluster::Peers** peers) {
  const auto launch = cluster::FindLaunch();
  if (!launch) return kSuccess;
  const Result<cluster::Peers*> connected = [&] {
    const MpiWatchdog watchdog(fmt::format("the {} processes of {} have not connected",
                                           launch->processes, launch->launcher),
                               timeout, kFailure);
    return cluster::Connect(*launch);
  }();
  if (connected.ok()) {
    *peers = *connected;
    return kSuccess;
  }
  const Status& status = connected.status();
  if (launch->local_rank != 0) {
    // A launcher ends all with the first that ends, maybe before the message is out.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return ExitCodeOf(status.code());
  }
  const uint32_t here = launch->processes_here;
  return Report({}, ExitCodeOf(status.code()),
                here == 1 ? status.message()
                          : fmt::format("{} (said once for the {} processes on {})",
                                        status.message(), here, cluster::Process::This().host));
}

int ServeMachine(cluster::Peers& peers, nanoseconds timeout) {
  std::unique_ptr<MpiWatchdog> watchdog;
  return engine::ServeMachine(peers, DescribeDevices, [&](int code) {
    const auto own = static_cast<ExitCode>(code);
    watchdog = std::make_unique<MpiWatchdog>(NotEnded(own), timeout, own);
  });
}

void EndMachines(cluster::Peers& peers, ExitCode code, nanoseconds timeout) {
  const MpiWatchdog watchdog(NotEnded(code), timeout, code);
  if (engine::EndMachines(peers, code)) return;
  SayEnds(&peers);
  peers.messenger.EndAll(code);
}

void SayEnds(cluster::Peers* peers) {
  if (peers != nullptr && peers->supervision != nullptr) peers->supervision->SayEnds();
}

Problem CheckMachineFlags(const Options& options) {
  const std::pair<const char*, bool> flags[] = {
      {"--processes", options.engine.processes != 0},
      {"--workers", options.engine.workers != 0},
      {"--unproved", !options.engine.proved},
  };
  for (const auto& [flag, given] : flags) {
    if (!given) continue;
    return {kUsage, fmt::format("{} is about one machine; under a launcher of MPI programs each "
                                "process serves the devices of one node; leave it out",
                                flag)};
  }
  return {};
}

Problem CheckProcessCount(const plan::Plan& plan, const cluster::Peers& peers) {
  const Status fits = engine::CheckNodes(plan, peers);
  return fits.ok() ? Problem() : Problem{kUsage, fits.message()};
}

std::string NoteOfNodes(const plan::Plan& plan, const Options& options,
                        const cluster::Peers* peers) {
  const uint32_t nodes = engine::NodesOf(plan);
  if (peers != nullptr || nodes == 1) return "";
  return fmt::format(
      "node[0] to node[{}] are all {}; `mpirun -n {} cgrun ...` gives each a "
      "process of its own",
      nodes - 1, options.engine.processes == 0 ? "in this process" : "on this machine", nodes);
}

std::string NoteOfUnsupervised(const cluster::Peers* peers) {
  if (peers == nullptr || peers->supervision == nullptr) return "";
  // Those that have connected may not have been heard yet, on a busy machine.
  constexpr std::chrono::seconds kPatience(2);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::vector<uint32_t> unconnected;
  while (!(unconnected = peers->supervision->Unconnected()).empty() &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (unconnected.empty()) return "";
  return fmt::format(
      "rank{} {} could not connect to rank 0 by TCP; if one dies, only the launcher "
      "or --timeout may notice; let connections through between the machines",
      unconnected.size() == 1 ? "" : "s", fmt::join(unconnected, ", "));
}

}  // namespace cgraph::command
