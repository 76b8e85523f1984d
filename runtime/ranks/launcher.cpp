#include "runtime/ranks/launcher.h"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "runtime/device/cuda_library/interface.h"
#include "runtime/device/sync/cores.h"
#include "runtime/status/library_path.h"

namespace cgraph::ranks {
namespace {

// By what a launcher tells its processes how many they are, the first that is there.
struct Kind {
  const char* variable;
  const char* here;  // how many of them are on this machine
  const char* launcher;
  const char* library;
};
constexpr const char* kOpenMpi = "libcgraph_openmpi.so";
constexpr const char* kMpich = "libcgraph_mpich.so";
constexpr Kind kKinds[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "mpirun of Open MPI", kOpenMpi},
    {"PMI_SIZE", "MPI_LOCALNRANKS", "mpirun of MPICH", kMpich},
};

std::optional<uint32_t> NumberIn(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), number);
  if (error != std::errc() || *end != '\0') return std::nullopt;
  return number;
}

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
  const auto abi = reinterpret_cast<WireAbiFunction*>(dlsym(library, "cgraph_wire_abi"));
  const auto connect = reinterpret_cast<WireFunction*>(dlsym(library, "cgraph_wire"));
  const std::string_view made_for = abi == nullptr ? "no cgraph" : abi();
  if (made_for != device::InterfaceText() || connect == nullptr) {
    return Status(StatusCode::kInvalid,
                  fmt::format("{} is of another build: it is made for {}, and this is {}; install "
                              "both from one build",
                              path, made_for, device::InterfaceText()));
  }
  std::string error;
  Wire* wire = connect(error);
  if (wire == nullptr) return Status(StatusCode::kNotFound, error);
  return wire;
}

}  // namespace

Result<std::optional<Launch>> FindLaunch() {
  for (const Kind& kind : kKinds) {
    const std::optional<uint32_t> processes = NumberIn(kind.variable);
    if (!processes) continue;
    if (*processes < 2) return std::optional<Launch>();
    const uint32_t here = std::max(1u, NumberIn(kind.here).value_or(1));
    return std::optional<Launch>({kind.launcher, kind.library, *processes, here});
  }
  // srun tells an MPI's own way of connecting processes, if it was asked for one.
  const std::optional<uint32_t> tasks = NumberIn("SLURM_STEP_NUM_TASKS");
  if (!tasks || *tasks < 2) return std::optional<Launch>();
  if (std::getenv("PMIX_RANK") != nullptr) {
    return std::optional<Launch>({"srun with PMIx", kOpenMpi, *tasks});
  }
  return Status(StatusCode::kInvalid,
                fmt::format("srun has started {} processes without a way for them to connect; use "
                            "`srun --mpi=pmix` (Open MPI) or `srun --mpi=pmi2` (MPICH)",
                            *tasks));
}

// A process that may use fewer cores than the machine has was given its own; one that may use all
// shares them with the other processes.
uint32_t Peers::own_cores() const {
  const uint32_t cores = device::Cores();
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  const bool given = online > 0 && cores < static_cast<unsigned long>(online);
  return given ? cores : std::max(1u, cores / processes_here_);
}

Result<Peers*> Connect(const Launch& launch) {
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
  Peers* const peers = new Peers(**wire, launch.processes_here);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  peers->supervision = std::make_unique<TcpSupervision>(peers->messenger);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return peers;
}

}  // namespace cgraph::ranks
