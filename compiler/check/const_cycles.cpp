// The step CheckConstCycles: no const may stand in its own value.
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compiler/check/checker.h"

namespace cgraph::check {

using namespace program;

// Searches depth first with a stack of its own: a chain of consts may be as long as the file.
void CheckConstCycles(Checker& checker) {
  enum State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> states(checker.const_uses.size(), kNew);
  for (ConstId root : checker.program.consts.Ids()) {
    if (states[root.index] != kNew) continue;
    std::vector<std::pair<ConstId, size_t>> path = {{root, 0}};
    states[root.index] = kOpen;
    while (!path.empty()) {
      auto& [id, next] = path.back();
      if (next == checker.const_uses[id].size()) {
        states[id.index] = kDone;
        path.pop_back();
        continue;
      }
      ConstId used = checker.const_uses[id][next++];
      if (states[used.index] == kNew) {
        states[used.index] = kOpen;
        path.emplace_back(used, 0);
      } else if (states[used.index] == kOpen) {
        const Const& row = checker.program.consts[used];
        auto& diagnostic =
            checker.diagnostics.Report(Code::kE0320, row.range,
                                       fmt::format("the value of `{}` needs itself", row.name));
        if (id != used) {
          diagnostic.AddNote(checker.program.consts[id].range, "through this const");
        }
      }
    }
  }
}

}  // namespace cgraph::check
