// The functions that the emulated libnccl.so.2 exports, as nccl.h declares them. Handles do not
// block: what NCCL would do in the background is done when its state is asked for.
#include <cuda.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/emulation/control.h"
#include "tests/emulation/nccl/control.h"
#include "tests/emulation/nccl/functions.h"
#include "tests/emulation/nccl/memory.h"
#include "tests/emulation/nccl/reduce.h"
#include "tests/emulation/nccl/world.h"

struct cgraph::cuda::NcclCommObject {};

namespace cgraph::emulation {
namespace {

using cuda::NcclConfig;
using cuda::NcclId;
namespace nccl = cuda::nccl;

constexpr int kUnhandledCudaError = 1, kUnhandledSystemError = 2, kInvalidArgument = 4,
              kInvalidUsage = 5;
constexpr unsigned kMagic = 0xcafebeef;
constexpr size_t kLeastConfig = 48;  // bytes, as of 2.19
constexpr int kAsksUntilReady = 2;
constexpr int kFirstWindows = 22700;

// Group: what a thread has called since it began one.
struct Group {
  int depth = 0;
  std::vector<std::pair<NcclComm, std::shared_ptr<Rank>>> begun;
  std::vector<std::shared_ptr<Launch>> launches;  // one for each rank
};
thread_local Group group;

int Refuse(int status, std::string sentence) {
  NcclMisuse("NCCL: " + sentence);
  std::lock_guard lock(TheWorld().mutex);
  TheWorld().last_error = std::move(sentence);
  return status;
}

// Null after a misuse.
std::shared_ptr<Rank> Find(NcclComm handle, const char* function) {
  {
    std::lock_guard lock(TheWorld().mutex);
    const auto found = TheWorld().ranks.find(handle);
    if (found != TheWorld().ranks.end()) return found->second;
  }
  Refuse(kInvalidArgument,
         fmt::format("{} is called with a communicator that is none, or was destroyed", function));
  return nullptr;
}

CUcontext CurrentContext() {
  CUcontext context = nullptr;
  return cuCtxGetCurrent(&context) == CUDA_SUCCESS ? context : nullptr;
}

// Whether the rank is not ready for calls yet. Under the world's lock.
bool Busy(const Rank& rank) {
  if (!rank.deferred.empty() || !rank.windows.empty()) return true;
  SharedState& all = rank.communicator->shared();
  StateLock lock(all);
  if (rank.finalized) return rank.pending != 0 || all.finalized() < all.ranks;
  return !all.complete() || rank.asked < kAsksUntilReady;
}

bool IsComplete(const Rank& rank) {
  StateLock lock(rank.communicator->shared());
  return rank.communicator->shared().complete();
}

// Returns the communicator of an id; null where there is none any more.
std::shared_ptr<Communicator> CommunicatorOf(const MappedState::Name& name) {
  std::lock_guard lock(TheWorld().mutex);
  auto& all = TheWorld().communicators;
  const World::Name key{name.process, name.number};
  if (const auto known = all.find(key); known != all.end()) return known->second;
  if (name.process == getpid()) return nullptr;  // would be known
  auto opened = std::make_shared<Communicator>();
  opened->number = name.number;
  opened->state = MappedState::Open(name);
  if (opened->state == nullptr) return nullptr;
  all.emplace(key, opened);
  return opened;
}

// Ends a handle; what of it is under way lets go. Under the world's lock.
void Forget(NcclComm handle, Rank& rank) {
  rank.aborted = true;
  rank.deferred.clear();
  rank.windows.clear();
  rank.registered.clear();
  std::erase_if(TheWorld().places[rank.context],
                [&](const auto& launch) { return launch->rank.get() == &rank; });
  TheWorld().ranks.erase(handle);
  delete handle;
  // The id of a communicator that has ended is not to be used again.
  const auto& ranks = TheWorld().ranks;
  const bool last = std::none_of(ranks.begin(), ranks.end(), [&](const auto& other) {
    return other.second->communicator == rank.communicator;
  });
  if (!last) return;
  std::erase_if(TheWorld().communicators,
                [&](const auto& known) { return known.second == rank.communicator; });
}

// Appends what is deferred of a rank, whose device's context need not be current.
int AppendDeferred(Rank& rank) {
  std::deque<std::shared_ptr<Launch>> launches;
  {
    std::lock_guard lock(TheWorld().mutex);
    if (!Connected(TheWorld(), rank)) return nccl::kInProgress;
    launches.swap(rank.deferred);
  }
  if (launches.empty()) return nccl::kSuccess;
  const CUcontext before = CurrentContext();
  cuCtxSetCurrent(rank.context);
  int status = nccl::kSuccess;
  for (auto& launch : launches) {
    const int appended = Append(std::move(launch));
    if (status == nccl::kSuccess) status = appended;
  }
  cuCtxSetCurrent(before);
  return status;
}

int EndGroup() {
  Group ended;
  std::swap(ended, group);
  int status = nccl::kSuccess;
  {
    std::lock_guard lock(TheWorld().mutex);
    for (auto& [handle, rank] : ended.begun) {
      SharedState& state = rank->communicator->shared();
      StateLock state_lock(state);
      for (const SharedState::Member& other : state.members) {
        if (other.device != rank->device || other.machine != TheWorld().machine) continue;
        if (TheWorld().several_ranks) continue;
        rank->error = kInvalidUsage;
        TheWorld().last_error = "Duplicate GPU detected";
      }
      state.members[rank->rank].device = rank->device;
      state.members[rank->rank].machine = TheWorld().machine;
      status = nccl::kInProgress;
    }
    for (auto& launch : ended.launches) {
      Rank& rank = *launch->rank;
      StateLock state_lock(rank.communicator->shared());
      SharedState::Member& member = rank.communicator->member(rank.rank);
      for (Launch::Task& task : launch->tasks) {
        task.registered = MemoryOf(task.call, rank).registered;
        if (task.call.collective()) {
          task.number = member.called++;
          member.connects = true;
        } else {
          member.exchanges[task.call.other] = true;
        }
      }
      rank.deferred.push_back(launch);
    }
  }
  for (auto& launch : ended.launches) {
    const int appended = AppendDeferred(*launch->rank);
    if (status == nccl::kSuccess || appended > nccl::kSuccess) {
      if (status != kUnhandledCudaError) status = appended;
    }
  }
  return status;
}

int EndCall() { return group.depth == 0 ? EndGroup() : nccl::kSuccess; }

int Take(NcclCall call, NcclComm handle, CUstream stream, const char* function) {
  const auto rank = Find(handle, function);
  if (rank == nullptr) return kInvalidArgument;
  const CUcontext current = CurrentContext();
  if (current == nullptr) return kUnhandledCudaError;
  if (current != rank->context) {
    return Refuse(kInvalidUsage, fmt::format("{} of rank {} is called while another rank's device "
                                             "is current", function, rank->rank));
  }
  bool busy, ended;
  {
    std::lock_guard lock(TheWorld().mutex);
    ended = rank->finalized;
    busy = Busy(*rank);
  }
  if (ended) return Refuse(kInvalidUsage, fmt::format("{} is called after ncclCommFinalize",
                                                      function));
  if (busy) {
    return Refuse(kInvalidUsage, fmt::format("{} is called while the communicator is in progress",
                                             function));
  }
  const bool names_rank = call.kind != NcclCall::kAllReduce &&
                          call.kind != NcclCall::kReduceScatter &&
                          call.kind != NcclCall::kAllGather;
  if (NcclWidth(call.type) == 0 ||
      (names_rank && (call.other < 0 || call.other >= rank->communicator->ranks()))) {
    return Refuse(kInvalidArgument, fmt::format("{} has no such type or rank", function));
  }
  if (call.count == 0) return EndCall();
  Launch* launch = nullptr;
  for (const auto& other : group.launches) {
    if (other->rank == rank) launch = other.get();
  }
  if (launch == nullptr) {
    group.launches.push_back(std::make_shared<Launch>());
    launch = group.launches.back().get();
    launch->rank = rank;
    launch->stream = stream;
  }
  if (launch->stream != stream) {
    return Refuse(kInvalidUsage, "the emulation takes a group of a rank on one stream only");
  }
  launch->tasks.emplace_back().call = call;
  return EndCall();
}

// As Find, for what no rank does while it has work under way; null after a misuse.
std::shared_ptr<Rank> FindIdle(NcclComm handle, const char* function) {
  auto rank = Find(handle, function);
  if (rank == nullptr) return nullptr;
  bool busy;
  {
    std::lock_guard lock(TheWorld().mutex);
    busy = rank->pending != 0 || Busy(*rank);
  }
  // Windows may follow each other in a group.
  if (!busy || group.depth != 0) return rank;
  Refuse(kInvalidUsage, fmt::format("{} is called while work of the rank is under way", function));
  return nullptr;
}

int EndRegistration(NcclComm handle, void* registered, bool window, const char* function) {
  const auto rank = FindIdle(handle, function);
  if (rank == nullptr) return kInvalidArgument;
  bool ended;
  {
    std::lock_guard lock(TheWorld().mutex);
    ended = Deregister(*rank, registered, window);
  }
  if (ended) return nccl::kSuccess;
  return Refuse(kInvalidUsage,
                fmt::format("{} is called with what is not registered, or no longer", function));
}

uint64_t Launches() {
  std::lock_guard lock(TheWorld().mutex);
  return TheWorld().launches;
}
uint64_t Live() {
  std::lock_guard lock(TheWorld().mutex);
  return TheWorld().ranks.size();
}
uint64_t Aborted() {
  std::lock_guard lock(TheWorld().mutex);
  return TheWorld().aborted;
}
void FailAt(uint64_t launch) {
  std::lock_guard lock(TheWorld().mutex);
  TheWorld().fail_at = launch;
}
constexpr NcclControl kControl{&Launches, &Live, &Aborted, &FailAt};

int RefuseInGroup(const char* function) {
  return Refuse(kInvalidUsage, fmt::format("{} is called in a group that has not ended", function));
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
  *version = TheWorld().options.version;
  return nccl::kSuccess;
}

const char* ncclGetErrorString(int status) {
  constexpr const char* kTexts[] = {"no error", "unhandled cuda error", "unhandled system error",
                                    "internal error", "invalid argument", "invalid usage",
                                    "remote process exited or there was a network error",
                                    "NCCL operation in progress"};
  return status >= 0 && status < 8 ? kTexts[status] : "unknown result code";
}

const char* ncclGetLastError(NcclComm) {
  thread_local std::string last;
  std::lock_guard lock(TheWorld().mutex);
  last = TheWorld().last_error;
  return last.c_str();
}

int ncclGetUniqueId(NcclId* id) {
  std::lock_guard lock(TheWorld().mutex);
  auto communicator = std::make_shared<Communicator>();
  communicator->number = ++TheWorld().ids;
  MappedState::Name name;
  communicator->state = MappedState::Make(communicator->number, name);
  if (communicator->state == nullptr) return kUnhandledSystemError;
  std::memset(id, 0, sizeof *id);
  std::memcpy(id->internal, &name, sizeof name);
  TheWorld().communicators[{name.process, name.number}] = std::move(communicator);
  return nccl::kSuccess;
}

int ncclCommInitRankConfig(NcclComm* handle, int ranks, NcclId id, int rank, NcclConfig* config) {
  if (config == nullptr || config->magic != kMagic || config->size < kLeastConfig) {
    return Refuse(kInvalidArgument, "a communicator's configuration was not initialised");
  }
  if (config->blocking != 0) {
    return Refuse(kInvalidArgument, "the emulation has communicators that do not block only");
  }
  MappedState::Name name;
  std::memcpy(&name, id.internal, sizeof name);
  const CUcontext context = CurrentContext();
  if (context == nullptr) return kUnhandledCudaError;
  if (ranks < 1 || rank < 0 || rank >= ranks || ranks > kMostNcclRanks || name.number == 0) {
    return Refuse(kInvalidArgument, "ncclCommInitRankConfig has no such rank or id");
  }
  auto made = std::make_shared<Rank>();
  made->rank = rank;
  made->context = context;
  made->device = cgraph_emulation_control()->device_of(context);
  made->communicator = CommunicatorOf(name);
  if (made->communicator == nullptr) {
    return Refuse(kInvalidArgument, "an id is used of a communicator that has ended");
  }
  bool mismatch = false;
  {
    SharedState& state = made->communicator->shared();
    StateLock lock(state);
    if (state.ranks == 0) state.ranks = ranks;
    mismatch = state.ranks != ranks || state.members[rank].device >= 0;
  }
  if (mismatch) return Refuse(kInvalidArgument, "ranks of one id do not agree about who they are");
  if (rank == 0 && TheWorld().tells_version) {
    const int version = TheWorld().options.version;
    fmt::print("NCCL version {}.{}.{}, emulated\n", version / 10000, version / 100 % 100,
               version % 100);
  }
  *handle = new cuda::NcclCommObject;
  {
    std::lock_guard lock(TheWorld().mutex);
    TheWorld().ranks[*handle] = made;
  }
  group.begun.push_back({*handle, made});
  return EndCall();
}

int ncclCommGetAsyncError(NcclComm handle, int* status) {
  if (group.depth != 0) return RefuseInGroup("ncclCommGetAsyncError");
  const auto rank = Find(handle, "ncclCommGetAsyncError");
  if (rank == nullptr) return kInvalidArgument;
  {
    std::lock_guard lock(TheWorld().mutex);
    *status = rank->error;
    if (rank->error != nccl::kSuccess) return nccl::kSuccess;
    FinishWindows(*rank);
    if (rank->deferred.empty()) {
      if (IsComplete(*rank)) ++rank->asked;
      *status = Busy(*rank) ? nccl::kInProgress : nccl::kSuccess;
      return nccl::kSuccess;
    }
  }
  *status = AppendDeferred(*rank);
  return nccl::kSuccess;
}

int ncclCommFinalize(NcclComm handle) {
  const auto rank = Find(handle, "ncclCommFinalize");
  if (rank == nullptr) return kInvalidArgument;
  std::lock_guard lock(TheWorld().mutex);
  rank->finalized = true;
  {
    StateLock state_lock(rank->communicator->shared());
    rank->communicator->member(rank->rank).finalized = true;
  }
  return Busy(*rank) ? nccl::kInProgress : nccl::kSuccess;
}

int ncclCommDestroy(NcclComm handle) {
  if (group.depth != 0) return RefuseInGroup("ncclCommDestroy");
  const auto rank = Find(handle, "ncclCommDestroy");
  if (rank == nullptr) return kInvalidArgument;
  bool pending;
  {
    std::lock_guard lock(TheWorld().mutex);
    pending = rank->pending != 0 || !rank->deferred.empty();
    Forget(handle, *rank);
  }
  if (pending) {
    return Refuse(kInvalidUsage, "ncclCommDestroy is called while work of the rank is under way");
  }
  return nccl::kSuccess;
}

// NCCL frees memory of the GPU here, which waits for all that runs on it.
int ncclCommAbort(NcclComm handle) {
  const auto rank = Find(handle, "ncclCommAbort");
  if (rank == nullptr) return kInvalidArgument;
  std::this_thread::sleep_for(std::chrono::milliseconds(TheWorld().options.abort));
  {
    std::lock_guard lock(TheWorld().mutex);
    ++TheWorld().aborted;
    Forget(handle, *rank);
  }
  const bool never = cgraph_emulation_control()->never_ends();
  while (never) std::this_thread::sleep_for(std::chrono::hours(1));
  return nccl::kSuccess;
}

int ncclMemAlloc(void** memory, size_t bytes) {
  using Memory = NcclOptions::Memory;
  const Memory given = TheWorld().options.memory;
  if (bytes == 0 || given == Memory::kNone) return kUnhandledCudaError;
  if (given == Memory::kSome && TheWorld().asked_for_memory++ % 2 == 0) return kUnhandledCudaError;
  CUdeviceptr address = 0;
  if (cuMemAlloc(&address, bytes) != CUDA_SUCCESS) return kUnhandledCudaError;
  *memory = reinterpret_cast<void*>(address);
  std::lock_guard lock(TheWorld().mutex);
  TheWorld().memory[static_cast<const std::byte*>(*memory)] = bytes;
  return nccl::kSuccess;
}

int ncclMemFree(void* memory) {
  int ranks = 0;
  {
    std::lock_guard lock(TheWorld().mutex);
    auto& all = TheWorld().memory;
    const auto found = all.find(static_cast<const std::byte*>(memory));
    ranks = found == all.end() ? -1 : RanksWith(TheWorld(), found->first);
    if (ranks == 0) all.erase(found);
  }
  if (ranks < 0) {
    return Refuse(kInvalidArgument,
                  "ncclMemFree is called with what ncclMemAlloc did not allocate");
  }
  if (ranks > 0) {
    return Refuse(kInvalidUsage, fmt::format("ncclMemFree is called with memory that {} rank{} "
                                             "registered",
                                             ranks, ranks == 1 ? " has" : "s have"));
  }
  const CUresult freed = cuMemFree(reinterpret_cast<CUdeviceptr>(memory));
  return freed == CUDA_SUCCESS ? nccl::kSuccess : kUnhandledCudaError;
}

int ncclCommRegister(NcclComm handle, void* memory, size_t bytes, void** registered) {
  const auto rank = FindIdle(handle, "ncclCommRegister");
  if (rank == nullptr) return kInvalidArgument;
  {
    std::lock_guard lock(TheWorld().mutex);
    const auto* start = static_cast<const std::byte*>(memory);
    *registered = RegisterMemory(TheWorld(), *rank, start, bytes);
  }
  TraceNccl(fmt::format("registered {} bytes of rank {} of {} in communicator {}", bytes,
                        rank->rank, rank->communicator->ranks(), rank->communicator->number));
  return nccl::kSuccess;
}

int ncclCommDeregister(NcclComm handle, void* registered) {
  return EndRegistration(handle, registered, false, "ncclCommDeregister");
}

int ncclCommWindowRegister(NcclComm handle, void* memory, size_t bytes, cuda::NcclWindow* window,
                           int flags) {
  if (TheWorld().options.version < kFirstWindows) {
    return Refuse(kInvalidUsage, "ncclCommWindowRegister is called, which this version lacks");
  }
  const auto rank = FindIdle(handle, "ncclCommWindowRegister");
  if (rank == nullptr) return kInvalidArgument;
  std::string misuse;
  {
    std::lock_guard lock(TheWorld().mutex);
    misuse = BeginWindow(TheWorld(), *rank, static_cast<const std::byte*>(memory), bytes,
                         flags == nccl::kSymmetricWindow, window);
  }
  if (!misuse.empty()) return Refuse(kInvalidArgument, misuse);
  TraceNccl(fmt::format("registered a window of {} bytes of rank {} of {} in communicator {}",
                        bytes, rank->rank, rank->communicator->ranks(),
                        rank->communicator->number));
  return group.depth == 0 ? nccl::kInProgress : nccl::kSuccess;
}

int ncclCommWindowDeregister(NcclComm handle, cuda::NcclWindow window) {
  return EndRegistration(handle, window, true, "ncclCommWindowDeregister");
}

int ncclGroupStart() {
  ++group.depth;
  return nccl::kSuccess;
}

int ncclGroupEnd() {
  if (group.depth == 0) return Refuse(kInvalidUsage, "ncclGroupEnd is called without a group");
  --group.depth;
  return EndCall();
}

int ncclAllReduce(const void* from, void* to, size_t count, int type, int reduction,
                  NcclComm handle, CUstream stream) {
  return Take({NcclCall::kAllReduce, static_cast<const std::byte*>(from),
               static_cast<std::byte*>(to), count, type, reduction, 0},
              handle, stream, "ncclAllReduce");
}

int ncclReduce(const void* from, void* to, size_t count, int type, int reduction, int root,
               NcclComm handle, CUstream stream) {
  return Take({NcclCall::kReduce, static_cast<const std::byte*>(from),
               static_cast<std::byte*>(to), count, type, reduction, root},
              handle, stream, "ncclReduce");
}

int ncclReduceScatter(const void* from, void* to, size_t count, int type, int reduction,
                      NcclComm handle, CUstream stream) {
  return Take({NcclCall::kReduceScatter, static_cast<const std::byte*>(from),
               static_cast<std::byte*>(to), count, type, reduction, 0},
              handle, stream, "ncclReduceScatter");
}

int ncclAllGather(const void* from, void* to, size_t count, int type, NcclComm handle,
                  CUstream stream) {
  return Take({NcclCall::kAllGather, static_cast<const std::byte*>(from),
               static_cast<std::byte*>(to), count, type, 0, 0},
              handle, stream, "ncclAllGather");
}

int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, NcclComm handle,
                  CUstream stream) {
  return Take({NcclCall::kBroadcast, static_cast<const std::byte*>(from),
               static_cast<std::byte*>(to), count, type, 0, root},
              handle, stream, "ncclBroadcast");
}

int ncclSend(const void* from, size_t count, int type, int peer, NcclComm handle,
             CUstream stream) {
  return Take({NcclCall::kSend, static_cast<const std::byte*>(from), nullptr, count, type, 0,
               peer},
              handle, stream, "ncclSend");
}

int ncclRecv(void* to, size_t count, int type, int peer, NcclComm handle, CUstream stream) {
  return Take({NcclCall::kReceive, nullptr, static_cast<std::byte*>(to), count, type, 0, peer},
              handle, stream, "ncclRecv");
}

const NcclControl* cgraph_emulated_nccl() { return &kControl; }

}  // extern "C"

}  // namespace cgraph::emulation
