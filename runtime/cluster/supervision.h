// Supervision: how ranks of a launcher learn that another process or machine is gone. Each rank has
// a TCP connection to rank 0, on which nothing is sent but who it is and, at the end, by either
// side, that it ends: the system closes it when a process dies, and keep-alives find that a machine
// cannot be reached. Rank 1, which speaks for the others when rank 0 is gone, also hears from it
// every second, and says when it does not.
// (The launchers' own ways differ: some take seconds, some let the others wait for ever.)
//
// Rank 0 listens on a port that the system picks, for as long as the others have not connected; on
// the loopback interface alone where all ranks are on one machine. Who connects has to know a
// random number, which the others get by MPI. Of those who have not said it the oldest gives way.
#ifndef CGRAPH_RUNTIME_CLUSTER_SUPERVISION_H_
#define CGRAPH_RUNTIME_CLUSTER_SUPERVISION_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/cluster/messenger.h"

namespace cgraph::cluster {

// Returns what must be the same at all ranks: "cgraph 0.1.0, sources 0123456789abcdef".
const char* BuildText();

// Process: of a rank, as the system of its machine knows it.
struct Process {
  int number = 0;    // 0: not known
  std::string host;  // empty: not known

  static Process This();
  bool IsStopped() const;    // by a signal; of a process of this machine
  // Returns "process 123 on node7", or as much of it as is known: "process 123", "a process".
  std::string Text() const;
};

// Supervision: what a rank knows of the ends of others.
class Supervision {
 public:
  // What is known of a rank that is gone.
  struct Lost {
    uint32_t rank = 0;
    Process process;
    std::string how;      // "has ended", "cannot be reached any more"
  };

  virtual ~Supervision() = default;  // says that this rank ends in order
  // At rank 0. Tells the others that this process ends and has said why.
  virtual void SayEnds() = 0;
  // At rank 0. Sets who is called, by a thread of its own, when a rank is lost; at once where one
  // has been. Waits for a call that is in progress.
  virtual void OnLost(std::function<void(const Lost&)> lost) = 0;
  virtual Process ProcessOf(uint32_t rank) const = 0;
  // Returns the first rank that is known to be lost.
  virtual std::optional<Lost> FirstLost() const = 0;
  // Returns the ranks that have not connected: they are not supervised.
  virtual std::vector<uint32_t> Unconnected() const = 0;
};

class TcpSupervision final : public Supervision {
 public:
  // Begins to supervise at rank 0, and to be supervised at the others, whose process ends when rank
  // 0 is gone; rank 1 says so, unless rank 0 has said that it ends. Called once, at all ranks.
  // Where no connection can be made, nobody is supervised; the launcher may still notice that a
  // rank is gone. `one_machine`: all ranks are on one.
  explicit TcpSupervision(Messenger& messenger, bool one_machine = false);
  ~TcpSupervision() override;

  void SayEnds() override;
  void OnLost(std::function<void(const Lost&)> lost) override;
  Process ProcessOf(uint32_t rank) const override;
  std::optional<Lost> FirstLost() const override;
  std::vector<uint32_t> Unconnected() const override;

 private:
  struct Connection {
    int socket = -1;
    uint32_t rank = 0;  // 0: not known yet
    Process process;
    std::string text;   // that has come and is no whole line yet
    bool ends = false;  // it has said so
  };

  void Listen(bool one_machine);
  void Watch();
  void Accept(std::vector<Connection>& connections);
  void StopListening(std::vector<Connection>& connections);
  void SayLives();
  void SayToAll(std::string_view word);
  void ReadFrom(Connection& connection);
  void HandleLine(Connection& connection, std::string_view line);
  void CheckBuild(std::string_view of_rank_zero);
  void Connect(std::string_view addresses);
  bool IsTurnedAway();
  void AwaitEnd();
  void SayOfRankZero(std::string_view line);

  Messenger& messenger_;
  int listening_ = -1;
  int own_ = -1;         // the connection of a rank other than the first
  int wake_[2] = {-1, -1};  // a pipe that ends the thread
  std::string token_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
  std::chrono::steady_clock::time_point last_lives_;  // when rank 1 was told
  mutable std::mutex mutex_;                          // of the next three
  std::vector<Process> processes_;                    // by rank; at the others only rank 0's
  std::vector<int> sockets_;  // at rank 0, of the connections, by rank; -1: there is none
  std::optional<Lost> found_;
  std::mutex call_mutex_;     // held during a call
  std::function<void(const Lost&)> lost_;
};

}  // namespace cgraph::cluster

#endif  // CGRAPH_RUNTIME_CLUSTER_SUPERVISION_H_
