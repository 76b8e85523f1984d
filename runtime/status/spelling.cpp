// Spelling help: the edit distance that counts a swap of two neighbours as one mistake, since
// `fro` for `for` is as likely a slip as `forr`.
#include "runtime/status/spelling.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace cgraph {
namespace {

// Names longer than this are compared by their beginnings only, so that a megabyte-long name costs
// nothing.
constexpr size_t kMaxCompared = 64;

bool SameButForCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b) {
  a = a.substr(0, kMaxCompared);
  b = b.substr(0, kMaxCompared);
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

namespace {

// The only candidate that begins with all of `name`: `--out`, `transp`.
std::string Completed(std::string_view name, std::span<const std::string> candidates) {
  constexpr size_t kLeast = 5;
  std::string whole;
  for (const std::string& candidate : candidates) {
    if (name.size() < kLeast || !candidate.starts_with(name) || candidate == name) continue;
    if (!whole.empty() && whole != candidate) return "";
    whole = candidate;
  }
  return whole;
}

}  // namespace

std::string DidYouMean(std::string_view name, std::span<const std::string> candidates) {
  size_t best = std::min<size_t>((name.size() + 2) / 3, 3);  // `flt` is none of `int`
  if (name.size() < 3) best = name.size();  // `x` is no misspelling of `y`
  std::string nearest;
  for (const std::string& candidate : candidates) {
    if (candidate == name) continue;
    if (SameButForCase(name, candidate)) return candidate;
    const size_t distance = EditDistance(name, candidate);
    if (distance < best || (distance == best && nearest.empty() && name.size() >= 3)) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest.empty() ? Completed(name, candidates) : nearest;
}

std::string DidYouMeanHint(std::string_view name, std::span<const std::string> candidates) {
  const std::string nearest = DidYouMean(name, candidates);
  return nearest.empty() ? "" : " (did you mean `" + nearest + "`?)";
}

}  // namespace cgraph
