#include "runtime/native/objects.h"

#include <utility>

namespace cgraph::native {

Objects::~Objects() {
  for (; !objects_.empty(); objects_.pop_back()) {
    const Object& last = objects_.back();
    if (last.made != nullptr && last.destroy != nullptr) last.destroy(last.made);
  }
}

int64_t Objects::Add(Object object) {
  std::lock_guard lock(mutex_);
  objects_.push_back(std::move(object));
  return static_cast<int64_t>(objects_.size());
}

}  // namespace cgraph::native
