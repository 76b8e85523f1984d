// Objects: what libraries have made for the places of an engine, in this process. A plan's state
// holds the number of its place's object, and no address: a plan is not trusted.
#ifndef CGRAPH_RUNTIME_NATIVE_OBJECTS_H_
#define CGRAPH_RUNTIME_NATIVE_OBJECTS_H_

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "runtime/native/cgraph_extern.h"

namespace cgraph::native {

class Library;

struct Object {
  void* made = nullptr;  // null where the library makes none
  const Library* library = nullptr;
  std::string actor, place;
  cgraph_destroy* destroy = nullptr;
};

class Objects {
 public:
  Objects() = default;
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;
  // Ends them, the last one first. Nothing may be at work on them.
  ~Objects();

  // Returns the number of the object, from 1. By any thread.
  int64_t Add(Object object);
  // Returns null where there is no such number. Not while another thread adds.
  const Object* Find(int64_t number) const {
    return number >= 1 && number <= static_cast<int64_t>(objects_.size()) ? &objects_[number - 1]
                                                                          : nullptr;
  }

 private:
  std::mutex mutex_;  // of those who add
  std::deque<Object> objects_;
};

}  // namespace cgraph::native

#endif  // CGRAPH_RUNTIME_NATIVE_OBJECTS_H_
