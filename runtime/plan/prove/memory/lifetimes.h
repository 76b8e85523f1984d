// Lifetimes: a lifetime is a write of some bytes of a buffer and the reads of what it wrote,
// represented by the first and the last access in each lane.
#ifndef CGRAPH_RUNTIME_PLAN_PROVE_MEMORY_LIFETIMES_H_
#define CGRAPH_RUNTIME_PLAN_PROVE_MEMORY_LIFETIMES_H_

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "runtime/plan/graph_index.h"
#include "runtime/plan/prove/vector_clocks.h"

namespace cgraph::plan::prove {

// A lifetime's earliest and latest access in one lane, along the lane's endless list.
struct LaneSpan {
  uint32_t lane, first, last;
};

struct Lifetime {
  uint32_t buffer = 0;
  uint64_t begin = 0, end = 0;  // in its arena
  uint32_t phase = 0;           // lag of its first access, modulo copies
  uint32_t order = 0;           // and that access's position in the certificate
  int64_t turns = 0;            // lag divided by copies
  uint32_t first_span = 0, spans = 0;
};

// Lifetimes of an arena's buffers.
class Lifetimes {
 public:
  Lifetimes(const GraphIndex& index, const Lists<Access>& accesses, const VectorClocks& clocks)
      : index_(index), accesses_(accesses), clocks_(clocks) {}

  // Removes all lifetimes. `copies` are those of the arena whose buffers are added next.
  void Clear(int64_t copies);
  // Adds everything that a buffer goes through as one lifetime.
  void AddWhole(uint32_t buffer);
  // Adds each lifetime on its own. Takes what it looks at off `budget`, and stops when that is
  // negative. Returns false then, and when writes are not before their reads, or program order does
  // not say whose they are.
  bool AddTrue(uint32_t buffer, int64_t& budget);

  std::vector<Lifetime>& all() { return lifetimes_; }
  std::span<const LaneSpan> SpansOf(const Lifetime& lifetime) const {
    return std::span(spans_).subspan(lifetime.first_span, lifetime.spans);
  }

 private:
  bool AddOfPiece(uint32_t buffer, uint64_t begin, uint64_t end);
  void FindBeginnings();
  void Add(uint32_t buffer, uint64_t begin, uint64_t end);

  const GraphIndex& index_;
  const Lists<Access>& accesses_;
  const VectorClocks& clocks_;
  int64_t copies_ = 1;
  std::vector<Lifetime> lifetimes_;
  std::vector<LaneSpan> spans_;
  std::vector<const Access*> piece_;                              // accesses of some bytes
  std::vector<uint8_t> begins_;                                   // of them, a lifetime
  std::vector<uint32_t> users_;                                   // of one lifetime
  std::vector<std::tuple<uint32_t, uint64_t, uint32_t>> points_;  // and where they are
};

}  // namespace cgraph::plan::prove

#endif  // CGRAPH_RUNTIME_PLAN_PROVE_MEMORY_LIFETIMES_H_
