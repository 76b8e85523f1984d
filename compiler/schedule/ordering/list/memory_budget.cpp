#include "compiler/schedule/ordering/list/memory_budget.h"

#include <algorithm>
#include <bit>

namespace cgraph::schedule {

RangeMaxTree::RangeMaxTree(uint32_t size) : leaves_(std::bit_ceil(std::max(size, 1u))) {
  most_.assign(size_t{leaves_} * 2, 0);
  added_.assign(size_t{leaves_} * 2, 0);
}

void RangeMaxTree::Add(uint32_t node, uint32_t from, uint32_t to, uint32_t begin, uint32_t end,
                       int64_t value) {
  if (begin >= to || end <= from) return;
  if (begin <= from && to <= end) {
    most_[node] += value;
    added_[node] += value;
    return;
  }
  const uint32_t middle = from + (to - from) / 2;
  Add(2 * node, from, middle, begin, end, value);
  Add(2 * node + 1, middle, to, begin, end, value);
  most_[node] = added_[node] + std::max(most_[2 * node], most_[2 * node + 1]);
}

MemoryBudget::MemoryBudget(const Tasks& tasks, const Holdings& holdings)
    : tasks_(tasks), holdings_(holdings) {
  if (!limited()) return;
  if (tasks.fallback.empty()) return;
  FindPlaces();
  for (uint32_t task = 0; task < tasks.size(); ++task) {
    for (uint32_t block : tasks.takes[task]) {
      const auto& [memory, bytes] = tasks.blocks[block];
      range_max_[memory].Add(PlaceOf(task, memory), user_places_[block].back() + 1, bytes);
    }
  }
}

void MemoryBudget::FindPlaces() {
  places_.resize(tasks_.size());
  order_.resize(tasks_.memories.size());
  started_.assign(tasks_.size(), false);
  user_places_.resize(tasks_.blocks.size());
  for (uint32_t task : tasks_.fallback) {
    for (uint32_t block : tasks_.touches[task]) {
      const uint32_t memory = tasks_.blocks[block].memory;
      std::vector<uint32_t>& order = order_[memory];
      if (order.empty() || order.back() != task) {
        places_[task].push_back({memory, static_cast<uint32_t>(order.size())});
        order.push_back(task);
      }
      user_places_[block].push_back(static_cast<uint32_t>(order.size() - 1));
    }
  }
  for (const std::vector<uint32_t>& order : order_) {
    range_max_.emplace_back(static_cast<uint32_t>(order.size()));
  }
}

// Returns the position of a task that touches the memory.
uint32_t MemoryBudget::PlaceOf(uint32_t task, uint32_t memory) const {
  return std::find_if(places_[task].begin(), places_[task].end(),
                      [&](const FallbackPosition& place) { return place.memory == memory; })
      ->place;
}

bool MemoryBudget::Has(uint32_t task) {
  if (!limited() || tasks_.takes[task].empty()) return true;
  return holdings_.HasMemory(task) && (places_.empty() || task == next() || FitsLater(task));
}

bool MemoryBudget::FitsLater(uint32_t task) {
  Change(task, 1);
  bool fits = true;
  for (uint32_t block : tasks_.takes[task]) {
    const uint32_t memory = tasks_.blocks[block].memory;
    fits = fits && range_max_[memory].Most() <= tasks_.memories[memory];
  }
  Change(task, -1);
  return fits;
}

// Changes what the fallback's positions hold once the task has started, or no longer (-1).
void MemoryBudget::Change(uint32_t task, int sign) {
  for (uint32_t block : tasks_.takes[task]) {
    const auto& [memory, bytes] = tasks_.blocks[block];
    range_max_[memory].Add(0, PlaceOf(task, memory), sign * bytes);
  }
  for (uint32_t block : tasks_.touches[task]) {
    const auto& [memory, bytes] = tasks_.blocks[block];
    const uint32_t place = PlaceOf(task, memory);
    if (user_places_[block].empty() || user_places_[block].back() != place) continue;
    range_max_[memory].Add(LastUser(block, place), place + 1, -sign * bytes);
  }
}

// Returns one behind the last position of a user that has not started, except the one at `but`: 0
// when there is none.
uint32_t MemoryBudget::LastUser(uint32_t block, uint32_t but) const {
  const std::vector<uint32_t>& places = user_places_[block];
  const std::vector<uint32_t>& order = order_[tasks_.blocks[block].memory];
  for (size_t i = places.size(); i-- > 0;) {
    if (places[i] != but && !started_[order[places[i]]]) return places[i] + 1;
  }
  return 0;
}

void MemoryBudget::Start(uint32_t task) {
  if (places_.empty()) return;
  Change(task, 1);
  started_[task] = true;
  for (uint32_t block : tasks_.touches[task]) {
    std::vector<uint32_t>& places = user_places_[block];
    const std::vector<uint32_t>& order = order_[tasks_.blocks[block].memory];
    while (!places.empty() && started_[order[places.back()]]) places.pop_back();
  }
  // A started task's own positions hold nothing any more.
  constexpr int64_t kNothing = INT64_MIN / 4;
  for (const FallbackPosition& at : places_[task])
    range_max_[at.memory].Add(at.place, at.place + 1, kNothing);
  while (next_ < tasks_.fallback.size() && started_[tasks_.fallback[next_]]) ++next_;
}

}  // namespace cgraph::schedule
