#include "compiler/inspect/simulate/periodic.h"

namespace cgraph {

PeriodicGraph PeriodicGraph::Reversed() const {
  PeriodicGraph result;
  result.moments_ = moments_;
  result.edges_.reserve(edges_.size());
  for (const Edge& edge : edges_) {
    result.edges_.push_back({edge.to, edge.from, edge.distance});
  }
  return result;
}

std::vector<uint32_t> PeriodicGraph::Sort() {
  // Edges into and out of each moment, as ranges of flat arrays.
  first_before_.assign(moments_ + 1, 0);
  std::vector<uint32_t> first_after(moments_ + 1, 0);
  for (const Edge& edge : edges_) {
    ++first_before_[edge.to + 1];
    ++first_after[edge.from + 1];
  }
  for (uint32_t moment = 0; moment < moments_; ++moment) {
    first_before_[moment + 1] += first_before_[moment];
    first_after[moment + 1] += first_after[moment];
  }
  before_.resize(edges_.size());
  std::vector<uint32_t> after(edges_.size());
  std::vector<uint32_t> next_before(first_before_.begin(), first_before_.end() - 1);
  std::vector<uint32_t> next_after(first_after.begin(), first_after.end() - 1);
  std::vector<uint32_t> open(moments_, 0);  // edges of distance 0 from moments not yet in order
  for (uint32_t i = 0; i < edges_.size(); ++i) {
    const Edge& edge = edges_[i];
    before_[next_before[edge.to]++] = {edge.from, edge.distance};
    after[next_after[edge.from]++] = i;
    open[edge.to] += edge.distance == 0;
  }
  order_.clear();
  for (uint32_t moment = 0; moment < moments_; ++moment) {
    if (open[moment] == 0) {
      order_.push_back(moment);
    }
  }
  for (size_t done = 0; done < order_.size(); ++done) {
    for (uint32_t i = first_after[order_[done]]; i < first_after[order_[done] + 1]; ++i) {
      const Edge& edge = edges_[after[i]];
      if (edge.distance == 0 && --open[edge.to] == 0) {
        order_.push_back(edge.to);
      }
    }
  }
  std::vector<uint32_t> stuck;
  for (uint32_t moment = 0; moment < moments_; ++moment) {
    if (open[moment] > 0) {
      stuck.push_back(moment);
    }
  }
  return stuck;
}

uint64_t PeriodicGraph::Depth(uint64_t rounds) const {
  uint64_t depth = 1;
  for (const Edge& edge : edges_) {
    if (edge.distance < rounds) {  // a longer one never reaches back to a round that was
      depth = std::max(depth, edge.distance + 1);
    }
  }
  return depth;
}

}  // namespace cgraph
