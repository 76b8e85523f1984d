#include "runtime/device/cpu/reserved_memory.h"

#include <sys/mman.h>

#include <fmt/format.h>

#include "runtime/base/text.h"

namespace cgraph::device {
namespace {

class Reservation : public MemoryOwner {
 public:
  void Free(std::byte* data, uint64_t size) override { munmap(data, size); }
};

}  // namespace

Result<Memory> ReserveMemory(uint64_t bytes, const std::string& what) {
  if (bytes == 0) return Memory();
  void* data = MAP_FAILED;
  if (bytes <= UINT64_MAX - kBlockAlign) {
    bytes = AlignUp(bytes, kBlockAlign);
    data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (data == MAP_FAILED) {
    return Status(StatusCode::kInvalid, fmt::format("{} would take {}, which the system refuses",
                                                    what, BytesText(bytes)));
  }
  return Memory(static_cast<std::byte*>(data), bytes, MemoryKind::plain, /*host_visible=*/true,
                std::make_shared<Reservation>());
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

}  // namespace cgraph::device
