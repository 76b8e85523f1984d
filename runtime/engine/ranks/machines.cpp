#include "runtime/engine/ranks/machines.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "runtime/base/sync/cores.h"
#include "runtime/base/text.h"
#include "runtime/cluster/message.h"
#include "runtime/cluster/supervision.h"
#include "runtime/device/gpus.h"

namespace cgraph::engine {
namespace {

// A driver of a machine with many GPUs takes seconds to come up.
constexpr std::chrono::seconds kPatience(60);

// `with_gpus`: also looks for GPUs, which takes time.
plan::Machine ThisMachine(bool with_gpus) {
  plan::Machine machine{.cores = Cores()};
  if (!with_gpus) return machine;
  const device::GpuReport& report = device::FindGpus();
  machine.no_gpus = report.usable.message();
  if (report.usable.ok()) machine.gpus = static_cast<uint32_t>(report.gpus.size());
  return machine;
}

// Question: something that rank 0 asks other ranks about their machines.
struct Question {
  cluster::MachineMessage::Kind kind;  // of the answers, too
  const char* asked;          // completes "has not told", "before it had told"
  // Called with the answer of a rank.
  std::function<void(uint32_t from, const cluster::MachineMessage&, std::string_view text)> take;
};

// Answers: hears the answers to a question.
class Answers final : private cluster::Listener {
 public:
  Answers(cluster::Messenger& messenger, const Question& question,
          const std::vector<uint32_t>& ranks)
      : messenger_(messenger),
        question_(question),
        missing_(ranks.begin(), ranks.end()),
        buffers_(messenger.count()) {
    messenger_.Listen(cluster::kMachineTag, this);
  }
  ~Answers() override { messenger_.Listen(cluster::kMachineTag, nullptr); }
  // The ranks that have not answered.
  const std::set<uint32_t>& missing() const { return missing_; }

 private:
  std::span<std::byte> BufferFor(uint32_t from, uint64_t bytes) override {
    return buffers_[from].New(bytes);
  }
  bool OnMessage(uint32_t from, std::span<const std::byte>) override {
    const std::vector<std::byte> bytes = buffers_[from].Take();
    const auto [message, text] = cluster::ReadMessage(bytes);
    if (message.kind != question_.kind) return false;
    question_.take(from, message, text);
    missing_.erase(from);
    return true;
  }

  cluster::Messenger& messenger_;
  const Question& question_;
  std::set<uint32_t> missing_;
  std::vector<cluster::ReceiveBuffers> buffers_;
};

// Asks these ranks, and waits for their answers.
Status Ask(const Question& question, const std::vector<uint32_t>& ranks, cluster::Peers& peers) {
  cluster::Messenger& messenger = peers.messenger;
  const auto lost = [&] { return messenger.given_up() || peers.FirstLost().has_value(); };
  if (!lost() && messenger.claimed()) return OthersServeAnotherEngine();
  const auto end = std::chrono::steady_clock::now() + kPatience;
  bool late = false;
  Answers answers(messenger, question, ranks);
  for (uint32_t rank : ranks) SendMessage(messenger, rank, {.kind = question.kind});
  PollUntil(messenger, [&] {
    late = std::chrono::steady_clock::now() > end;
    return answers.missing().empty() || late || lost();
  });
  const std::vector<uint32_t> missing(answers.missing().begin(), answers.missing().end());
  if (missing.empty()) return Status::Ok();
  if (late) {
    messenger.GiveUp();
    return Status(
        StatusCode::kTimeout,
        fmt::format("in {} s {} {} not told {}", kPatience.count(), peers.NamesOf(missing),
                    missing.size() == 1 ? "has" : "have", question.asked));
  }
  if (const auto first = peers.FirstLost()) {
    return Status(StatusCode::kLost,
                  fmt::format("rank {} ({}) {} before it had told {}; start all of them again",
                              first->rank, first->process.Text(), first->how, question.asked));
  }
  return Status(StatusCode::kLost,
                "another process has not ended its engine in time; start all of them again");
}

}  // namespace

uint32_t NodesOf(const plan::Plan& plan) {
  uint32_t nodes = 1;
  for (const auto& device : plan.devices) nodes = std::max(nodes, device->node + 1);
  return nodes;
}

Status OthersServeAnotherEngine() {
  return Status(StatusCode::kUnsupported,
                "the other processes serve another engine, and one at a time; end that first");
}

Status CheckNodes(const plan::Plan& plan, const cluster::Peers& peers) {
  const uint32_t nodes = NodesOf(plan), processes = peers.messenger.count();
  if (nodes == processes) return Status::Ok();
  if (nodes == 1) {
    return Status(StatusCode::kInvalid,
                  fmt::format("the plan has devices of one machine, and {} processes were started, "
                              "of which each serves a machine; run it without a launcher, or put "
                              "actors on node[1]",
                              processes));
  }
  return Status(StatusCode::kInvalid,
                fmt::format("the plan has devices on {}, node[0] to node[{}], and {} processes "
                            "were started; start one for each node (mpirun -n {})",
                            Counted(nodes, "node"), nodes - 1, processes, nodes));
}

Result<std::vector<plan::Machine>> FindMachines(const plan::Plan& plan, cluster::Peers* peers) {
  const std::vector<uint32_t> gpus = plan::BusyGpus(plan);
  if (peers == nullptr) return std::vector<plan::Machine>{ThisMachine(!gpus.empty())};
  CGRAPH_RETURN_IF_ERROR(CheckNodes(plan, *peers));
  std::vector<plan::Machine> machines(peers->messenger.count());
  std::vector<bool> asked(machines.size(), false);
  for (uint32_t gpu : gpus) asked[plan.devices[gpu]->node] = true;
  std::vector<uint32_t> others;
  machines[0] = ThisMachine(asked[0]);
  for (uint32_t node = 0; node < machines.size(); ++node) {
    machines[node].name = fmt::format("the machine of rank {}", node);
    if (asked[node] && node > 0) others.push_back(node);
  }
  // Where a rank is not asked, the number of its cores is not known, and a plan may ask for any.
  const auto take = [&](uint32_t from, const cluster::MachineMessage& message,
                        std::string_view text) {
    plan::Machine& machine = machines[from];
    machine.cores = message.gpus.cores;
    machine.gpus = message.gpus.gpus;
    const uint64_t process = std::min<uint64_t>(message.gpus.process_bytes, text.size());
    machine.name = fmt::format("the machine of rank {} ({})", from, text.substr(0, process));
    machine.no_gpus = text.substr(process);
  };
  if (!others.empty()) {
    const Question question{cluster::MachineMessage::kGpus, "which GPUs are there", take};
    CGRAPH_RETURN_IF_ERROR(Ask(question, others, *peers));
  }
  return machines;
}

Result<std::vector<std::string>> DescribeMachines(cluster::Peers& peers) {
  std::vector<std::string> texts(peers.messenger.count());
  std::vector<uint32_t> others;
  for (uint32_t rank = 1; rank < texts.size(); ++rank) others.push_back(rank);
  const auto take = [&](uint32_t from, const cluster::MachineMessage&, std::string_view text) {
    texts[from] = text;
  };
  const Question question{cluster::MachineMessage::kDescribe, "which devices are there", take};
  CGRAPH_RETURN_IF_ERROR(Ask(question, others, peers));
  return texts;
}

void TellGpus(cluster::Messenger& messenger) {
  const plan::Machine own = ThisMachine(true);
  cluster::MachineMessage answer{.kind = cluster::MachineMessage::kGpus};
  const std::string process = cluster::Process::This().Text();
  answer.gpus = {own.cores, own.gpus, process.size()};
  SendMessage(messenger, 0, answer, process + own.no_gpus);
}

Result<device::GpuMap> GpusFor(plan::Plan& plan, const EngineOptions& options) {
  // GPUs lean on what is proved: an extent is one number everywhere.
  if (!options.gpus || !options.proved || plan::BusyGpus(plan).empty()) {
    return device::GpuMap();
  }
  const bool one_machine = options.peers == nullptr;
  if (one_machine && !device::FindGpus().usable.ok()) {
    if (options.require_gpus) return device::FindGpus().usable;
    return device::GpuMap();
  }
  if (!options.gpu_map.empty()) return options.gpu_map;
  auto machines = FindMachines(plan, options.peers);
  if (!machines.ok()) return machines.status();
  auto mapped = plan::MapDevices(plan, "", *machines);
  if (!mapped.ok()) return mapped.status();
  if (options.require_gpus && !mapped->left_to_cores.empty()) {
    const plan::WithoutGpus first =
        plan::ByReason(plan, mapped->left_to_cores, *machines).front();
    return Status(StatusCode::kNotFound,
                  fmt::format("{} would run on CPU threads: {}",
                              plan::NamesOf(plan, first.gpus), first.why));
  }
  return std::move(mapped->on_gpus);
}

}  // namespace cgraph::engine
