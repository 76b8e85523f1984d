#include "runtime/engine/ranks/plan_message.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "runtime/engine/options.h"
#include "runtime/plan/load.h"

namespace cgraph::engine {
namespace {

// MappedGpu: the GPU, as its machine's driver counts, that a device of the plan is.
struct MappedGpu {
  uint32_t device = 0, gpu = 0;
};

template <typename Entry>
void Append(std::span<const Entry> entries, std::string& to) {
  to.append(reinterpret_cast<const char*>(entries.data()), entries.size_bytes());
}

// Takes so many entries off the beginning of a text; fewer where it is shorter.
template <typename Entry>
std::vector<Entry> TakeEntries(uint64_t count, std::string_view& text) {
  std::vector<Entry> entries(std::min<uint64_t>(count, text.size() / sizeof(Entry)));
  if (!entries.empty()) std::memcpy(entries.data(), text.data(), entries.size() * sizeof(Entry));
  text.remove_prefix(entries.size() * sizeof(Entry));
  return entries;
}

bool Below(const std::vector<uint32_t>& numbers, size_t end) {
  return std::all_of(numbers.begin(), numbers.end(), [&](uint32_t number) { return number < end; });
}

// Returns whether what is told beside the part is about a plan of its size.
bool Fits(const PlanMessage& told) {
  const plan::Placement& placement = told.placement;
  const plan::Plan& part = *told.part.plan;
  const size_t graphs = part.graphs.size() + (part.start != nullptr);
  return placement.work_queue_of_lane.size() == part.lanes.size() &&
         Below(placement.work_queue_of_lane, placement.worker_of_work_queue.size()) &&
         Below(placement.worker_of_work_queue, placement.workers) && told.totals.size() == graphs &&
         told.part.weights.size() == part.weights.size() &&
         std::all_of(told.totals.begin(), told.totals.end(), [&](const auto& totals) {
           return totals.collectives.size() == part.communicators.size();
         });
}

}  // namespace

SharedText MakeSharedText(const EngineOptions& options, uint32_t first_tag,
                          const device::GpuMap& gpus, const plan::Placement& placement,
                          const std::vector<plan::GraphTotals>& totals) {
  SharedText shared{{}, TextForRanks(options)};
  shared.head = {
      .first_tag = first_tag,
      .options_bytes = shared.text.size(),
      .gpus = gpus.size(),
      .workers = placement.workers,
      .work_queues = static_cast<uint32_t>(placement.worker_of_work_queue.size()),
      .lanes = static_cast<uint32_t>(placement.work_queue_of_lane.size()),
      .graphs = static_cast<uint32_t>(totals.size()),
      .communicators = totals.empty() ? 0 : static_cast<uint32_t>(totals[0].collectives.size()),
      .weights = 0,  // each rank's own, set by TextFor()
  };
  for (const auto& [device, gpu] : gpus) {
    const MappedGpu mapped{device, gpu};
    Append(std::span(&mapped, 1), shared.text);
  }
  Append(std::span(placement.worker_of_work_queue), shared.text);
  Append(std::span(placement.work_queue_of_lane), shared.text);
  for (const plan::GraphTotals& of_graph : totals) {
    const uint32_t words[] = {of_graph.lag, of_graph.may_fail};
    Append(std::span<const uint32_t>(words), shared.text);
    Append(std::span(of_graph.collectives), shared.text);
  }
  return shared;
}

std::string TextFor(const SharedText& shared, const plan::NodePart& part) {
  PlanHead head = shared.head;
  head.weights = static_cast<uint32_t>(part.weights.size());
  std::string text;
  Append(std::span<const PlanHead>(&head, 1), text);
  text += shared.text;
  Append(std::span(part.weights), text);
  const std::vector<uint8_t> bytes = plan::ToBytes(*part.plan);
  Append(std::span(bytes), text);
  return text;
}

Result<PlanMessage> ReadPlanMessage(std::string_view text) {
  const Status mismatch(StatusCode::kInvalid,
                        "what rank 0 has sent is not about the plan that it has sent");
  const std::vector<PlanHead> heads = TakeEntries<PlanHead>(1, text);
  if (heads.empty()) return mismatch;
  const PlanHead& head = heads[0];
  PlanMessage message;
  message.first_tag = head.first_tag;
  if (!ReadTextForRanks(text.substr(0, head.options_bytes), message.options)) return mismatch;
  text.remove_prefix(std::min<uint64_t>(head.options_bytes, text.size()));
  for (const MappedGpu& mapped : TakeEntries<MappedGpu>(head.gpus, text)) {
    message.options.gpu_map.emplace(mapped.device, mapped.gpu);
  }
  message.placement.workers = head.workers;
  // Lanes share work queues only where the plan is proved (plan/placement.h).
  message.placement.merged = message.options.proved;
  message.placement.worker_of_work_queue = TakeEntries<uint32_t>(head.work_queues, text);
  message.placement.work_queue_of_lane = TakeEntries<uint32_t>(head.lanes, text);
  for (uint32_t g = 0; g < head.graphs && !text.empty(); ++g) {
    const std::vector<uint32_t> words = TakeEntries<uint32_t>(2, text);
    if (words.size() < 2) break;
    message.totals.push_back(
        {words[0], words[1] != 0, TakeEntries<uint32_t>(head.communicators, text)});
  }
  message.part.weights = TakeEntries<uint32_t>(head.weights, text);
  auto part = plan::FromBytes({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  if (!part.ok()) return part.status();
  message.part.plan = std::move(*part);
  if (Fits(message)) return message;
  return mismatch;
}

}  // namespace cgraph::engine
