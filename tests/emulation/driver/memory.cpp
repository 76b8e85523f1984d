#include "tests/emulation/driver/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "tests/emulation/misuse.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#endif

namespace cgraph::emulation {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kAlignment = 256;  // of devices' memory, and no more than that
constexpr int kGarbage = 0xcd;

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

// A device's allocation ends where its pages end, so that an access behind it faults; a pinned one
// begins where its pages begin, as the driver's do. What the pages have besides, AddressSanitizer
// guards.
const Allocation* Memory::Allocate(int device, uint64_t bytes) {
  if (bytes > (uint64_t{1} << 46)) return nullptr;
  const uint64_t rounded = RoundUp(bytes, kAlignment);
  if (device != kHost && rounded > options_.memory - used(device)) return nullptr;
  Allocation allocation;
  allocation.bytes = bytes;
  allocation.device = device;
  allocation.page_bytes = RoundUp(bytes, kPage);
  void* const mapping = mmap(nullptr, allocation.page_bytes + 2 * kPage, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  allocation.pages = static_cast<std::byte*>(mapping) + kPage;
  if (mprotect(allocation.pages, allocation.page_bytes, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapping, allocation.page_bytes + 2 * kPage);
    return nullptr;
  }
  const uint64_t head = device == kHost ? 0 : allocation.page_bytes - rounded;
  allocation.start = allocation.pages + head;
  allocation.id = ++made_;
  std::memset(allocation.start, kGarbage, bytes);
  ASAN_POISON_MEMORY_REGION(allocation.pages, allocation.page_bytes);
  ASAN_UNPOISON_MEMORY_REGION(allocation.start, bytes);
  ++live_;
  const Allocation& made = allocations_.emplace(allocation.start, allocation).first->second;
  if (device != kHost) {
    used_[static_cast<size_t>(device)] += rounded;
    of_devices_[static_cast<size_t>(device)].insert(&made);
    if (open_[static_cast<size_t>(device)] == 0) Protect(made, PROT_NONE);
  }
  return &made;
}

void Memory::Protect(const Allocation& allocation, int protection) {
  if (options_.protect) mprotect(allocation.pages, allocation.page_bytes, protection);
}

void Memory::Free(const Allocation& freed) {
  Allocation& allocation = allocations_.find(freed.start)->second;
  allocation.freed = true;
  if (allocation.header != nullptr) {
    munmap(allocation.header, kPage);
    close(allocation.exported.file);
    allocation.header = nullptr;
  }
  --live_;
  if (allocation.device != kHost) {
    used_[static_cast<size_t>(allocation.device)] -= RoundUp(allocation.bytes, kAlignment);
    of_devices_[static_cast<size_t>(allocation.device)].erase(&allocation);
  }
  // The addresses stay taken, and fault.
  ASAN_UNPOISON_MEMORY_REGION(allocation.pages, allocation.page_bytes);
  mmap(allocation.pages, allocation.page_bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void Memory::FreeAll(int device) {
  std::vector<const Allocation*> own, opened;
  for (const auto& [start, allocation] : allocations_) {
    if (allocation.freed) continue;
    if (allocation.kind == Allocation::Kind::kImported) {
      if (allocation.importer == device) opened.push_back(&allocation);
    } else if (allocation.device == device) {
      own.push_back(&allocation);
    }
  }
  for (const Allocation* allocation : opened) Forget(*allocation);
  for (const Allocation* allocation : own) Free(*allocation);
}

const Allocation* Memory::Find(const void* address) const {
  auto* const byte = static_cast<std::byte*>(const_cast<void*>(address));
  auto next = allocations_.upper_bound(byte);
  if (next == allocations_.begin()) return nullptr;
  const Allocation& allocation = std::prev(next)->second;
  return byte < allocation.start + allocation.bytes ? &allocation : nullptr;
}

const Allocation* Memory::FindNear(const void* address) const {
  auto* const byte = static_cast<std::byte*>(const_cast<void*>(address));
  auto next = allocations_.upper_bound(byte);
  if (next != allocations_.end() && byte >= next->second.pages - kPage) return &next->second;
  if (next == allocations_.begin()) return nullptr;
  const Allocation& allocation = std::prev(next)->second;
  return byte < allocation.pages + allocation.page_bytes + kPage ? &allocation : nullptr;
}

void Memory::Open(DeviceSet devices) {
  for (int device = 0; device < options_.devices; ++device) {
    if ((devices & SetOf(device)) == 0 || open_[static_cast<size_t>(device)]++ != 0) continue;
    for (const Allocation* allocation : of_devices_[static_cast<size_t>(device)]) {
      Protect(*allocation, PROT_READ | PROT_WRITE);
    }
  }
}

void Memory::Close(DeviceSet devices) {
  for (int device = 0; device < options_.devices; ++device) {
    if ((devices & SetOf(device)) == 0 || --open_[static_cast<size_t>(device)] != 0) continue;
    for (const Allocation* allocation : of_devices_[static_cast<size_t>(device)]) {
      Protect(*allocation, PROT_NONE);
    }
  }
}

// Programs, libraries and heaps lie above 5 * 2^44, with sanitizers, too; what a sanitizer maps
// below is its own. So numbers, and pairs of small ones, are no addresses.
bool IsMapped(const void* address) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  if (number < (uintptr_t{5} << 44) || number >= (uintptr_t{1} << 47)) return false;
  return msync(reinterpret_cast<void*>(number / kPage * kPage), 1, MS_ASYNC) == 0;
}

bool CheckRange(const Memory& memory, const Range& range, const std::string& what) {
  const Allocation* const allocation = memory.Find(range.start);
  const void* const start = range.start;
  if (allocation == nullptr) return true;
  if (allocation->freed) {
    Misuse(fmt::format("{} works on {}, where memory was freed", what, start));
    return false;
  }
  const uint64_t rest = static_cast<uint64_t>(allocation->start + allocation->bytes - range.start);
  if (range.bytes <= rest) return true;
  Misuse(fmt::format("{} works on {} bytes at {}, where an allocation has {} more", what,
                     range.bytes, start, rest));
  return false;
}

}  // namespace cgraph::emulation
