// Guarded calls of native code: whatever leaves it is a text, and a crash in it names it.
#ifndef CGRAPH_RUNTIME_NATIVE_GUARDED_H_
#define CGRAPH_RUNTIME_NATIVE_GUARDED_H_

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>

#include <cxxabi.h>
#include <fmt/format.h>

#include "runtime/native/running_call.h"
#include "runtime/native/thread_state.h"

namespace cgraph::native {

// Calls native code for a place, as its call number `number`, from 1. Returns whether it has
// failed: `call()` returned true, or an exception has left it, which `error` then says.
template <typename Call>
bool Fails(const std::string& place, const std::string& code, uint64_t number, std::string& error,
           Call&& call) {
  const RunningCall inside(place.c_str(), code.c_str());
  const ThreadState state(number);
  try {
    return call();
  } catch (abi::__forced_unwind&) {  // pthread_exit: no thread would drive this one's lanes
    std::abort();
  } catch (const std::exception& e) {
    error = fmt::format("exception: {}", e.what());
  } catch (...) {
    error = "an exception that is no std::exception";
  }
  return true;
}

}  // namespace cgraph::native

#endif  // CGRAPH_RUNTIME_NATIVE_GUARDED_H_
