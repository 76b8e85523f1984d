// A plan as JSON: an accepted plan comes back the same when it is written and read once more.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "runtime/plan/load.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cgraph;
  const std::string json(reinterpret_cast<const char*>(data), size);
  auto plan = plan::FromJson(json);
  if (!plan.ok()) return 0;
  auto again = plan::FromJson(plan::ToJson(**plan));
  if (!again.ok() || plan::ToBytes(**again) != plan::ToBytes(**plan)) std::abort();
  return 0;
}
