// World: the emulated NCCL's communicators and what is under way on them.
//
// What a rank issues on one communicator in one group is a *launch*: on its stream, two works of
// the driver's. The first begins when the device's place for NCCL is free: it reads what the rank
// gives, and spoils what the rank gets. The second begins when all whom the rank waits for have
// begun: it looks whether what was given has been changed meanwhile, writes what the rank gets and
// frees the place. So launches in different orders on two devices hang, as kernels may that fill
// their GPUs. Where NCCL_LAUNCH_ORDER_IMPLICIT asks for it, a device's launches take the place in
// the order in which they were issued.
//
// A rank's first collective, and its first exchange with a peer, are issued once all whom they
// connect with have called theirs, as NCCL does in the background. So is each collective on memory
// that is registered (memory.h): NCCL's ranks then tell each other where their values lie.
//
// Ranks of one communicator may be in several processes, on a GPU each: what they know of each
// other is shared_state.h's.
#ifndef CGRAPH_TESTS_EMULATION_NCCL_WORLD_H_
#define CGRAPH_TESTS_EMULATION_NCCL_WORLD_H_

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/device/cuda/libraries/nccl.h"
#include "tests/emulation/nccl/options.h"
#include "tests/emulation/nccl/shared_state.h"

namespace cgraph::emulation {

using cuda::NcclComm;

// NcclBuffer: what a call reads or writes.
struct NcclBuffer {
  const std::byte* start = nullptr;
  size_t bytes = 0;
};

// Registered: memory that a rank has registered.
struct Registered {
  const std::byte* start = nullptr;
  size_t bytes = 0;
  bool counts = false;     // it is NCCL's own
  bool window = false;
  bool symmetric = false;  // values lie at the same offset of all ranks' windows
};

// Communicator: the ranks that were made with one id, as this process sees them.
struct Communicator {
  uint64_t number = 0;  // among those of the process that made the id
  std::shared_ptr<MappedState> state;

  SharedState& shared() const { return **state; }
  int ranks() const { return shared().ranks; }
  SharedState::Member& member(int rank) const { return shared().members[rank]; }
};

struct Launch;

// Rank: what a handle stands for.
struct Rank {
  std::shared_ptr<Communicator> communicator;
  int rank = 0;
  CUcontext context = nullptr;  // of its device
  int device = -1;
  int error = 0;                // that ncclCommGetAsyncError reports
  int asked = 0;                // while it was not ready
  bool finalized = false;
  bool aborted = false;
  uint64_t collectives = 0;                 // that were issued
  std::map<void*, Registered> registered;   // by handle
  struct Window {
    uint64_t number = 0;  // among the rank's
    cuda::NcclWindow* handle = nullptr;
    Registered registered;
  };
  std::deque<Window> windows;                      // that wait for those of other ranks
  std::map<int, uint64_t> sent, received;          // by peer
  std::deque<std::shared_ptr<Launch>> deferred;    // while the rank connects
  uint64_t pending = 0;         // launches that are not over
};

struct Launch {
  struct Task {
    NcclCall call;
    uint64_t number = 0;      // of a collective, among the rank's
    bool registered = false;  // what it reads and writes
    Operation* operation = nullptr;  // of the communicator's state
    size_t share = 0;  // own, of the operation
  };
  std::shared_ptr<Rank> rank;
  CUstream stream = nullptr;
  std::vector<Task> tasks;
  bool fails = false;
  bool begun = false, over = false;
};

// All members under `mutex`, which is never held while the driver is called.
struct World {
  const NcclOptions options;
  const bool ordered;             // NCCL_LAUNCH_ORDER_IMPLICIT, of versions that know it
  const bool connects_at_once;    // NCCL_RUNTIME_CONNECT=0
  const bool tells_version;       // NCCL_DEBUG=VERSION
  // Whose devices these are: processes that mpirun has started are on a machine each.
  const int machine;
  const bool several_ranks;       // on one GPU: NCCL_MULTI_RANK_GPU_ENABLE, since 2.30
  std::mutex mutex;
  using Name = std::pair<int, uint64_t>;  // of an id: the process that made it, and a number there
  std::map<Name, std::shared_ptr<Communicator>> communicators;
  std::map<NcclComm, std::shared_ptr<Rank>> ranks;
  std::map<CUcontext, std::deque<std::shared_ptr<Launch>>> places;  // issued, not over
  std::map<const std::byte*, size_t> memory;  // bytes of what ncclMemAlloc has allocated
  std::atomic<uint64_t> asked_for_memory{0};  // how often
  uint64_t ids = 0;
  uint64_t launches = 0, aborted = 0, fail_at = 0;
  std::string last_error;

  World();
};
World& TheWorld();

// Return what a rank gives to a call, and what it gets.
NcclBuffer Given(const NcclCall& call, const Rank& rank);
NcclBuffer Gotten(const NcclCall& call, const Rank& rank);

// ---- under the world's lock ---------------------------------------------------------------------

// Whether all whom the rank's deferred launches connect with have called theirs.
bool Connected(const World& world, const Rank& rank);
// Matches the calls of a launch with those of other ranks; returns the misuse, if any.
std::string Match(Launch& launch);
bool MayBegin(World& world, const Launch& launch);
bool MayFinish(const Launch& launch);

// ---- without it ---------------------------------------------------------------------------------

// Appends the works of a launch to its stream; returns a status of NCCL's.
int Append(std::shared_ptr<Launch> launch);

// Appends a line to the trace, where there is to be one.
void TraceNccl(const std::string& line);

// Reports a misuse like the driver's own.
void NcclMisuse(const std::string& sentence);

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_NCCL_WORLD_H_
