#include "runtime/native/running_call.h"

#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "runtime/base/exit_code.h"

namespace cgraph::native {
namespace {

constexpr size_t kSignalStackBytes = 64 << 10;

thread_local const char* running_place = nullptr;
thread_local const char* running_code = nullptr;

// A stack for signal handlers, as long as the thread lives.
class SignalStack {
 public:
  SignalStack() {
    stack_t before{};
    sigaltstack(nullptr, &before);
    if ((before.ss_flags & SS_DISABLE) == 0) return;  // other code has set one
    memory_ = std::make_unique<std::byte[]>(kSignalStackBytes);
    stack_t stack{};
    stack.ss_sp = memory_.get();
    stack.ss_size = kSignalStackBytes;
    sigaltstack(&stack, nullptr);
  }
  ~SignalStack() {
    if (memory_ == nullptr) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
};

// May call nothing that is not safe in a signal handler, as Say() is not: of names, what is not
// printable ASCII becomes `?`.
void Write(const char* text) {
  constexpr size_t kPart = 128;
  char part[kPart];
  for (size_t left = std::strlen(text); left > 0;) {
    const size_t count = left < kPart ? left : kPart;
    for (size_t i = 0; i < count; ++i) {
      const bool shown = (text[i] >= ' ' && text[i] <= '~') || text[i] == '\n';
      part[i] = shown ? text[i] : '?';
    }
    if (write(STDERR_FILENO, part, count) < 0) return;
    text += count;
    left -= count;
  }
}

const char* SignalName(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    default:
      return "SIGABRT";
  }
}

void WriteRunning(const char* what) {
  Write("cgrun: ");
  Write(what);
  Write(" in ");
  Write(running_place);
  Write(", inside ");
  Write(running_code);
  Write("\n");
}

void OnCrash(int signal) {
  if (running_code != nullptr) WriteRunning(SignalName(signal));
  raise(signal);  // SA_RESETHAND: it has its usual effect when this handler returns
}

// Native code that ends the process has not succeeded, whatever code it gives.
void OnExit() {
  if (running_code == nullptr) return;
  WriteRunning("exit()");
  _exit(kFailure);
}

}  // namespace

RunningCall::RunningCall(const char* place, const char* code)
    : place_before_(running_place), code_before_(running_code) {
  thread_local SignalStack stack;
  running_place = place;
  running_code = code;
}

// A method may drive another engine, whose methods this thread calls then.
RunningCall::~RunningCall() {
  running_place = place_before_;
  running_code = code_before_;
}

bool IsInsideCall() { return running_code != nullptr; }

void ReportCrashes() {
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    struct sigaction action {};
    action.sa_handler = OnCrash;
    action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
  std::atexit(OnExit);
}

}  // namespace cgraph::native
