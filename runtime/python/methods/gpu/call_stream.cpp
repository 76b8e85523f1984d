#include "runtime/python/methods/gpu/call_stream.h"

#include <algorithm>
#include <utility>

namespace cgraph::methods {
namespace {

constexpr unsigned kWithoutTiming = 2;     // CU_EVENT_DISABLE_TIMING
constexpr Driver::Status kNotReady = 600;  // CUDA_ERROR_NOT_READY

// Makes an event that comes when the stream has done what it was given so far. Returns an empty
// text, or what the driver said; `event` is null then.
std::string Mark(const Driver& driver, void* stream, void*& event) {
  event = nullptr;
  std::string error = driver.Said("cuEventCreate", driver.cuEventCreate(&event, kWithoutTiming));
  if (!error.empty()) return error;
  error = driver.Said("cuEventRecord", driver.cuEventRecord(event, stream));
  if (error.empty()) return error;
  driver.cuEventDestroy(std::exchange(event, nullptr));
  return error;
}

}  // namespace

CopiedResults::~CopiedResults() {
  for (const Held& held : held_) {
    if (held.event != nullptr) held.driver->cuEventDestroy(held.event);
  }
}

std::string CopiedResults::Hold(const Driver& driver, void* stream,
                                std::vector<Reference> results) {
  held_.push_back({&driver, nullptr, std::move(results)});
  return Mark(driver, stream, held_.back().event);
}

void CopiedResults::DropCopied() {
  while (!held_.empty() && held_.front().event != nullptr) {
    const Held& first = held_.front();
    if (first.driver->cuEventQuery(first.event) == kNotReady) return;
    first.driver->cuEventDestroy(first.event);
    held_.pop_front();
  }
}

bool CallStream::IsOfCall(const void* data) const {
  const auto holds = [data](const DLTensor* tensors, int32_t count) {
    return std::any_of(tensors, tensors + count, [data](const DLTensor& tensor) {
      const auto* first = static_cast<const char*>(cgraph_data(&tensor));
      return data >= first && data < first + cgraph_size(&tensor) * (tensor.dtype.bits / 8);
    });
  };
  return holds(call_.arguments, call_.argument_count) || holds(call_.states, call_.state_count) ||
         holds(call_.results, call_.result_count);
}

std::string CallStream::GiveTo(void* other) {
  if (other == stream_) return "";
  if (std::find(given_to_.begin(), given_to_.end(), other) == given_to_.end()) {
    given_to_.push_back(other);
  }
  return Follow(other, stream_);
}

std::string CallStream::WaitFor(void* other) {
  return other == stream_ ? "" : Follow(stream_, other);
}

std::string CallStream::Join() {
  std::string problem;
  for (void* other : given_to_) {
    const std::string error = Follow(stream_, other);
    if (problem.empty()) problem = error;
  }
  return problem;
}

std::string CallStream::HandOver(CopiedResults& to) {
  return results_.empty() ? "" : to.Hold(driver_, stream_, std::move(results_));
}

std::string CallStream::Follow(void* follower, void* leader) const {
  void* event = nullptr;
  std::string error = Mark(driver_, leader, event);
  if (!error.empty()) return error;
  error = driver_.Said("cuStreamWaitEvent", driver_.cuStreamWaitEvent(follower, event, 0));
  driver_.cuEventDestroy(event);  // gone when it has come
  return error;
}

}  // namespace cgraph::methods
