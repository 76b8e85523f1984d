// A library with methods that do what native code should, and should not. `trial_act` does what its
// argument says; `Trial`'s object counts the calls that ended well.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cfenv>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include <cgraph_extern.h>

CGRAPH_EXTERN_LIBRARY

namespace {

struct Trial {
  std::string text;
  int64_t calls = 0;
  bool failed = false;
};

enum What : int64_t {
  kNothing,
  kError,
  kCode,
  kThrow,
  kThrowInt,
  kSegfault,
  kAbort,
  kDivide,
  kOverflow,
  kExit,
  kExitNow,
  kEndThread,
  kRound,
  kBlockSignals,
  kSleep,
  kErrorOnce
};

volatile int zero = 0;

int Recurse(int depth) {
  volatile char page[4096];
  page[depth % 4096] = static_cast<char>(depth);
  return Recurse(depth + 1) + page[0];
}

int32_t Misbehave(const cgraph_call* call, int64_t what) {
  switch (what) {
    case kError:
      return cgraph_fail(call, "an error, as asked");
    case kCode:
      return 7;
    case kThrow:
      throw std::runtime_error("thrown, as asked");
    case kThrowInt:
      throw 3;
    case kSegfault:
      return *reinterpret_cast<volatile int*>(16);
    case kAbort:
      abort();
    case kDivide:
      raise(SIGFPE);
      return zero;
    case kOverflow:
      return Recurse(0);
    case kExit:
      exit(0);
    case kExitNow:
      _exit(0);
    case kEndThread:
      pthread_exit(nullptr);
    case kRound:
      std::fesetround(FE_UPWARD);
      return 0;
    case kBlockSignals: {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, nullptr);
      return 0;
    }
    case kErrorOnce: {
      auto* trial = static_cast<Trial*>(call->object);
      return std::exchange(trial->failed, true) ? 0 : cgraph_fail(call, "an error, once");
    }
    case kSleep:
      sleep(20);
      return 0;
    default:
      return 0;
  }
}

// Says how numbers are rounded, and whether this thread blocks SIGPROF.
int64_t StateOfThread() {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return (std::fegetround() == FE_TONEAREST ? 0 : 1) + (sigismember(&blocked, SIGPROF) ? 2 : 0);
}

}  // namespace

extern "C" {

void* Trial_create(const cgraph_actor* actor) {
  std::string text = std::string(actor->place) + " " + actor->actor;
  for (int32_t i = 0; i < actor->parameter_count; ++i) {
    const cgraph_parameter& parameter = actor->parameters[i];
    text += std::string(" ") + parameter.name + "=";
    if (parameter.real != nullptr) text += std::to_string(*parameter.real);
    if (parameter.text != nullptr) text += parameter.text;
    for (int64_t k = 0; k < parameter.count; ++k) text += std::to_string(parameter.ints[k]) + ";";
    if (parameter.text != nullptr && std::strcmp(parameter.text, "refuse") == 0) {
      actor->fail(actor->error, "refused, as asked");
      return nullptr;
    }
  }
  std::fprintf(stderr, "created: %s, methods %d\n", text.c_str(), actor->symbol_count);
  return new Trial{text};
}

void Trial_destroy(void* object) {
  auto* trial = static_cast<Trial*>(object);
  std::fprintf(stderr, "destroyed: %s, calls %ld\n", trial->text.c_str(),
               static_cast<long>(trial->calls));
  delete trial;
}

int32_t trial_act(const cgraph_call* call) {
  const int64_t before = StateOfThread();
  const int64_t what = *static_cast<int64_t*>(cgraph_data(&call->arguments[0]));
  if (const int32_t code = Misbehave(call, what); code != 0) return code;
  auto* trial = static_cast<Trial*>(call->object);
  auto* result = static_cast<int64_t*>(cgraph_data(&call->results[0]));
  result[0] = ++trial->calls;
  result[1] = before;
  return 0;
}

// (x * factor + bias, its sum): two results, extents that vary, a state that is read.
int32_t trial_scale(const cgraph_call* call) {
  const DLTensor& x = call->arguments[0];
  const float* from = static_cast<const float*>(cgraph_data(&x));
  const float* bias = static_cast<const float*>(cgraph_data(&call->states[0]));
  float* to = static_cast<float*>(cgraph_data(&call->results[0]));
  float* sum = static_cast<float*>(cgraph_data(&call->results[1]));
  const auto factor = static_cast<float>(*call->parameters[0].real);
  if (factor == 0) std::fprintf(stderr, "bias %g %g %g\n", bias[0], bias[1], bias[2]);
  *sum = 0;
  for (int64_t i = 0; i < cgraph_size(&x); ++i) {
    to[i] = from[i] * factor + bias[i % x.shape[1]];
    *sum += to[i];
  }
  const bool named = call->name_count == 2 && std::strcmp(call->names[0], "x") == 0 &&
                     std::strcmp(call->names[1], "by") == 0 && call->read_count == 1 &&
                     std::strcmp(call->state_names[0], "bias") == 0;
  return named && call->state_count == 1 && call->parameter_count == 1 ? 0 : 9;
}

// bias += x[0, :], and fails after it has written where x[0, 0] is 99.
int32_t trial_learn(const cgraph_call* call) {
  const float* from = static_cast<const float*>(cgraph_data(&call->arguments[0]));
  float* bias = static_cast<float*>(cgraph_data(&call->states[0]));
  for (int64_t i = 0; i < call->states[0].shape[0]; ++i) bias[i] += from[i];
  return from[0] == 99 ? cgraph_fail(call, "99 cannot be learned") : 0;
}

// Writes each number as a byte of a bool.
int32_t trial_flags(const cgraph_call* call) {
  const float* from = static_cast<const float*>(cgraph_data(&call->arguments[0]));
  auto* to = static_cast<unsigned char*>(cgraph_data(&call->results[0]));
  for (int64_t i = 0; i < call->results[0].shape[0]; ++i) {
    to[i] = static_cast<unsigned char>(from[i]);
  }
  return 0;
}

// Counts each dtype's code and width: code * 1000 + bits.
int32_t trial_dtypes(const cgraph_call* call) {
  auto* to = static_cast<int64_t*>(cgraph_data(&call->results[0]));
  for (int32_t i = 0; i < call->argument_count; ++i) {
    to[i] = call->arguments[i].dtype.code * 1000 + call->arguments[i].dtype.bits;
  }
  return 0;
}

}  // extern "C"
