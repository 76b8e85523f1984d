#include "compiler/cost/group/fair_share.h"

#include <algorithm>

namespace cgraph::cost {
namespace {

using Wide = unsigned __int128;

struct Shared {
  uint64_t left = 0;              // capacity that is not given out yet
  uint64_t growing = 0;           // of those that still grow, what they could carry alone
  std::vector<uint32_t> flows;    // one as often as it passes
};

// Returns whether one resource is full before the other, as all flows grow.
bool IsTighter(const Shared& one, const Shared& other) {
  return Wide(one.left) * other.growing < Wide(other.left) * one.growing;
}

}  // namespace

std::vector<uint64_t> FairShares(const std::vector<Flow>& flows,
                                 const std::vector<uint64_t>& capacities) {
  std::vector<Shared> all(capacities.size());
  std::vector<uint64_t> shares;
  std::vector<bool> grows(flows.size(), true);
  for (size_t i = 0; i < capacities.size(); ++i) all[i].left = capacities[i];
  for (uint32_t i = 0; i < flows.size(); ++i) {
    shares.push_back(flows[i].alone);
    for (uint32_t resource : flows[i].through) {
      all[resource].growing += flows[i].alone;
      all[resource].flows.push_back(i);
    }
  }
  std::vector<uint32_t> used;
  for (uint32_t i = 0; i < all.size(); ++i) {
    if (!all[i].flows.empty()) used.push_back(i);
  }
  while (true) {
    std::erase_if(used, [&](uint32_t i) { return all[i].left >= all[i].growing; });
    if (used.empty()) return shares;
    // All resources that are full at the same moment are treated together, so that equal flows stay
    // equal.
    const auto least =
        std::min_element(used.begin(), used.end(),
                         [&](uint32_t a, uint32_t b) { return IsTighter(all[a], all[b]); });
    const Shared tightest{all[*least].left, all[*least].growing, {}};
    std::vector<uint32_t> full = used;
    std::erase_if(full, [&](uint32_t i) { return IsTighter(tightest, all[i]); });
    for (uint32_t resource : full) {
      for (uint32_t flow : all[resource].flows) {
        if (!grows[flow]) continue;
        grows[flow] = false;
        shares[flow] =
            static_cast<uint64_t>(Wide(flows[flow].alone) * tightest.left / tightest.growing);
        for (uint32_t passed : flows[flow].through) {
          all[passed].left -= std::min(all[passed].left, shares[flow]);
          all[passed].growing -= flows[flow].alone;
        }
      }
    }
  }
}

}  // namespace cgraph::cost
