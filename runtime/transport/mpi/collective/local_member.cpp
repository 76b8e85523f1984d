#include "runtime/transport/mpi/collective/local_member.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/transport/mpi/collective/message_layout.h"
#include "runtime/transport/mpi/collective/sections.h"

namespace cgraph::transport {

// Ranks that get the same sections share a message.
Status LocalMember::MakeMessages(const CollectiveShape& shape, std::span<const uint32_t> ranks,
                                 uint32_t member) {
  std::vector<uint32_t> others;
  for (uint32_t rank : std::set<uint32_t>(ranks.begin(), ranks.end())) {
    if (rank != ranks[member]) others.push_back(rank);
  }
  std::vector<std::pair<std::vector<Section>, std::vector<uint32_t>>> to;
  for (uint32_t rank : others) {
    std::vector<Section> sections = SectionsFor(shape, ranks, member, rank);
    auto same = std::find_if(to.begin(), to.end(),
                             [&](const auto& other) { return other.first == sections; });
    if (same == to.end()) same = to.insert(to.end(), {std::move(sections), {}});
    same->second.push_back(rank);
  }
  for (auto& [sections, getting] : to) {
    inputs.emplace_back(MessageLayout(shape, std::move(sections)), std::move(getting));
    CGRAPH_RETURN_IF_ERROR(inputs.back().Allocate());
  }
  std::vector<Section> reduced = SlicesOf(shape, member);
  if (reduced.empty()) return Status::Ok();
  slices.emplace_back(MessageLayout(shape, std::move(reduced)), std::move(others));
  return slices.back().Allocate();
}

bool LocalMember::AllLeft(uint64_t n) const {
  for (const auto* messages : {&inputs, &slices}) {
    for (const OutgoingMessage& message : *messages) {
      if (!message.Left(n)) return false;
    }
  }
  return true;
}

void LocalMember::KeepIn(cluster::Messenger& messenger) {
  for (auto* messages : {&inputs, &slices}) {
    for (OutgoingMessage& message : *messages) message.KeepIn(messenger);
  }
}

}  // namespace cgraph::transport
