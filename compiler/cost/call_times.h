// CallTimes: how long the operations of a call take: as a profile says, else as estimated.
//
// A profile's time belongs to a call as a whole, so that it does not depend on how many kernels the
// call has: its first operation gets all of it, the others none. Operations that a profile does not
// name take the profile's default if it states one, transfers and collectives too.
#ifndef CGRAPH_COMPILER_COST_CALL_TIMES_H_
#define CGRAPH_COMPILER_COST_CALL_TIMES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/cost/profile.h"

namespace cgraph::cost {

struct CallName {
  std::string place, actor;  // empty for an op outside a method
  std::string method;
};

// The operations of one call, or a single one that belongs to none. `profile` may be null.
class CallTimes {
 public:
  CallTimes(const Profile* profile, const std::optional<CallName>& call) : profile_(profile) {
    if (profile == nullptr || !call) return;
    whole_ = profile->FindCall(call->place, call->actor, call->method);
  }

  // Returns the time of the next operation, in picoseconds.
  uint64_t Next(uint64_t estimated) {
    const bool is_first = !begun_;
    begun_ = true;
    if (whole_) return is_first ? *whole_ : 0;
    return profile_ != nullptr && profile_->default_ps ? *profile_->default_ps : estimated;
  }

 private:
  const Profile* profile_;
  std::optional<uint64_t> whole_;
  bool begun_ = false;
};

}  // namespace cgraph::cost

#endif  // CGRAPH_COMPILER_COST_CALL_TIMES_H_
