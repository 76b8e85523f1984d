// Region: memory that all ranks of an engine on one machine map, each at the same address, so that
// an address in it means the same to all of them. Its first bytes say which address that is.
//
// Every rank takes blocks in the same order and of the same sizes while it loads the plan: so a
// block has one address everywhere without being told. Rank 0 may take more afterwards. Blocks are
// never given back; all memory goes with the last rank. The region has no name and no file: nothing
// is left behind, however the ranks end.
//
// The region is as large as the machine's memory, and costs nothing where no block was taken. Its
// size is sealed. The system is asked for the pages of a block when the block is taken: where there
// are none, that is an error then, and no signal later.
#ifndef CGRAPH_RUNTIME_CLUSTER_SHARED_REGION_H_
#define CGRAPH_RUNTIME_CLUSTER_SHARED_REGION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/base/status.h"
#include "runtime/device/memory.h"

namespace cgraph::cluster {

class Region final : public device::MemorySource,
                     public device::MemoryOwner,
                     public std::enable_shared_from_this<Region> {
 public:
  // kNotFound where the system gives no such memory.
  static Result<std::shared_ptr<Region>> Make();
  // Maps the region of another process, whose file descriptor this is; takes it over. kInvalid
  // where it is none, kNotFound where something else lies at its address.
  static Result<std::shared_ptr<Region>> Attach(int fd);
  ~Region() override;

  // Takes a block, aligned to a page, and zeroed unless another rank has used it by now. With
  // `what`, kInvalid where it is more than is free, kNotFound where the system gives no more.
  Result<device::Memory> Allocate(uint64_t bytes, device::MemoryKind kind,
                                  const std::string& what) override;
  bool Contains(const void* data) const override;
  void Free(std::byte*, uint64_t) override {}

  int fd() const { return fd_; }
  uint64_t used() const { return used_; }  // bytes that were taken
  // Returns what rank 0 has taken since this rank has; null: nothing. Cheap where it is nothing.
  // From then on this rank has taken it as well.
  std::span<std::byte> TakeGrown();

 private:
  Region(int fd, std::byte* data, uint64_t size) : fd_(fd), data_(data), size_(size) {}
  static std::shared_ptr<Region> Map(int fd, uint64_t size, uintptr_t address);

  const int fd_;
  std::byte* const data_;
  const uint64_t size_;
  uint64_t used_ = 0;
};

}  // namespace cgraph::cluster

#endif  // CGRAPH_RUNTIME_CLUSTER_SHARED_REGION_H_
