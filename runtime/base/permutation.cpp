#include "runtime/base/permutation.h"

#include <numeric>
#include <utility>

namespace cgraph {
namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;

constexpr uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

std::vector<int64_t> Permutation(int64_t rows, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), int64_t{0});
  uint64_t state = Mix(seed + (epoch + 1) * kGolden);
  for (size_t i = order.size(); i-- > 1;) {
    state += kGolden;
    const auto wide = static_cast<unsigned __int128>(Mix(state)) * (i + 1);
    std::swap(order[i], order[static_cast<size_t>(wide >> 64)]);
  }
  return order;
}

}  // namespace cgraph
