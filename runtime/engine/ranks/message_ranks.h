// MessageRanks: the ranks of several machines, which share no memory: one for each node of the
// plan, which a launcher has started. Rank k serves the devices of node k; rank 0 has the caller as
// well. Each loads its part of the plan (plan_message.h).
//
// Values travel in the plan's own messages (transport/mpi). This is what all ranks have beside
// them: links, and the threads that go on with messages. Rank 0 has the others as OtherRanks
// (other_ranks.h), and each of these has rank 0 as RankReporter (rank_reporter.h).
#ifndef CGRAPH_RUNTIME_ENGINE_RANKS_MESSAGE_RANKS_H_
#define CGRAPH_RUNTIME_ENGINE_RANKS_MESSAGE_RANKS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cluster/agreement.h"
#include "runtime/cluster/launcher.h"
#include "runtime/cluster/links.h"
#include "runtime/cluster/messenger.h"
#include "runtime/engine/ranks/ranks.h"

namespace cgraph::engine {

class MessageRanks : public Ranks {
 public:
  MessageRanks(const EngineOptions& options, const EngineView& engine);

  void TakePlace() override { loaded_.apart = true; }
  LoadContext Context() override;
  void Configure(Workers::Settings& settings) override;
  void EndLoading() override { loading_.store(false, std::memory_order_relaxed); }
  // The thread polls from time to time while no worker does: the worker that polls may be inside a
  // kernel, or no thread drives it.
  Status StartThread() override;
  void EndThread() override;
  void Idle(const std::function<bool()>& until) override { PollUntil(messenger_, until); }
  bool LosesPeers() const override { return loaded_.native.apart(); }
  std::optional<cluster::Process> ProcessOf(uint32_t rank) const override {
    return peers_.ProcessOf(rank);
  }

 protected:
  // Takes this engine's place among the ranks. `first_tag`: from which on no tag was used before,
  // so that late messages of another engine are none of this one's.
  void Join(uint32_t first_tag);
  // Returns whether another rank is the reason why this one did not load the plan.
  bool was_interrupted() const { return was_interrupted_; }

  // At ranks other than the first. Report() comes before a look for messages, SendAnswers() behind
  // it; ReportAlive() is a sign of life. `positions`: reports also the positions of work queues
  // that have finished nothing.
  virtual void Report(bool /*positions*/) {}
  virtual void SendAnswers() {}
  virtual void ReportAlive() {}
  // At rank 0: whether another one has refused the plan, or is lost.
  virtual bool AnyFailed() const { return false; }

  cluster::Peers& peers_;
  cluster::Messenger& messenger_;
  cluster::Agreement agreement_;

 private:
  bool Poll();
  bool PollOnce(bool positions);
  bool GivesUp();
  bool Interrupted() const;
  void RunThread();

  std::optional<cluster::Links> links_;  // once it has joined
  std::atomic<bool> loading_{true};
  bool was_interrupted_ = false;  // by another rank, while this one loaded the plan

  std::atomic<uint64_t> polls_{0};  // of the worker
  std::mutex thread_mutex_;
  std::condition_variable thread_ends_;
  bool ends_ = false;  // under thread_mutex_
  std::thread thread_;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_RANKS_MESSAGE_RANKS_H_
