#include "runtime/cluster/processes.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <future>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/cluster/refusals.h"
#include "runtime/cluster/shared/control.h"
#include "runtime/cluster/supervision.h"

namespace cgraph::cluster {

namespace {

using Clock = std::chrono::steady_clock;

// How long others are waited for, once a rank has refused to load the plan.
constexpr std::chrono::milliseconds kRefusalPatience(500);

// Starts a process; returns 0, or the error number. It inherits the two descriptors, as
// kRegionDescriptor and kLifelineDescriptor.
int Spawn(int* pid, const std::string& path, std::vector<std::string> words, int region,
          int lifeline) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&files, region, kRegionDescriptor);
  posix_spawn_file_actions_adddup2(&files, lifeline, kLifelineDescriptor);
  // Signals of the terminal and of launchers go to all processes of a group. They are rank 0's,
  // which tells the others what comes of it: these begin, and stay, with the signals blocked.
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGPIPE}) {
    sigaddset(&blocked, signal);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int failed =
      posix_spawn(pid, path.c_str(), &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return failed;
}

Status CannotStart(uint32_t rank, const std::string& what, int error) {
  return Status(StatusCode::kNotFound, fmt::format("the process of rank {} cannot be started: {}: "
                                                   "{}",
                                                   rank, what, std::strerror(error)));
}

std::string ExitText(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) {
    return fmt::format("ended by itself with exit code {}", info.si_status);
  }
  return fmt::format("was killed by signal {} ({}){}", info.si_status, strsignal(info.si_status),
                     info.si_code == CLD_DUMPED    ? " and left a core file"
                     : info.si_status == SIGKILL ? ", as the system does where memory is short"
                                                 : "");
}

}  // namespace

Result<std::unique_ptr<Processes>> Processes::Start(const std::vector<std::string>& command,
                                                    uint32_t ranks, std::shared_ptr<Region> region,
                                                    Control& control, Lost lost) {
  std::unique_ptr<Processes> made(new Processes(std::move(region), control, std::move(lost)));
  made->processes_.resize(ranks);
  std::promise<Status> started;
  std::future<Status> status = started.get_future();
  try {
    made->thread_ = std::thread([processes = made.get(), &command, &started] {
      Status all = processes->StartAll(command);
      processes->watches_ = all.ok();
      started.set_value(std::move(all));
      if (processes->watches_) processes->Watch();
    });
  } catch (const std::system_error& error) {
    return Status(StatusCode::kNotFound,
                  fmt::format("the thread that watches processes cannot be made: {}",
                              error.code().message()));
  }
  CGRAPH_RETURN_IF_ERROR(status.get());
  return made;
}

Status Processes::StartAll(const std::vector<std::string>& command) {
  for (uint32_t rank = 1; rank < processes_.size(); ++rank) {
    CGRAPH_RETURN_IF_ERROR(StartOne(command, rank));
  }
  return Status::Ok();
}

Status Processes::StartOne(const std::vector<std::string>& command, uint32_t rank) {
  Process& process = processes_[rank];
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return CannotStart(rank, "no socket", errno);
  }
  process.lifeline = ends[0];
  // What the new process inherits gets its number there. It must have another one here: else it
  // would stay marked to be closed.
  const int high = fcntl(region_->fd(), F_DUPFD_CLOEXEC, kFirstFree);
  const int high_end = fcntl(ends[1], F_DUPFD_CLOEXEC, kFirstFree);
  close(ends[1]);
  int failed = high < 0 || high_end < 0 ? errno : 0;
  if (failed == 0) {
    std::vector<std::string> words = command;
    // Where it is cgrun it is listed as that, whatever path it was started by. Others find
    // themselves by their path.
    if (words.size() == 1) words[0] = "cgrun";
    words.push_back(fmt::format("{}{}", kRankOption, rank));
    failed = Spawn(&process.pid, command[0], std::move(words), high, high_end);
  }
  if (high >= 0) close(high);
  if (high_end >= 0) close(high_end);
  if (failed != 0) {
    process.pid = -1;
    return CannotStart(rank, command[0], failed);
  }
  process.descriptor = static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0));
  return process.descriptor >= 0 ? Status::Ok() : CannotStart(rank, "it cannot be watched", errno);
}

void Processes::Watch() {
  for (;;) {
    std::vector<pollfd> all;
    std::vector<uint32_t> ranks;
    for (uint32_t rank = 1; rank < processes_.size(); ++rank) {
      if (processes_[rank].gone) continue;
      all.push_back({processes_[rank].descriptor, POLLIN, 0});
      ranks.push_back(rank);
    }
    if (all.empty()) return;
    if (poll(all.data(), all.size(), -1) <= 0) {
      if (errno != EINTR) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].revents != 0) Reap(ranks[i]);
    }
  }
}

void Processes::Reap(uint32_t rank) {
  siginfo_t info{};
  Process& process = processes_[rank];
  const bool told = waitid(P_PIDFD, static_cast<id_t>(process.descriptor), &info, WEXITED) == 0;
  if (!told && errno == EINTR) return;
  {
    std::lock_guard lock(mutex_);
    // A program that ignores SIGCHLD is not told how its processes end.
    process.exit_text = told ? ExitText(info) : "has ended";
    process.gone = true;
  }
  const bool refused = control_.states[rank].phase.load(std::memory_order_acquire) ==
                       RankState::kFailed;
  if (!refused && !control_.ended.load(std::memory_order_acquire)) {
    lost_(rank, process.pid, process.exit_text);
  }
  control_.changed.Notify();
}

Status Processes::AwaitLoaded(std::chrono::nanoseconds patience) {
  Deadline deadline;
  if (patience.count() > 0) deadline = Clock::now() + patience;
  std::vector<Refusal> refusals;
  Status late;  // once one is, only what others have refused by then counts
  for (uint32_t rank = 1; rank < processes_.size(); ++rank) {
    const RankState& state = control_.states[rank];
    const auto over = [&] {
      std::lock_guard lock(mutex_);
      return state.phase.load(std::memory_order_acquire) != RankState::kStarting ||
             processes_[rank].gone;
    };
    while (late.ok() && !over()) {
      if (control_.changed.Wait(over, deadline) || over()) continue;
      if (!refusals.empty()) break;
      late = LateAt(rank, patience);
    }
    Status status = LoadErrorOf(rank);
    if (status.code() == StatusCode::kLost && refusals.empty()) return status;
    if (status.ok()) continue;
    // The others are most likely to refuse it, too: they are one message.
    if (refusals.empty()) deadline = Clock::now() + kRefusalPatience;
    refusals.push_back({rank, fmt::format("process {}", processes_[rank].pid), std::move(status)});
  }
  return refusals.empty() ? late : JoinRefusals(refusals, "rank ", "");
}

Status Processes::LateAt(uint32_t rank, std::chrono::nanoseconds patience) const {
  const RankState& state = control_.states[rank];
  const bool told = state.steps.load(std::memory_order_acquire) != 0;
  return Status(
      StatusCode::kTimeout,
      fmt::format("rank {} (process {}) has not loaded the plan in {} s{}", rank,
                  processes_[rank].pid, std::chrono::duration<double>(patience).count(),
                  told ? fmt::format("; it has told \"{}\" last", state.step.Get()) : ""));
}

bool Processes::AnyGoneOrRefused() {
  std::lock_guard lock(mutex_);
  for (uint32_t rank = 1; rank < processes_.size(); ++rank) {
    const uint32_t phase = control_.states[rank].phase.load(std::memory_order_acquire);
    if (processes_[rank].gone || phase == RankState::kFailed) return true;
  }
  return false;
}

Status Processes::WhyGone() {
  for (uint32_t rank = 1; rank < processes_.size(); ++rank) {
    if (Status state = LoadErrorOf(rank); state.code() == StatusCode::kLost) return state;
  }
  return Status::Ok();
}

void Processes::ReleaseClosed(std::chrono::nanoseconds patience) {
  const Deadline deadline = Clock::now() + patience;
  const auto closed = [&] {
    std::lock_guard lock(mutex_);
    for (uint32_t rank = 1; rank < processes_.size(); ++rank) {
      const bool over = processes_[rank].gone || processes_[rank].pid < 0 ||
                        control_.states[rank].closed.load(std::memory_order_acquire);
      if (!over) return false;
    }
    return true;
  };
  while (!closed() && control_.changed.Wait(closed, deadline)) {
  }
  control_.released.store(true, std::memory_order_seq_cst);
  control_.changed.Notify();
}

Status Processes::LoadErrorOf(uint32_t rank) {
  std::lock_guard lock(mutex_);
  const bool gone = processes_[rank].gone;  // before its last phase is read
  const RankState& state = control_.states[rank];
  const auto phase = state.phase.load(std::memory_order_acquire);
  if (phase == RankState::kFailed) {
    const bool known = state.code > StatusCode::kOk && state.code <= StatusCode::kInternal;
    return Status(known ? state.code : StatusCode::kInternal,
                  std::string(state.text.Get()));
  }
  if (!gone) return Status::Ok();
  return Status(StatusCode::kLost,
                fmt::format("rank {} (process {}) {}{}", rank, processes_[rank].pid,
                            processes_[rank].exit_text,
                            phase == RankState::kLoaded ? "" : "; it had not loaded the plan yet"));
}

bool Processes::IsStopped(uint32_t rank) const {
  return cluster::Process{processes_[rank].pid, ""}.IsStopped();
}

void Processes::End(std::chrono::nanoseconds patience) {
  const Deadline deadline = Clock::now() + patience;
  for (uint32_t rank = 1; rank < processes_.size(); ++rank) {
    Process& process = processes_[rank];
    const auto gone = [&] {
      std::lock_guard lock(mutex_);
      return process.gone || process.pid < 0;
    };
    while (!gone() && control_.changed.Wait(gone, deadline)) {
    }
    if (gone()) continue;
    syscall(SYS_pidfd_send_signal, process.descriptor, SIGKILL, nullptr, 0);
    while (!gone()) control_.changed.Wait(gone);
  }
}

Processes::~Processes() {
  control_.ended.store(true, std::memory_order_seq_cst);
  if (watches_) End(std::chrono::nanoseconds(0));
  if (thread_.joinable()) thread_.join();
  for (const Process& process : processes_) {
    if (watches_ || process.pid < 0) continue;  // else nobody has waited for it
    kill(process.pid, SIGKILL);
    waitpid(process.pid, nullptr, 0);
  }
  for (const Process& process : processes_) {
    if (process.descriptor >= 0) close(process.descriptor);
    if (process.lifeline >= 0) close(process.lifeline);
  }
}

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
