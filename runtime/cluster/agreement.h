// Agreement: what ranks that share no memory agree on while they load a plan. Each of those that
// take part tells rank 0 something; once rank 0 has heard all of them, it tells them one answer.
//
// Rank 0 need not be one of them. Messages of a rank come in the order in which it has sent them,
// so several agreements of a plan, one after the other, do not meet.
#ifndef CGRAPH_RUNTIME_CLUSTER_AGREEMENT_H_
#define CGRAPH_RUNTIME_CLUSTER_AGREEMENT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/messenger.h"

namespace cgraph::cluster {

class Agreement {
 public:
  // `interrupted`: returns whether somebody will not come any more. `patience`: how long others are
  // waited for; 0: for ever. `names`: of ranks, for messages.
  Agreement(Messenger& messenger, std::function<bool()> interrupted,
            std::chrono::nanoseconds patience,
            std::function<std::string(const std::vector<uint32_t>&)> names)
      : messenger_(messenger),
        interrupted_(std::move(interrupted)),
        patience_(patience),
        names_(std::move(names)) {}

  // At rank 0: waits until all of `ranks` have told `what`; returns what they said, by rank.
  // kLost where it was interrupted, kTimeout with who has not come.
  Result<std::map<uint32_t, std::string>> Gather(const std::vector<uint32_t>& ranks,
                                                 const std::string& what);
  // At rank 0: tells them the answer.
  void Answer(const std::vector<uint32_t>& ranks, std::string_view answer);
  // At the others: tells rank 0, and waits for its answer. Errors as above.
  Result<std::string> Tell(std::string_view said, const std::string& what);

  // A message of another rank about it has come.
  void OnMessage(uint32_t from, std::string_view text);

 private:
  // Goes on with messages until `come()`. `late`: says who is waited for.
  Status Await(const std::function<bool()>& come, const std::function<std::string()>& late);

  Messenger& messenger_;
  const std::function<bool()> interrupted_;
  const std::chrono::nanoseconds patience_;
  const std::function<std::string(const std::vector<uint32_t>&)> names_;
  std::map<uint32_t, std::string> said_;  // at rank 0, by rank
  std::optional<std::string> answer_;     // at the others
};

}  // namespace cgraph::cluster

#endif  // CGRAPH_RUNTIME_CLUSTER_AGREEMENT_H_
