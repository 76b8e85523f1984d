#include "runtime/device/cuda/libraries/libraries.h"

#include <utility>

#include "runtime/device/cuda/libraries/shared_library.h"

namespace cgraph::cuda {

const ProductLibrary* OpenedLibraries::products() {
  if (std::exchange(asked_for_products_, true)) return products_.get();
  const Result<const CublasLt*> functions = CublasLt::Get();
  WarnUnused("cuBLASLt", functions.status());
  if (!functions.ok()) return nullptr;
  auto made = ProductLibrary::Make(**functions);
  WarnUnused("cuBLASLt", made.status());
  if (made.ok()) products_ = std::move(*made);
  return products_.get();
}

}  // namespace cgraph::cuda
