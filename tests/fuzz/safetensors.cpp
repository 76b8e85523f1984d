// A .safetensors file: opened, and every tensor of it read whole and as the slice that leaves out
// the border of each dimension. The same bytes as an index of shards.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/files/safetensors.h"
#include "runtime/files/shards.h"
#include "runtime/plan/kinds.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cgraph;
  const int file = memfd_create("safetensors", 0);
  if (write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const auto shards = files::Shards::Read(path);
  if (shards.ok()) (void)shards->FileOf("w");
  const auto opened = files::Safetensors::Open(path);
  close(file);
  if (!opened.ok()) return 0;
  for (const auto& [name, entry] : (*opened)->entries()) {
    if (entry.bytes > size) std::abort();
    std::vector<uint8_t> bytes(entry.bytes);
    (void)(*opened)->Read(name, {}, {}, bytes);
    std::vector<int64_t> first, count;
    for (const int64_t dim : entry.dims) {
      first.push_back(std::min<int64_t>(dim, 1));
      count.push_back(std::max<int64_t>(dim - 2, 0));
    }
    bytes.resize(plan::TensorBytes(entry.dtype, count).value());
    (void)(*opened)->Read(name, first, count, bytes);
  }
  return 0;
}
