#include "runtime/cluster/links.h"

#include <fmt/format.h>

namespace cgraph::cluster {

Result<uint32_t> Links::NewTags(uint64_t count) {
  const uint32_t first = next_tag_;
  const Wire& wire = messenger_.wire();
  if (count > wire.most_tag() - first) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("the plan has more than {} channels and members of collectives "
                              "between machines, which is what {} has tags for",
                              wire.most_tag(), wire.library()));
  }
  next_tag_ += static_cast<uint32_t>(count);
  messenger_.UseTagsBelow(next_tag_);
  return first;
}

}  // namespace cgraph::cluster
