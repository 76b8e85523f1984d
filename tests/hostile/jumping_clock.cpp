// A library to be preloaded: the clock of the day jumps at each call, by up to a day forwards and
// backwards, as one does that somebody sets. The monotonic clock stays as it is.
#include <dlfcn.h>
#include <sys/time.h>

#include <atomic>
#include <ctime>

namespace {

// Seconds by which the clock is wrong at this call.
long Jump() {
  static std::atomic<unsigned> calls{1};
  const unsigned mixed = calls.fetch_add(1, std::memory_order_relaxed) * 2654435761u;
  return static_cast<long>(mixed % 172800) - 86400;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  using Function = int (*)(clockid_t, timespec*);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = next(clock, time);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) time->tv_sec += Jump();
  return result;
}

int gettimeofday(timeval* time, void* zone) noexcept {
  using Function = int (*)(timeval*, void*);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "gettimeofday"));
  const int result = next(time, zone);
  time->tv_sec += Jump();
  return result;
}

time_t time(time_t* seconds) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (seconds != nullptr) *seconds = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
