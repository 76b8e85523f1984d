#include "runtime/cluster/lifeline.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "runtime/cluster/shared/control.h"

namespace cgraph::cluster {

std::optional<uint32_t> RankOf(int argc, char** argv) {
  const std::string_view option(kRankOption);
  if (argc != 2 || !std::string_view(argv[1]).starts_with(option)) return std::nullopt;
  const std::string_view number = std::string_view(argv[1]).substr(option.size());
  uint32_t rank = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), rank);
  const bool well = error == std::errc() && end == number.data() + number.size();
  return well && rank != 0 && rank < kMostRanks ? std::optional(rank) : std::nullopt;
}

void EndWithRankZero() {
  for (const int descriptor : {kRegionDescriptor, kLifelineDescriptor}) {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  }
  // For a process that is stopped, which no thread of its own could end. Rank 0 may have gone
  // before this call: then the socket says so.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::thread([] {
    char byte;
    while (read(kLifelineDescriptor, &byte, 1) < 0 && errno == EINTR) {
    }
    _exit(EXIT_FAILURE);
  }).detach();
}

}  // namespace cgraph::cluster
