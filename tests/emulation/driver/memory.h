// Memory of the emulated devices, and pinned memory of the host: what is allocated where.
//
// Each allocation is a mapping of its own between pages that nobody may touch. Fresh memory is full
// of garbage. Addresses are never given out again, and what was freed faults. While nothing runs on
// a device, its memory faults, too: the host has no business there.
#ifndef CGRAPH_TESTS_EMULATION_DRIVER_MEMORY_H_
#define CGRAPH_TESTS_EMULATION_DRIVER_MEMORY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "tests/emulation/driver/options.h"

namespace cgraph::emulation {

inline constexpr int kHost = -1;  // the device of pinned memory

// ExportHeader: the first page of the file that memory is in which other processes open.
struct ExportHeader {
  static constexpr int kMostOpeners = 64;
  uint64_t id = 0;                           // of the allocation
  std::atomic<int> openers[kMostOpeners]{};  // their numbers; 0: none
};

// What another process needs to open exported memory.
struct ExportedPages {
  int process = 0;
  int file = -1;
  int device = kHost;
  uint64_t bytes = 0;
  uint64_t head = 0;  // of the pages, before the bytes
  uint64_t page_bytes = 0;
  uint64_t id = 0;
};

struct Allocation {
  // kRegistered: the program's own memory of the host, pinned. kImported: another process's.
  enum class Kind : uint8_t { kOwn, kRegistered, kImported };
  Kind kind = Kind::kOwn;
  std::byte* start = nullptr;
  uint64_t bytes = 0;
  int device = kHost;
  bool freed = false;
  uint64_t id = 0;
  // Of the pages that hold it.
  std::byte* pages = nullptr;
  uint64_t page_bytes = 0;
  // Of exported and of imported memory.
  ExportHeader* header = nullptr;
  ExportedPages exported;
  int opened = 0;        // so often, in this context:
  int importer = kHost;  // the device whose context has opened it
};

// DeviceSet: a bit for each device.
using DeviceSet = uint32_t;
inline DeviceSet SetOf(int device) { return device == kHost ? 0 : DeviceSet{1} << device; }

// Under the machine's lock.
class Memory {
 public:
  explicit Memory(const Options& options) : options_(options) {}

  // Returns null when the device's memory is used up, or that of the process.
  const Allocation* Allocate(int device, uint64_t bytes);
  // `allocation` is of this memory, and not freed.
  void Free(const Allocation& allocation);
  // Frees what is a device's, and closes what its context has opened.
  void FreeAll(int device);

  // Makes pinned memory of the program's own. Null, with the misuse reported, where some of it is
  // registered already or nothing is mapped there.
  const Allocation* Register(std::byte* start, uint64_t bytes);
  void Unregister(const Allocation& allocation);
  // Puts a device's allocation where other processes can open it. Null where the system refuses.
  const ExportedPages* Export(const Allocation& allocation);
  // Opens what another process has exported in a device's context, or opens it once more. Null,
  // with the misuse reported, where it was freed; or where the system refuses.
  const Allocation* Import(const ExportedPages& exported, int importer);
  void CloseImported(const Allocation& allocation);
  // Returns the number of a process that has opened the allocation, and lives; 0: there is none.
  static int OpenerOf(const Allocation& allocation);

  // Returns the allocation, live or freed, that the address lies in; null when there is none.
  const Allocation* Find(const void* address) const;
  // Returns the allocation, live or freed, on whose pages or next to them the address lies.
  const Allocation* FindNear(const void* address) const;
  uint64_t used(int device) const { return used_[static_cast<size_t>(device)]; }
  uint64_t live() const { return live_; }

  // Lets what runs touch the memory of these devices until as many calls of Close.
  void Open(DeviceSet devices);
  void Close(DeviceSet devices);

 private:
  void Protect(const Allocation& allocation, int protection);
  int ProtectionOf(int device) const;
  void Forget(const Allocation& allocation);

  const Options& options_;
  std::map<std::byte*, Allocation> allocations_;  // by their starts
  std::array<std::set<const Allocation*>, kMostDevices> of_devices_;  // those that are live
  std::array<uint64_t, kMostDevices> used_{};
  std::array<int, kMostDevices> open_{};
  uint64_t live_ = 0;
  uint64_t made_ = 0;
};

// Returns whether the address is a plausible one of the process, and something is mapped there.
bool IsMapped(const void* address);

// A piece of memory that an operation works on.
struct Range {
  std::byte* start = nullptr;
  uint64_t bytes = 0;
};

// Returns false, and reports the misuse, for a range that was freed or runs over the end of its
// allocation; `what` names who works on it.
bool CheckRange(const Memory& memory, const Range& range, const std::string& what);

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_DRIVER_MEMORY_H_
