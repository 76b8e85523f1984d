// SemaphoreArray: semaphores whose words lie in host memory that the devices of a plan reach.
#ifndef CGRAPH_RUNTIME_DEVICE_SEMAPHORE_ARRAY_H_
#define CGRAPH_RUNTIME_DEVICE_SEMAPHORE_ARRAY_H_

#include <cstddef>
#include <memory>
#include <string>

#include "runtime/base/sync/semaphore.h"
#include "runtime/device/shared_array.h"

namespace cgraph::device {

class SemaphoreArray {
 public:
  SemaphoreArray() = default;

  // Makes `size` semaphores of value 0; the words are in pinned memory of `host`, the device of the
  // caller. kInvalid, with `what`, when there is no memory for them.
  static Result<SemaphoreArray> Make(Device& host, size_t size, const std::string& what) {
    auto words = SharedArray<SemaphoreWord>::Make(host, size, what);
    if (!words.ok()) return words.status();
    SemaphoreArray made;
    made.words_ = std::move(*words);
    made.semaphores_ = std::make_unique<TimelineSemaphore[]>(size);
    for (size_t i = 0; i < size; ++i) made[i] = TimelineSemaphore(&made.words_[i]);
    return made;
  }

  size_t size() const { return words_.size(); }
  TimelineSemaphore& operator[](size_t i) const { return semaphores_[i]; }
  TimelineSemaphore* begin() const { return semaphores_.get(); }
  TimelineSemaphore* end() const { return begin() + size(); }

 private:
  SharedArray<SemaphoreWord> words_;
  std::unique_ptr<TimelineSemaphore[]> semaphores_;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_SEMAPHORE_ARRAY_H_
