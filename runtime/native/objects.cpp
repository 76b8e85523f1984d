#include "runtime/native/objects.h"

#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/text.h"
#include "runtime/native/guarded.h"
#include "runtime/native/library.h"

namespace cgraph::native {

void Objects::Clear() {
  for (; !objects_.empty(); objects_.pop_back()) {
    const Object& last = objects_.back();
    cgraph_destroy* destroy =
        last.made == nullptr ? nullptr : last.library->FindDestroy(last.actor);
    if (destroy == nullptr || (last.make_current && !last.make_current())) continue;
    const std::string code = fmt::format("`{}_destroy` of {}", last.actor, last.library->path());
    std::string error;
    const bool failed = Fails(last.place, code, 1, error, [&] {
      destroy(last.made);
      return false;
    });
    // No caller waits for a status any more, so the failure goes to standard error.
    if (failed) Say(fmt::format("cgraph: {}, for {}: {}\n", code, last.place, error));
  }
}

int64_t Objects::Add(void* made, const Library& library, std::string actor, std::string place,
                     MakeCurrent make_current) {
  std::lock_guard lock(mutex_);
  objects_.emplace_back(made, &library, std::move(actor), std::move(place),
                        std::move(make_current));
  return static_cast<int64_t>(objects_.size());
}

const Object* Objects::FindOf(const std::string& place) {
  std::lock_guard lock(mutex_);
  for (const Object& object : objects_) {
    if (object.place == place) return &object;
  }
  return nullptr;
}

}  // namespace cgraph::native
