// What one rank of many takes to load a plan, measured without starting the others:
//
//   build/release/rank_load_bench step.cgplan 5
//
// loads the plan as rank 5 of as many ranks as it has nodes, by the functions that cgrun calls
// under a launcher of MPI programs, up to where a rank meets the others. The wire is one that
// delivers what rank 0 sends this rank, drops what it sends the others, and answers for them that
// they have loaded the plan. Rank 0 runs first, in a process of its own, so each rank's memory is
// its own.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/sync/cores.h"
#include "runtime/cluster/launcher.h"
#include "runtime/cluster/message.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/ranks/machines.h"
#include "runtime/engine/ranks/serve.h"
#include "runtime/plan/load.h"

namespace cgraph {
namespace {

using Clock = std::chrono::steady_clock;
using cluster::MachineMessage;

// The most memory that this process has had so far, in MiB.
double PeakMemory() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
  return 0;
}

// Steps: prints how long each took, what processors spent in it, and the most memory up to its end.
class Steps {
 public:
  void Begin(const std::string& what) {
    End();
    what_ = what;
    start_ = Now();
  }
  void End() {
    if (!what_.empty()) {
      Print("  " + what_, start_);
    }
    what_.clear();
  }
  void Total(const char* what) const { Print(what, first_); }

 private:
  struct Moment {
    Clock::time_point time;
    double processors = 0;  // s
  };
  static Moment Now() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return {Clock::now(), double(time.tv_sec) + 1e-9 * double(time.tv_nsec)};
  }
  static void Print(const std::string& what, const Moment& since) {
    const Moment now = Now();
    fmt::print("{:<50} {:>7.2f} s {:>7.2f} s of processors {:>6.0f} MiB\n", what,
               std::chrono::duration<double>(now.time - since.time).count(),
               now.processors - since.processors, PeakMemory());
    std::fflush(stdout);
  }
  const Moment first_ = Now();
  Moment start_;
  std::string what_;
};

// OneRankWire: the wire of one rank, as above. What rank 0 sends to rank `kept` is in a file.
class OneRankWire final : public cluster::Wire {
 public:
  OneRankWire(uint32_t rank, uint32_t count, uint32_t kept, std::FILE* file)
      : rank_(rank), count_(count), kept_(kept), file_(file) {}

  uint32_t rank() const override { return rank_; }
  uint32_t count() const override { return count_; }
  uint32_t most_tag() const override { return INT32_MAX; }
  std::string library() const override { return "a wire of one rank"; }
  double share_of_cores() const override { return Cores(); }

  // Lets rank 0's message arrive, with what is left of the file.
  void Arrive(uint64_t bytes) { arriving_.push_back({bytes, {}}); }

  Request BeginSend(uint32_t to, uint32_t, const void* data, uint64_t bytes) override {
    MachineMessage message;
    std::memcpy(&message, data, sizeof(message));
    sent_bytes_ += bytes;
    if (rank_ == 0 && message.kind == MachineMessage::kPlan) {
      if (to == kept_) std::fwrite(data, 1, bytes, file_);
      Answer(to, MachineMessage::kLoaded);
    }
    if (rank_ != 0 && message.kind == MachineMessage::kLoaded) {
      const auto [head, text] = cluster::ReadMessage({static_cast<const std::byte*>(data), bytes});
      on_loaded_(Status(message.code, std::string(text)));
    }
    return 0;
  }
  std::optional<Incoming> Probe() override {
    if (arriving_.empty()) return std::nullopt;
    Incoming incoming{arriving_.front().from, cluster::kControlTag, arriving_.front().bytes, next_};
    messages_[next_++] = std::move(arriving_.front().message);
    arriving_.pop_front();
    return incoming;
  }
  Request BeginReceive(const Incoming& incoming, void* to) override {
    const std::vector<std::byte> message = std::move(messages_[incoming.handle]);
    messages_.erase(incoming.handle);
    if (!message.empty()) {
      std::memcpy(to, message.data(), message.size());
    } else if (std::fread(to, 1, incoming.bytes, file_) != incoming.bytes) {
      std::abort();
    }
    return 0;
  }
  bool Over(Request) override { return true; }
  void Finish() override {}
  void Abort(int exit_code) override { std::_Exit(exit_code); }

  uint64_t sent_bytes() const { return sent_bytes_; }
  // Sets what is called when another rank than the first has loaded the plan, or refuses it.
  void OnLoaded(std::function<void(const Status&)> on_loaded) { on_loaded_ = std::move(on_loaded); }

 private:
  struct Arriving {
    uint64_t bytes = 0;
    std::vector<std::byte> message;  // empty: it is in the file
    uint32_t from = 0;
  };
  void Answer(uint32_t from, MachineMessage::Kind kind) {
    const MachineMessage message{.kind = kind};
    Arriving arriving{cluster::MessageBytes(sizeof(message)), {}, from};
    arriving.message.resize(arriving.bytes);
    std::memcpy(arriving.message.data(), &message, sizeof(message));
    arriving_.push_back(std::move(arriving));
  }

  const uint32_t rank_, count_, kept_;
  std::FILE* const file_;
  uint64_t sent_bytes_ = 0;
  std::function<void(const Status&)> on_loaded_;
  std::deque<Arriving> arriving_;
  std::map<uint64_t, std::vector<std::byte>> messages_;
  uint64_t next_ = 0;
};

// Loads the plan as rank 0. Ends the process where the others would be told to begin.
int LoadAsFirst(const std::string& path, uint32_t kept, std::FILE* file) {
  fmt::print("rank 0\n");
  Steps steps;
  steps.Begin("reading the plan");
  auto plan = plan::ReadFile(path);
  if (!plan.ok()) return fmt::print("{}\n", plan.status().message()), 1;
  OneRankWire wire(0, engine::NodesOf(**plan), kept, file);
  const uint32_t count = wire.count();
  std::fwrite(&count, sizeof(count), 1, file);
  cluster::Peers peers(wire);
  EngineOptions options;
  options.peers = &peers;
  options.gpus = false;
  options.timeout = std::chrono::hours(1);
  steps.Begin("checking the plan");
  options.loading = [&](const std::string& what) {
    steps.Begin(what);
    if (what != "computing initial states and reading weights") return;
    steps.Total("rank 0 in all");
    fmt::print("sent to {} others: {:.1f} MiB\n", wire.count() - 1,
               static_cast<double>(wire.sent_bytes()) / (1 << 20));
    std::fflush(nullptr);
    std::_Exit(0);
  };
  auto loaded = Engine::Load(std::move(*plan), options);
  fmt::print("{}\n", loaded.status().message());
  return 1;
}

// Loads the plan as another rank. Ends the process where rank 0 would be told of it.
[[noreturn]] void LoadAsOther(uint32_t rank, uint32_t ranks, std::FILE* file, uint64_t bytes) {
  OneRankWire wire(rank, ranks, rank, file);
  wire.Arrive(bytes);
  Steps steps;
  fmt::print("rank {} of {}, which had {:.0f} MiB before a message of {:.1f} MiB\n", rank, ranks,
             PeakMemory(), static_cast<double>(bytes) / (1 << 20));
  wire.OnLoaded([&](const Status& status) {
    if (!status.ok()) fmt::print("{}\n", status.message());
    steps.Total("from the message until it has loaded");
    std::_Exit(status.ok() ? 0 : 1);
  });
  cluster::Peers peers(wire);
  std::_Exit(engine::ServeMachine(peers));
}

int Main(int argc, char** argv) {
  const uint32_t rank = argc == 3 ? static_cast<uint32_t>(std::atoi(argv[2])) : 0;
  if (rank == 0) return fmt::print("rank_load_bench PLAN RANK, which is not 0\n"), 1;
  std::FILE* file = std::tmpfile();
  if (file == nullptr) return 1;
  std::fflush(nullptr);
  const pid_t first = fork();
  if (first == 0) std::_Exit(LoadAsFirst(argv[1], rank, file));
  int status = 0;
  waitpid(first, &status, 0);
  if (status != 0) return 1;
  std::fseek(file, 0, SEEK_END);
  uint32_t count = 0;
  const uint64_t bytes = static_cast<uint64_t>(std::ftell(file)) - sizeof(count);
  std::rewind(file);
  if (std::fread(&count, sizeof(count), 1, file) != 1) return 1;
  std::fflush(nullptr);
  // A process of its own for this rank, too: what this one did is no part of it.
  const pid_t other = fork();
  if (other == 0) LoadAsOther(rank, count, file, bytes);
  waitpid(other, &status, 0);
  return status == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cgraph

int main(int argc, char** argv) { return cgraph::Main(argc, argv); }
