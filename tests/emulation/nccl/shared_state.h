// SharedState: what the ranks of one communicator know of each other, whichever process each is in.
//
// It lies in a file without a name that the process opens that makes the unique id, and that others
// find by the id: nothing is left behind. Behind it each rank has room for what it gives. A process
// that dies while it holds the lock leaves it to the others.
#ifndef CGRAPH_TESTS_EMULATION_NCCL_SHARED_STATE_H_
#define CGRAPH_TESTS_EMULATION_NCCL_SHARED_STATE_H_

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/device/cuda/libraries/nccl.h"

namespace cgraph::emulation {

// What a function was called with. Collectives that happen together say the same, but for `from`
// and `to`.
struct NcclCall {
  enum Kind { kAllReduce, kReduce, kReduceScatter, kAllGather, kBroadcast, kSend, kReceive };
  Kind kind = kAllReduce;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  size_t count = 0;  // as the function takes it
  int type = 0;
  int reduction = 0;
  int other = 0;  // the root, or the peer

  bool collective() const { return kind != kSend && kind != kReceive; }
  std::string Text() const;
};

inline constexpr int kMostNcclRanks = 32;

// Operation: a collective of a communicator, or a message from one rank to another, which the calls
// of its ranks are parts of.
struct Operation {
  struct Share {
    bool begun = false;
    size_t at = 0, bytes = 0;  // of what is given, in its rank's room
  };
  static constexpr size_t kNowhere = SIZE_MAX;

  bool used = false;
  int from_rank = -1, to_rank = -1;  // of a message
  uint64_t number = 0;               // among the collectives, or the messages from one to the other
  NcclCall call;                     // of who came first
  bool any = false;                  // that has come
  bool registered = false;           // what it reads and writes
  size_t from = kNowhere,
         to = kNowhere;          // offsets in symmetric windows, of who came first with one
  int finished = 0;              // ranks that need it no more
  Share shares[kMostNcclRanks];  // by rank; of a message: the sender's, the receiver's

  bool message() const { return from_rank >= 0; }
  int RankOf(size_t share) const {
    return !message() ? static_cast<int>(share) : share == 0 ? from_rank : to_rank;
  }
};

struct SharedState {
  static constexpr size_t kRoom = size_t{32} << 20;  // of a rank
  static constexpr int kOperations = 512;            // at once
  static constexpr uint64_t kWindows = 64;

  struct Member {
    int device = -1;  // -1: has not come
    int machine = 0;  // whose device it is
    bool finalized = false;
    bool connects = false;                // has called a collective
    bool exchanges[kMostNcclRanks] = {};  // by peer: has called for one
    uint64_t called = 0;                  // collectives
    uint64_t windows = 0;                 // that it has begun
    size_t window_bytes[kWindows] = {};   // of the last ones
    size_t taken = 0;                     // of its room
    int live = 0;                         // shares in its room
  };

  pthread_mutex_t mutex;
  int ranks = 0;  // 0: nobody has come
  Member members[kMostNcclRanks];
  Operation operations[kOperations];

  bool complete() const;
  int finalized() const;
  // Returns the operation with this key that some rank has come to, or a new one; null where there
  // are too many at once.
  Operation* Join(int from, int to, uint64_t number, const NcclCall& call);
  // Called by each of the operation's ranks when it needs nothing of it any more.
  void Finish(Operation& operation, int ranks_of_it);
  // Puts what a share gives into its rank's room; false where there is too much of it.
  bool Give(Operation& operation, size_t share, const std::byte* bytes, size_t count);
  const std::byte* Given(const Operation& operation, size_t share) const;
};

// Holds a state's lock.
class StateLock {
 public:
  explicit StateLock(SharedState& state);
  ~StateLock() { pthread_mutex_unlock(&state_.mutex); }
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;

 private:
  SharedState& state_;
};

// MappedState: a state as this process has mapped it, and the file, where this process made it.
class MappedState {
 public:
  // What a unique id holds.
  struct Name {
    uint64_t number = 0;  // among those of the process; 0: no name
    int process = 0;
    int file = -1;
  };
  // Null where the system refuses, or the process of the name has gone or has forgotten it.
  static std::shared_ptr<MappedState> Make(uint64_t number, Name& name);
  static std::shared_ptr<MappedState> Open(const Name& name);
  ~MappedState();
  SharedState& operator*() const { return *state_; }
  SharedState* operator->() const { return state_; }

 private:
  MappedState(SharedState* state, int file) : state_(state), file_(file) {}
  static SharedState* Map(int file);

  SharedState* const state_;
  const int file_;  // -1: another process's
};

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_NCCL_SHARED_STATE_H_
