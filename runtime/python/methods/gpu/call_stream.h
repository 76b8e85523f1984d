// CallStream: the stream of a call on a GPU, and how it and the streams of others wait for each
// other. Used with the interpreter's lock and the GPU's context current.
#ifndef CGRAPH_RUNTIME_PYTHON_METHODS_GPU_CALL_STREAM_H_
#define CGRAPH_RUNTIME_PYTHON_METHODS_GPU_CALL_STREAM_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <cgraph_extern.h>

#include "runtime/python/methods/gpu/driver.h"
#include "runtime/python/methods/python_api.h"

namespace cgraph::methods {

// What DLPack and the array interface of CUDA call the default stream.
inline constexpr intptr_t kDefaultStream = 1;

// CopiedResults: results of calls that were let go of by all others, until a stream has copied
// them: their maker may write to their memory as soon as the last reference is gone.
class CopiedResults {
 public:
  CopiedResults() = default;
  CopiedResults(const CopiedResults&) = delete;
  ~CopiedResults();

  // Holds them until the stream has done what it was given so far. Returns an empty text, or what
  // the driver said; they are held then until this ends.
  std::string Hold(const Driver& driver, void* stream, std::vector<Reference> results);
  // Lets go of those that were copied.
  void DropCopied();

 private:
  struct Held {
    const Driver* driver;
    void* event;  // null: none could be made
    std::vector<Reference> results;
  };
  std::deque<Held> held_;  // in the order of their events
};

class CallStream {
 public:
  // `call`: on a GPU, whose context is current; it stays.
  CallStream(const Driver& driver, int32_t gpu, const cgraph_call& call)
      : driver_(driver), gpu_(gpu), call_(call), stream_(call.stream) {
    driver_.cuCtxGetCurrent(&context_);
  }
  CallStream(const CallStream&) = delete;

  const Driver& driver() const { return driver_; }
  int32_t gpu() const { return gpu_; }
  void* handle() const { return stream_; }
  // Puts the GPU's context back behind code that may have left another.
  void MakeContextCurrent() const { driver_.cuCtxSetCurrent(context_); }
  // Whether an address is one of the call's tensors, which stay until its work is done.
  bool IsOfCall(const void* data) const;

  // Each returns an empty text, or what the driver said.

  // Lets a stream wait for what the call's has been given so far; when the call is over, the call's
  // waits for what that stream has been given until then.
  std::string GiveTo(void* other);
  // Lets the call's stream wait for what another has been given so far.
  std::string WaitFor(void* other);
  // Lets the call's stream wait for all that tensors of the call were given to.
  std::string Join();

  // A result whose owner must not write to it before the stream has copied it.
  void Hold(Reference result) { results_.push_back(std::move(result)); }
  std::string HandOver(CopiedResults& to);

 private:
  std::string Follow(void* follower, void* leader) const;

  const Driver& driver_;
  const int32_t gpu_;
  const cgraph_call& call_;
  void* const stream_;
  void* context_ = nullptr;
  std::vector<void*> given_to_;
  std::vector<Reference> results_;
};

}  // namespace cgraph::methods

#endif  // CGRAPH_RUNTIME_PYTHON_METHODS_GPU_CALL_STREAM_H_
