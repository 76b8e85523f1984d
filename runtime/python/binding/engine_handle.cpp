#include "runtime/python/binding/engine_handle.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "runtime/base/kinds/limits.h"
#include "runtime/base/usage_text.h"
#include "runtime/cluster/launcher.h"
#include "runtime/cluster/shared/control.h"
#include "runtime/engine/ranks/machines.h"
#include "runtime/engine/ranks/serve.h"
#include "runtime/engine/states/saved_states.h"
#include "runtime/native/library.h"
#include "runtime/native/running_call.h"
#include "runtime/plan/device_map.h"
#include "runtime/plan/load.h"
#include "runtime/plan/print.h"
#include "runtime/python/binding/errors.h"
#include "runtime/python/binding/plan_handle.h"
#include "runtime/python/binding/without_gil.h"

namespace nb = nanobind;

namespace cgraph::python {
namespace {

// LoadArguments: what Python says of an engine; see `Engine` in cgraph/_engine.py.
struct LoadArguments {
  EngineOptions options;
  std::string device_map;
  std::string states;  // a file that sets states before anything is executed; empty: none
};

Status AddToOptions(const std::string& device_map, plan::Plan& plan, EngineOptions& options) {
  options.interrupted = [] {
    if (!OnMainThread()) return false;
    const nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
  };
  if (device_map.empty()) return Status::Ok();
  auto machines = engine::FindMachines(plan, nullptr);
  if (!machines.ok()) return machines.status();
  auto mapped = plan::MapDevices(plan, device_map, *machines);
  if (!mapped.ok()) return mapped.status();
  options.gpu_map = mapped->on_gpus;
  options.gpus = !mapped->on_gpus.empty();
  return Status::Ok();
}

// ---- options as Python has them, by their names

template <typename Kind>
void TakeOption(Kind, nb::handle value, typename Kind::Type& member) {
  member = nb::cast<typename Kind::Type>(value);
}
void TakeOption(option::Seconds, nb::handle value, std::chrono::nanoseconds& member) {
  member = Seconds(nb::cast<double>(value));
}

EngineOptions OptionsOf(const nb::dict& given) {
  EngineOptions options;
  engine::ForEachOption(options, [&](auto kind, const engine::OptionRow& row, auto& member) {
    if (given.contains(row.name)) TakeOption(kind, given[row.name], member);
  });
  return options;
}

// What an argument of Python's must be: its kind, the most that a number may be, and of a switch
// what it is initially.
nb::tuple Described(option::Switch, bool initial) { return nb::make_tuple("switch", 0, initial); }
template <auto most>
nb::tuple Described(option::Count<most> kind, uint32_t) {
  return nb::make_tuple("count", kind.kMost, nb::none());
}
nb::tuple Described(option::Processes, uint32_t) {
  return nb::make_tuple("processes", cluster::kMostRanks, nb::none());
}
nb::tuple Described(option::Seconds, std::chrono::nanoseconds) {
  return nb::make_tuple("seconds", 0, nb::none());
}
nb::tuple Described(option::Text, const std::string&) {
  return nb::make_tuple("text", 0, nb::none());
}
nb::tuple Described(option::Texts, const std::vector<std::string>&) {
  return nb::make_tuple("texts", 0, nb::none());
}

nb::dict DescribedOptions() {
  nb::dict all;
  const EngineOptions initial;
  engine::ForEachOption(initial, [&](auto kind, const engine::OptionRow& row, const auto& member) {
    all[row.name] = Described(kind, member);
  });
  return all;
}

nb::list DescribedExclusions() {
  nb::list all;
  for (const engine::Exclusion& each : engine::kExclusions) {
    all.append(nb::make_tuple(each.one, each.other, each.why));
  }
  return all;
}

// Refuses a plan of several nodes where a launcher runs this program several times.
Status CheckLauncher(const plan::Plan& plan) {
  const uint32_t nodes = engine::NodesOf(plan);
  const auto launch = cluster::FindLaunch();
  if (nodes == 1 || !launch) return Status();
  const std::string name = launch->launcher;
  return Status(
      StatusCode::kInvalid,
      fmt::format("the plan has devices on node[0] to node[{}], and an Engine in Python serves all "
                  "of them in its own process; {} has started {} processes, and each would run the "
                  "whole program: `{} -n {} cgrun PLAN` gives each node a process",
                  nodes - 1, name, launch->processes, name.substr(0, name.find(' ')), nodes));
}

Result<std::unique_ptr<Engine>> LoadPlan(const PlanHandle& handle, const LoadArguments& arguments,
                                         const std::shared_ptr<std::atomic<bool>>& timed_out) {
  auto plan = plan::FromBytes(handle.Bytes());
  if (!plan.ok()) return plan.status();
  CGRAPH_RETURN_IF_ERROR(CheckLauncher(**plan));
  if (!arguments.states.empty()) LeaveOutLoads(arguments.states, **plan);
  EngineOptions options = arguments.options;
  CGRAPH_RETURN_IF_ERROR(AddToOptions(arguments.device_map, **plan, options));
  options.timed_out = [timed_out](const Status& status) {
    if (status.code() == StatusCode::kTimeout) timed_out->store(true);
  };
  return Engine::Load(std::move(*plan), options);
}

// Whether a kernel waits for something outside the plan, or is not ours.
bool WaitsForOthers(const plan::Kernel& kernel) {
  const auto waits = [](const std::string& name) { return name == "sleep" || name == "probe"; };
  return !kernel.library.empty() || waits(kernel.name) ||
         std::any_of(kernel.body.begin(), kernel.body.end(),
                     [&](const auto& primitive) { return waits(primitive->op); });
}

// The kernels of the library end, and proved lanes do not wait for each other for ever.
bool MayHang(const plan::Plan& plan, const EngineOptions& options) {
  return !options.proved || options.processes != 0 ||
         std::any_of(plan.kernels.begin(), plan.kernels.end(),
                     [](const auto& kernel) { return WaitsForOthers(*kernel); });
}

std::shared_ptr<EngineHandle> Load(const PlanHandle& plan, const LoadArguments& arguments) {
  const auto timed_out = std::make_shared<std::atomic<bool>>(false);
  auto made = [&] {
    const WithoutGil unlocked;
    return LoadPlan(plan, arguments, timed_out);
  }();
  if (!made.ok()) RaiseStatus(made.status(), During::kLoad);
  return std::make_shared<EngineHandle>(std::move(*made), MayHang(plan.plan(), arguments.options),
                                        arguments.options.timeout, timed_out);
}

template <typename F>
auto Unlocked(F&& f) {
  const WithoutGil unlocked;
  return f();
}

nb::dict StatsOf(EngineHandle& handle) {
  Engine& engine = handle.Use();
  // They wait while objects are saved, which are Python's.
  const Engine::Stats stats = Unlocked([&] { return engine.GetStats(); });
  nb::dict all;
  all["executions"] = stats.executions;
  all["errors"] = stats.errors;
  const Status end = engine.EndStatus();
  all["ended"] = end.ok() ? nb::none() : TextOf(end.message());
  all["arena_bytes"] = stats.arena_bytes;
  all["workers"] = stats.workers;
  nb::list processes;
  for (const Engine::Stats::Rank& rank : stats.ranks) {
    nb::dict one;
    one["process"] = rank.process;
    one["devices"] = rank.devices;
    processes.append(one);
  }
  all["processes"] = processes;
  nb::dict gpus;
  for (const auto& [device, gpu] : stats.gpus) {
    gpus[plan::DeviceName(handle.Use().plan(), device).c_str()] = fmt::format("cuda:{}", gpu);
  }
  all["gpus"] = gpus;
  return all;
}

}  // namespace

EngineHandle::EngineHandle(std::unique_ptr<Engine> engine, bool may_hang,
                           std::chrono::nanoseconds patience,
                           std::shared_ptr<std::atomic<bool>> timed_out)
    : engine_(std::move(engine)),
      pid_(getpid()),
      may_hang_(may_hang),
      patience_(patience),
      timed_out_(std::move(timed_out)) {
  const Engine::Stats stats = (*engine_)->GetStats();
  keeps_states_ = stats.ranks.size() <= 1 && stats.gpus.empty();
}

EngineHandle::~EngineHandle() {
  if (!engine_.usable()) return;
  // Python's collector may come upon it inside a method, on a worker, which cannot wait for itself.
  if (native::IsInsideCall()) {
    EndLater();
    return;
  }
  try {
    Close();
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("the end of an engine");
  }
  if (!engine_.usable()) return;  // abandoned
  // Threads that wait hold the handle, so no thread is inside the engine.
  const WithoutGil unlocked;
  engine_->reset();
}

void EngineHandle::EndLater() {
  struct Rest {
    OfThisProcess<std::unique_ptr<Engine>> engine;
    std::vector<Running> orphans;
    std::vector<BorrowedInputs> kept;
  };
  auto* rest = new Rest{std::move(engine_), std::move(orphans_), std::move(kept_)};
  std::thread([rest] {
    rest->engine->reset();
    const nb::gil_scoped_acquire locked;  // inputs are Python's
    delete rest;
  }).detach();
}

Engine& EngineHandle::Use() {
  if (abandoned_) Raise("ClosedError", "the engine was closed");
  if (!engine_.usable()) {
    Raise("Error", fmt::format("this engine was made in process {}, and its threads are not in a "
                               "process forked from it; make an engine after the fork, or start "
                               "processes by multiprocessing's \"spawn\"",
                               pid_));
  }
  return **engine_;
}

void EngineHandle::RaiseStatus(const Status& status, During during) const {
  RaiseStatus(status, during, TakeCause(status));
}

void EngineHandle::RaiseStatus(const Status& status, During during, nb::handle cause) const {
  const StatusCode code = status.code();
  const bool may_end_engine = code == StatusCode::kTimeout || code == StatusCode::kLost ||
                              code == StatusCode::kFailed;  // others refuse what was asked for
  if (!may_end_engine || !engine_.usable() || !(*engine_)->Ended()) {
    python::RaiseStatus(status, during, cause);
  }
  std::string message = status.message();
  if (!message.ends_with('\n')) message += '\n';
  message += code == StatusCode::kTimeout && keeps_states_
                 ? "the engine has ended; `save_state` still writes its states, as the executions "
                   "that were interrupted leave them, and another `cgraph.Engine` of the plan can "
                   "be made"
                 : "the engine has ended, and its states with it; another `cgraph.Engine` of the "
                   "plan can be made";
  python::RaiseStatus({code, message}, during, cause);
}

void EngineHandle::AwaitRest() {
  // A method would wait for itself; the engine says so.
  if (torn_down_ || native::IsInsideCall()) return;
  if (Use().EndStatus().code() != StatusCode::kTimeout) return;
  if (!TearDownInTime(std::chrono::nanoseconds::zero())) throw nb::python_error();
}

void EngineHandle::Sweep() {
  for (size_t i = 0; i < orphans_.size();) {
    if (!orphans_[i].execution->Ready()) {
      ++i;
      continue;
    }
    Running over = std::move(orphans_[i]);
    orphans_[i] = std::move(orphans_.back());
    orphans_.pop_back();
    const Status status = over.execution->Get(std::chrono::nanoseconds(0)).status();
    if (MayStillRead(status)) Keep(std::move(over.inputs));
  }
}

// Returns false where it takes longer than anybody waits for, and raises what Ctrl-C does.
bool EngineHandle::TearDownInTime(std::chrono::nanoseconds patience) {
  struct Teardown {
    std::mutex mutex;
    std::condition_variable changed;
    bool over = false;
  };
  const auto teardown = std::make_shared<Teardown>();
  std::thread([teardown, engine = engine_->get()] {
    engine->Teardown();
    const std::lock_guard lock(teardown->mutex);
    teardown->over = true;
    teardown->changed.notify_all();
  }).detach();
  constexpr std::chrono::milliseconds kSlice(100);
  using Clock = std::chrono::steady_clock;
  for (const Clock::time_point begun = Clock::now();;) {
    {
      const WithoutGil unlocked;
      std::unique_lock lock(teardown->mutex);
      if (teardown->changed.wait_for(lock, kSlice, [&] { return teardown->over; })) return true;
    }
    if (PyErr_CheckSignals() != 0) return false;
    if (patience.count() > 0 && Clock::now() - begun > patience) return false;
  }
}

// What runs may still read and write everything that the engine has.
void EngineHandle::Abandon() {
  abandoned_ = true;
  static_cast<void>(new auto(std::move(engine_)));   // NOLINT
  static_cast<void>(new auto(std::move(orphans_)));  // NOLINT
  static_cast<void>(new auto(std::move(kept_)));     // NOLINT
}

void EngineHandle::Close() {
  if (!engine_.usable()) return;
  std::unique_lock lock(closing_, std::defer_lock);
  {
    const WithoutGil unlocked;
    lock.lock();
  }
  if (!engine_.usable() || closed_) return;
  const Status may_wait = (*engine_)->CheckCaller();
  if (!may_wait.ok()) RaiseStatus(may_wait, During::kExecution);
  closed_ = true;
  constexpr std::chrono::seconds kAfterTimeout(1);
  if (!TearDownInTime(timed_out_->load() ? kAfterTimeout : patience_)) {
    Abandon();
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    PyErr_WarnEx(
        PyExc_RuntimeWarning,
        "a method of the engine does not end: it is abandoned with the engine, whose memory "
        "stays taken",
        1);
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    return;
  }
  torn_down_ = true;
  // Letting go may run code of Python's, which may come here.
  const std::vector<Running> orphans = std::exchange(orphans_, {});
  const std::vector<BorrowedInputs> kept = std::exchange(kept_, {});
}

std::chrono::nanoseconds Seconds(double seconds) {
  if (!(seconds > 0)) return std::chrono::nanoseconds::zero();
  constexpr double kMost = 9e9;  // 285 years
  return std::chrono::nanoseconds(static_cast<int64_t>(std::min(seconds, kMost) * 1e9));
}

void BindEngine(nb::module_& module) {
  nb::class_<EngineHandle>(module, "Engine",
                           "The engine of cgraph/engine.h; cgraph.Engine is its user.")
      .def_static(
          "load",
          [](const PlanHandle& plan, const nb::dict& given, const std::string& device_map,
             const std::string& states, const std::string& rank_program,
             const std::vector<std::string>& rank_arguments) {
            EngineOptions options = OptionsOf(given);
            options.rank_program = rank_program;
            options.rank_arguments = rank_arguments;
            return Load(plan, {std::move(options), device_map, states});
          },
          nb::arg("plan"), nb::arg("options"), nb::kw_only(), nb::arg("device_map"),
          nb::arg("states"), nb::arg("rank_program"), nb::arg("rank_arguments"))
      .def("close", &EngineHandle::Close)
      .def_prop_ro("usable", &EngineHandle::usable)
      .def("stats", &StatsOf)
      .def("note_of_workers", [](EngineHandle& self) { return self.Use().NoteOfWorkers(); })
      .def("profile",
           [](EngineHandle& self) {
             Engine& engine = self.Use();
             return Unlocked([&] { return engine.Profile(); });
           })
      .def("wait_report", [](EngineHandle& self) {
        Engine& engine = self.Use();
        return TextOf(Unlocked([&] {
          std::string report = engine.WaitReport();
          // What lanes did at the end is no news; why it ended is. Of a time-out that is a report.
          const Status end = engine.EndStatus();
          if (end.ok()) return report;
          const bool torn_down = end.code() == StatusCode::kClosed;  // which says so itself
          return (torn_down ? "" : "the engine has ended: ") + end.message();
        }));
      });
  module.attr("PROCESS_PER_DEVICE") = kProcessPerDevice;
  module.attr("MAX_TIMEOUT") = kMaxTimeout;
  module.attr("TIMEOUT_TEXT") = kTimeoutText;
  module.attr("ENGINE_OPTIONS") = DescribedOptions();
  module.attr("EXCLUDED_OPTIONS") = DescribedExclusions();
  module.attr("PROCESSES_TEXT") = ProcessesText(cluster::kMostRanks);
  module.def("number_range_text", &NumberRangeText);
  module.def("is_python_module", &native::IsPythonModule);
  // What is wrong with the path of a library; empty: nothing.
  module.def("check_library",
             [](const std::string& path) { return native::CheckLibraryPath(path).message(); });
  module.def("serve_rank", [](uint32_t rank) {
    const WithoutGil unlocked;
    native::ReportCrashes();
    engine::ServeRank(rank);
  });
}

}  // namespace cgraph::python
