// Memory that the program or another process has made: registered memory of the host, and memory of
// devices that processes open of each other. That lies in a file without a name, which the process
// that has allocated it keeps open, behind a page that says who has opened it.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "tests/emulation/driver/memory.h"
#include "tests/emulation/misuse.h"

namespace cgraph::emulation {
namespace {

constexpr uint64_t kPage = 4096;
static_assert(sizeof(ExportHeader) <= kPage);

// Returns whether a process has not ended. One that has, and that its parent has not asked about,
// is still listed.
bool Lives(int process) {
  if (kill(process, 0) != 0 && errno == ESRCH) return false;
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string stat;
  std::getline(file, stat);
  const size_t name = stat.rfind(") ");
  return name != stat.npos && name + 2 < stat.size() && stat[name + 2] != 'Z';
}

bool Enter(ExportHeader& header) {
  for (std::atomic<int>& opener : header.openers) {
    int none = 0;
    if (opener.compare_exchange_strong(none, getpid())) return true;
  }
  return false;
}

void Leave(ExportHeader& header) {
  for (std::atomic<int>& opener : header.openers) {
    int own = getpid();
    if (opener.compare_exchange_strong(own, 0)) return;
  }
}

// Returns the file that memory was exported in; -1 where it is no longer open there, or another
// file is by now.
int OpenExported(const ExportedPages& exported) {
  const std::string path = fmt::format("/proc/{}/fd/{}", exported.process, exported.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return -1;
  struct stat found;
  uint64_t id = 0;
  const bool same = fstat(file, &found) == 0 && S_ISREG(found.st_mode) &&
                    static_cast<uint64_t>(found.st_size) == kPage + exported.page_bytes &&
                    pread(file, &id, sizeof id, offsetof(ExportHeader, id)) == sizeof id &&
                    id == exported.id;
  if (same) return file;
  close(file);
  return -1;
}

// Whether a process has ended, or does so within a tenth of a second: its files are closed before
// it can be seen.
bool Ends(int process) {
  for (int look = 0; look < 100; ++look) {
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    const std::string stat((std::istreambuf_iterator<char>(file)), {});
    const size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos || stat.find_first_of("ZX", name_end) == name_end + 2) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

bool AllMapped(const std::byte* start, uint64_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(start) / kPage * kPage;
  const auto end = reinterpret_cast<uintptr_t>(start) + bytes;
  return msync(reinterpret_cast<void*>(first), end - first, MS_ASYNC) == 0;
}

}  // namespace

// ---- registered ---------------------------------------------------------------------------------

const Allocation* Memory::Register(std::byte* start, uint64_t bytes) {
  const auto next = allocations_.upper_bound(start + bytes - 1);
  const Allocation* const before =
      next == allocations_.begin() ? nullptr : &std::prev(next)->second;
  if (before != nullptr && before->start + before->bytes > start) {
    Misuse(fmt::format("{} bytes at {} are registered, of which some are pinned already", bytes,
                       static_cast<void*>(start)));
    return nullptr;
  }
  if (!AllMapped(start, bytes)) {
    Misuse(fmt::format("{} bytes at {} are registered, which are not all mapped", bytes,
                       static_cast<void*>(start)));
    return nullptr;
  }
  Allocation allocation;
  allocation.kind = Allocation::Kind::kRegistered;
  allocation.start = allocation.pages = start;
  allocation.bytes = allocation.page_bytes = bytes;
  allocation.id = ++made_;
  ++live_;
  return &allocations_.emplace(start, allocation).first->second;
}

void Memory::Unregister(const Allocation& allocation) { Forget(allocation); }

// From here on nothing is known of its addresses, which are the program's.
void Memory::Forget(const Allocation& allocation) {
  --live_;
  if (allocation.kind == Allocation::Kind::kImported) {
    of_devices_[static_cast<size_t>(allocation.device)].erase(&allocation);
    Leave(*allocation.header);
    munmap(allocation.header, kPage);
    mmap(allocation.pages, allocation.page_bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    Allocation& closed = allocations_.find(allocation.start)->second;
    closed.freed = true;  // the addresses stay taken, and fault
    closed.header = nullptr;
    return;
  }
  allocations_.erase(allocation.start);
}

// ---- exported and imported ----------------------------------------------------------------------

int Memory::ProtectionOf(int device) const {
  const bool open = !options_.protect || open_[static_cast<size_t>(device)] != 0;
  return open ? PROT_READ | PROT_WRITE : PROT_NONE;
}

const ExportedPages* Memory::Export(const Allocation& of) {
  Allocation& allocation = allocations_.find(of.start)->second;
  if (allocation.header != nullptr) return &allocation.exported;
  const int file = memfd_create("emulated memory", MFD_CLOEXEC);
  const uint64_t size = kPage + allocation.page_bytes;
  if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0) return nullptr;
  void* const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const bytes = static_cast<std::byte*>(mapped);
  mprotect(allocation.pages, allocation.page_bytes, PROT_READ | PROT_WRITE);
  // AddressSanitizer has what is around the allocation poisoned, and the same addresses stay so.
  std::memcpy(bytes + kPage + (allocation.start - allocation.pages), allocation.start,
              allocation.bytes);
  munmap(bytes + kPage, allocation.page_bytes);
  void* const moved = mmap(allocation.pages, allocation.page_bytes, ProtectionOf(allocation.device),
                           MAP_SHARED | MAP_FIXED, file, kPage);
  if (moved == MAP_FAILED) return nullptr;
  allocation.header = new (mapped) ExportHeader;
  allocation.exported = {getpid(),
                         file,
                         allocation.device,
                         allocation.bytes,
                         static_cast<uint64_t>(allocation.start - allocation.pages),
                         allocation.page_bytes,
                         allocation.id};
  allocation.header->id = allocation.id;
  return &allocation.exported;
}

const Allocation* Memory::Import(const ExportedPages& exported, int importer) {
  for (auto& [start, allocation] : allocations_) {
    if (allocation.kind != Allocation::Kind::kImported || allocation.freed ||
        allocation.importer != importer) {
      continue;
    }
    const bool same = allocation.exported.process == exported.process &&
                      allocation.exported.file == exported.file;
    if (!same) continue;
    ++allocation.opened;
    return &allocation;
  }
  const int file = OpenExported(exported);
  if (file < 0) {
    if (!Ends(exported.process)) {
      Misuse("memory of another process is opened that was freed");
    }
    return nullptr;  // of a process that has ended: an error, as by the driver
  }
  void* const header = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  void* const room = mmap(nullptr, exported.page_bytes + 2 * kPage, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  Allocation made;
  made.kind = Allocation::Kind::kImported;
  made.pages = static_cast<std::byte*>(room) + kPage;
  void* const pages = header == MAP_FAILED || room == MAP_FAILED
                          ? MAP_FAILED
                          : mmap(made.pages, exported.page_bytes, ProtectionOf(exported.device),
                                 MAP_SHARED | MAP_FIXED, file, kPage);
  close(file);
  if (pages == MAP_FAILED) return nullptr;
  made.header = static_cast<ExportHeader*>(header);
  if (!Enter(*made.header)) return nullptr;
  made.page_bytes = exported.page_bytes;
  made.start = made.pages + exported.head;
  made.bytes = exported.bytes;
  made.device = exported.device;
  made.exported = exported;
  made.opened = 1;
  made.importer = importer;
  made.id = ++made_;
  ++live_;
  const Allocation& kept = allocations_.emplace(made.start, made).first->second;
  of_devices_[static_cast<size_t>(made.device)].insert(&kept);
  return &kept;
}

void Memory::CloseImported(const Allocation& allocation) {
  Allocation& imported = allocations_.find(allocation.start)->second;
  if (--imported.opened == 0) Forget(imported);
}

int Memory::OpenerOf(const Allocation& allocation) {
  if (allocation.header == nullptr) return 0;
  for (const std::atomic<int>& opener : allocation.header->openers) {
    if (const int process = opener; process != 0 && Lives(process)) return process;
  }
  return 0;
}

}  // namespace cgraph::emulation
