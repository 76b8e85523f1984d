// What tests make the engine leave out, to see that something notices each: one wait, or one look
// at a semaphore. Only where it is built with CGRAPH_OMISSIONS; otherwise nothing is ever left out,
// and nothing is asked at run time.
#ifndef CGRAPH_RUNTIME_ENGINE_OMISSION_H_
#define CGRAPH_RUNTIME_ENGINE_OMISSION_H_

#include <cstdint>
#include <vector>

namespace cgraph::engine {

enum class Omission : uint32_t {
  kNothing,
  kKeptWait,    // the wait number `which` of `graph`, of those that the reduction keeps
  kCompletion,  // entries are finished when they are issued
  kOneQueue,    // ... when all queues of a work queue but number `which` are through
  kReports,     // what queues report is not heard
};

#ifdef CGRAPH_OMISSIONS
struct Omitted {
  Omission what = Omission::kNothing;
  uint32_t which = 0;
  uint32_t graph = 0;
  uint32_t wait = ~0u;  // of the graph: the wait that was left out, if there is one
};
inline Omitted omitted;  // set before an engine is loaded
inline void OmitKeptWait(uint32_t graph, std::vector<bool>& kept) {
  if (omitted.what != Omission::kKeptWait || graph != omitted.graph) return;
  omitted.wait = ~0u;
  for (uint32_t w = 0, count = 0; w < kept.size(); ++w) {
    if (kept[w] && count++ == omitted.which) kept[omitted.wait = w] = false;
  }
}
inline bool Omits(Omission what) { return omitted.what == what; }
inline bool Omits(Omission what, uint32_t which) { return Omits(what) && omitted.which == which; }
#else
inline void OmitKeptWait(uint32_t, std::vector<bool>&) {}
constexpr bool Omits(Omission) { return false; }
constexpr bool Omits(Omission, uint32_t) { return false; }
#endif

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_OMISSION_H_
