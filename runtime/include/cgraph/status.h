// Status: an error that is not in the user's program: a file, a device, a peer, a bad plan.
#ifndef CGRAPH_STATUS_H_
#define CGRAPH_STATUS_H_

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace cgraph {

enum class StatusCode {
  kOk,
  kInvalid,      // present but wrong: a plan, a file's content, an argument (exit code 1)
  kNotFound,     // absent or unreadable: a file, a device, a library; memory or threads that the
                 // system does not give (exit code 3)
  kUnsupported,  // right, but not something that this build or engine can do (exit code 1)
  kFailed,       // an execution reported an error (exit code 1)
  kTimeout,      // a deadline passed (exit code 1)
  kCapacity,     // as many executions in flight as the graph allows
  kLost,         // a process that took part is gone (exit code 1)
  kClosed,       // the engine was torn down
  kInternal,     // a bug of ours (exit code 70)
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}
  static Status Ok() { return {}; }

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  // The message: what was seen, the rule, the mend. Lower case, no full stop; may have several
  // lines.
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

// Result: a value, or the status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                          // NOLINT: implicit
  Result(Status status) : status_(std::move(status)) { assert(!status_.ok()); }  // NOLINT

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace cgraph

#endif  // CGRAPH_STATUS_H_
