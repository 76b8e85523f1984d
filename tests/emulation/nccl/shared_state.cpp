#include "tests/emulation/nccl/shared_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace cgraph::emulation {
namespace {

// What is never touched takes no memory.
constexpr size_t kBytes = sizeof(SharedState) + kMostNcclRanks * SharedState::kRoom;

std::byte* RoomOf(const SharedState& state, int rank) {
  auto* const bytes = reinterpret_cast<std::byte*>(const_cast<SharedState*>(&state));
  return bytes + sizeof(SharedState) + static_cast<size_t>(rank) * SharedState::kRoom;
}

}  // namespace

bool SharedState::complete() const {
  return ranks != 0 && std::all_of(members, members + ranks,
                                   [](const Member& member) { return member.device >= 0; });
}

int SharedState::finalized() const {
  return static_cast<int>(std::count_if(members, members + ranks,
                                        [](const Member& member) { return member.finalized; }));
}

Operation* SharedState::Join(int from, int to, uint64_t number, const NcclCall& call) {
  Operation* unused = nullptr;
  for (Operation& operation : operations) {
    if (!operation.used) {
      if (unused == nullptr) unused = &operation;
      continue;
    }
    const bool same = operation.from_rank == from && operation.to_rank == to;
    if (same && operation.number == number) return &operation;
  }
  if (unused == nullptr) return nullptr;
  *unused = Operation();
  unused->used = true;
  unused->from_rank = from;
  unused->to_rank = to;
  unused->number = number;
  unused->call = call;
  return unused;
}

void SharedState::Finish(Operation& operation, int ranks_of_it) {
  if (++operation.finished < ranks_of_it) return;
  for (size_t share = 0; share < static_cast<size_t>(ranks_of_it); ++share) {
    Member& member = members[operation.RankOf(share)];
    if (operation.shares[share].bytes != 0 && --member.live == 0) member.taken = 0;
  }
  operation.used = false;
}

bool SharedState::Give(Operation& operation, size_t share, const std::byte* bytes, size_t count) {
  Operation::Share& at = operation.shares[share];
  at.begun = true;
  if (count == 0) return true;
  const int rank = operation.RankOf(share);
  Member& member = members[rank];
  if (count > kRoom - member.taken) return false;
  at.at = member.taken;
  at.bytes = count;
  member.taken += count;
  ++member.live;
  std::memcpy(RoomOf(*this, rank) + at.at, bytes, count);
  return true;
}

const std::byte* SharedState::Given(const Operation& operation, size_t share) const {
  return RoomOf(*this, operation.RankOf(share)) + operation.shares[share].at;
}

StateLock::StateLock(SharedState& state) : state_(state) {
  if (pthread_mutex_lock(&state_.mutex) == EOWNERDEAD) pthread_mutex_consistent(&state_.mutex);
}

SharedState* MappedState::Map(int file) {
  void* const mapped =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<SharedState*>(mapped);
}

std::shared_ptr<MappedState> MappedState::Make(uint64_t number, Name& name) {
  const int file = memfd_create("emulated NCCL", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  SharedState* const state = ftruncate(file, static_cast<off_t>(kBytes)) == 0 ? Map(file) : nullptr;
  if (state == nullptr) {
    close(file);
    return nullptr;
  }
  new (state) SharedState;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&state->mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  name = {number, getpid(), file};
  return std::shared_ptr<MappedState>(new MappedState(state, file));
}

std::shared_ptr<MappedState> MappedState::Open(const Name& name) {
  const std::string path = fmt::format("/proc/{}/fd/{}", name.process, name.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  SharedState* const state = Map(file);
  close(file);
  if (state == nullptr) return nullptr;
  return std::shared_ptr<MappedState>(new MappedState(state, -1));
}

MappedState::~MappedState() {
  munmap(state_, kBytes);
  if (file_ >= 0) close(file_);
}

}  // namespace cgraph::emulation
