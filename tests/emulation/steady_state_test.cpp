// Executions on emulated GPUs, from the first one on: nothing is allocated, freed or loaded, and no
// call of the driver waits for a device or a stream. The emulated driver reports what does.
#include <catch2/catch.hpp>

#include <dlfcn.h>

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"
#include "tests/emulation/control.h"
#include "tests/support/run.h"

namespace cgraph::emulation {
namespace {

const Control& Emulation() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  REQUIRE(driver != nullptr);
  const auto control =
      reinterpret_cast<const Control* (*)()>(dlsym(driver, "cgraph_emulation_control"));
  REQUIRE(control != nullptr);
  return *control();
}

// The inputs of a graph: zeros of the largest extents.
class Zeros {
 public:
  explicit Zeros(const plan::Graph& graph) {
    for (const auto& port : graph.inputs) {
      const plan::Value& value = graph.values[port->value];
      dims_.emplace_back();
      for (uint32_t d = value.first_dim(); d < value.first_dim() + value.rank(); ++d) {
        dims_.back().push_back(graph.dims[d].extent());
      }
      data_.emplace_back(value.bytes());
      inputs_.push_back({port->name, data_.back().data(), value.dtype(), dims_.back()});
    }
  }
  std::span<const Input> inputs() const { return inputs_; }

 private:
  std::deque<std::vector<int64_t>> dims_;
  std::deque<std::vector<std::byte>> data_;
  std::vector<Input> inputs_;
};

// Executes a graph so many times, as many at once as it allows.
void Execute(Engine& engine, uint32_t graph, const Zeros& zeros, int count) {
  std::deque<Execution> running;
  const uint32_t inflight = engine.plan().graphs[graph]->inflight;
  for (int i = 0; i < count; ++i) {
    if (running.size() == inflight) {
      REQUIRE(running.front().Get().ok());
      running.pop_front();
    }
    auto execution = engine.Execute(graph, zeros.inputs());
    REQUIRE(execution.ok());
    running.push_back(std::move(*execution));
  }
  for (Execution& execution : running) REQUIRE(execution.Get().ok());
}

}  // namespace

TEST_CASE("executions allocate and load nothing, and no call waits for a device") {
  const std::string file = GENERATE(
      "examples/two_way.cgraph", "examples/chain.cgraph", "examples/mesh.cgraph",
      "examples/all_reduce_three_ways.cgraph", "examples/kv_decode.cgraph",
      "examples/tensor_parallel_mlp.cgraph", "tests/conformance/collectives.cgraph");
  const Control& emulation = Emulation();
  for (const bool capture : {true, false}) {
    testing::Runner runner(CGRAPH_SOURCE_DIR "/" + file, {},
                           {.require_gpus = true, .capture = capture});
    Engine& engine = runner.engine();
    for (uint32_t graph = 0; graph < engine.plan().graphs.size(); ++graph) {
      INFO(file << ", graph " << engine.plan().graphs[graph]->name);
      const Zeros zeros(*engine.plan().graphs[graph]);
      emulation.count_misuse(true);
      emulation.begin_steady_state();
      Execute(engine, graph, zeros, 6);
      emulation.end_steady_state();
      emulation.count_misuse(false);
      INFO(emulation.last_misuse());
      CHECK(emulation.misuse_count() == 0);
      emulation.forget_misuse();
    }
  }
}

}  // namespace cgraph::emulation
