// The system's threads, locks, futexes and clock, as the scheduler has them. The engine is linked
// with these functions in place of the C library's: while a fiber runs, they are the scheduler's;
// else they call those. So the engine needs no code for this.
//
// Names are given to the assembler: the declarations of the C library differ in what they throw.
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "tests/simulation/scheduler.h"

namespace cgraph::simulation {
namespace {

// What fibers are as threads: no address that a thread of the system has.
constexpr uintptr_t kFirstThread = 0x1000;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kClockNs = 100;           // that a look at the clock takes
constexpr int64_t kBegin = 1000 * kSecond;  // when a simulation begins

int64_t ToNs(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }
timespec ToTimespec(int64_t ns) {
  return {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
}

// The C library's function, which is looked for once.
template <typename Function>
class Real {
 public:
  explicit constexpr Real(const char* name) : name_(name) {}
  template <typename... Arguments>
  auto operator()(Arguments... arguments) {
    if (function_ == nullptr) function_ = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
    return function_(arguments...);
  }

 private:
  const char* const name_;
  Function* function_ = nullptr;
};

constinit Real<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> real_create(
    "pthread_create");
constinit Real<int(pthread_t, void**)> real_join("pthread_join");
constinit Real<pthread_t()> real_self("pthread_self");
constinit Real<int(pthread_mutex_t*)> real_lock("pthread_mutex_lock");
constinit Real<int(pthread_mutex_t*)> real_try_lock("pthread_mutex_trylock");
constinit Real<int(pthread_mutex_t*)> real_unlock("pthread_mutex_unlock");
constinit Real<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> real_clock_wait(
    "pthread_cond_clockwait");
constinit Real<int(pthread_cond_t*)> real_broadcast("pthread_cond_broadcast");
constinit Real<int(clockid_t, timespec*)> real_clock("clock_gettime");
constinit Real<int(const timespec*, timespec*)> real_sleep("nanosleep");
constinit Real<int(pid_t, size_t, cpu_set_t*)> real_affinity("sched_getaffinity");
constinit Real<long(long, ...)> real_syscall("syscall");

bool Recursive(const pthread_mutex_t* mutex) {
  return (mutex->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE;
}

bool TryLock(Scheduler& scheduler, pthread_mutex_t* mutex) {
  auto& data = mutex->__data;
  const auto self = static_cast<int>(scheduler.self());
  if (data.__lock != 0 && !(Recursive(mutex) && data.__owner == self)) return false;
  data.__lock = 1;
  data.__owner = self;
  ++data.__count;
  return true;
}

void Lock(Scheduler& scheduler, pthread_mutex_t* mutex) {
  while (!TryLock(scheduler, mutex)) scheduler.Wait("waits for a lock", mutex, std::nullopt);
}

void Unlock(Scheduler& scheduler, pthread_mutex_t* mutex) {
  if (--mutex->__data.__count != 0) return;
  mutex->__data.__lock = 0;
  mutex->__data.__owner = 0;
  scheduler.Wake(mutex, 1);
}

long Futex(Scheduler& scheduler, const uint32_t* word, int operation, uint32_t value,
           const timespec* timeout) {
  const int command = operation & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
  if (command == FUTEX_WAKE) {
    scheduler.Point("wakes who sleeps");
    return scheduler.LosesWake() ? 0 : scheduler.Wake(word, value);
  }
  if (command != FUTEX_WAIT) std::abort();
  scheduler.Point("goes to sleep");
  if (*word != value) {
    errno = EAGAIN;
    return -1;
  }
  std::optional<int64_t> until;
  if (timeout != nullptr) until = scheduler.now_ns() + ToNs(*timeout);
  if (scheduler.Wait("sleeps", word, until)) return 0;
  errno = ETIMEDOUT;
  return -1;
}

long RawSyscall(long number, const long* a) {
  return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

}  // namespace

extern "C" {

int SimulatedCreate(pthread_t* thread, const pthread_attr_t*, void* (*body)(void*),
                    void* argument) asm("pthread_create");
int SimulatedCreate(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                    void* argument) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) {
    return real_create(thread, attributes, body, argument);
  }
  scheduler->Point("starts a thread");
  *thread =
      kFirstThread + scheduler->Spawn(scheduler->rank(), "", [body, argument] { body(argument); });
  return 0;
}

int SimulatedJoin(pthread_t thread, void** result) asm("pthread_join");
int SimulatedJoin(pthread_t thread, void** result) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return real_join(thread, result);
  scheduler->Join(static_cast<uint32_t>(thread - kFirstThread));
  return 0;
}

pthread_t SimulatedSelf() asm("pthread_self");
pthread_t SimulatedSelf() {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return real_self();
  return kFirstThread + scheduler->self();
}

int SimulatedLock(pthread_mutex_t* mutex) asm("pthread_mutex_lock");
int SimulatedLock(pthread_mutex_t* mutex) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return real_lock(mutex);
  scheduler->Point("takes a lock");
  Lock(*scheduler, mutex);
  return 0;
}

int SimulatedTryLock(pthread_mutex_t* mutex) asm("pthread_mutex_trylock");
int SimulatedTryLock(pthread_mutex_t* mutex) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return real_try_lock(mutex);
  scheduler->Point("tries a lock");
  return TryLock(*scheduler, mutex) ? 0 : EBUSY;
}

int SimulatedUnlock(pthread_mutex_t* mutex) asm("pthread_mutex_unlock");
int SimulatedUnlock(pthread_mutex_t* mutex) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return real_unlock(mutex);
  Unlock(*scheduler, mutex);
  scheduler->Point("gives a lock up");
  return 0;
}

int SimulatedClockWait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t,
                       const timespec* until) asm("pthread_cond_clockwait");
int SimulatedClockWait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                       const timespec* until) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return real_clock_wait(condition, mutex, clock, until);
  scheduler->Point("waits for a condition");
  Unlock(*scheduler, mutex);
  const bool woken = scheduler->Wait("waits for a condition", condition, ToNs(*until) - kBegin);
  Lock(*scheduler, mutex);
  return woken ? 0 : ETIMEDOUT;
}

int SimulatedBroadcast(pthread_cond_t* condition) asm("pthread_cond_broadcast");
int SimulatedBroadcast(pthread_cond_t* condition) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return real_broadcast(condition);
  scheduler->Point("notifies all");
  scheduler->Wake(condition, ~0u);
  return 0;
}

int SimulatedClock(clockid_t clock, timespec* time) asm("clock_gettime");
int SimulatedClock(clockid_t clock, timespec* time) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return real_clock(clock, time);
  scheduler->Pass(kClockNs);
  *time = ToTimespec(kBegin + scheduler->now_ns());
  return 0;
}

int SimulatedSleep(const timespec* time, timespec*) asm("nanosleep");
int SimulatedSleep(const timespec* time, timespec* left) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return real_sleep(time, left);
  scheduler->Point("pauses");
  scheduler->Wait("pauses", nullptr, scheduler->now_ns() + ToNs(*time));
  return 0;
}

int SimulatedAffinity(pid_t process, size_t bytes, cpu_set_t* set) asm("sched_getaffinity");
int SimulatedAffinity(pid_t process, size_t bytes, cpu_set_t* set) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) {
    return real_affinity(process, bytes, set);
  }
  CPU_ZERO_S(bytes, set);
  for (uint32_t core = 0; core < scheduler->cores(); ++core) CPU_SET_S(core, bytes, set);
  return 0;
}

long SimulatedSyscall(long number, ...) asm("syscall");
long SimulatedSyscall(long number, ...) {
  long a[6];
  va_list arguments;
  va_start(arguments, number);
  for (long& argument : a) argument = va_arg(arguments, long);
  va_end(arguments);
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return RawSyscall(number, a);
  switch (number) {
    case SYS_futex:
      return Futex(*scheduler, reinterpret_cast<const uint32_t*>(a[0]), static_cast<int>(a[1]),
                   static_cast<uint32_t>(a[2]), reinterpret_cast<const timespec*>(a[3]));
    case SYS_membarrier:
      scheduler->Point("passes a barrier");
      return 0;
    default:
      return RawSyscall(number, a);
  }
}

}  // extern "C"

}  // namespace cgraph::simulation
