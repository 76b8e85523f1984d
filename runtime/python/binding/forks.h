// Forks: a child has none of the threads that an engine had, so what belongs to an engine is
// unusable there, and is not destroyed either: a lock of it may be held for ever.
#ifndef CGRAPH_RUNTIME_PYTHON_BINDING_FORKS_H_
#define CGRAPH_RUNTIME_PYTHON_BINDING_FORKS_H_

#include <cstdint>
#include <optional>
#include <utility>

namespace cgraph::python {

// Has the system count forks. Called once.
void CountForks();
// Returns how many forks made this process, since CountForks().
uint32_t Forks();

// OfThisProcess: a value that is destroyed in the process that made it, and nowhere else.
template <typename T>
class OfThisProcess {
 public:
  explicit OfThisProcess(T value) : value_(std::move(value)), forks_(Forks()) {}
  OfThisProcess(OfThisProcess&& other) noexcept
      : value_(std::exchange(other.value_, std::nullopt)), forks_(other.forks_) {}
  OfThisProcess& operator=(OfThisProcess&& other) noexcept {
    std::swap(value_, other.value_);
    std::swap(forks_, other.forks_);
    return *this;
  }
  OfThisProcess(const OfThisProcess& other) : OfThisProcess(*other.value_) {}
  ~OfThisProcess() {
    if (value_ && forks_ != Forks()) static_cast<void>(new T(std::move(*value_)));  // NOLINT
  }

  bool usable() const { return value_ && forks_ == Forks(); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }

 private:
  std::optional<T> value_;
  uint32_t forks_;
};

}  // namespace cgraph::python

#endif  // CGRAPH_RUNTIME_PYTHON_BINDING_FORKS_H_
