#include "runtime/engine/turns.h"

#include <algorithm>

namespace cgraph::engine {

void Turns::Add(Caller& caller) {
  Caller** last = &first_;
  while (*last != nullptr) last = &(*last)->next;
  *last = &caller;
}

void Turns::Remove(const Caller& caller) {
  Caller** at = &first_;
  while (*at != &caller) at = &(*at)->next;
  *at = caller.next;
  Change();
}

void Turns::Change() {
  changes_.fetch_add(1, std::memory_order_release);
  changed_.Notify();
}

template <typename Visit>
bool Turns::AnyBefore(const LoadedGraph& graph, const Caller& self, Visit&& visit) const {
  for (Caller* at = first_; at != nullptr && at != &self; at = at->next) {
    const bool related = at->graph == graph.index ||
                         std::count(graph.conflicts.begin(), graph.conflicts.end(), at->graph) != 0;
    if (related && visit(*at)) return true;
  }
  return false;
}

bool Turns::MustWait(const LoadedGraph& graph, const Caller& self) const {
  constexpr uint32_t kMostOvertaken = 64;
  return AnyBefore(graph, self,
                   [](const Caller& caller) { return caller.overtaken >= kMostOvertaken; });
}

void Turns::Overtake(const LoadedGraph& graph, const Caller& self) {
  AnyBefore(graph, self, [](Caller& caller) {
    ++caller.overtaken;
    return false;
  });
}

}  // namespace cgraph::engine
