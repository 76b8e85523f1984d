// Shared libraries of CUDA's. None is linked: each is opened when it is first needed, and a machine
// without it does without.
#ifndef CGRAPH_RUNTIME_CUDA_LIBRARIES_SHARED_LIBRARY_H_
#define CGRAPH_RUNTIME_CUDA_LIBRARIES_SHARED_LIBRARY_H_

#include <string>
#include <string_view>
#include <vector>

#include "runtime/status/status.h"

namespace cgraph::cuda {

// SharedLibrary: a library by the names that it has in the generations that are known, the newest
// first, and what it does for us: "multiplies matrices".
struct SharedLibrary {
  std::vector<const char*> files;
  const char* purpose = nullptr;

  // Opens the first of the files that the loader finds. It is never closed: libraries of CUDA's
  // start threads. kNotFound where there is none, kUnsupported where none can be opened.
  Result<void*> Open() const;
  // Returns why the library is not used, and what to do about it, as one sentence (kUnsupported):
  // `what` is "is of version 11.4, and 12.0 or newer is needed".
  Status Unusable(std::string_view what) const;
};

// Returns where a function of an opened library is; null where it has none of the name.
void* FindSymbol(void* library, const char* name);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_CUDA_LIBRARIES_SHARED_LIBRARY_H_
