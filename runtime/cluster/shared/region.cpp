#include "runtime/cluster/shared/region.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "runtime/base/text.h"

namespace cgraph::cluster {
namespace {

// Where no program, library, heap or stack of a 64-bit process lies, with or without a sanitizer.
constexpr uintptr_t kFirstAddress = uintptr_t{0x2000} << 32, kLastAddress = uintptr_t{0x4000} << 32;
constexpr uint64_t kStep = 1ull << 40;  // between the regions of one process's engines
constexpr uint64_t kHugePage = 2ull << 20;

constexpr uint64_t kMagic = 0x6e6f696765526763;  // "cgRegion"
struct Header {
  uint64_t magic;
  uintptr_t address;
  // Up to here some rank has asked whether there is memory: the others need no more of it.
  std::atomic<uint64_t> asked;
  std::atomic<uint64_t> taken;  // by whom has taken most
};

// Returns the machine's memory, or what the limits of this process leave of it. The region is a
// file to the system, and of addresses the process needs others, too.
uint64_t MostBytes() {
  uint64_t most = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                  static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0) most = std::min<uint64_t>(most, limit.rlim_cur);
  if (getrlimit(RLIMIT_AS, &limit) == 0) most = std::min<uint64_t>(most, limit.rlim_cur / 2);
  return most / device::kBlockAlign * device::kBlockAlign;
}

Status Refused(const std::string& what) {
  return Status(StatusCode::kNotFound,
                fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

Result<std::shared_ptr<Region>> Region::Make() {
  const int fd = memfd_create("cgraph", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return Refused("memory that processes share cannot be had");
  const uint64_t size = MostBytes();
  if (size == 0) {
    close(fd);
    return Status(StatusCode::kNotFound,
                  "processes cannot share memory where `ulimit -f` or `ulimit -v` leaves none");
  }
  if (ftruncate(fd, static_cast<off_t>(size)) != 0 ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    Status status = Refused(fmt::format("memory of {} bytes that processes share cannot be had",
                                        size));
    close(fd);
    return status;
  }
  for (uintptr_t address = kFirstAddress; address < kLastAddress;
       address += device::AlignUp(size, kStep)) {
    if (auto region = Map(fd, size, address)) {
      auto header = region->Allocate(sizeof(Header), device::MemoryKind::plain, "a region");
      if (!header.ok()) return header.status();
      auto* const made = new (region->data_) Header;
      made->magic = kMagic;
      made->address = address;
      return region;
    }
  }
  close(fd);
  return Status(StatusCode::kNotFound,
                fmt::format("{} bytes of addresses for memory that processes share cannot be had",
                            size));
}

Result<std::shared_ptr<Region>> Region::Attach(int fd) {
  struct {
    uint64_t magic;
    uintptr_t address;
  } header{};
  static_assert(offsetof(Header, asked) == sizeof header);
  struct stat file;
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(fd, &file) != 0 ||
      pread(fd, &header, sizeof header, 0) != sizeof header || header.magic != kMagic) {
    close(fd);
    return Status(StatusCode::kInvalid, "what was handed over is no memory of a cgraph engine");
  }
  auto region = Map(fd, static_cast<uint64_t>(file.st_size), header.address);
  if (region == nullptr) {
    close(fd);
    return Status(StatusCode::kNotFound,
                  fmt::format("something else lies at {:#x}, where the memory that processes share "
                              "must lie",
                              header.address));
  }
  auto taken = region->Allocate(sizeof(Header), device::MemoryKind::plain, "a region");
  return taken.ok() ? Result(std::move(region)) : taken.status();
}

std::shared_ptr<Region> Region::Map(int fd, uint64_t size, uintptr_t address) {
  void* const wanted = reinterpret_cast<void*>(address);
  void* data = mmap(wanted, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
  if (data == MAP_FAILED) return nullptr;
  if (data != wanted) {  // a system that takes the address for a hint
    munmap(data, size);
    return nullptr;
  }
  madvise(data, size, MADV_DONTDUMP);
  return std::shared_ptr<Region>(new Region(fd, static_cast<std::byte*>(data), size));
}

Region::~Region() {
  munmap(data_, size_);
  close(fd_);
}

Result<device::Memory> Region::Allocate(uint64_t bytes, device::MemoryKind kind,
                                        const std::string& what) {
  if (bytes == 0) return device::Memory(nullptr, 0, kind, /*host_visible=*/true, nullptr);
  const uint64_t wanted = bytes;
  bytes = device::AlignUp(std::min(bytes, size_), device::kBlockAlign);
  const uint64_t at = bytes < kHugePage ? used_ : device::AlignUp(used_, kHugePage);
  if (at > size_ || bytes > size_ - at) {
    return Status(StatusCode::kNotFound,
                  fmt::format("{} would take {}, and of the {} that processes may share, by the "
                              "machine's memory and the limits of `ulimit -f` and half of `ulimit "
                              "-v`, {} are left; raise the limits, or run with --workers",
                              what, BytesText(wanted), BytesText(size_),
                              BytesText(size_ - std::min(size_, at))));
  }
  if (used_ != 0) {  // else there is no header yet
    std::atomic<uint64_t>& asked = reinterpret_cast<Header*>(data_)->asked;
    if (asked.load() < at + bytes) {
      CGRAPH_RETURN_IF_ERROR(device::CheckFree(bytes, what));
      asked.store(std::max(asked.load(), at + bytes));
    }
  }
  int failed;
  do {
    failed = fallocate(fd_, 0, static_cast<off_t>(at), static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  } while (failed == EINTR);
  if (failed != 0) {
    return Status(StatusCode::kNotFound,
                  fmt::format("{} would take {} that processes share, and the system refuses: {}",
                              what, BytesText(bytes), std::strerror(failed)));
  }
  const bool has_header = used_ != 0;
  used_ = at + bytes;
  if (has_header) {
    std::atomic<uint64_t>& taken = reinterpret_cast<Header*>(data_)->taken;
    if (taken.load() < used_) taken.store(used_, std::memory_order_release);
  }
  std::byte* const data = data_ + at;
  if (bytes >= kHugePage) madvise(data, bytes, MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
  madvise(data, bytes, MADV_POPULATE_WRITE);  // no execution pays for a page fault
#endif
  return device::Memory(data, bytes, kind, /*host_visible=*/true, shared_from_this());
}

std::span<std::byte> Region::TakeGrown() {
  const uint64_t taken = reinterpret_cast<Header*>(data_)->taken.load(std::memory_order_acquire);
  if (taken <= used_ || taken > size_) return {};
  const std::span<std::byte> grown(data_ + used_, taken - used_);
  used_ = taken;
  return grown;
}

bool Region::Contains(const void* data) const {
  const auto* at = static_cast<const std::byte*>(data);
  return at >= data_ && at < data_ + size_;
}

}  // namespace cgraph::cluster
