#include "runtime/cluster/launcher.h"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "runtime/base/library_path.h"
#include "runtime/cluster/wire_table.h"

namespace cgraph::cluster {
namespace {

// By what a launcher tells its processes how many they are, the first that is there.
struct Kind {
  const char* variable;
  const char* here;   // how many of them are on this machine
  const char* local;  // which of those this one is
  const char* rank;   // which of all
  const char* launcher;
  const char* library;
};
constexpr const char* kOpenMpi = "libcgraph_openmpi.so";
constexpr const char* kMpich = "libcgraph_mpich.so";
constexpr Kind kKinds[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_RANK", "mpirun of Open MPI", kOpenMpi},
    {"PMI_SIZE", "MPI_LOCALNRANKS", "MPI_LOCALRANKID", "PMI_RANK", "mpirun of MPICH", kMpich},
};

std::optional<uint32_t> NumberIn(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), number);
  if (error != std::errc() || *end != '\0') return std::nullopt;
  return number;
}

// Returns how many processes of a Slurm step are on a node. `text`: SLURM_STEP_TASKS_PER_NODE, as
// "2(x3),1". Nothing where the list does not reach the node, or an entry begins with no number.
std::optional<uint32_t> TasksOfNode(std::string_view text, uint32_t node) {
  for (uint32_t first = 0; !text.empty();) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const char* const end = entry.data() + entry.size();
    uint32_t tasks = 0, nodes = 1;
    const char* rest = std::from_chars(entry.data(), end, tasks).ptr;
    if (std::string_view(rest, end).starts_with("(x")) std::from_chars(rest + 2, end, nodes);
    if (tasks == 0 || nodes == 0) return std::nullopt;
    if (node - first < nodes) return tasks;
    first += nodes;
  }
  return std::nullopt;
}

// Returns what srun says of this process, where it was started by that.
std::optional<Launch> FindStep() {
  const std::optional<uint32_t> tasks = NumberIn("SLURM_STEP_NUM_TASKS");
  if (!tasks) return std::nullopt;
  const char* const each = std::getenv("SLURM_STEP_TASKS_PER_NODE");
  const uint32_t node = NumberIn("SLURM_NODEID").value_or(0);
  return Launch{.launcher = "srun",
                .library = nullptr,
                .processes = *tasks,
                .processes_here = TasksOfNode(each == nullptr ? "" : each, node).value_or(1),
                .local_rank = NumberIn("SLURM_LOCALID").value_or(0)};
}

// Returns whether the launcher that has started this process has started that one, too, to execute
// the same program.
bool IsSibling(int process) {
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto its = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", process), error);
  if (own != its) return false;
  std::ifstream file(fmt::format("/proc/{}/status", process));
  const std::string parent = fmt::format("PPid:\t{}", getppid());
  for (std::string line; std::getline(file, line);) {
    if (line == parent) return true;
  }
  return false;
}

// Returns "rank 1 (process 7)", of a process that the launcher has started; without the rank where
// that is not known.
std::string NameOfSibling(int process) {
  std::ifstream file(fmt::format("/proc/{}/environ", process), std::ios::binary);
  for (std::string entry; std::getline(file, entry, '\0');) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    const bool is_rank = name == "SLURM_PROCID" ||
                         std::any_of(std::begin(kKinds), std::end(kKinds),
                                     [&](const Kind& kind) { return name == kind.rank; });
    if (!is_rank || name.size() + 1 >= entry.size()) continue;
    return fmt::format("rank {} (process {})", entry.substr(name.size() + 1), process);
  }
  return fmt::format("process {}", process);
}

// The wire of a library, by its table.
class LoadedWire final : public Wire {
 public:
  LoadedWire(const cgraph_wire_functions& functions, cgraph_wire* wire)
      : functions_(functions), wire_(wire) {}

  uint32_t rank() const override { return functions_.rank(wire_); }
  uint32_t count() const override { return functions_.count(wire_); }
  uint32_t most_tag() const override { return functions_.most_tag(wire_); }
  std::string library() const override { return functions_.library(wire_); }
  double share_of_cores() const override { return functions_.share_of_cores(wire_); }

  Request BeginSend(uint32_t to, uint32_t tag, const void* data, uint64_t bytes) override {
    return functions_.begin_send(wire_, to, tag, data, bytes);
  }
  std::optional<Incoming> Probe() override {
    cgraph_wire_incoming message;
    if (functions_.probe(wire_, &message) == 0) return std::nullopt;
    return Incoming{message.from, message.tag, message.bytes, message.handle};
  }
  Request BeginReceive(const Incoming& incoming, void* to) override {
    const cgraph_wire_incoming message = {incoming.from, incoming.tag, incoming.bytes,
                                          incoming.handle};
    return functions_.begin_receive(wire_, &message, to);
  }
  bool Over(Request request) override { return functions_.over(wire_, request) != 0; }
  void Finish() override { functions_.finish(wire_); }
  void Abort(int exit_code) override { functions_.abort(wire_, exit_code); }

 private:
  const cgraph_wire_functions& functions_;
  cgraph_wire* const wire_;
};

Result<Wire*> Open(const Launch& launch) {
  const std::string path = FindLibrary(launch.library);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const std::string error = LoaderError(path);
    const bool absent = path == launch.library && error.find("No such file") != std::string::npos;
    return Status(StatusCode::kNotFound,
                  fmt::format("{} has started {} processes, and {}; {}", launch.launcher,
                              launch.processes,
                              absent ? fmt::format("there is no {} (looked for: {})",
                                                   launch.library, WhereLooked(launch.library))
                                     : fmt::format("{} cannot be loaded ({})", path, error),
                              "build cgraph where that MPI's development files are installed"));
  }
  const auto table =
      reinterpret_cast<cgraph_wire_table_function*>(dlsym(library, "cgraph_wire_table"));
  const cgraph_wire_functions* const functions = table == nullptr ? nullptr : table();
  if (functions == nullptr || functions->version != CGRAPH_WIRE_VERSION ||
      functions->size < sizeof(*functions)) {
    const std::string made_for =
        functions == nullptr
            ? "no version of cgraph's wire"
            : fmt::format("version {} of it ({} bytes), {}", functions->version, functions->size,
                          functions->made_by);
    return Status(StatusCode::kInvalid,
                  fmt::format("{} is of another build: it is made for {}, and this is version {} "
                              "of cgraph's wire ({} bytes); install both from one build",
                              path, made_for, CGRAPH_WIRE_VERSION, sizeof(*functions)));
  }
  char error[512] = "";
  cgraph_wire* const wire = functions->connect(error, sizeof error);
  if (wire == nullptr) return Status(StatusCode::kNotFound, error);
  return new LoadedWire(*functions, wire);  // goes with the process, as its connection does
}

}  // namespace

std::optional<Launch> FindLaunch() {
  std::optional<Launch> step = FindStep();
  for (const Kind& kind : kKinds) {
    const std::optional<uint32_t> processes = NumberIn(kind.variable);
    if (!processes) continue;
    if (*processes < 2) return std::nullopt;
    // Slurm's PMI-2 tells the number of processes as MPICH's own launcher does, and nothing else.
    const std::optional<uint32_t> here = NumberIn(kind.here);
    if (step && !here && step->processes == *processes) {
      step->launcher = "srun with PMI-2";
      step->library = kind.library;
      return step;
    }
    return Launch{kind.launcher, kind.library, *processes, std::max(1u, here.value_or(1)),
                  NumberIn(kind.local).value_or(0)};
  }
  if (!step || step->processes < 2) return std::nullopt;
  if (std::getenv("PMIX_RANK") != nullptr) {
    step->launcher = "srun with PMIx";
    step->library = kOpenMpi;
  }
  return step;
}

std::string StoppedProcesses() {
  std::string text;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    int process = 0;
    std::from_chars(name.data(), name.data() + name.size(), process);
    if (process == 0 || !Process{process, ""}.IsStopped() || !IsSibling(process)) continue;
    text += fmt::format("{}{} is stopped by a signal; `kill -CONT {}` lets it go on",
                        text.empty() ? "" : "\n", NameOfSibling(process), process);
  }
  return text;
}

Process Peers::ProcessOf(uint32_t rank) const {
  if (rank == messenger.rank()) return Process::This();
  return supervision == nullptr ? Process() : supervision->ProcessOf(rank);
}

std::string Peers::NamesOf(const std::vector<uint32_t>& ranks) const {
  constexpr size_t kNamed = 4;
  std::string names;
  for (size_t i = 0; i < std::min(ranks.size(), kNamed); ++i) {
    names +=
        fmt::format("{}rank {} ({})", i == 0 ? "" : ", ", ranks[i], ProcessOf(ranks[i]).Text());
  }
  if (ranks.size() > kNamed) names += fmt::format(" and {} more", ranks.size() - kNamed);
  return names;
}

Result<Peers*> Connect(const Launch& launch) {
  if (launch.library == nullptr) {
    return Status(StatusCode::kInvalid,
                  fmt::format("{} has started {} processes without a way for them to connect; use "
                              "`srun --mpi=pmix` (Open MPI) or `srun --mpi=pmi2` (MPICH)",
                              launch.launcher, launch.processes));
  }
  // Threads of an MPI inherit what is blocked: signals are for threads of ours.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  auto wire = Open(launch);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!wire.ok()) return wire.status();
  if ((*wire)->count() != launch.processes) {
    return Status(StatusCode::kInvalid,
                  fmt::format("{} has started {} processes, and {} connects {}: the launcher is "
                              "that of another MPI; use the one of {}",
                              launch.launcher, launch.processes, launch.library, (*wire)->count(),
                              (*wire)->library()));
  }
  // Goes with the process, as its connection does.
  Peers* const peers = new Peers(**wire);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const bool one_machine = launch.processes_here == launch.processes;
  peers->supervision = std::make_unique<TcpSupervision>(peers->messenger, one_machine);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return peers;
}

}  // namespace cgraph::cluster
