#include "tests/emulation/nccl/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace cgraph::emulation {
namespace {

// Never given out again.
void* NewHandle() {
  static std::atomic<uintptr_t> last{0};
  return reinterpret_cast<void*>(++last * 16);
}

bool Within(const Registered& registered, const NcclBuffer& piece) {
  return piece.start >= registered.start &&
         piece.start + piece.bytes <= registered.start + registered.bytes;
}

// Returns the registration that a piece lies in, windows first; null where there is none that
// counts.
const Registered* Find(const Rank& rank, const NcclBuffer& piece) {
  const Registered* found = nullptr;
  for (const auto& [handle, registered] : rank.registered) {
    if (!registered.counts || !Within(registered, piece)) continue;
    if (found == nullptr || registered.window) found = &registered;
  }
  return found;
}

}  // namespace

bool IsNcclMemory(const World& world, const std::byte* start, size_t bytes) {
  auto next = world.memory.upper_bound(start);
  if (next == world.memory.begin()) return false;
  const auto& [first, size] = *std::prev(next);
  return start + bytes <= first + size;
}

int RanksWith(const World& world, const std::byte* start) {
  const std::byte* end = start + world.memory.at(start);
  return static_cast<int>(
      std::count_if(world.ranks.begin(), world.ranks.end(), [&](const auto& other) {
        const auto& all = other.second->registered;
        return std::any_of(all.begin(), all.end(), [&](const auto& one) {
          return one.second.start < end && start < one.second.start + one.second.bytes;
        });
      }));
}

void* RegisterMemory(const World& world, Rank& rank, const std::byte* start, size_t bytes) {
  void* handle = NewHandle();
  rank.registered[handle] = {start, bytes, IsNcclMemory(world, start, bytes), false, false};
  return handle;
}

std::string BeginWindow(const World& world, Rank& rank, const std::byte* start, size_t bytes,
                        bool symmetric, cuda::NcclWindow* handle) {
  if (!IsNcclMemory(world, start, bytes)) {
    return "a window is made of memory that ncclMemAlloc did not allocate";
  }
  SharedState& state = rank.communicator->shared();
  StateLock lock(state);
  SharedState::Member& own = rank.communicator->member(rank.rank);
  const uint64_t number = own.windows++, place = number % SharedState::kWindows;
  for (int other = 0; other < state.ranks; ++other) {
    const SharedState::Member& member = state.members[other];
    if (other == rank.rank || member.windows <= number) continue;
    if (member.window_bytes[place] == bytes) continue;
    return fmt::format("rank {} makes a window of {} bytes where another rank makes one of {}",
                       rank.rank, bytes, member.window_bytes[place]);
  }
  own.window_bytes[place] = bytes;
  rank.windows.push_back({number, handle, {start, bytes, true, true, symmetric}});
  return "";
}

void FinishWindows(Rank& rank) {
  while (!rank.windows.empty()) {
    const Rank::Window& next = rank.windows.front();
    {
      SharedState& state = rank.communicator->shared();
      StateLock lock(state);
      const auto begun = [&](const auto& member) { return member.windows > next.number; };
      if (!std::all_of(state.members, state.members + state.ranks, begun)) return;
    }
    void* handle = NewHandle();
    rank.registered[handle] = next.registered;
    *next.handle = static_cast<cuda::NcclWindow>(handle);
    rank.windows.pop_front();
  }
}

bool Deregister(Rank& rank, void* handle, bool window) {
  const auto found = rank.registered.find(handle);
  if (found == rank.registered.end() || found->second.window != window) return false;
  rank.registered.erase(found);
  return true;
}

CallMemory MemoryOf(const NcclCall& call, const Rank& rank) {
  CallMemory memory;
  memory.registered = true;
  const auto look = [&](const NcclBuffer& piece, std::optional<size_t>& offset) {
    if (piece.bytes == 0) return;
    const Registered* found = Find(rank, piece);
    if (found == nullptr) {
      memory.registered = false;
    } else if (found->symmetric && call.collective()) {
      offset = static_cast<size_t>(piece.start - found->start);
    }
  };
  look(Given(call, rank), memory.from);
  look(Gotten(call, rank), memory.to);
  return memory;
}

}  // namespace cgraph::emulation
