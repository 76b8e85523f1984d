#include "runtime/python/binding/calls.h"

#include <algorithm>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "runtime/plan/print.h"
#include "runtime/python/binding/errors.h"
#include "runtime/python/binding/plan_handle.h"
#include "runtime/python/binding/tensors/array.h"
#include "runtime/python/binding/without_gil.h"

namespace nb = nanobind;

namespace cgraph::python {
namespace {

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;

// What a person does not notice that Ctrl-C takes.
constexpr std::chrono::nanoseconds kSlice = std::chrono::milliseconds(100);

Deadline DeadlineAfter(std::optional<double> seconds) {
  if (!seconds) return std::nullopt;
  const Clock::time_point now = Clock::now();
  const std::chrono::nanoseconds timeout = Seconds(*seconds);
  if (timeout >= Clock::time_point::max() - now) return std::nullopt;
  return now + timeout;
}

std::chrono::nanoseconds Remaining(const Deadline& deadline) {
  if (!deadline) return std::chrono::nanoseconds::max();
  return std::max<std::chrono::nanoseconds>(*deadline - Clock::now(),
                                            std::chrono::nanoseconds::zero());
}

// Whether what a wait has returned is the end of the execution: no time-out, nor that this thread
// must not wait.
bool IsEnd(const Result<Outputs>& result) {
  return result.ok() || (result.status().code() != StatusCode::kTimeout &&
                         result.status().code() != StatusCode::kUnsupported);
}

// Waits for at most `patience`. `over`: whether what is returned is the end of the execution.
Result<Outputs> GetWithin(Execution& execution, std::chrono::nanoseconds patience, bool& over) {
  Result<Outputs> result = execution.Get(patience);
  over = IsEnd(result);
  if (!over && execution.Ready()) {  // meanwhile, or the engine has ended
    over = true;
    return execution.Get(std::chrono::nanoseconds::zero());
  }
  return result;
}

// WaitClock: notes how long a wait for an execution of a graph takes. One that is over at once says
// nothing of the next: a waiter may have come late for the result. Nor does one that was given up
// soon.
class WaitClock {
 public:
  WaitClock(Graph& graph, int64_t elements, const bool& over)
      : graph_(graph), elements_(elements), over_(over) {}
  ~WaitClock() {
    const std::chrono::nanoseconds took = Clock::now() - start_;
    if (took < (over_ ? std::chrono::microseconds(1) : kSlice)) return;
    const int64_t before = graph_.short_with.load(std::memory_order_relaxed);
    const int64_t now = took >= kSlice ? -1 : std::max(before, elements_);
    if (now != before) graph_.short_with.store(now, std::memory_order_relaxed);
  }

 private:
  Graph& graph_;
  const int64_t elements_;
  const bool& over_;
  const Clock::time_point start_ = Clock::now();
};

// Waits for an execution of a graph, with the GIL held before and after. `over` as above; when it
// is false, the error says who waits for whom.
Result<Outputs> Await(Graph& graph, Running& running, const Deadline& deadline, bool& over) {
  Execution& execution = *running.execution;
  const int64_t elements = running.inputs.Elements();
  const bool sliced =
      OnMainThread() &&
      (graph.engine->may_hang() || elements > graph.short_with.load(std::memory_order_relaxed));
  over = true;
  const WaitClock clock(graph, elements, over);
  if (!deadline && !sliced) {
    const WithoutGil unlocked;
    Result<Outputs> result = execution.Get();
    over = IsEnd(result);
    return result;
  }
  for (;;) {
    const std::chrono::nanoseconds remaining = Remaining(deadline);
    Result<Outputs> result = [&] {
      const WithoutGil unlocked;
      const auto patience = OnMainThread() ? std::min(remaining, kSlice) : remaining;
      return GetWithin(execution, patience, over);
    }();
    if (over || result.status().code() == StatusCode::kUnsupported) return result;
    CheckSignals();
    if (Remaining(deadline) == std::chrono::nanoseconds::zero()) return result;
  }
}

nb::object Pack(const Graph& graph, const Outputs& outputs) {
  if (graph.pack.is_none()) return nb::cast(Array(outputs, 0));
  nb::object values = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(outputs.size())));
  if (!values.is_valid()) throw nb::python_error();
  for (size_t i = 0; i < outputs.size(); ++i) {
    PyTuple_SET_ITEM(values.ptr(), static_cast<Py_ssize_t>(i),
                     nb::cast(Array(outputs, i)).release().ptr());
  }
  if (PyType_Check(graph.pack.ptr()) == 0) return graph.pack(values);
  const nb::tuple arguments = nb::make_tuple(values);
  auto* type = reinterpret_cast<PyTypeObject*>(graph.pack.ptr());
  PyObject* packed = PyTuple_Type.tp_new(type, arguments.ptr(), nullptr);
  if (packed == nullptr) throw nb::python_error();
  return nb::steal(packed);
}

Running Submit(Graph& graph, nb::handle args, nb::handle kwargs) {
  if (graph.repeats) {
    Raise("Error", fmt::format("`{0}` repeats, and each of its rounds begins when its row is asked "
                               "for: `for row in engine.{0}.rounds(...)`, or `{0}(...)` for a list "
                               "of all rows",
                               graph.name));
  }
  Engine& engine = graph.engine->Use();
  graph.engine->Sweep();
  BorrowedInputs borrowed(graph.inputs, args, kwargs, graph.name, engine);
  const std::vector<Input> inputs = borrowed.AsInputs(graph.inputs);
  Result<Execution> execution = [&] {
    const WithoutGil unlocked;
    return engine.Execute(graph.index, inputs);
  }();
  if (!execution.ok()) graph.engine->RaiseStatus(execution.status(), During::kSubmit);
  return {OfThisProcess<Execution>(std::move(*execution)), std::move(borrowed)};
}

// Whether an execution is over for sure.
bool IsOver(const Execution& execution) noexcept {
  try {
    return execution.Ready();
  } catch (const std::bad_alloc&) {
    return false;
  }
}

nb::object Call(Graph& graph, nb::handle args, nb::handle kwargs) {
  Running running = Submit(graph, args, kwargs);
  try {
    bool over = false;
    const Result<Outputs> result = Await(graph, running, std::nullopt, over);
    if (result.ok()) return Pack(graph, *result);
    if (MayStillRead(result.status())) graph.engine->Keep(std::move(running.inputs));
    graph.engine->RaiseStatus(result.status(), During::kExecution);
  } catch (...) {
    // After a signal, or where memory is short, the execution goes on, and reads its inputs.
    if (!IsOver(*running.execution)) graph.engine->Adopt(std::move(running));
    throw;
  }
}

// Returns the rows of a whole run, as a list.
nb::object CallAll(Graph& graph, nb::handle args, nb::handle kwargs) {
  RowIterator rows(graph.shared_from_this(), args, kwargs);
  nb::list all;
  for (nb::object row = rows.TakeNext(); row.is_valid(); row = rows.TakeNext()) all.append(row);
  return all;
}

PyObject* CallSlot(PyObject* self, PyObject* args, PyObject* kwargs) {
  try {
    Graph& graph = *nb::inst_ptr<Graph>(self);
    if (graph.repeats) return CallAll(graph, args, kwargs).release().ptr();
    return Call(graph, args, kwargs).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyType_Slot graph_slots[] = {{Py_tp_call, reinterpret_cast<void*>(CallSlot)}, {0, nullptr}};

std::shared_ptr<RowIterator> MakeRows(Graph& graph, const nb::args& args,
                                      const nb::kwargs& kwargs) {
  if (!graph.repeats) {
    Raise("Error", fmt::format("`{0}` does not repeat: `engine.{0}(...)` returns its value",
                               graph.name));
  }
  return std::make_shared<RowIterator>(graph.shared_from_this(), args, kwargs);
}

std::shared_ptr<Future> SubmitFuture(Graph& graph, const nb::args& args, const nb::kwargs& kwargs) {
  Running running = Submit(graph, args, kwargs);
  try {
    return std::make_shared<Future>(graph.shared_from_this(), std::move(running));
  } catch (const std::bad_alloc&) {  // nothing was moved
    graph.engine->Adopt(std::move(running));
    throw;
  }
}

std::shared_ptr<Graph> MakeGraph(std::shared_ptr<EngineHandle> engine, const PlanHandle& plan,
                                 uint32_t index, std::string signature, nb::object pack) {
  const plan::Plan& of = plan.plan();
  const plan::Graph& described = *of.graphs.at(index);
  auto graph = std::make_shared<Graph>();
  graph->engine = std::move(engine);
  graph->index = index;
  graph->name = described.name;
  graph->signature = std::move(signature);
  graph->pack = std::move(pack);
  graph->repeats = described.repeat != nullptr;
  const size_t own = graph->repeats ? described.repeat->inputs : described.inputs.size();
  for (size_t i = 0; i < own; ++i) {
    const auto& port = described.inputs[i];
    const plan::Value& value = described.values[port->value];
    InputPort& input = graph->inputs.emplace_back();
    input.name = port->name;
    input.type = plan::TypeText(of, described, port->value);
    input.dtype = value.dtype();
    input.rank = value.rank();
    FindWay(input);
  }
  return graph;
}

}  // namespace

RowIterator::RowIterator(std::shared_ptr<Graph> graph, nb::handle args, nb::handle kwargs)
    : graph_(std::move(graph)) {
  Engine& engine = graph_->engine->Use();
  graph_->engine->Sweep();
  inputs_.emplace(graph_->inputs, args, kwargs, graph_->name, engine);
  const std::vector<Input> inputs = inputs_->AsInputs(graph_->inputs);
  Result<Rounds> rounds = [&] {
    const WithoutGil unlocked;
    return engine.Repeat(graph_->index, inputs);
  }();
  if (!rounds.ok()) graph_->engine->RaiseStatus(rounds.status(), During::kSubmit);
  rounds_.emplace(std::move(*rounds));
}

RowIterator::~RowIterator() = default;

nb::object RowIterator::TakeNext() {
  static_cast<void>(graph_->engine->Use());
  auto row = [&] {
    const WithoutGil unlocked;
    const std::lock_guard lock(mutex_);
    auto next = (*rounds_)->Next();
    done_ = (*rounds_)->done();
    made_ = (*rounds_)->made();
    return next;
  }();
  if (!row.ok()) {
    if (inputs_ && MayStillRead(row.status())) {
      graph_->engine->Keep(std::move(*inputs_));
      inputs_.reset();
    }
    graph_->engine->RaiseStatus(row.status(), During::kExecution);
  }
  if (OnMainThread()) CheckSignals();
  return row->has_value() ? Pack(*graph_, **row) : nb::object();
}

Future::~Future() {
  if (running_ && graph_->engine->usable()) graph_->engine->Adopt(std::move(*running_));
}

void Future::RaiseTimeout(double seconds, const std::string& why) {
  Raise("TimeoutError", fmt::format("no result of `{}` after {} s{}", graph_->name, seconds, why));
}

// Returns whether the lock was had in time. On the main thread, Ctrl-C ends the wait.
bool Future::Lock(const Deadline& deadline) {
  while (!mutex_.try_lock()) {
    const std::chrono::nanoseconds patience = std::min(Remaining(deadline), kSlice);
    {
      const WithoutGil unlocked;
      if (mutex_.try_lock_for(patience)) return true;
    }
    if (OnMainThread()) CheckSignals();
    if (Remaining(deadline) == std::chrono::nanoseconds::zero()) return false;
  }
  return true;
}

void Future::Await(std::optional<double> timeout) {
  if (settled_) return;
  static_cast<void>(graph_->engine->Use());
  const Deadline deadline = DeadlineAfter(timeout);
  if (!Lock(deadline)) RaiseTimeout(*timeout, "; another thread waits for it, too");
  const std::lock_guard lock(mutex_, std::adopt_lock);
  if (settled_) return;
  bool over = false;
  cgraph::Result<Outputs> result = python::Await(*graph_, *running_, deadline, over);
  if (!over && result.status().code() == StatusCode::kUnsupported) {
    graph_->engine->RaiseStatus(result.status(), During::kExecution);
  }
  if (!over) {
    const std::string& report = result.status().message();
    RaiseTimeout(*timeout, report.substr(std::min(report.size(), report.find('\n'))));
  }
  Settle(std::move(result));
}

void Future::Settle(cgraph::Result<Outputs> result) {
  if (!result.ok()) cause_ = TakeCause(result.status());
  status_ = result.status();
  if (result.ok()) value_ = Pack(*graph_, *result);
  if (MayStillRead(status_)) graph_->engine->Keep(std::move(running_->inputs));
  settled_ = true;
  running_.reset();
}

nb::object Future::Result(std::optional<double> timeout) {
  Await(timeout);
  if (!status_.ok()) graph_->engine->RaiseStatus(status_, During::kExecution, cause_);
  return value_;
}

nb::object Future::Exception(std::optional<double> timeout) {
  Await(timeout);
  if (status_.ok()) return nb::none();
  try {
    graph_->engine->RaiseStatus(status_, During::kExecution, cause_);
  } catch (nb::python_error& error) {
    return nb::borrow(error.value());
  }
}

bool Future::Done() {
  if (settled_) return true;
  static_cast<void>(graph_->engine->Use());
  if (!mutex_.try_lock()) return false;  // another thread waits for it
  const std::lock_guard lock(mutex_, std::adopt_lock);
  return settled_ || running_->execution->Ready();
}

std::string Future::Repr() {
  return fmt::format("<cgraph.Future of {}, {}>", graph_->name,
                     !settled_      ? "submitted"
                     : status_.ok() ? "done"
                                    : "failed");
}

void BindCalls(nb::module_& module) {
  nb::class_<Future>(module, "Future", nb::is_weak_referenceable(),
                     "A submitted execution. It may be awaited, and dropped at any time: the "
                     "execution runs all the same.")
      .def("result", &Future::Result, nb::arg("timeout").none() = nb::none(),
           "Waits for the value, at most `timeout` seconds. Raises ExecutionError where a method "
           "has failed, and TimeoutError, with who waits for whom, where it takes longer; it may "
           "be asked again then.")
      .def("exception", &Future::Exception, nb::arg("timeout").none() = nb::none(),
           "Waits as result() does, and returns the exception that it would raise, or None.")
      .def("done", &Future::Done, "Whether result() would return or raise at once.")
      .def_prop_ro("graph", &Future::graph, "The Graph that was submitted.")
      .def("__repr__", &Future::Repr);
  nb::class_<RowIterator>(module, "Rounds", nb::is_weak_referenceable(),
                          "A run of a graph that repeats: an iterator of its rows.")
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__",
           [](RowIterator& self) {
             nb::object row = self.TakeNext();
             if (!row.is_valid()) throw nb::stop_iteration();
             return row;
           })
      .def_prop_ro("done", &RowIterator::done,
                   "Whether the condition of `until` held; False at the limit.")
      .def_prop_ro("made", &RowIterator::made, "How many rounds were made so far.")
      .def_prop_ro("graph", &RowIterator::graph, "The Graph that repeats.");
  nb::class_<Graph>(module, "Graph", nb::type_slots(graph_slots), nb::is_weak_referenceable(),
                    nb::dynamic_attr(),
                    "A graph of an engine. Called, it executes the graph on the inputs and "
                    "returns the value.")
      // Without names of its arguments, which inputs may have: `self`.
      .def("submit", &SubmitFuture,
           "Submits an execution and returns its Future. The inputs are read where they lie: "
           "they must stay as they are until it is done. Waits while as many executions are in "
           "flight as the graph allows; call_async() does not wait.")
      .def("rounds", &MakeRows,
           "Of a graph that repeats: an iterator of its rows. What stands before the rounds, and "
           "each round, is executed when its row is asked for; the inputs must stay as they are "
           "until the last.")
      .def_ro("name", &Graph::name, "As the source names it.")
      .def_ro("signature", &Graph::signature, "Its inputs and results, with their types.")
      .def("__repr__",
           [](const Graph& self) { return fmt::format("<cgraph.Graph {}>", self.signature); });
  module.def("port_path", &PathOf);
  module.def("make_graph", &MakeGraph, nb::arg("engine"), nb::arg("plan"), nb::arg("index"),
             nb::arg("signature"), nb::arg("pack").none());
}

}  // namespace cgraph::python
