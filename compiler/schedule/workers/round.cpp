#include "compiler/schedule/workers/round.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <set>
#include <utility>

namespace cgraph::schedule {

Round::Round(const plan::Graph& graph)
    : graph_(graph), lane_of_(graph.instructions.size(), 0),
      step_of_(graph.instructions.size(), 0), buffered_(graph.instructions.size()),
      messages_(graph.channels.size(), 0) {
  for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
    const plan::Range& range = graph.programs[lane];
    for (uint32_t i = 0; i < range.count(); ++i) lane_of_[range.first() + i] = lane;
  }
  for (const plan::Instruction& instruction : graph.instructions) {
    most_lag_ = std::max<uint32_t>(most_lag_, instruction.lag());
  }
  for (const plan::Wait& wait : graph.waits) {
    most_awaited_ = std::max<uint32_t>(most_awaited_, wait.lag());
  }
  FindSteps();
  FindMessages();
}

void Round::FindSteps() {
  members_.resize(graph_.instructions.size());
  std::iota(members_.begin(), members_.end(), 0);
  const auto order = [&](uint32_t i) { return graph_.instructions[i].certificate_position(); };
  const auto meets = [&](uint32_t i) { return graph_.instructions[i].kind() == plan::Kind::comm; };
  std::stable_sort(members_.begin(), members_.end(),
                   [&](uint32_t a, uint32_t b) { return order(a) < order(b); });
  for (uint32_t i = 0; i < members_.size(); ++i) {
    const bool joins = i > 0 && meets(members_[i]) && meets(members_[i - 1]) &&
                       order(members_[i]) == order(members_[i - 1]);
    if (!joins) steps_.push_back({i, 0});
    ++steps_.back().count;
    step_of_[members_[i]] = static_cast<uint32_t>(steps_.size() - 1);
  }
}

// Numbers the buffered sends and receives of each channel.
void Round::FindMessages() {
  std::vector<uint32_t> sent(messages_), received(messages_);
  for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
    const plan::Instruction& instruction = graph_.instructions[i];
    if (instruction.kind() != plan::Kind::comm || instruction.inputs() != 1) continue;
    const plan::CommPart& part = graph_.parts[instruction.first()];
    if (part.part() != plan::Part::send && part.part() != plan::Part::recv) continue;
    if (graph_.channels[part.subject()].protocol() != plan::Protocol::buffered) continue;
    const bool is_send = part.part() == plan::Part::send;
    std::vector<uint32_t>& counts = is_send ? sent : received;
    buffered_[i] = {part.subject(), counts[part.subject()]++, is_send};
  }
  messages_ = sent;
}

bool Round::Works(uint32_t instruction, uint32_t round, uint32_t executions) const {
  const uint32_t lag = graph_.instructions[instruction].lag();
  return round >= lag && round - lag < executions;
}

uint64_t Round::DurationOf(const CertificateStep& step) const {
  uint64_t longest = 0;
  for (uint32_t i = step.first; i < step.first + step.count; ++i) {
    const plan::Instruction& instruction = graph_.instructions[members_[i]];
    const plan::Kind kind = instruction.kind();
    const bool waits = kind == plan::Kind::signal || kind == plan::Kind::wait;
    longest = std::max(longest, waits ? 0 : instruction.expected());
  }
  return longest;
}

// ---- how long it takes --------------------------------------------------------------------------

// Plays rounds one after the other, and in each round the steps in the certificate's order.
class RoundPlayer {
 public:
  RoundPlayer(const Round& round, const std::vector<uint32_t>& worker_of_lane,
              uint32_t executions, uint64_t hop)
      : round_(round), graph_(round.graph_), worker_of_lane_(worker_of_lane),
        executions_(executions), hop_(hop), rounds_kept_(round.most_awaited_ + 1) {
    const uint32_t most = *std::max_element(worker_of_lane.begin(), worker_of_lane.end());
    free_.assign(size_t{most} + 1, 0);
    signals_.assign(rounds_kept_, std::vector<Moment>(graph_.events));
    for (uint32_t count : round.messages_) {
      put_.emplace_back(count);
      taken_.emplace_back(count);
    }
  }

  uint64_t Run() {
    const uint32_t rounds = executions_ + round_.most_lag_;
    const uint32_t inflight = std::max(1u, graph_.inflight);
    std::vector<uint64_t> over;  // by round
    for (now_ = 0; now_ < rounds; ++now_) {
      const uint64_t begin = now_ < inflight ? 0 : over[now_ - inflight];
      for (uint64_t& free : free_) free = std::max(free, begin);
      for (const Round::CertificateStep& step : round_.steps_) Do(step);
      over.push_back(*std::max_element(free_.begin(), free_.end()));
    }
    return last_;
  }

 private:
  struct Moment {
    uint64_t time = 0;
    uint32_t worker = plan::kNone;
  };

  uint32_t WorkerOf(uint32_t instruction) const {
    return worker_of_lane_[round_.lane_of_[instruction]];
  }
  uint64_t Seen(const Moment& moment, uint32_t worker) const {
    const bool elsewhere = moment.worker != plan::kNone && moment.worker != worker;
    return moment.time + (elsewhere ? hop_ : 0);
  }

  void Do(const Round::CertificateStep& step) {
    const uint32_t first = round_.members_[step.first];
    const plan::Instruction& instruction = graph_.instructions[first];
    uint64_t& free = free_[WorkerOf(first)];
    switch (instruction.kind()) {
      case plan::Kind::comm:
        if (step.count == 1 && round_.buffered_[first].channel != plan::kNone) return Pass(first);
        return Meet(step);
      case plan::Kind::signal:
        signals_[now_ % rounds_kept_][instruction.subject()] = {free, WorkerOf(first)};
        return;
      case plan::Kind::wait: return Wait(instruction, WorkerOf(first));
      default:
        if (!round_.Works(first, now_, executions_)) return;
        free += instruction.expected();
        See(first, free);
    }
  }

  // Records the end of work that is done for one of the executions.
  void See(uint32_t instruction, uint64_t end) {
    if (round_.Works(instruction, now_, executions_)) last_ = std::max(last_, end);
  }

  void Wait(const plan::Instruction& instruction, uint32_t worker) {
    for (uint32_t w = instruction.first(); w < instruction.first() + instruction.inputs(); ++w) {
      const plan::Wait& wait = graph_.waits[w];
      if (wait.lag() > now_) continue;
      const Moment& signal = signals_[(now_ - wait.lag()) % rounds_kept_][wait.event()];
      free_[worker] = std::max(free_[worker], Seen(signal, worker));
    }
  }

  // Plays a step that its participants begin together, once all of them are there.
  void Meet(const Round::CertificateStep& step) {
    uint64_t start = 0;
    bool far = false;
    const uint32_t worker = WorkerOf(round_.members_[step.first]);
    for (uint32_t i = step.first; i < step.first + step.count; ++i) {
      start = std::max(start, free_[WorkerOf(round_.members_[i])]);
      far |= WorkerOf(round_.members_[i]) != worker;
    }
    const uint64_t end = start + round_.DurationOf(step) + (far ? hop_ : 0);
    for (uint32_t i = step.first; i < step.first + step.count; ++i) {
      free_[WorkerOf(round_.members_[i])] = end;
      See(round_.members_[i], end);
    }
  }

  // Plays a buffered message: it is put when there is room for it, and taken when it is there. Each
  // end takes half of its time, as in a simulation.
  void Pass(uint32_t instruction) {
    const Round::Buffered& one = round_.buffered_[instruction];
    const uint32_t worker = WorkerOf(instruction);
    std::vector<Moment>& taken = taken_[one.channel];
    std::vector<Moment>& put = put_[one.channel];
    if (one.message >= put.size()) return;
    const size_t capacity = graph_.channels[one.channel].capacity();
    uint64_t start = free_[worker];
    if (one.is_send && capacity <= taken.size()) {
      const size_t before = (one.message + taken.size() - capacity) % taken.size();
      start = std::max(start, Seen(taken[before], worker));
    } else if (!one.is_send) {
      start = std::max(start, Seen(put[one.message], worker));
    }
    const uint64_t whole = graph_.instructions[instruction].expected();
    free_[worker] = start + (one.is_send ? whole - whole / 2 : whole / 2);
    (one.is_send ? put : taken)[one.message] = {free_[worker], worker};
    See(instruction, free_[worker]);
  }

  const Round& round_;
  const plan::Graph& graph_;
  const std::vector<uint32_t>& worker_of_lane_;
  const uint32_t executions_;
  const uint64_t hop_;
  const uint32_t rounds_kept_;
  uint32_t now_ = 0;   // round
  uint64_t last_ = 0;  // end of the executions
  std::vector<uint64_t> free_;                 // by worker
  std::vector<std::vector<Moment>> signals_;   // of the last rounds, by event
  std::vector<std::vector<Moment>> put_, taken_;  // by channel and message: the last time
};

uint64_t Round::Play(const std::vector<uint32_t>& worker_of_lane, uint32_t executions,
                     uint64_t hop) const {
  return RoundPlayer(*this, worker_of_lane, executions, hop).Run();
}

// ---- another order ------------------------------------------------------------------------------

// Returns by step the steps that come after it in one round.
std::vector<std::vector<uint32_t>> Round::Successors() const {
  std::vector<std::vector<uint32_t>> next(steps_.size());
  const auto add = [&](uint32_t from, uint32_t to) {
    if (step_of_[from] != step_of_[to]) next[step_of_[from]].push_back(step_of_[to]);
  };
  std::vector<uint32_t> signals(graph_.events, plan::kNone);
  for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
    const bool last = i + 1 == graph_.instructions.size() || lane_of_[i + 1] != lane_of_[i];
    if (!last) add(i, i + 1);
    const plan::Instruction& instruction = graph_.instructions[i];
    if (instruction.kind() == plan::Kind::signal) signals[instruction.subject()] = i;
  }
  for (uint32_t i = 0; i < graph_.instructions.size(); ++i) {
    const plan::Instruction& instruction = graph_.instructions[i];
    if (instruction.kind() != plan::Kind::wait) continue;
    for (uint32_t w = instruction.first(); w < instruction.first() + instruction.inputs(); ++w) {
      const plan::Wait& wait = graph_.waits[w];
      if (wait.lag() == 0 && signals[wait.event()] != plan::kNone) add(signals[wait.event()], i);
    }
  }
  AddMessageEdges(next);
  return next;
}

// Adds edges so that a receive comes after its send, and a send after the receive that makes room
// for it.
void Round::AddMessageEdges(std::vector<std::vector<uint32_t>>& next) const {
  std::vector<std::vector<uint32_t>> sends(messages_.size()), receives(messages_.size());
  for (uint32_t i = 0; i < buffered_.size(); ++i) {
    if (buffered_[i].channel == plan::kNone) continue;
    (buffered_[i].is_send ? sends : receives)[buffered_[i].channel].push_back(i);
  }
  for (size_t channel = 0; channel < messages_.size(); ++channel) {
    const size_t capacity = graph_.channels[channel].capacity();
    const size_t messages = std::min(sends[channel].size(), receives[channel].size());
    for (size_t j = 0; j < messages; ++j) {
      next[step_of_[sends[channel][j]]].push_back(step_of_[receives[channel][j]]);
      if (j < capacity) continue;
      next[step_of_[receives[channel][j - capacity]]].push_back(step_of_[sends[channel][j]]);
    }
  }
}

namespace {

using Edges = std::vector<std::vector<uint32_t>>;

// Returns the steps in an order of their edges; shorter where there is a cycle.
std::vector<uint32_t> Sorted(const Edges& next, std::vector<uint32_t> open) {
  std::vector<uint32_t> order;
  for (uint32_t step = 0; step < open.size(); ++step) {
    if (open[step] == 0) order.push_back(step);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (uint32_t after : next[order[i]]) {
      if (--open[after] == 0) order.push_back(after);
    }
  }
  return order;
}

// Lists steps on workers; each worker does one at a time.
class WorkerList {
 public:
  WorkerList(const Edges& next, std::vector<uint32_t> open, std::vector<uint64_t> durations,
             std::vector<uint64_t> paths, std::vector<std::vector<uint32_t>> workers)
      : next_(next), open_(std::move(open)), durations_(std::move(durations)),
        paths_(std::move(paths)), workers_(std::move(workers)) {
    uint32_t most = 0;
    for (const std::vector<uint32_t>& of : workers_) most = std::max(most, of.back());
    ready_.resize(size_t{most} + 1);
    busy_.assign(size_t{most} + 1, false);
  }

  std::vector<uint32_t> Run() {
    for (uint32_t step = 0; step < open_.size(); ++step) {
      if (open_[step] == 0) BecomeReady(step);
    }
    uint64_t now = 0;
    for (StartAll(now); !running_.empty(); StartAll(now)) {
      now = running_.top().first;
      while (!running_.empty() && running_.top().first == now) {
        const uint32_t step = running_.top().second;
        running_.pop();
        for (uint32_t worker : workers_[step]) busy_[worker] = false;
        for (uint32_t after : next_[step]) {
          if (--open_[after] == 0) BecomeReady(after);
        }
      }
    }
    return std::move(order_);
  }

 private:
  using Key = std::pair<uint64_t, uint32_t>;  // the longest path first, then as it stood

  Key KeyOf(uint32_t step) const { return {UINT64_MAX - paths_[step], step}; }
  void BecomeReady(uint32_t step) {
    for (uint32_t worker : workers_[step]) ready_[worker].insert(KeyOf(step));
  }
  void StartAll(uint64_t now) {
    for (size_t worker = 0; worker < ready_.size(); ++worker) {
      if (busy_[worker]) continue;
      const auto free = [&](const Key& key) {
        const std::vector<uint32_t>& all = workers_[key.second];
        return std::none_of(all.begin(), all.end(), [&](uint32_t one) { return busy_[one]; });
      };
      const auto found = std::find_if(ready_[worker].begin(), ready_[worker].end(), free);
      if (found == ready_[worker].end()) continue;
      const Key key = *found;
      for (uint32_t one : workers_[key.second]) {
        ready_[one].erase(key);
        busy_[one] = true;
      }
      order_.push_back(key.second);
      running_.emplace(now + durations_[key.second], key.second);
    }
  }

  const Edges& next_;
  std::vector<uint32_t> open_;  // by step: how many before it are not done
  std::vector<uint64_t> durations_, paths_;
  std::vector<std::vector<uint32_t>> workers_;  // by step, ascending
  std::vector<std::set<Key>> ready_;            // by worker
  std::vector<char> busy_;
  std::priority_queue<std::pair<uint64_t, uint32_t>, std::vector<std::pair<uint64_t, uint32_t>>,
                      std::greater<>> running_;
  std::vector<uint32_t> order_;
};

}  // namespace

std::vector<uint32_t> Round::Rearranged(const std::vector<uint32_t>& worker_of_lane) const {
  const Edges next = Successors();
  std::vector<uint32_t> open(steps_.size(), 0);
  for (const std::vector<uint32_t>& after : next) {
    for (uint32_t step : after) ++open[step];
  }
  const std::vector<uint32_t> sorted = Sorted(next, open);
  if (sorted.size() < steps_.size()) return {};
  std::vector<uint64_t> durations, paths(steps_.size(), 0);
  std::vector<std::vector<uint32_t>> workers;
  for (const CertificateStep& step : steps_) {
    durations.push_back(DurationOf(step));
    std::vector<uint32_t>& here = workers.emplace_back();
    for (uint32_t i = step.first; i < step.first + step.count; ++i) {
      here.push_back(worker_of_lane[lane_of_[members_[i]]]);
    }
    std::sort(here.begin(), here.end());
    here.erase(std::unique(here.begin(), here.end()), here.end());
  }
  for (size_t i = sorted.size(); i-- > 0;) {
    for (uint32_t after : next[sorted[i]]) {
      paths[sorted[i]] = std::max(paths[sorted[i]], paths[after]);
    }
    paths[sorted[i]] += durations[sorted[i]];
  }
  const std::vector<uint32_t> order =
      WorkerList(next, std::move(open), std::move(durations), std::move(paths),
                 std::move(workers)).Run();
  std::vector<uint32_t> positions(graph_.instructions.size(), 0);
  for (uint32_t position = 0; position < order.size(); ++position) {
    const CertificateStep& step = steps_[order[position]];
    for (uint32_t i = 0; i < step.count; ++i) positions[members_[step.first + i]] = position;
  }
  return positions;
}

}  // namespace cgraph::schedule
