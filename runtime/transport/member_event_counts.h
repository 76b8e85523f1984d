// MemberEventCounts: the event counts that a collective notifies when one of its members has moved.
#ifndef CGRAPH_RUNTIME_TRANSPORT_MEMBER_EVENT_COUNTS_H_
#define CGRAPH_RUNTIME_TRANSPORT_MEMBER_EVENT_COUNTS_H_

#include <cstdint>
#include <vector>

#include "runtime/base/sync/event_count.h"

namespace cgraph::transport {

class MemberEventCounts {
 public:
  explicit MemberEventCounts(uint32_t members) : event_counts_(members) {}

  // A member that is never set is one of a rank that shares no memory with this one.
  void Set(uint32_t member, EventCount* event_count) {
    event_counts_[member] = event_count;
  }

  // Notifies every member but this one. Neighbours that share an event count, since one worker
  // drives them, are notified once; those that are no neighbours may be notified twice, which costs
  // a load each. A worker that drives this member and another one is notified, too: it may have
  // tried the other one before this one moved, and would go to sleep.
  void NotifyOthers(uint32_t member) const {
    EventCount* last = nullptr;
    for (uint32_t other = 0; other < event_counts_.size(); ++other) {
      EventCount* const event_count = event_counts_[other];
      if (other == member || event_count == nullptr || event_count == last) continue;
      event_count->Notify();
      last = event_count;
    }
  }

 private:
  std::vector<EventCount*> event_counts_;  // by member
};

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_MEMBER_EVENT_COUNTS_H_
