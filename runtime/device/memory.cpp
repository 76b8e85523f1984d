#include "runtime/device/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "runtime/base/text.h"

namespace cgraph::device {
namespace {

constexpr uint64_t kHugePage = 2ull << 20;
constexpr uint64_t kMapped = 64ull << 10;  // smaller blocks come from the allocator
constexpr uint64_t kMaxSize = std::numeric_limits<uint64_t>::max();

// Returns how many bytes a plan may take: no more than are free now, since all of them are touched.
uint64_t AvailableBytes() {
  // The kernel's own estimate, which counts caches that it would give up.
  if (std::FILE* file = std::fopen("/proc/meminfo", "r")) {
    char line[128];
    unsigned long long kilobytes = 0;
    bool found = false;
    while (!found && std::fgets(line, sizeof line, file) != nullptr) {
      found = std::sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1;
    }
    std::fclose(file);
    if (found) return uint64_t{kilobytes} * 1024;
  }
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace

Memory::~Memory() {
  if (data_ == nullptr) return;
  if (owner_ != nullptr) {
    owner_->Free(data_, size_);
  } else if (size_ < kMapped) {
    std::free(data_);
  } else {
    munmap(data_, size_);
  }
}

Result<Memory> Memory::Allocate(uint64_t bytes, const std::string& what, MemoryKind kind) {
  Memory memory;
  memory.kind_ = kind;
  if (bytes == 0) return memory;
  CGRAPH_RETURN_IF_ERROR(CheckFree(bytes, what));
  bytes = (bytes + kBlockAlign - 1) / kBlockAlign * kBlockAlign;
  if (bytes < kMapped) {
    memory.data_ = static_cast<std::byte*>(std::aligned_alloc(kBlockAlign, bytes));
    if (memory.data_ == nullptr) return Status(StatusCode::kInvalid, "no memory for " + what);
    memory.size_ = bytes;
    std::memset(memory.data_, 0, bytes);
    return memory;
  }
  // Pages of the system are zero. They are touched here, as memory.h promises; huge ones are asked
  // for first, since pages that are there already stay small.
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return Status(StatusCode::kInvalid,
                  fmt::format("{} would take {}, which the system refuses", what,
                              BytesText(bytes)));
  }
  memory.data_ = static_cast<std::byte*>(data);
  memory.size_ = bytes;
  if (bytes >= kHugePage) madvise(data, bytes, MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
  madvise(data, bytes, MADV_POPULATE_WRITE);
#endif
  return memory;
}

Status CheckFree(uint64_t bytes, const std::string& what) {
  if (bytes < kMapped) return Status::Ok();  // the little that is left may serve so much
  const uint64_t most = AvailableBytes();
  if (bytes <= most) return Status::Ok();
  return Status(StatusCode::kInvalid,
                fmt::format("{} would take {}, and this machine has {} free", what,
                            BytesText(bytes), BytesText(most)));
}

Result<Memory> ReserveMemory(uint64_t bytes, const std::string& what) {
  if (bytes == 0) return Memory();
  void* data = MAP_FAILED;
  if (bytes <= UINT64_MAX - kBlockAlign) {
    bytes = std::max(AlignUp(bytes, kBlockAlign), kMapped);  // as ~Memory() takes what is mapped
    data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (data == MAP_FAILED) {
    return Status(StatusCode::kInvalid, fmt::format("{} would take {}, which the system refuses",
                                                    what, BytesText(bytes)));
  }
  return Memory(static_cast<std::byte*>(data), bytes, MemoryKind::plain, /*host_visible=*/true,
                nullptr);
}

Status TakeReserved(void* data, uint64_t bytes, const std::string& what) {
  CGRAPH_RETURN_IF_ERROR(CheckFree(bytes, what));
#ifdef MADV_POPULATE_WRITE
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = begin / kBlockAlign * kBlockAlign;
  madvise(reinterpret_cast<void*>(first), AlignUp(begin + bytes - first, kBlockAlign),
          MADV_POPULATE_WRITE);
#endif
  return Status::Ok();
}

uint64_t BumpLayout::Add(uint64_t bytes, uint64_t align) {
  if (size_ > kMaxSize - align || bytes > kMaxSize - align - size_) {
    size_ = kMaxSize;
    return 0;
  }
  const uint64_t offset = (size_ + align - 1) & ~(align - 1);
  size_ = offset > kMaxSize - bytes ? kMaxSize : offset + bytes;
  return offset;
}

}  // namespace cgraph::device
