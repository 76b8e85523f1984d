#include "runtime/base/process.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

namespace cgraph {
namespace {

const char* command_name = "cgraph";

void Write(const char* text) { (void)!write(STDERR_FILENO, text, std::strlen(text)); }

// Another exception may come while the sentence is made, or there may be none at all: then the
// plain sentence is printed.
[[noreturn]] void Terminated() {
  static bool entered = false;
  if (entered) EndWith(kEnvironment, "out of memory");
  entered = true;
  if (!std::current_exception()) EndWith(kBug, "std::terminate() without an exception");
  const Uncaught uncaught = UncaughtNow();
  EndWith(uncaught.code, uncaught.text);
}

}  // namespace

Uncaught UncaughtNow() {
  Uncaught uncaught;
  const auto say = [&](ExitCode code, const char* text) {
    uncaught.code = code;
    std::snprintf(uncaught.text, sizeof(uncaught.text), "%s", text);
  };
  try {
    throw;
  } catch (const std::bad_alloc&) {
    say(kEnvironment, "out of memory");
  } catch (const std::system_error& error) {
    // A std::system_error of the standard library is the refusal of a thread or of a file.
    say(kEnvironment, "");
    std::snprintf(uncaught.text, sizeof(uncaught.text),
                  "the system refuses a thread or a file: %s", error.what());
  } catch (const std::exception& error) {
    say(kBug, error.what());
  } catch (...) {
    say(kBug, "an exception of an unknown type");
  }
  return uncaught;
}

void DiagnoseUncaught(const char* command) {
  command_name = command;
  std::set_terminate(Terminated);
}

void EndWith(ExitCode code, const char* text) {
  Write(command_name);
  Write(code == kBug ? ": internal error: " : ": error: ");
  Write(text);
  Write("\n");
  if (code == kBug) Write(kReportBug);
  _exit(code);
}

}  // namespace cgraph
