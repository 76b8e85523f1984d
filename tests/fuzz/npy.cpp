// An .npy file, as bytes and from a file: both readers agree, and an accepted file can be written
// and read again.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "runtime/files/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cgraph;
  const auto parsed = files::ParseNpy({data, size});
  const int file = memfd_create("npy", 0);
  if (write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
  const auto read = files::ReadNpy("/proc/self/fd/" + std::to_string(file));
  close(file);
  if (parsed.ok() != read.ok()) std::abort();
  if (!parsed.ok()) return 0;
  if (parsed->dims != read->dims || parsed->bytes != read->bytes) std::abort();
  std::vector<uint8_t> again = files::FormatNpyHeader(parsed->dtype, parsed->dims);
  again.insert(again.end(), parsed->bytes.begin(), parsed->bytes.end());
  const auto reread = files::ParseNpy(again);
  if (!reread.ok() || reread->dims != parsed->dims || reread->bytes != parsed->bytes) std::abort();
  return 0;
}
