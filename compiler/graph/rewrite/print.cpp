#include "compiler/graph/rewrite.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace cgraph {

void PrintRewrites(llvm::ArrayRef<Rewritten> rewritten, const Sources& sources,
                   llvm::raw_ostream& out) {
  const auto place = [&](const Range& range) {
    const LineColumn at = sources.Locate(range.source, range.begin);
    return llvm::formatv("{0}:{1}:{2}", sources[range.source].path, at.line, at.column).str();
  };
  for (const Rewritten& done : rewritten) {
    const auto info = llvm::find_if(
        Rewrites(), [&](const RewriteInfo& one) { return one.name == done.rewrite; });
    out << llvm::formatv("rewrite {0} in {1}: {2}", done.rewrite, done.graph, info->what);
    if (!done.way.empty()) out << ", " << done.way;
    // Each place is shown once, and of many the first few.
    constexpr size_t kShown = 4;
    llvm::SetVector<std::string, std::vector<std::string>, std::set<std::string>> places;
    for (const Range& range : done.places) places.insert(place(range));
    const size_t shown = std::min(places.size(), kShown);
    out << " (" << llvm::join(places.begin(), places.begin() + shown, " and ");
    if (shown < places.size()) out << " and " << places.size() - shown << " more";
    out << ")\n";
  }
}

}  // namespace cgraph
