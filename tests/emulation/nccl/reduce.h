// The arithmetic of the emulated NCCL.
#ifndef CGRAPH_TESTS_EMULATION_NCCL_REDUCE_H_
#define CGRAPH_TESTS_EMULATION_NCCL_REDUCE_H_

#include <cstddef>
#include <span>

namespace cgraph::emulation {

// Returns the bytes of an element of a type, as NCCL numbers types; 0 where there is none.
size_t NcclWidth(int type);

// Reduces elements [first, first + count) of what each rank gives to `to`. `all` are the elements
// of a whole tensor. `ring` as in NcclOptions.
void NcclReduce(int type, int reduction, std::span<const std::byte* const> from, size_t first,
                size_t count, size_t all, bool ring, std::byte* to);

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_NCCL_REDUCE_H_
