// Machines: the ranks of an engine that share no memory: one for each node of the plan, which a
// launcher has started. Rank k serves the devices of node k; rank 0 has the caller as well.
//
// Values travel in the plan's own messages (transport/mpi). What processes of one machine read
// of each other in shared memory besides, these send: rank 0 the rounds that it submits
// (other_ranks.h), the others what their work queues have finished and which executions failed
// (rank_reporter.h). This is what all ranks have: links, and whoever goes on with messages.
#ifndef CGRAPH_RUNTIME_ENGINE_MACHINES_MACHINES_H_
#define CGRAPH_RUNTIME_ENGINE_MACHINES_MACHINES_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/agreement.h"
#include "runtime/cluster/launcher.h"
#include "runtime/cluster/links.h"
#include "runtime/cluster/messenger.h"
#include "runtime/engine/machines/engine_view.h"
#include "runtime/engine/machines/other_ranks.h"
#include "runtime/engine/machines/rank_reporter.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

class Machines final : public Poller {
 public:
  // `first_tag`: from which on no tag was used before, so that late messages of another engine are
  // none of this one's. `weights`: as RankReporter gets them; nothing at rank 0.
  Machines(const EngineView& engine, cluster::Peers& peers, uint32_t first_tag,
           std::vector<uint32_t> weights = {});

  cluster::Messenger& messenger() { return messenger_; }
  OtherRanks* others() { return others_ ? &*others_ : nullptr; }          // at rank 0; else null
  RankReporter* reporter() { return reporter_ ? &*reporter_ : nullptr; }  // null at rank 0
  // Rank 0, as this rank asks it for weights; null at rank 0.
  FirstRank* first_rank() { return reporter_ ? &reporter_->first_rank() : nullptr; }

  // What the plan's messages go through, and the loading of the plan.
  cluster::Links& links() { return links_; }
  // Returns whether nobody is to wait for other ranks any more; goes on with messages while the
  // plan is loaded, since whoever waits for a device's library does not.
  bool GivesUp();
  // Returns the error with which rank 0 does not load the plan.
  Status JoinRefusal(Status own);
  // The devices, communicators and memory are there: from now on a worker goes on with messages.
  void EndLoading() { loading_.store(false, std::memory_order_relaxed); }

  // Goes on with messages and, at ranks other than the first, reports to rank 0. Returns
  // whether anything has happened. A worker calls it, the polling one of its rank; while it does
  // not, since it is inside a kernel or nobody drives it, a thread does, from time to time.
  bool Poll() override;
  Status StartThread();
  void EndThread();

 private:
  bool Interrupted() const;
  bool PollOnce(bool positions);
  void RunThread();

  const EngineView& engine_;
  cluster::Messenger& messenger_;
  cluster::Agreement agreement_;
  cluster::Links links_;
  std::atomic<bool> loading_{true};
  bool was_interrupted_ = false;  // by another rank, while this one loaded the plan
  std::optional<OtherRanks> others_;
  std::optional<RankReporter> reporter_;

  std::atomic<uint64_t> polls_{0};  // of the worker
  std::mutex thread_mutex_;
  std::condition_variable thread_ends_;
  bool ends_ = false;  // under thread_mutex_
  std::thread thread_;
};

// Returns the number of nodes that a plan has devices of.
uint32_t NodesOf(const plan::Plan& plan);
// The error where the other ranks serve another engine.
Status OthersServeAnotherEngine();
// kInvalid where a launcher has started another number of processes.
Status CheckNodes(const plan::Plan& plan, const cluster::Peers& peers);

// Serves engines of rank 0 at a rank other than the first, one after the other, until rank 0 ends
// this; returns the exit code of the process, which is rank 0's. `describe`: what
// DescribeMachines() gets. `ending`: called with the exit code before all ranks end together.
int ServeMachine(cluster::Peers& peers, const std::function<std::string()>& describe = nullptr,
                 const std::function<void(int)>& ending = nullptr);
// At rank 0: ends the other ranks, with its exit code, once no engine is left. False where one of
// them did not end its part of an engine in time; then nothing is done. Where one is lost while all
// end, which the others would wait for, all processes are ended with the exit code.
bool EndMachines(cluster::Peers& peers, int exit_code);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_MACHINES_MACHINES_H_
