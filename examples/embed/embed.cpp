// How a C++ program runs cgraph: load a compiled plan once, execute its graphs many times.
//
//   cgc compile examples/embed/counter.cgraph -o counter.cgplan
//   embed counter.cgplan
//
// Link with cgraph::engine of an installed cgraph (CMakeLists.txt beside this); nothing of the
// compiler is needed to run a plan.
#include <cgraph/engine.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

using cgraph::Engine;
using cgraph::Execution;
using cgraph::Input;
using cgraph::Outputs;
using cgraph::Result;

// Errors are values: a Status with a code and a text for people.
[[noreturn]] void Die(const cgraph::Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

// An input is a name, memory, and its type; no dimensions make a scalar. Execute copies it.
Input Scalar(const char* name, const int64_t& value) {
  return {.name = name, .data = &value, .dtype = cgraph::plan::DType::i64, .dims = {}};
}

int64_t Total(const Outputs& outputs) { return *outputs.Find("total")->as<int64_t>(); }

Execution Add(Engine& engine, int64_t x) {
  const Input inputs[] = {Scalar("x", x)};
  Result<Execution> run = engine.Execute("add", inputs);
  if (!run.ok()) Die(run.status());
  return std::move(*run);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: embed PLAN.cgplan\n");
    return 2;
  }
  // Checks and proves the plan, allocates all memory, starts the workers, initialises the state.
  auto loaded = Engine::LoadFile(argv[1]);
  if (!loaded.ok()) Die(loaded.status());
  Engine& engine = **loaded;

  // One execution: submit, then wait for its results.
  Execution first = Add(engine, 5);
  Result<Outputs> five = first.Get();
  if (!five.ok()) Die(five.status());
  std::printf("5 added: %ld\n", static_cast<long>(Total(*five)));

  // Several in flight, fetched in any order. They run in the order in which they were submitted.
  std::vector<Execution> runs;
  for (int64_t x = 1; x <= 4; ++x) runs.push_back(Add(engine, x));
  for (size_t i : {3, 0, 2, 1}) {
    Result<Outputs> total = runs[i].Get();
    if (!total.ok()) Die(total.status());
    std::printf("%zu added: %ld\n", i + 1, static_cast<long>(Total(*total)));
  }

  // A method that fails has changed nothing, and says where it stands in the source.
  Execution bad = Add(engine, -1);
  std::printf("error: %s\n", bad.Get().status().message().c_str());
  std::printf("still: %ld\n", static_cast<long>(Total(*Add(engine, 0).Get())));

  // A time-out only stops the waiting; the message ends with who waits for whom.
  const int64_t ms = 200;
  const Input slow[] = {Scalar("ms", ms)};
  Result<Execution> late = engine.Execute("slow_total", slow);
  if (!late.ok()) Die(late.status());
  // Meanwhile a second one is more than the graph allows: wait for room (the default), or be told.
  Result<Execution> second = engine.Execute("slow_total", slow, cgraph::WhenFull::kError);
  std::printf("over capacity: %s\n", second.status().message().c_str());
  Result<Outputs> too_early = late->Get(std::chrono::milliseconds(20));
  std::printf("%s\n", too_early.status().message().c_str());
  Result<Outputs> total = late->Get();
  if (!total.ok()) Die(total.status());

  // Results outlive the engine.
  loaded->reset();
  std::printf("in the end: %ld\n", static_cast<long>(Total(*total)));
}
