#include "tests/simulation/scheduler.h"

#include <cxxabi.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace cgraph::simulation {
namespace {

constexpr size_t kGuard = 4096;
constexpr size_t kStack = 512 << 10;
constexpr size_t kTurns = 4096;  // that are remembered
constexpr uint32_t kMostRanks = 8;

Scheduler* current = nullptr;

// Stacks that no fiber has, kept for others.
std::vector<void*>& FreeStacks() {
  static std::vector<void*> stacks;
  return stacks;
}

void* TakeStack() {
  std::vector<void*>& free = FreeStacks();
  if (!free.empty()) {
    void* const stack = free.back();
    free.pop_back();
    return stack;
  }
  void* const memory = mmap(nullptr, kStack + kGuard, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, kGuard, PROT_NONE) != 0) std::abort();
  return static_cast<std::byte*>(memory) + kGuard;
}

}  // namespace

// What the language's runtime keeps of exceptions, per thread of the system.
struct Exceptions {
  void* caught = nullptr;
  unsigned uncaught = 0;
};

// Where whoever has a stack stands on it. To switch a context of the system takes a call of it, for
// the sake of signals; so it serves the first time only.
struct Context {
  ucontext_t first{};
  jmp_buf jump{};
  bool begun = false;
};

void Switch(Context& from, Context& to) {
  from.begun = true;
  if (_setjmp(from.jump) != 0) return;
  if (to.begun) _longjmp(to.jump, 1);
  setcontext(&to.first);
}

struct Scheduler::Stack {
  Context context;
  Exceptions exceptions;
};

struct Fiber {
  uint32_t number = 0, rank = 0;
  std::string name;
  std::function<void()> body;
  bool over = false;
  // While it waits: for what.
  bool waits = false, woken = false;
  const void* address = nullptr;
  std::optional<int64_t> until_ns;
  const char* what = "begins";
  uint64_t priority = 0;
  Context context;
  void* stack = nullptr;
  Exceptions exceptions;
};

Scheduler* Scheduler::Current() { return current; }

Scheduler::Scheduler(uint64_t seed)
    : random_(seed), ranks_(kMostRanks), turns_(kTurns), main_(std::make_unique<Stack>()) {
  constexpr uint64_t kLongest[] = {1, 3, 10, 40, 200, 1000};
  constexpr int64_t kPointNs[] = {20, 60, 200};
  longest_turn_ = 2 * kLongest[Random(std::size(kLongest))] - 1;
  point_ns_ = kPointNs[Random(std::size(kPointNs))];
  manner_ = static_cast<uint32_t>(Random(3));
  if (Chance(12)) {
    cores_ = 2 + static_cast<uint32_t>(Random(3));
    point_ns_ = kPointNs[2];  // what spins does so for few points
  }
}

Scheduler::~Scheduler() {
  for (auto& fiber : fibers_) {
    if (fiber->stack != nullptr) FreeStacks().push_back(fiber->stack);
  }
}

uint32_t Scheduler::Spawn(uint32_t rank, const std::string& name, std::function<void()> body) {
  auto fiber = std::make_unique<Fiber>();
  fiber->number = static_cast<uint32_t>(fibers_.size()) + 1;
  fiber->rank = rank;
  fiber->name = name.empty() ? fmt::format("rank {} thread {}", rank, fiber->number) : name;
  fiber->body = std::move(body);
  fiber->priority = random_();
  fiber->stack = TakeStack();
  ucontext_t& context = fiber->context.first;
  getcontext(&context);
  context.uc_stack.ss_sp = fiber->stack;
  context.uc_stack.ss_size = kStack;
  context.uc_link = nullptr;
  makecontext(&context, &Scheduler::Enter, 0);
  fibers_.push_back(std::move(fiber));
  return fibers_.back()->number;
}

void Scheduler::Enter() {
  Scheduler& scheduler = *current;
  Fiber& self = *scheduler.running_;
  self.body();
  self.body = nullptr;
  self.over = true;
  scheduler.Wake(&self, ~0u);
  scheduler.SwitchBack();
  std::abort();  // nobody goes on here
}

void Scheduler::SwitchTo(Fiber& fiber) {
  auto* const exceptions = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
  main_->exceptions = std::exchange(*exceptions, fiber.exceptions);
  running_ = &fiber;
  rank_ = fiber.rank;
  current = this;
  Switch(main_->context, fiber.context);
  current = nullptr;
  running_ = nullptr;
  fiber.exceptions = std::exchange(*exceptions, main_->exceptions);
  if (fiber.over && fiber.stack != nullptr) {
    FreeStacks().push_back(std::exchange(fiber.stack, nullptr));
  }
}

void Scheduler::SwitchBack() {
  Fiber& self = *running_;
  turns_[turn_count_++ % kTurns] = {now_ns(), self.number, self.what};
  digest_ = (digest_ ^ (self.number + static_cast<uint64_t>(now_ns()) * 64)) * 0x100000001b3;
  Switch(self.context, main_->context);
}

void Scheduler::DrawTurn() { turn_ = 1 + Random(longest_turn_); }

// A turn is over, or the rank of whoever runs is to be stopped here.
void Scheduler::Yield(const char* what) {
  Rank& rank = ranks_[rank_];
  if (rank.points == rank.stop_at) {
    rank.stopped = true;
    if (rank.when_stopped) rank.when_stopped();
  }
  running_->what = what;
  SwitchBack();
}

void Scheduler::StopAt(uint32_t rank, uint64_t point, std::function<void()> stopped) {
  ranks_[rank].stop_at = point + 1;
  ranks_[rank].when_stopped = std::move(stopped);
}

bool Scheduler::Wait(const char* what, const void* address, std::optional<int64_t> until_ns) {
  Fiber& self = *running_;
  self.waits = true;
  self.woken = false;
  self.address = address;
  self.until_ns = until_ns;
  self.what = what;
  SwitchBack();
  return self.woken;
}

uint32_t Scheduler::Wake(const void* address, uint32_t most) {
  uint32_t woken = 0;
  for (auto& fiber : fibers_) {
    if (woken == most) break;
    if (!fiber->waits || fiber->address != address) continue;
    fiber->waits = false;
    fiber->woken = true;
    ++woken;
  }
  return woken;
}

void Scheduler::Join(uint32_t number) {
  Point("joins a thread");
  while (!Over(number)) Wait("joins a thread", fibers_[number - 1].get(), std::nullopt);
}

uint32_t Scheduler::self() const { return running_->number; }
bool Scheduler::Over(uint32_t fiber) const { return fibers_[fiber - 1]->over; }

bool Scheduler::OverAll(uint32_t rank) const {
  return std::all_of(fibers_.begin(), fibers_.end(),
                     [&](const auto& fiber) { return fiber->rank != rank || fiber->over; });
}

bool Scheduler::MayRun(const Fiber& fiber) const {
  return !fiber.over && !ranks_[fiber.rank].stopped;
}

// Ends the waits whose time has come; where nobody can go on, the clock jumps to the first of them.
// Returns whether somebody can go on.
bool Scheduler::WakeLate() {
  bool any = false;
  std::optional<int64_t> first;
  for (auto& fiber : fibers_) {
    if (!MayRun(*fiber)) continue;
    if (fiber->waits && fiber->until_ns)
      first = std::min(first.value_or(INT64_MAX), *fiber->until_ns);
    any |= !fiber->waits;
  }
  if (!any && !first) return false;
  if (!any && *first > now_ns()) now_ns_ += *first - now_ns();
  for (auto& fiber : fibers_) {
    if (MayRun(*fiber) && fiber->waits && fiber->until_ns && *fiber->until_ns <= now_ns()) {
      fiber->waits = false;
    }
  }
  return true;
}

// One of three manners, by the seed: any of those that can go on; the one with the highest
// priority, where a turn costs it its priority now and then, so one stays far behind for a while;
// or the same one again, mostly. In each the first now and then, so that nobody spins for ever.
Fiber* Scheduler::Choose() {
  ready_.clear();
  for (auto& fiber : fibers_) {
    if (MayRun(*fiber) && !fiber->waits) ready_.push_back(fiber.get());
  }
  Fiber* chosen = ready_[Random(ready_.size())];
  if (manner_ == 0 || Chance(16)) return chosen;
  if (manner_ == 1) {
    chosen = *std::max_element(ready_.begin(), ready_.end(), [](const Fiber* a, const Fiber* b) {
      return a->priority < b->priority;
    });
    if (Chance(32)) chosen->priority = random_();
    return chosen;
  }
  const uint32_t last = turn_count_ == 0 ? 0 : turns_[(turn_count_ - 1) % kTurns].fiber;
  const auto same = std::find_if(ready_.begin(), ready_.end(),
                                 [&](const Fiber* fiber) { return fiber->number == last; });
  return same == ready_.end() || Chance(4) ? chosen : *same;
}

Scheduler::End Scheduler::Run(int64_t limit_ns) {
  for (;;) {
    if (std::none_of(fibers_.begin(), fibers_.end(),
                     [&](const auto& fiber) { return MayRun(*fiber); })) {
      return End::kOver;
    }
    if (!WakeLate()) return End::kDeadlock;
    if (now_ns() > limit_ns) return End::kLate;
    DrawTurn();
    SwitchTo(*Choose());
  }
}

std::string Scheduler::Describe(size_t turns) const {
  std::string text = fmt::format("at {:.3f} ms, threads that are not over:\n", now_ns() * 1e-6);
  for (const auto& fiber : fibers_) {
    if (fiber->over) continue;
    text += fmt::format("  {}: {}{}{}\n", fiber->name, fiber->what,
                        !fiber->waits ? ", can go on"
                        : fiber->until_ns
                            ? fmt::format(", waits until {:.3f} ms", *fiber->until_ns * 1e-6)
                            : ", waits to be woken",
                        ranks_[fiber->rank].stopped ? " (its rank is stopped)" : "");
  }
  const uint64_t first = turn_count_ - std::min<uint64_t>({turns, kTurns, turn_count_});
  text += fmt::format("the last of {} turns:\n", turn_count_);
  for (uint64_t t = first; t < turn_count_; ++t) {
    const Turn& turn = turns_[t % kTurns];
    text += fmt::format("  {:12.6f} ms {}, until it {}\n", turn.now_ns * 1e-6,
                        fibers_[turn.fiber - 1]->name, turn.what);
  }
  return text;
}

}  // namespace cgraph::simulation
