// Links: what the loading of a plan uses of ranks that share no memory: the messenger and tags of
// its messages, what the ranks agree on, and what whoever goes on with messages does for queues.
#ifndef CGRAPH_RUNTIME_CLUSTER_LINKS_H_
#define CGRAPH_RUNTIME_CLUSTER_LINKS_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/sync/event_count.h"
#include "runtime/cluster/agreement.h"
#include "runtime/cluster/messenger.h"

namespace cgraph::cluster {

class Links {
 public:
  // `first_tag`: from which on no tag was used before, so that late messages of another engine are
  // none of this one's.
  Links(Messenger& messenger, uint32_t first_tag, Agreement& agreement)
      : messenger_(messenger), next_tag_(first_tag), agreement_(agreement) {}

  Messenger& messenger() { return messenger_; }
  Agreement& agreement() { return agreement_; }

  // Returns the first of `count` tags that nobody else has; the same at all ranks, which ask for
  // the same ones in the same order. kUnsupported where the wire has no more.
  Result<uint32_t> NewTags(uint64_t count);

  // The event count of who goes on with messages, which queues' signals notify, and the host's part
  // of what ends on queues do; set and added at load.
  EventCount* relayer() const { return relayer_; }
  void SetRelayer(EventCount* relayer) { relayer_ = relayer; }
  void AddRelay(std::function<bool()> relay) { relays_.push_back(std::move(relay)); }
  // Returns whether any relay did anything.
  bool Relay() {
    bool any = false;
    for (const auto& relay : relays_) any |= relay();
    return any;
  }

 private:
  Messenger& messenger_;
  uint32_t next_tag_;
  Agreement& agreement_;
  EventCount* relayer_ = nullptr;
  std::vector<std::function<bool()>> relays_;
};

}  // namespace cgraph::cluster

#endif  // CGRAPH_RUNTIME_CLUSTER_LINKS_H_
