#include "runtime/device/cuda/collectives/nccl_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/plan/kinds.h"

namespace cgraph::cuda {

using Clock = std::chrono::steady_clock;

namespace {

// How long NCCL may take to make or end a communicator, or to take a call. Hundreds of GPUs need
// seconds.
constexpr auto kDeadline = std::chrono::seconds(120);
constexpr auto kBetweenLooks = std::chrono::microseconds(20);
constexpr const char* kMaking = "making a communicator of GPUs";

std::optional<int> TypeOf(plan::DType dtype) {
  switch (dtype) {
    case plan::DType::i8: return nccl::kI8;
    case plan::DType::u8: return nccl::kU8;
    case plan::DType::i32: return nccl::kI32;
    case plan::DType::i64: return nccl::kI64;
    case plan::DType::f16: return nccl::kF16;
    case plan::DType::bf16: return nccl::kBF16;
    case plan::DType::f32: return nccl::kF32;
    case plan::DType::f64: return nccl::kF64;
    case plan::DType::bool_: return std::nullopt;
  }
  return std::nullopt;
}

int ReductionOf(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum: return nccl::kSum;
    case Reduction::kProd: return nccl::kProd;
    case Reduction::kMin: return nccl::kMin;
    case Reduction::kMax: return nccl::kMax;
    case Reduction::kAvg: return nccl::kAvg;
  }
  return nccl::kSum;
}

// NcclBlock: a block that NCCL's allocator has made.
class NcclBlock : public GpuBlock {
  using GpuBlock::GpuBlock;
};

}  // namespace

// NCCL's `avg` of integers is not ours. What only moves is moved as bytes.
bool NcclCommunicator::CarriesOut(CollectiveKind kind, std::optional<Reduction> reduction,
                                  plan::DType dtype) {
  if (kind == CollectiveKind::kBarrier) return false;
  if (!TraitsOf(kind).reduces) return true;
  if (!reduction.has_value() || !TypeOf(dtype).has_value()) return false;
  return *reduction != Reduction::kAvg || plan::IsFloat(dtype);
}

// ---- beginning and end --------------------------------------------------------------------------

Status NcclCommunicator::NewId(const Nccl& nccl, NcclId& id) {
  return Check(nccl, nccl.ncclGetUniqueId(&id), kMaking);
}

Result<std::shared_ptr<NcclCommunicator>> NcclCommunicator::Make(
    const Nccl& nccl, std::vector<std::shared_ptr<Gpu>> gpus, const NcclId& id,
    std::function<bool()> gives_up) {
  std::shared_ptr<NcclCommunicator> made(
      new NcclCommunicator(nccl, std::move(gpus), std::move(gives_up)));
  Status status = made->Begin(id);
  if (status.ok()) status = made->Connect();
  if (status.ok()) return made;
  made->Abort(status.message());
  return status;
}

Status NcclCommunicator::Check(const Nccl& nccl, int status, const char* what) {
  if (status == nccl::kSuccess || status == nccl::kInProgress) return Status::Ok();
  return {StatusCode::kFailed, fmt::format("{}: NCCL reports: {}; NCCL_DEBUG=WARN in the "
                                           "environment lets it say more",
                                           what, nccl.ErrorText(status))};
}

Status NcclCommunicator::Settle(Rank& rank, const char* what, bool issuing) {
  const Clock::time_point end = Clock::now() + kDeadline;
  for (;;) {
    int state = nccl::kSuccess;
    CGRAPH_RETURN_IF_ERROR(Check(nccl_.ncclCommGetAsyncError(rank.handle, &state), what));
    if (state != nccl::kInProgress) return Check(state, what);
    if (aborted()) return {StatusCode::kFailed, why_aborted()};
    if (issuing && stopped_) return {StatusCode::kFailed, "the engine was torn down"};
    if (gives_up_ && gives_up_()) {
      return {StatusCode::kFailed, fmt::format("{}: another process has ended", what)};
    }
    if (Clock::now() > end) {
      return {StatusCode::kFailed,
              fmt::format("{}: NCCL is not done after {} s", what, kDeadline.count())};
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

Status NcclCommunicator::SettleAll(const char* what) {
  for (uint32_t rank : own_) CGRAPH_RETURN_IF_ERROR(Settle(*ranks_[rank], what));
  return Status::Ok();
}

// One thread makes all ranks of this process, which NCCL wants in one group. The group is ended
// also where a call has failed, since NCCL counts starts.
Status NcclCommunicator::Begin(const NcclId& id) {
  const int count = static_cast<int>(ranks_.size());
  NcclConfig config;
  config.blocking = 0;
  CGRAPH_RETURN_IF_ERROR(Check(nccl_.ncclGroupStart(), kMaking));
  Status status;
  for (uint32_t rank : own_) {
    status = gpus_[rank]->Check(gpus_[rank]->MakeCurrent(), kMaking);
    if (!status.ok()) break;
    status = Check(nccl_.ncclCommInitRankConfig(&ranks_[rank]->handle, count, id,
                                                static_cast<int>(rank), &config),
                   kMaking);
    if (!status.ok()) break;
  }
  const Status ended = Check(nccl_.ncclGroupEnd(), kMaking);
  CGRAPH_RETURN_IF_ERROR(status);
  CGRAPH_RETURN_IF_ERROR(ended);
  return SettleAll(kMaking);
}

// On streams and memory that are thrown away.
Status NcclCommunicator::Connect() {
  constexpr const char* kWhat = "connecting GPUs";
  const uint64_t ranks = ranks_.size();
  std::vector<device::Memory> rooms(ranks);
  for (uint32_t rank : own_) {
    auto room = AllocateOnGpu(gpus_[rank], 2 * ranks * sizeof(float), device::MemoryKind::plain,
                              "what GPUs are connected with");
    if (!room.ok()) return room.status();
    rooms[rank] = std::move(*room);
  }
  std::vector<CUstream> streams(ranks, nullptr);
  const Driver& driver = this->driver();
  Status status;
  for (uint32_t rank : own_) {
    if (status.ok()) status = gpus_[rank]->Check(gpus_[rank]->MakeCurrent(), kWhat);
    if (!status.ok()) break;
    status = gpus_[rank]->Check(
        driver.cuStreamCreateWithPriority(&streams[rank], CU_STREAM_NON_BLOCKING, 0), kWhat);
  }
  if (status.ok()) {
    status = Check(nccl_.ncclGroupStart(), kWhat);
    for (uint32_t rank : own_) {
      if (status.ok()) status = IssueFirstCalls(rank, streams[rank], rooms[rank].data());
    }
    const Status ended = Check(nccl_.ncclGroupEnd(), kWhat);
    if (status.ok()) status = ended;
    if (status.ok()) status = SettleAll(kWhat);
  }
  if (status.ok() && among_processes()) status = AwaitConnected(streams);
  // What hangs is ended before it is waited for.
  if (!status.ok()) Abort(status.message());
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    if (streams[rank] == nullptr) continue;
    gpus_[rank]->MakeCurrent();
    const Status over = gpus_[rank]->Check(driver.cuStreamSynchronize(streams[rank]), kWhat);
    if (status.ok()) status = over;
    driver.cuStreamDestroy(streams[rank]);
  }
  return status;
}

// Waits for what other processes may never come to.
Status NcclCommunicator::AwaitConnected(const std::vector<CUstream>& streams) {
  constexpr const char* kWhat = "connecting GPUs";
  const Clock::time_point end = Clock::now() + kDeadline;
  for (uint32_t rank : own_) {
    for (;;) {
      CGRAPH_RETURN_IF_ERROR(gpus_[rank]->Check(gpus_[rank]->MakeCurrent(), kWhat));
      const CUresult state = driver().cuStreamQuery(streams[rank]);
      if (state == CUDA_SUCCESS) break;
      if (state != CUDA_ERROR_NOT_READY) return gpus_[rank]->Check(state, kWhat);
      CGRAPH_RETURN_IF_ERROR(Settle(*ranks_[rank], kWhat));
      const bool late = Clock::now() > end;
      if (late || (gives_up_ && gives_up_())) {
        return {StatusCode::kFailed,
                fmt::format("{}: another process {}", kWhat, late ? "does not come" : "has ended")};
      }
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }
  return Status::Ok();
}

// NCCL connects two ranks by their first message. All else is connected by any collective, since
// OpenNccl() sets NCCL_RUNTIME_CONNECT=0.
Status NcclCommunicator::IssueFirstCalls(uint32_t rank, CUstream stream, std::byte* room) {
  constexpr const char* kWhat = "connecting GPUs";
  CGRAPH_RETURN_IF_ERROR(gpus_[rank]->Check(gpus_[rank]->MakeCurrent(), kWhat));
  const NcclComm handle = ranks_[rank]->handle;
  const int ranks = static_cast<int>(ranks_.size());
  auto* from = reinterpret_cast<float*>(room);
  float* to = from + ranks;
  CGRAPH_RETURN_IF_ERROR(
      Check(nccl_.ncclAllReduce(from, to, ranks, nccl::kF32, nccl::kSum, handle, stream), kWhat));
  for (int peer = 0; peer < ranks; ++peer) {
    CGRAPH_RETURN_IF_ERROR(
        Check(nccl_.ncclSend(from + peer, 1, nccl::kF32, peer, handle, stream), kWhat));
    CGRAPH_RETURN_IF_ERROR(
        Check(nccl_.ncclRecv(to + peer, 1, nccl::kF32, peer, handle, stream), kWhat));
  }
  return Status::Ok();
}

// Ends all ranks of a communicator that has nothing pending. A rank ends only together with the
// others, which must be of this process.
Status NcclCommunicator::End() {
  constexpr const char* kWhat = "ending a communicator of GPUs";
  for (uint32_t rank : own_) {
    gpus_[rank]->MakeCurrent();
    CGRAPH_RETURN_IF_ERROR(Check(nccl_.ncclCommFinalize(ranks_[rank]->handle), kWhat));
  }
  CGRAPH_RETURN_IF_ERROR(SettleAll(kWhat));
  for (uint32_t rank : own_) {
    gpus_[rank]->MakeCurrent();
    nccl_.ncclCommDestroy(std::exchange(ranks_[rank]->handle, nullptr));
  }
  return Status::Ok();
}

NcclCommunicator::~NcclCommunicator() {
  if (!aborted() && !driver().abandoned()) {
    const Status ended =
        among_processes() ? Status(StatusCode::kClosed, "the engine was torn down") : End();
    if (!ended.ok()) Abort(ended.message());
  }
  Close(kDeadline);
}

// Under the lock from `aborted_` until every rank counts as aborting: a queue that sees `aborted_`
// comes through this lock, too, before it asks Aborting() and says that memory is free.
void NcclCommunicator::Abort(const std::string& why) {
  std::lock_guard lock(abort_mutex_);
  if (aborted_.exchange(true)) return;
  why_aborted_ = why;
  for (uint32_t rank : own_) {
    ranks_[rank]->aborting = true;
    try {
      aborts_.emplace_back([&nccl = nccl_, gpu = gpus_[rank], rank = ranks_[rank]] {
        AbortRank(nccl, *gpu, *rank);
      });
    } catch (const std::system_error&) {  // there are no threads left
      AbortRank(nccl_, *gpus_[rank], *ranks_[rank]);
    }
  }
}

// Not under the rank's lock while NCCL is at it, which issuers would wait for.
void NcclCommunicator::AbortRank(const Nccl& nccl, Gpu& gpu, Rank& rank) {
  NcclComm handle = nullptr;
  {
    std::lock_guard lock(rank.mutex);
    handle = std::exchange(rank.handle, nullptr);
  }
  gpu.MakeCurrent();
  if (handle != nullptr) nccl.ncclCommAbort(handle);
  rank.aborting = false;
}

bool NcclCommunicator::Aborting() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const auto& rank) { return rank->aborting.load(); });
}

bool NcclCommunicator::Close(std::chrono::nanoseconds stall_timeout) {
  const Driver& driver = this->driver();
  const Clock::time_point begun = Clock::now();
  while (Aborting()) {
    const std::chrono::nanoseconds most = driver.StallTimeout(stall_timeout);
    if (most.count() != 0 && Clock::now() - begun > most) break;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  const bool over = !Aborting();
  if (!over) driver.Abandon();
  std::lock_guard lock(abort_mutex_);
  for (std::thread& abort : aborts_) over ? abort.join() : abort.detach();
  aborts_.clear();
  return over;
}

std::string NcclCommunicator::why_aborted() const {
  std::lock_guard lock(abort_mutex_);
  return why_aborted_;
}

Status NcclCommunicator::Look() {
  for (const auto& rank : ranks_) {
    std::unique_lock lock(rank->mutex, std::try_to_lock);
    if (!lock.owns_lock() || rank->handle == nullptr) continue;  // another thread asks, or ended
    int state = nccl::kSuccess;
    const int asked = nccl_.ncclCommGetAsyncError(rank->handle, &state);
    CGRAPH_RETURN_IF_ERROR(Check(asked, "a collective"));
    CGRAPH_RETURN_IF_ERROR(Check(state, "a collective"));
  }
  return Status::Ok();
}

// ---- memory -------------------------------------------------------------------------------------

// All ranks register or none: NCCL does not define a collective whose values are registered in
// part. The ranks' windows are made together, since each waits for the others'. A window promises
// that values lie at one offset at all ranks: NCCL's kernels find the others' by their own.
Status NcclCommunicator::Register(std::span<const device::Memory* const> blocks, uint64_t common) {
  constexpr const char* kWhat = "registering memory with NCCL";
  if (among_processes()) return Status::Ok();
  std::set<int> ordinals;
  for (const auto& gpu : gpus_) ordinals.insert(gpu->ordinal());
  if (ordinals.size() != gpus_.size()) return Status::Ok();
  if (!std::all_of(blocks.begin(), blocks.end(), [](auto* block) { return IsOfNccl(*block); })) {
    return Status::Ok();
  }
  const uint64_t window = nccl_.ncclCommWindowRegister != nullptr ? common : 0;
  if (window != 0) CGRAPH_RETURN_IF_ERROR(Check(nccl_.ncclGroupStart(), kWhat));
  Status status;
  for (uint32_t rank = 0; rank < ranks_.size() && status.ok(); ++rank) {
    status = gpus_[rank]->Check(gpus_[rank]->MakeCurrent(), kWhat);
    if (status.ok()) status = RegisterRank(rank, *blocks[rank], window);
  }
  const Status ended = window != 0 ? Check(nccl_.ncclGroupEnd(), kWhat) : Status::Ok();
  CGRAPH_RETURN_IF_ERROR(status);
  CGRAPH_RETURN_IF_ERROR(ended);
  return SettleAll(kWhat);
}

Status NcclCommunicator::RegisterRank(uint32_t number, const device::Memory& block,
                                      uint64_t window) {
  Rank& rank = *ranks_[number];
  const int status =
      window != 0
          ? nccl_.ncclCommWindowRegister(rank.handle, block.data(), window, &rank.window,
                                         nccl::kSymmetricWindow)
          : nccl_.ncclCommRegister(rank.handle, block.data(), block.size(), &rank.registered);
  return Check(status, "registering memory with NCCL");
}

// A communicator that was aborted has forgotten its memory. Behind a kernel that was abandoned,
// NCCL might wait for the GPU.
void NcclCommunicator::Deregister() {
  if (aborted() || driver().abandoned()) return;
  for (uint32_t number : own_) {
    Rank& rank = *ranks_[number];
    std::lock_guard lock(rank.mutex);
    NcclWindow window = std::exchange(rank.window, nullptr);
    void* registered = std::exchange(rank.registered, nullptr);
    gpus_[number]->MakeCurrent();
    if (window != nullptr) nccl_.ncclCommWindowDeregister(rank.handle, window);
    if (registered != nullptr) nccl_.ncclCommDeregister(rank.handle, registered);
  }
}

// ---- issuing ------------------------------------------------------------------------------------

// The ranks' locks are held over all of it, since NCCL's handles take calls of one thread. Each is
// of a member that this thread alone issues for; others try it, or hold no second one: so the order
// of locking does not matter. Whether a communicator was aborted is asked under the lock: then the
// handle stays as long as the lock is held (AbortRank).
Status NcclCommunicator::Issue(CUstream stream, std::span<const device::Collect> collects) {
  struct Used {
    NcclCommunicator* communicator;
    uint32_t rank;
    std::unique_lock<std::mutex> lock;
  };
  std::vector<Used> used;
  for (const device::Collect& collect : collects) {
    auto* communicator = static_cast<NcclCommunicator*>(collect.communicator);
    const bool known = std::any_of(used.begin(), used.end(), [&](const Used& other) {
      return other.communicator == communicator;
    });
    if (known) continue;
    used.push_back({communicator, collect.member,
                    std::unique_lock(communicator->ranks_[collect.member]->mutex)});
    if (communicator->aborted()) return {StatusCode::kFailed, communicator->why_aborted()};
  }
  const NcclCommunicator& first = *used.front().communicator;
  constexpr const char* kWhat = "a collective";
  CGRAPH_RETURN_IF_ERROR(first.Check(first.nccl_.ncclGroupStart(), kWhat));
  int called = nccl::kSuccess;
  for (const device::Collect& collect : collects) {
    if (called != nccl::kSuccess) break;
    called = static_cast<NcclCommunicator*>(collect.communicator)->Call(collect, stream);
    if (called == nccl::kInProgress) called = nccl::kSuccess;
  }
  const int ended = first.nccl_.ncclGroupEnd();
  CGRAPH_RETURN_IF_ERROR(first.Check(called, kWhat));
  CGRAPH_RETURN_IF_ERROR(first.Check(ended, kWhat));
  if (ended != nccl::kInProgress) return Status::Ok();
  // What is issued behind it must not come before it.
  for (Used& one : used) {
    CGRAPH_RETURN_IF_ERROR(
        one.communicator->Settle(*one.communicator->ranks_[one.rank], kWhat, /*issuing=*/true));
  }
  return Status::Ok();
}

int NcclCommunicator::Call(const device::Collect& at, CUstream stream) {
  const NcclComm handle = ranks_[at.member]->handle;
  const uint64_t count = at.elements;
  if (count == 0) return nccl::kSuccess;  // at all members
  const int root = static_cast<int>(at.root);
  if (TraitsOf(at.kind).reduces) {
    const int type = *TypeOf(at.dtype), reduction = ReductionOf(*at.reduction);
    switch (at.kind) {
      case CollectiveKind::kAllReduce:
        return nccl_.ncclAllReduce(at.from, at.to, count, type, reduction, handle, stream);
      case CollectiveKind::kReduceScatter:
        return nccl_.ncclReduceScatter(at.from, at.to, count, type, reduction, handle, stream);
      default:
        return nccl_.ncclReduce(at.from, at.to, count, type, reduction, root, handle, stream);
    }
  }
  const uint64_t bytes = count * static_cast<uint64_t>(plan::DTypeBytes(at.dtype));
  switch (at.kind) {
    case CollectiveKind::kAllGather:
      return nccl_.ncclAllGather(at.from, at.to, bytes, nccl::kU8, handle, stream);
    case CollectiveKind::kBroadcast: {
      // A root that leaves its own output out has it where it gives it.
      void* to = at.to != nullptr ? at.to : const_cast<void*>(at.from);
      return nccl_.ncclBroadcast(at.from, to, bytes, nccl::kU8, root, handle, stream);
    }
    default: return CallWithPeers(at, nccl::kU8, bytes, stream);
  }
}

// Gather, scatter and all_to_all: sends to each member that gets, receives from each that gives.
int NcclCommunicator::CallWithPeers(const device::Collect& at, int type, uint64_t count,
                                    CUstream stream) {
  const CollectiveTraits& traits = TraitsOf(at.kind);
  const NcclComm handle = ranks_[at.member]->handle;
  for (uint32_t peer = 0; peer < ranks_.size(); ++peer) {
    // A root that leaves its own output out sends nothing to itself.
    const bool left = peer == at.member && at.to == nullptr;
    if (at.from != nullptr && traits.gets(peer, at.root) && !left) {
      const auto* from =
          static_cast<const std::byte*>(at.from) + (traits.divides() ? peer * count : 0);
      const int sent = nccl_.ncclSend(from, count, type, static_cast<int>(peer), handle, stream);
      if (sent != nccl::kSuccess && sent != nccl::kInProgress) return sent;
    }
    if (at.to != nullptr && traits.gives(peer, at.root)) {
      auto* to = static_cast<std::byte*>(at.to) + (traits.joins() ? peer * count : 0);
      const int got = nccl_.ncclRecv(to, count, type, static_cast<int>(peer), handle, stream);
      if (got != nccl::kSuccess && got != nccl::kInProgress) return got;
    }
  }
  return nccl::kSuccess;
}

// ---- memory -------------------------------------------------------------------------------------

Result<device::Memory> AllocateForCollectives(const std::shared_ptr<Gpu>& gpu, uint64_t bytes,
                                              device::MemoryKind kind, const std::string& what) {
  const Result<const Nccl*> nccl = Nccl::Get();
  if (bytes == 0 || !nccl.ok() || !gpu->reached_by_all()) {
    return AllocateOnGpu(gpu, bytes, kind, what);
  }
  CGRAPH_RETURN_IF_ERROR(gpu->account().CheckFree(bytes, what));
  // Memory that NCCL refuses is replaced by ordinary memory: then the communicator registers
  // nothing (NcclCommunicator::Register), and collectives work all the same.
  const uint64_t size = InBlocks(bytes);
  void* data = nullptr;
  if ((*nccl)->ncclMemAlloc(&data, size) != nccl::kSuccess || data == nullptr) {
    return AllocateOnGpu(gpu, bytes, kind, what);
  }
  auto free = [nccl = *nccl](const Driver& driver, std::byte* block) {
    driver.cuStreamSynchronize(nullptr);  // that filled it, if it was never used
    nccl->ncclMemFree(block);
  };
  device::Memory memory(static_cast<std::byte*>(data), size, kind, /*host_visible=*/false,
                        std::make_shared<NcclBlock>(gpu, std::move(free), what));
  gpu->account().Add(what, size);
  CGRAPH_RETURN_IF_ERROR(gpu->Zero(data, size, what));
  return memory;
}

bool IsOfNccl(const device::Memory& memory) {
  return dynamic_cast<const NcclBlock*>(memory.owner()) != nullptr;
}

}  // namespace cgraph::cuda
