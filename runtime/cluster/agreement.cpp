#include "runtime/cluster/agreement.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/cluster/message.h"

namespace cgraph::cluster {

using Clock = std::chrono::steady_clock;

Status Agreement::Await(const std::function<bool()>& come,
                        const std::function<std::string()>& late) {
  const Clock::time_point begun = Clock::now();
  // Rank 0 knows who has not come, so it speaks first.
  const auto patience =
      patience_ + (messenger_.rank() == 0 ? std::chrono::nanoseconds(0) : 2 * kMachineGrace);
  bool is_late = false, is_interrupted = false;
  PollUntil(messenger_, [&] {
    is_late = patience_.count() > 0 && Clock::now() - begun > patience;
    is_interrupted = interrupted_();
    return is_late || is_interrupted || come();
  });
  if (come()) return Status::Ok();
  if (is_interrupted) {
    return Status(StatusCode::kLost, "another process has ended while the plan was loaded");
  }
  return Status(StatusCode::kTimeout, late());
}

Result<std::map<uint32_t, std::string>> Agreement::Gather(const std::vector<uint32_t>& ranks,
                                                          const std::string& what) {
  const auto missing = [&] {
    std::vector<uint32_t> all;
    std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(all),
                 [&](uint32_t rank) { return !said_.contains(rank); });
    return all;
  };
  CGRAPH_RETURN_IF_ERROR(Await([&] { return missing().empty(); },
                               [&] {
                                 return fmt::format(
                                     "while the plan was loaded, rank 0 has waited {} s for {} to "
                                     "tell \"{}\"",
                                     std::chrono::duration<double>(patience_).count(),
                                     names_(missing()), what);
                               }));
  return std::exchange(said_, {});
}

void Agreement::Answer(const std::vector<uint32_t>& ranks, std::string_view answer) {
  for (uint32_t rank : ranks) {
    SendMessage(messenger_, rank, {.kind = MachineMessage::kAgree}, answer);
  }
}

Result<std::string> Agreement::Tell(std::string_view said, const std::string& what) {
  SendMessage(messenger_, 0, {.kind = MachineMessage::kAgree}, said);
  CGRAPH_RETURN_IF_ERROR(Await([&] { return answer_.has_value(); },
                               [&] {
                                 return fmt::format(
                                     "while the plan was loaded, it has waited {} s for rank 0 to "
                                     "answer \"{}\"",
                                     std::chrono::duration<double>(patience_).count(), what);
                               }));
  return *std::exchange(answer_, std::nullopt);
}

void Agreement::OnMessage(uint32_t from, std::string_view text) {
  if (messenger_.rank() == 0)
    said_[from] = text;
  else
    answer_ = text;
}

}  // namespace cgraph::cluster
