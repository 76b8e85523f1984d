#include "tests/deferred/trial.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <utility>

#include "runtime/plan/kinds.h"
#include "tests/support/deferred/deferred.h"
#ifdef CGRAPH_WITH_COMPILER
#include "tests/support/run.h"
#endif

namespace cgraph::testing {
namespace {

using plan::DType;
using plan::testing::FlowPlan;

constexpr int64_t kExecutions = 8;  // of each graph

// Two graphs over one state: one adds to it and sends what it was, the other reads it.
Scenario States() {
  FlowPlan flow(2);
  flow.Begin("add", 2);
  const uint32_t f = flow.Input("f", DType::f32, {1});
  const uint32_t sum = flow.Tensor("sum", 0, DType::f32, {1});
  const uint32_t was = flow.Tensor("was", 0, DType::f32, {1});
  const uint32_t twice = flow.Tensor("twice", 1, DType::f32, {1});
  flow.Call(0, flow.Kernel("copy"), {flow.State(0)}, {was});
  flow.Call(0, flow.Kernel("add"), {f, flow.State(0)}, {sum});
  flow.Call(0, flow.Kernel("copy"), {sum}, {flow.State(0)}, plan::kCommitsState);
  const uint32_t moved = flow.Transfer(was, 0, 1);
  flow.Call(1, flow.Kernel("add"), {moved, moved}, {twice});
  flow.Give("twice", twice);
  flow.Begin("read", 2);
  const uint32_t seen = flow.Tensor("seen", 0, DType::f32, {1});
  flow.Call(0, flow.Kernel("copy"), {flow.State(0)}, {seen});
  flow.Give("seen", seen);
  return {"two graphs over one state", flow.Build()};
}

}  // namespace

uint32_t Add(FlowPlan& flow, uint32_t device, uint32_t a, uint32_t b) {
  const uint32_t sum = flow.Scalar("sum", device);
  flow.Call(device, flow.Kernel("add"), {a, b}, {sum});
  return sum;
}

// x goes over the devices and comes back; every second call is a chain of its own.
Scenario Chain(uint32_t devices, uint32_t inflight, uint32_t capacity) {
  FlowPlan flow(devices);
  flow.Begin("chain", inflight);
  uint32_t at = flow.Input("x"), aside = plan::kNone;
  for (uint32_t i = 0; i < 5; ++i) {
    const uint32_t device = i % devices;
    if (i != 0 && devices != 1) {
      at = flow.Transfer(at, (i - 1) % devices, device, capacity);
    }
    at = Add(flow, device, at, flow.Constant(device, i + 1));
    if (i == 1) aside = Add(flow, device, at, at);
  }
  flow.Give("y", at);
  flow.Give("z", aside);
  return {"a chain over " + std::to_string(devices) + ", inflight " + std::to_string(inflight) +
              ", capacity " + std::to_string(capacity),
          flow.Build()};
}
// A check fails in some executions; what others make of it is poisoned.
Scenario Failing() {
  FlowPlan flow(2);
  flow.Begin("check", 3);
  const uint32_t x = flow.Input("x");
  const uint32_t well = flow.Scalar("well", 0, DType::bool_);
  const uint32_t made = flow.Scalar("made", 0);
  flow.Method(0, "check", 1);
  flow.Call(0, flow.Kernel("not_equal"), {x, flow.Constant(0, 11)}, {well});
  flow.Call(0, flow.Check("eleven is not allowed"), {well}, {});
  flow.Call(0, flow.Kernel("copy"), {x}, {made});
  const uint32_t moved = flow.Transfer(made, 0, 1);
  flow.Give("y", Add(flow, 1, moved, flow.Constant(1, 2)));
  return {"a check that fails", flow.Build()};
}

std::vector<Scenario> Scenarios() {
  std::vector<Scenario> all;
  all.push_back(Chain(1, 2, 0));
  all.push_back(Chain(2, 1, 0));
  all.push_back(Chain(2, 2, 0));
  all.push_back(Chain(3, 2, 1));
  all.push_back(States());
  all.push_back(Failing());
#ifdef CGRAPH_WITH_COMPILER
  for (const char* name : {"chain", "counter", "two_way", "ping_pong_devices"}) {
    all.push_back({name, CompileFile(std::string(CGRAPH_SOURCE_DIR "/examples/") + name +
                                     ".cgraph")});
  }
#endif
  return all;
}

Filled::Filled(const plan::Graph& graph, const plan::Port& port, int64_t x) {
  const plan::Value& value = graph.values[port.value];
  int64_t elements = 1;
  for (uint32_t d = value.first_dim(); d < value.first_dim() + value.rank(); ++d) {
    dims.push_back(graph.dims[d].extent());
    elements *= dims.back();
  }
  const auto width = static_cast<size_t>(plan::DTypeBytes(value.dtype()));
  bytes.resize(static_cast<size_t>(elements) * width);
  for (int64_t i = 0; i < elements; ++i) {
    const int64_t any = x * 5 + i % 7 + 1;
    const int64_t whole = value.dtype() == DType::bool_ ? any & 1 : any;
    const float real = static_cast<float>(whole);
    const void* from = value.dtype() == DType::f32 ? static_cast<const void*>(&real) : &whole;
    std::memcpy(bytes.data() + static_cast<size_t>(i) * width, from, width);
  }
  input = {port.name, bytes.data(), value.dtype(), dims};
}

std::string Text(const device::Tensor& tensor) {
  std::string text;
  for (uint64_t i = 0; i < tensor.bytes(); ++i) {
    text += "0123456789abcdef"[tensor.as<uint8_t>()[i] >> 4];
    text += "0123456789abcdef"[tensor.as<uint8_t>()[i] & 15];
  }
  return text + " ";
}

std::string Outcome(const plan::Plan& plan, EngineOptions options) {
  options.timeout = std::chrono::seconds(2);
  auto engine = Engine::Load(std::make_unique<plan::Plan>(plan), options);
  if (!engine.ok()) return engine.status().message();
  std::vector<Execution> executions;
  for (int64_t x = 0; x < kExecutions; ++x) {
    for (uint32_t g = 0; g < plan.graphs.size(); ++g) {
      std::vector<std::unique_ptr<Filled>> filled;
      std::vector<Input> inputs;
      for (const auto& port : plan.graphs[g]->inputs) {
        filled.push_back(std::make_unique<Filled>(*plan.graphs[g], *port, x));
        inputs.push_back(filled.back()->input);
      }
      auto execution = (*engine)->Execute(g, inputs);
      if (!execution.ok()) return execution.status().message();
      executions.push_back(std::move(*execution));
    }
  }
  std::string seen;
  for (Execution& execution : executions) {
    auto outputs = execution.Get();
    if (!outputs.ok()) seen += outputs.status().message();
    for (size_t o = 0; outputs.ok() && o < outputs->size(); ++o) seen += Text((*outputs)[o]);
  }
  return seen;
}

bool Same(uint64_t seed, const std::function<bool()>& same) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM}) {
      std::signal(signal, SIG_DFL);  // the test's own would speak of it
    }
    if (seed != 0) DeferAllEngines(seed);
    try {
      _exit(same() ? 0 : 1);
    } catch (const std::exception&) {
      _exit(1);
    }
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) throw std::runtime_error("no process");
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace cgraph::testing
