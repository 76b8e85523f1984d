// The pipelines as programs: stages whose calls keep what their backwards need.
#include <fmt/format.h>

#include <cmath>

#include "bench/schedule_harness/pipeline.h"

namespace cgraph::bench {
namespace {

// Kept: the tensors that a forward keeps until the gradient of the input, and until that of the
// weights. Under a memory limit they are of one size, as a real stage keeps many tensors: two large
// sizes would leave gaps between each other, which papers that count activations do not count.
struct Kept {
  int64_t inputs = 1, weights = 1;            // how many tensors
  int64_t input_bytes = 0, weight_bytes = 0;  // of one
};

Kept KeptBy(const PipelineSetup& pipeline) {
  const int64_t all = pipeline.activation_bytes / pipeline.chunks;
  const int64_t weights = pipeline.weight_bytes / pipeline.chunks;
  if (pipeline.most_activations == 0) return {1, 1, all - weights, weights};
  // The first number of tensors with which weights get little more than their share, never less.
  constexpr int64_t kMost = 16;
  constexpr double kLittle = 0.02;
  const double share = static_cast<double>(weights) / static_cast<double>(all);
  Kept kept;
  double least = 1;
  for (int64_t count = 2; count <= kMost && least > kLittle; ++count) {
    const auto of_weights = static_cast<int64_t>(std::ceil(share * static_cast<double>(count)));
    const double more = static_cast<double>(of_weights) / static_cast<double>(count) - share;
    if (of_weights == count || more >= least) continue;
    least = more;
    kept = {count - of_weights, of_weights, all / count, all / count};
  }
  return kept;
}

// Repeats `one` for each of `count`, with its number for "#": "one, one, one".
std::string Each(int64_t count, const std::string& one) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    text += i == 0 ? "" : ", ";
    for (const char c : one) text += c == '#' ? std::to_string(i) : std::string(1, c);
  }
  return text;
}

// Returns text that reads all tensors of a tuple: unpacks them, and adds something of each.
std::string Unpack(const char* tuple, int64_t count) {
  return fmt::format("    let ({}) = {}\n", Each(count, fmt::format("{}#", tuple)), tuple);
}
std::string AddEach(const char* tuple, int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) text += fmt::format(" + {}{}[0..1]", tuple, i);
  return text;
}

// Tuple: a tuple's type and its value; for one tensor, those of the tensor itself.
struct Tuple {
  std::string type, zeros, unpack, sum;
};
Tuple TupleOf(const char* name, int64_t count, int64_t bytes) {
  const std::string tensor = fmt::format("u8[{}]", bytes);
  if (count == 1) return {tensor, "zeros()", "", fmt::format(" + {}[0..1]", name)};
  return {fmt::format("({})", Each(count, tensor)), fmt::format("({})", Each(count, "zeros()")),
          Unpack(name, count), AddEach(name, count)};
}

// The backward of one stage.
constexpr const char* kWhole =
    "        g = stage[c, d].backward(g, kept[c * P + d], weights[c * P + d])\n";
constexpr const char* kSplit =
    "        let back = stage[c, d].backward_input(g, kept[c * P + d])\n"
    "        stage[c, d].backward_weight(g, weights[c * P + d])\n"
    "        g = back\n";

// The kinds and ranks that rules use are called by the names that the library's schedules use.
std::string UsingOf(const PipelineSetup& pipeline) {
  if (pipeline.schedule == "auto") return "auto";
  if (pipeline.schedule == "gpipe") return "gpipe()";
  if (pipeline.schedule == "interleaved") return "interleaved(P, V) with (mb = m, chunk = c)";
  if (pipeline.schedule == "dualpipe_v") return "dualpipe_v(P, M) with (mb = m, chunk = c)";
  const bool chunked = pipeline.schedule == "zb_v";
  return fmt::format("{}(P){}", pipeline.schedule, chunked ? " with (chunk = c)" : "");
}

}  // namespace

std::string ProgramOf(const PipelineSetup& pipeline) {
  const Kept kept = KeptBy(pipeline);
  const Tuple inputs = TupleOf("kept", kept.inputs, kept.input_bytes);
  const Tuple weights = TupleOf("weights", kept.weights, kept.weight_bytes);
  std::string text = fmt::format(
      R"(import std.tensor
import std.schedules

const P = {}
const M = {}
const V = {}

)",
      pipeline.stages, pipeline.microbatches, pipeline.chunks);
  text += fmt::format(
      R"(actor Stage() {{
  state inputs: u8[1] = zeros()   // what the gradients of either kind come to: nothing is unread
  state weighted: u8[1] = zeros()
  method forward(x: u8[1]) -> (y: u8[1], kept: {0}, weights: {1}) {{
    return (y: x + x, kept: {2}, weights: {3})
  }}
  method backward(g: u8[1], kept: {0}, weights: {1}) -> u8[1] {{
{4}{5}    inputs = inputs + g{6}
    weighted = weighted{7}
    return g + inputs
  }}
  method backward_input(g: u8[1], kept: {0}) -> u8[1] {{
{4}    inputs = inputs + g{6}
    return g + inputs
  }}
  method backward_weight(g: u8[1], weights: {1}) {{
{5}    weighted = weighted + g{7}
  }}
}}
)",
      inputs.type, weights.type, inputs.zeros, weights.zeros, inputs.unpack, weights.unpack,
      inputs.sum, weights.sum);
  text += fmt::format("place stage[c in 0..V, d in 0..P] = Stage() on gpu[{}]\n",
                      pipeline.v_shaped ? "if c % 2 == 0 { d } else { P - 1 - d }" : "d");
  text += fmt::format(R"(
graph step(x: u8[1]) using {} {{
  for m in 0..M {{
    var h = x
    var kept = []
    var weights = []
    for c in 0..V {{
      for d in 0..P {{
        let (y, k, w) = stage[c, d].forward(h)
        h = y
        kept += [k]
        weights += [w]
      }}
    }}
    var g = h
    for i in 0..V {{
      let c = V - 1 - i
      for j in 0..P {{
        let d = P - 1 - j
{}      }}
    }}
  }}
}}
)",
                      UsingOf(pipeline), pipeline.split ? kSplit : kWhole);
  return text;
}

}  // namespace cgraph::bench
