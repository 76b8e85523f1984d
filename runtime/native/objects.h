// Objects: what libraries have made for the places of an engine, in this process. A plan's state
// holds the number of its place's object, and no address: a plan is not trusted.
#ifndef CGRAPH_RUNTIME_NATIVE_OBJECTS_H_
#define CGRAPH_RUNTIME_NATIVE_OBJECTS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace cgraph::native {

class Library;

// Makes an object's device current in the calling thread (device::ForeignCode::MakeCurrent), as for
// its methods, before it is saved, restored or ended; false where that must not be done any more.
// Empty: on the CPU.
using MakeCurrent = std::function<bool()>;

struct Object {
  Object(void* made, const Library* library, std::string actor, std::string place,
         MakeCurrent make_current)
      : made(made),
        library(library),
        actor(std::move(actor)),
        place(std::move(place)),
        make_current(std::move(make_current)) {}

  void* const made;  // null where the library makes none
  const Library* const library;
  const std::string actor, place;
  const MakeCurrent make_current;
  mutable std::atomic<bool> busy{false};  // a method of it is called
  mutable std::atomic<std::thread::id> caller{};  // by this thread; none: by none
};

class Objects {
 public:
  Objects() = default;
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;
  ~Objects() { Clear(); }

  // Ends them, the last one first. Nothing may be at work on them.
  void Clear();
  // Returns the number of the object, from 1. By any thread.
  int64_t Add(void* made, const Library& library, std::string actor, std::string place,
              MakeCurrent make_current = {});
  // Returns whether the calling thread is inside a method of one of them. Not while another thread
  // adds.
  bool AnyIsCalledHere() const {
    return std::any_of(objects_.begin(), objects_.end(), [](const Object& each) {
      return each.caller.load(std::memory_order_relaxed) == std::this_thread::get_id();
    });
  }
  // Returns null where there is no such number. Not while another thread adds.
  const Object* Find(int64_t number) const {
    return number >= 1 && number <= static_cast<int64_t>(objects_.size()) ? &objects_[number - 1]
                                                                          : nullptr;
  }
  // Returns it by the name of its place, for devices on which no call reads the number. By any
  // thread.
  const Object* FindOf(const std::string& place);

 private:
  std::mutex mutex_;  // of the threads that add
  std::deque<Object> objects_;
};

}  // namespace cgraph::native

#endif  // CGRAPH_RUNTIME_NATIVE_OBJECTS_H_
