// The prover on trial: random plans and random mutants of plans, judged by the prover and by an
// interpreter that shares nothing with it. What the prover accepts must run, and what it refuses
// for a hang, a race or an extent must be seen to hang, to overlap or to go wrong. A single plan on
// which they differ fails the test.
//
//   mutants_test [--count N] [--seed S] [--reports N] [--out DIR] [PLAN.cgplan | FILE.cgraph]...
//
// Without --seed, CGRAPH_SEED chooses one of the first six, of which 35,000 plans each were tried.
//
// Before that the harness itself is on trial: with provers that are broken on purpose, it must
// find false accepts.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>

#include "runtime/plan/graph_index.h"
#include "runtime/plan/load.h"
#include "runtime/plan/prove.h"
#include "tests/mutants/matrix.h"
#include "tests/mutants/originals.h"
#include "tests/mutants/trial.h"

namespace cgraph::mutants {
namespace {

struct Options {
  uint64_t count = 20'000;
  uint64_t seed = 1;
  uint64_t reports = 10;  // of disagreements, with the mutant as a file
  std::string out = ".";
  std::vector<std::string> files;
};

plan::Verdict RealProver(const plan::Plan& plan) { return plan::Prove(plan); }

// Every original is proved and runs, or its mutants would mean nothing.
bool CheckOriginals(const std::vector<Original>& originals) {
  Random random(7);
  bool good = true;
  for (const Original& original : originals) {
    const Trial trial = Judge(*original.plan, original.graph, {}, RealProver, random);
    if (!trial.verdict.proved() || trial.finding.outcome != interpreter::Outcome::kOk) {
      fmt::print("{}: the original is wrong\n  prover: {} {}\n  interpreter: {} {}\n",
                 original.name, plan::RefusalName(trial.verdict.refusal), trial.verdict.message,
                 interpreter::OutcomeName(trial.finding.outcome), trial.finding.text);
      good = false;
    }
  }
  return good;
}

// Small plans are tried most: they are quick, and as wrong.
class Chooser {
 public:
  explicit Chooser(const std::vector<Original>& originals) : originals_(originals) {
    for (const Original& original : originals) {
      const plan::Graph& graph = plan::GraphAt(*original.plan, original.graph);
      const uint64_t weight = std::max<uint64_t>(1, 4000 / (graph.instructions.size() + 1));
      bounds_.push_back((bounds_.empty() ? 0 : bounds_.back()) + weight);
    }
  }
  const Original& Choose(Random& random) const {
    const uint64_t at = random.Below(bounds_.back());
    return originals_[std::upper_bound(bounds_.begin(), bounds_.end(), at) - bounds_.begin()];
  }

 private:
  const std::vector<Original>& originals_;
  std::vector<uint64_t> bounds_;
};

void ReportFault(const Options& options, const Original& original, const Mutant& mutant,
                 const Trial& trial, uint64_t number) {
  const char* what = trial.false_accept() ? "accept" : "reject";
  const std::string path = fmt::format("{}/false_{}_{}.json", options.out, what, number);
  std::ofstream(path) << plan::ToJson(*mutant.plan);
  fmt::print("FALSE {}: mutant {} of {} ({}), program_order to {}\n  prover: {} {}\n"
             "  interpreter: {}: {}\n",
             what, number, original.name, mutant.kind->name, path,
             plan::RefusalName(trial.verdict.refusal), trial.verdict.message,
             interpreter::OutcomeName(trial.finding.outcome), trial.finding.text);
}

// Contents: what was tried; without some of everything the test says little.
struct Contents {
  uint64_t groups = 0, collectives = 0, buffered = 0, lags = 0, captures = 0, in_flight = 0;
  uint64_t extents = 0;

  void Count(const plan::Graph& graph) {
    const auto any = [&](auto is) {
      return std::any_of(graph.instructions.begin(), graph.instructions.end(), is);
    };
    groups += any([](const plan::Instruction& instruction) {
      return instruction.kind() == plan::Kind::comm && instruction.inputs() > 1;
    });
    lags += any([](const plan::Instruction& instruction) { return instruction.lag() > 0; });
    captures +=
        any([](const plan::Instruction& instruction) { return instruction.capture_id() > 0; });
    collectives += !graph.collectives.empty();
    buffered += std::any_of(graph.channels.begin(), graph.channels.end(),
                            [](const plan::Channel& channel) { return channel.capacity() > 0; });
    in_flight += graph.inflight > 1;
    extents += !graph.extents.empty();
  }
  bool Enough(uint64_t trials) const {
    return std::min({groups, collectives, buffered, lags, captures, in_flight, extents}) * 50 >=
           trials;
  }
  std::string Text() const {
    return fmt::format(
        "{} with groups of several parts, {} with collectives, {} with buffered channels, {} with "
        "lags, {} with captures, {} with several executions in flight, {} with extents",
        groups, collectives, buffered, lags, captures, in_flight, extents);
  }
};

Matrix TryMutants(const Options& options, const std::vector<Original>& originals,
                  const Prover& prover, bool report, Contents& contents) {
  Matrix matrix;
  const Chooser chooser(originals);
  for (uint64_t number = 0; number < options.count; ++number) {
    Random random(options.seed * 1'000'003 + number);
    const bool known = random.OneIn(2);
    const Original fresh = known ? Original() : RandomOriginal(random);
    const Original& original = known ? chooser.Choose(random) : fresh;
    const bool unchanged = !known && random.OneIn(3);
    const Mutant mutant = unchanged ? Unchanged(original) : MakeMutant(original, random);
    const Trial trial = Judge(*mutant.plan, original.graph, mutant.suspects, prover, random);
    matrix.Count(*mutant.kind, trial);
    contents.Count(plan::GraphAt(*mutant.plan, original.graph));
    if (report && (trial.false_accept() || trial.false_reject()) &&
        matrix.false_accepts() + matrix.false_rejects() <= options.reports) {
      ReportFault(options, original, mutant, trial, number);
    }
  }
  return matrix;
}

// Provers that are blind to one rule, or to all: the interpreter must see what they let through.
bool CheckHarness(const Options& options, const std::vector<Original>& originals) {
  bool good = true;
  const auto require_seen = [&](const std::string& what, const Prover& prover) {
    Options few = options;
    Contents contents;
    few.count = 400;
    Matrix matrix = TryMutants(few, originals, prover, false, contents);
    // Some refusals are rare: few mutants break nothing but that rule.
    while (matrix.false_accepts() == 0 && few.count < 20'000) {
      few.count *= 4;
      matrix = TryMutants(few, originals, prover, false, contents);
    }
    fmt::print("self-test: a prover {} has {} false accepts in {} mutants\n", what,
               matrix.false_accepts(), matrix.trials());
    good = good && matrix.false_accepts() > 0;
  };
  require_seen("that accepts everything", [](const plan::Plan&) { return plan::Verdict(); });
  for (plan::Refusal blind : {plan::Refusal::kShape, plan::Refusal::kDeadlock, plan::Refusal::kRace,
                              plan::Refusal::kExtent, plan::Refusal::kInflight,
                              plan::Refusal::kCertificate}) {
    require_seen(fmt::format("blind to {}", plan::RefusalName(blind)),
                 [blind](const plan::Plan& plan) {
                   plan::Verdict verdict = plan::Prove(plan);
                   return verdict.refusal == blind ? plan::Verdict() : verdict;
                 });
  }
  return good;
}

using Plans = std::vector<std::unique_ptr<plan::Plan>>;

size_t Size(const plan::Plan& plan) {
  size_t size = plan.start->instructions.size();
  for (const auto& graph : plan.graphs) size += graph->instructions.size();
  return size;
}

void MeasureSpeed(const char* what, const Plans& plans) {
  uint64_t instructions = 0, checks = 0, proved = 0;
  for (const auto& plan : plans) instructions += Size(*plan);
  const std::clock_t begin = std::clock();
  while (!plans.empty() && std::clock() - begin < CLOCKS_PER_SEC / 2) {
    for (const auto& plan : plans) proved += plan::Prove(*plan).proved();
    checks += plans.size();
  }
  if (checks == 0) return;
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  fmt::print("{}: {:.0f} checks per second of processor time, {} instructions on average, {:.0f} % "
             "proved\n",
             what, static_cast<double>(checks) / seconds, instructions / plans.size(),
             100.0 * static_cast<double>(proved) / static_cast<double>(checks));
}

void MeasureSpeed(const Options& options, const std::vector<Original>& originals) {
  constexpr size_t kSmall = 40;  // instructions of the whole plan
  Plans small, mutants;
  for (const Original& original : originals) {
    if (Size(*original.plan) > kSmall) continue;
    Random random(options.seed * 7'919 + small.size());
    small.push_back(std::make_unique<plan::Plan>(*original.plan));
    for (int i = 0; i < 20; ++i) mutants.push_back(MakeMutant(original, random).plan);
  }
  MeasureSpeed("small plans", small);
  MeasureSpeed("their mutants", mutants);
}

Options ParseOptions(int argc, char** argv) {
  Options options;
  if (const char* const chosen = std::getenv("CGRAPH_SEED")) {
    options.seed = 1 + std::strtoull(chosen, nullptr, 10) % 6;
  }
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto next = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string("0"); };
    if (argument == "--count") {
      options.count = std::strtoull(next().c_str(), nullptr, 10);
    } else if (argument == "--seed") {
      options.seed = std::strtoull(next().c_str(), nullptr, 10);
    } else if (argument == "--reports") {
      options.reports = std::strtoull(next().c_str(), nullptr, 10);
    } else if (argument == "--out") {
      options.out = next();
    } else {
      options.files.push_back(argument);
    }
  }
  return options;
}

int Main(int argc, char** argv) {
  const Options options = ParseOptions(argc, argv);
  const std::vector<Original> originals = FindOriginals(options.files);
  fmt::print("{} graphs\n", originals.size());
  if (originals.empty() || !CheckOriginals(originals) || !CheckHarness(options, originals)) {
    return 1;
  }
  Contents contents;
  const Matrix matrix = TryMutants(options, originals, RealProver, true, contents);
  fmt::print("\n{}\n{} random plans, mutants of them and of {} graphs checked, {} proved, {} false "
             "accepts, {} false rejects\n",
             matrix.Text(), matrix.trials(), originals.size(), matrix.proved(),
             matrix.false_accepts(), matrix.false_rejects());
  fmt::print("{}\n", contents.Text());
  MeasureSpeed(options, originals);
  return matrix.trials() == 0 || matrix.proved() == 0 || matrix.false_accepts() > 0 ||
                 matrix.false_rejects() > 0 || !contents.Enough(matrix.trials())
             ? 1
             : 0;
}

}  // namespace
}  // namespace cgraph::mutants

int main(int argc, char** argv) { return cgraph::mutants::Main(argc, argv); }
