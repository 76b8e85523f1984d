#include "runtime/plan/prove/memory/lifetimes.h"

#include <algorithm>

namespace cgraph::plan::prove {

void Lifetimes::Clear(int64_t copies) {
  copies_ = copies;
  lifetimes_.clear();
  spans_.clear();
}

void Lifetimes::AddWhole(uint32_t buffer) {
  const Buffer& at = index_.graph().buffers[buffer];
  users_.clear();
  for (const Access& access : accesses_.of(buffer)) users_.push_back(access.instruction);
  Add(buffer, 0, at.bytes());
}

// The bytes between two neighbouring ends of accesses all have the same users.
bool Lifetimes::AddTrue(uint32_t buffer, int64_t& budget) {
  const auto accesses = accesses_.of(buffer);
  std::vector<uint64_t> ends;
  for (const Access& access : accesses) {
    ends.push_back(access.begin);
    ends.push_back(access.end);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  bool ordered = true;
  for (size_t i = 0; i + 1 < ends.size() && budget >= 0; ++i) {
    budget -= static_cast<int64_t>(accesses.size());
    piece_.clear();
    for (const Access& access : accesses) {
      if (access.begin <= ends[i] && access.end > ends[i]) piece_.push_back(&access);
    }
    FindBeginnings();
    ordered = AddOfPiece(buffer, ends[i], ends[i + 1]) && ordered;
  }
  return ordered && budget >= 0;
}

bool Lifetimes::AddOfPiece(uint32_t buffer, uint64_t begin, uint64_t end) {
  bool ordered = true;
  users_.clear();
  for (size_t i = 0; i < piece_.size(); ++i) {
    const Access& access = *piece_[i];
    if (begins_[i] != 0) {
      Add(buffer, begin, end);
      users_.clear();
    }
    users_.push_back(access.instruction);
    const Access* before = i > 0 ? piece_[i - 1] : nullptr;
    const bool same_place = before != nullptr && before->program_order == access.program_order &&
                            before->instruction != access.instruction &&
                            (before->write || access.write);
    const bool in_its_life =
        begins_[i] != 0 ||
        (!access.write && clocks_.Before(users_.front(), access.instruction, 0));
    ordered = ordered && !same_place && in_its_life;
  }
  Add(buffer, begin, end);
  return ordered;
}

// Finds the writes of a range of bytes that begin a lifetime: those after which no access reads
// what was there before. A write whose size depends on extents leaves what lies behind them, so it
// begins a lifetime only for reads that end at the same extents. The search goes from behind.
void Lifetimes::FindBeginnings() {
  begins_.assign(piece_.size(), 0);
  const Graph& graph = index_.graph();
  bool read = false, alike = true;  // what follows, up to the next beginning
  std::vector<uint64_t> extents;    // by which all of that is scaled
  for (size_t i = piece_.size(); i-- > 0;) {
    std::vector<uint64_t> scaled = ScaledBy(graph, *piece_[i]);
    if (piece_[i]->write) {
      begins_[i] = scaled.empty() || !read || (alike && scaled == extents) ? 1 : 0;
      if (begins_[i] != 0) read = false, alike = true;
    } else {
      alike = alike && (!read || scaled == extents);
      read = true;
      extents = std::move(scaled);
    }
  }
}

// Adds a lifetime of bytes [begin, end) of the buffer, touched by `users_`.
void Lifetimes::Add(uint32_t buffer, uint64_t begin, uint64_t end) {
  const Graph& graph = index_.graph();
  if (users_.empty() || begin == end) return;
  Lifetime lifetime;
  lifetime.buffer = buffer;
  lifetime.begin = graph.buffers[buffer].offset() + begin;
  lifetime.end = graph.buffers[buffer].offset() + end;
  lifetime.first_span = static_cast<uint32_t>(spans_.size());
  points_.clear();
  std::tuple<uint32_t, uint32_t> earliest(kNone, kNone);
  for (uint32_t user : users_) {
    const Instruction& instruction = graph.instructions[user];
    const uint32_t lane = index_.lane(user);
    points_.emplace_back(
        lane, index_.position(user) + uint64_t{instruction.lag()} * index_.length(lane), user);
    earliest = std::min(
        earliest, std::tuple(uint32_t{instruction.lag()}, instruction.certificate_position()));
  }
  std::sort(points_.begin(), points_.end());
  for (const auto& [lane, along, instruction] : points_) {
    if (spans_.size() == lifetime.first_span || spans_.back().lane != lane) {
      spans_.push_back({lane, instruction, instruction});
    }
    spans_.back().last = instruction;
  }
  lifetime.spans = static_cast<uint32_t>(spans_.size()) - lifetime.first_span;
  lifetime.phase = std::get<0>(earliest) % copies_;
  lifetime.turns = std::get<0>(earliest) / copies_;
  lifetime.order = std::get<1>(earliest);
  lifetimes_.push_back(lifetime);
}

}  // namespace cgraph::plan::prove
