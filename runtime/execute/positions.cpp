#include "runtime/execute/positions.h"

#include <utility>

namespace cgraph::engine {

Position Positions::Where() const {
  const auto [done, at, round] = inbox_.progress();
  Position position;
  position.done = done;
  if (at == EntryInbox::kIdle) {
    if (inbox_.pushed() == done) return position;
    // All is issued and not all is over: the queues have it.
    const std::vector<Position> queues = OfQueues();
    return queues.empty() ? position : queues.front();
  }
  position.running = (at >> 32 & 1) != 0;
  position.graph = static_cast<uint32_t>(at >> 33);
  position.step = static_cast<uint32_t>(at);
  // The words may be those of a process that has crashed, so they are not used as indices unseen.
  position.idle = position.graph >= tracks_.size() ||
                  position.step >= tracks_[position.graph].program->steps.size();
  position.round = round;
  return position;
}

// Drops heads whose graph or step is out of range: the process that told them may have crashed.
std::vector<device::Head> Positions::Known(std::vector<device::Head> heads) const {
  std::erase_if(heads, [&](const device::Head& head) {
    if (head.tag.graph >= tracks_.size()) return true;
    const size_t steps = tracks_[head.tag.graph].program->steps.size();
    return head.tag.step >= steps || head.last_step >= steps;
  });
  return heads;
}

void Positions::SetHeads(std::vector<device::Head> heads) {
  heads = Known(std::move(heads));
  std::lock_guard lock(far_heads_mutex_);
  far_heads_ = std::move(heads);
}

std::vector<Position> Positions::OfQueues() const {
  if (!queues_.empty()) return Of(queues_.Heads());
  if (shared_heads_ != nullptr) return Of(Known(shared_heads_->Get()));
  std::lock_guard lock(far_heads_mutex_);
  return Of(far_heads_);
}

std::vector<Position> Positions::Of(const std::vector<device::Head>& heads) const {
  std::vector<Position> all;
  for (const device::Head& head : heads) {
    all.push_back({.idle = false,
                   .running = head.running,
                   .graph = head.tag.graph,
                   .step = head.tag.step,
                   // Operations count as progress, too: one entry may take a queue longer than the
                   // watchdog's patience.
                   .done = inbox_.done() + head.finished,
                   .round = head.tag.round,
                   .of_queue = true,
                   .finished = head.finished,
                   .pending = head.pending,
                   .last_step = head.last_step});
  }
  return all;
}

}  // namespace cgraph::engine
