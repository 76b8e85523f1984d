#include "runtime/execute/finish_recordings.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

#include "runtime/base/sync/cores.h"
#include "runtime/device/queue.h"

namespace cgraph::engine {
namespace {

// More threads wait for each other inside the driver.
constexpr size_t kMostThreads = 8;

}  // namespace

Status FinishRecordings(const std::vector<std::unique_ptr<LoadedGraph>>& graphs) {
  std::vector<device::Recording*> recordings;
  for (const auto& graph : graphs) {
    for (const StepList& program : graph->programs) {
      for (const Segment& segment : program.segments) {
        for (const auto& recording : segment.recordings) recordings.push_back(recording.get());
      }
    }
  }
  // By recording, so that the error that is told does not depend on which thread was faster. The
  // threads have ended before it is read: their scope joins them.
  std::vector<Status> finished(recordings.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < recordings.size(); i = next++) {
      finished[i] = recordings[i]->Finish();
    }
  };
  {
    std::vector<std::jthread> helpers;
    const size_t threads = std::min({recordings.size(), size_t{Cores()}, kMostThreads});
    try {
      while (helpers.size() + 1 < threads) helpers.emplace_back(work);
    } catch (const std::system_error&) {
      // The threads that there are do it all.
    }
    work();
  }
  for (Status& status : finished) CGRAPH_RETURN_IF_ERROR(std::move(status));
  return Status::Ok();
}

}  // namespace cgraph::engine
