#include "runtime/command/run/training.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/text.h"
#include "runtime/command/run/calls.h"
#include "runtime/command/run/until.h"
#include "runtime/device/tensor.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/load.h"
#include "runtime/plan/print.h"

namespace cgraph::command {
namespace {

// Executions between lines, where an epoch is one execution.
constexpr uint64_t kDefaultEvery = 100;

int64_t WholeElement(const device::Tensor& tensor) {
  switch (tensor.dtype) {
    case plan::DType::i8: return *tensor.as<int8_t>();
    case plan::DType::i32: return *tensor.as<int32_t>();
    case plan::DType::i64: return *tensor.as<int64_t>();
    default: return *tensor.as<uint8_t>();
  }
}

const plan::Port* FindOutput(const plan::Graph& graph, const std::string& name) {
  for (const auto& port : graph.outputs) {
    if (port->name == name) return port.get();
  }
  return nullptr;
}

// Finds the outputs of --log.
Problem FindLogged(const plan::Plan& plan, const plan::Graph& graph, const Options& options,
                   std::vector<Column>& log) {
  for (const std::string& name : options.training.log) {
    const plan::Port* const port = FindOutput(graph, name);
    if (port == nullptr) {
      std::vector<std::string> names;
      for (const auto& each : graph.outputs) names.push_back(each->name);
      const std::string all = names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
      return {kUsage, fmt::format("--log {}: graph {} has no such output{}; it has {}", name,
                                  graph.name, DidYouMeanHint(name, names), all)};
    }
    if (graph.values[port->value].rank() != 0) {
      return {kUsage, fmt::format("--log {}: it is {}, and a line has room for a number; return "
                                  "one as an output of the graph, as mean({}) is",
                                  name, plan::TypeText(plan, graph, port->value), name)};
    }
    log.emplace_back(name, name, /*sums=*/false);
  }
  return {};
}

// Returns the options as they are for the graph of --eval: a batched input that the trained graph
// has is its own only where it is named so, as accuracy.x.
Options OptionsOfEval(const plan::Graph& trained, const plan::Graph& graph,
                      const Options& options) {
  Options own = options;
  const auto is_of_other = [&](const std::string& name) {
    return !name.starts_with(graph.name + ".") && !NameIn(trained, name).empty() &&
           std::count(options.batch.begin(), options.batch.end(), name) > 0;
  };
  std::erase_if(own.inputs, [&](const NameAndValue& input) { return is_of_other(input.first); });
  std::erase_if(own.batch, is_of_other);
  own = OptionsOf(graph, own);
  own.training = {.drop_last = options.training.drop_last};
  return own;
}

// Checks that each name of an input is one of a graph, and that one input alone is standard input.
Problem CheckGiven(const std::vector<const plan::Graph*>& graphs, const Options& options,
                   const std::vector<Options>& of_graphs) {
  const auto check = [&](const char* flag, const std::string& name) -> Problem {
    for (const plan::Graph* graph : graphs) {
      if (!NameIn(*graph, name).empty()) return {};
    }
    return {kUsage, fmt::format("{} {}: neither graph has such an input{}", flag, name,
                                PortNames(graphs, &plan::Graph::inputs, name))};
  };
  for (const auto& [name, value] : options.inputs) {
    if (Problem problem = check("--input", name); !problem.ok()) return problem;
  }
  for (const std::string& name : options.batch) {
    if (Problem problem = check("--batch", name); !problem.ok()) return problem;
  }
  size_t from_stdin = 0;
  for (const Options& own : of_graphs) {
    for (const auto& [name, value] : own.inputs) from_stdin += value == "-";
  }
  if (from_stdin <= 1) return {};
  return {kUsage, "--input: only one of them can be read from standard input, by one graph"};
}

// Finds what is printed of --eval: its outputs without dimensions.
Problem FindEvaluated(const plan::Graph& graph, std::vector<Column>& columns) {
  for (const auto& port : graph.outputs) {
    if (graph.values[port->value].rank() != 0) continue;
    columns.emplace_back(port->name, graph.name + "." + port->name, /*sums=*/true);
  }
  if (!columns.empty()) return {};
  return {kUsage, fmt::format("--eval {}: none of its outputs is a number, and those are printed; "
                              "return one, as the mean of what it computes is",
                              graph.name)};
}

}  // namespace

void Column::Add(const Outputs& outputs, double weight) {
  const device::Tensor* const tensor = outputs.Find(output_);
  if (tensor == nullptr) return;
  is_float_ = plan::IsFloat(tensor->dtype);
  if (is_float_) {
    weighted_ += device::ElementAsDouble(*tensor, 0) * weight;
    weight_ += weight;
  } else {
    // Sums go round as those of ops do.
    const auto before = static_cast<uint64_t>(sums_ ? whole_ : 0);
    whole_ = static_cast<int64_t>(before + static_cast<uint64_t>(WholeElement(*tensor)));
  }
}

std::string Column::Take() {
  const double mean = weighted_ / weight_;
  const std::string value = !is_float_         ? std::to_string(whole_)
                            : std::isnan(mean) ? "nan"  // of either sign
                                               : fmt::format("{:.6g}", mean);
  weighted_ = weight_ = 0;
  whole_ = 0;
  return fmt::format(" {}={}", name_, value);
}

Problem Training::Prepare(const plan::Plan& plan, const plan::Graph& graph, const Options& options,
                          Inputs& inputs, Training& training) {
  const TrainingOptions& wanted = options.training;
  const plan::Graph* eval = nullptr;
  std::vector<Options> own = {options};
  if (!wanted.eval.empty()) {
    const Result<uint32_t> found = plan::FindGraph(plan, wanted.eval, "--eval");
    if (!found.ok()) return {kUsage, found.status().message()};
    training.eval_graph_ = *found;
    eval = plan.graphs[*found].get();
    own = {OptionsOf(graph, options), OptionsOfEval(graph, *eval, options)};
    if (Problem problem = CheckGiven({&graph, eval}, options, own); !problem.ok()) return problem;
    if (Problem problem = FindEvaluated(*eval, training.eval_); !problem.ok()) return problem;
  }
  Problem problem = FindLogged(plan, graph, options, training.log_);
  if (problem.ok()) problem = Inputs::Read(plan, graph, own[0], inputs);
  if (problem.ok() && eval != nullptr) {
    problem = Inputs::Read(plan, *eval, own[1], training.eval_inputs_, {}, eval->name + ".");
  }
  if (!problem.ok()) return problem;
  const uint64_t of_epoch = inputs.executions();
  training.position_ = {.graph = graph.name, .of_epoch = of_epoch, .rows = inputs.rows(),
                        .per_slice = inputs.per_slice(), .shuffle = wanted.shuffle};
  training.inputs_ = &inputs;
  training.counts_epochs_ = wanted.epochs > 0;
  const uint64_t epochs = wanted.epochs > 0 ? wanted.epochs : options.repeat;
  if (__builtin_mul_overflow(epochs, of_epoch, &training.total_)) {
    return {kUsage, fmt::format("{} {}: so many passes over {} are more executions than can be "
                                "counted",
                                wanted.epochs > 0 ? "--epochs" : "-n", epochs,
                                Counted(of_epoch, "slice"))};
  }
  const uint64_t every = of_epoch > 1 ? of_epoch : kDefaultEvery;
  training.save_every_ = wanted.save_every;
  if (!wanted.log.empty()) training.log_every_ = wanted.log_every > 0 ? wanted.log_every : every;
  if (eval != nullptr) training.eval_every_ = wanted.eval_every > 0 ? wanted.eval_every : every;
  return {};
}

Problem Training::Resume(const StatesMetadata& loaded, const Options& options) {
  const std::string& path = options.load_state;
  if (path.empty() || options.training.from_start) return {};
  const auto read = Position::Of(loaded);
  if (counts_epochs_) {
    if (!read.ok()) return {kFailure, fmt::format("{}: {}", path, read.status().message())};
    if (*read) return ResumeAfter(**read, options);
    SayNote(options, fmt::format("{} does not say where a run was in its data, so this run begins "
                                 "with the first row of the first epoch", path));
  } else if (inputs_ != nullptr && inputs_->is_batched() && read.ok() && *read &&
             (*read)->executions % (*read)->of_epoch != 0) {
    SayNote(options, fmt::format("{} was saved after {}, within an epoch, and -n begins with the "
                                 "first row; --epochs goes on behind them",
                                 path, Counted((*read)->executions, "execution")));
  }
  return {};
}

Problem Training::ResumeAfter(Position there, const Options& options) {
  const std::string& path = options.load_state;
  const uint64_t epochs = options.training.epochs;
  const uint64_t made = std::exchange(there.executions, 0);
  const std::string saved = fmt::format("was saved after {}", Counted(made, "execution"));
  if (there != position_) {
    return {kUsage,
            fmt::format("--load-state {}: it {} of {}, and this run is of {}; give the same inputs "
                        "and flags, to go on behind them, or --from-start, to begin with the first "
                        "epoch", path, saved, DataText(there), DataText(position_))};
  }
  if (made > total_) {
    return {kUsage, fmt::format("--epochs {}: these are {}, and {} {}; give more epochs, or "
                                "--from-start", epochs, Counted(total_, "execution"), path, saved)};
  }
  if (options.every && made % position_.of_epoch != 0) {
    return {kUsage, fmt::format("--every gives the outputs of whole epochs, and {} {}, within one; "
                                "leave --every out", path, saved)};
  }
  position_.executions = made;
  if (made == total_) {
    SayNote(options, fmt::format("{} was saved after the last execution of {}, and nothing is left "
                                 "to execute", path, Counted(epochs, "epoch")));
  } else {
    SayNote(options, fmt::format("{} was saved after {} of {}, and this run goes on behind them, "
                                 "in epoch {} of {}", path, made, Counted(total_, "execution"),
                                 made / position_.of_epoch + 1, epochs));
  }
  return {};
}

void Training::Begin(Engine& engine, const Options& options, Outcome& outcome) {
  engine_ = &engine;
  options_ = &options;
  outcome_ = &outcome;
  since_ = Clock::now();
  SetDue(first());
}

// Finds when SaveAndEvaluate() has work next: at multiples of its intervals, whatever was made
// before this run, so that a run that goes on does the same as one that was not disturbed.
void Training::SetDue(uint64_t made) {
  due_ = 0;
  const auto consider = [&](uint64_t due) {
    if (due > made && (due_ == 0 || due < due_)) due_ = due;
  };
  if (save_every_ > 0) consider((made / save_every_ + 1) * save_every_);
  if (eval_every_ > 0) {
    consider((made / eval_every_ + 1) * eval_every_);
    consider(total_);
  }
}

Status Training::SaveAndEvaluate(uint64_t made) {
  const Clock::time_point start = Clock::now();
  // An evaluation may change states, so it comes before they are saved.
  if (eval_every_ > 0 && (made % eval_every_ == 0 || made == total_)) {
    if (Status status = Evaluate(made); !status.ok()) {
      // What was trained is worth more than an evaluation that cannot be made.
      if (!options_->save_state.empty() && !engine_->Ended()) {
        CGRAPH_RETURN_IF_ERROR(Save(made));
      }
      return {status.code(), fmt::format("{}\nin --eval {} after {}", status.message(),
                                         engine_->plan().graphs[*eval_graph_]->name,
                                         Counted(made, "execution"))};
    }
  }
  // The last states are written with the results.
  if (save_every_ > 0 && made % save_every_ == 0 && made != total_) {
    CGRAPH_RETURN_IF_ERROR(Save(made));
  }
  SetDue(made);
  since_ += Clock::now() - start;
  return Status::Ok();
}

void Training::Finish(uint64_t made) {
  if (collected_ > 0) PrintLog(made);
  position_.executions = made;
  std::lock_guard lock(outcome_->mutex);
  outcome_->made = made;
  if (counts_epochs_) outcome_->states_metadata = position_.ToMetadata();
}

void Training::Log(uint64_t made, const Outputs& outputs) {
  for (Column& column : log_) column.Add(outputs, 1);
  ++collected_;
  rows_ += inputs_->rows() > 0 ? inputs_->RowsOf(made - 1) : 0;
  if (made % log_every_ == 0) PrintLog(made);
}

// Returns how far a run is, the beginning of a line.
std::string Training::Where(uint64_t made) const {
  std::string text = fmt::format("execution={}", made);
  if (counts_epochs_ || position_.of_epoch > 1) {
    text += fmt::format(" epoch={}", (made - 1) / position_.of_epoch + 1);
  }
  return text;
}

void Training::PrintLog(uint64_t made) {
  const Clock::time_point now = Clock::now();
  const double seconds = std::max(1e-9, std::chrono::duration<double>(now - since_).count());
  std::string line = Where(made);
  for (Column& column : log_) line += column.Take();
  line += " executions/s=" + RateText(static_cast<double>(collected_) / seconds);
  if (rows_ > 0) line += " rows/s=" + RateText(static_cast<double>(rows_) / seconds);
  Say(line + "\n");
  since_ = now;
  collected_ = 0;
  rows_ = 0;
}

Status Training::Evaluate(uint64_t made) {
  const Clock::time_point start = Clock::now();
  const plan::Graph& graph = *engine_->plan().graphs[*eval_graph_];
  const uint64_t inflight =
      options_->engine.inflight == 0 ? graph.inflight
                                     : std::min(graph.inflight, options_->engine.inflight);
  std::deque<Execution> pending;
  uint64_t over = 0;
  const auto finish = [&]() -> Status {
    Execution oldest = std::move(pending.front());
    pending.pop_front();
    const Result<Outputs> outputs = oldest.Get();
    if (!outputs.ok()) return outputs.status();
    const int64_t rows = eval_inputs_.rows() > 0 ? eval_inputs_.RowsOf(over) : 1;
    for (Column& column : eval_) column.Add(*outputs, static_cast<double>(rows));
    ++over;
    return Status::Ok();
  };
  for (uint64_t i = 0; i < eval_inputs_.executions() && !stopped(); ++i) {
    if (pending.size() >= inflight) CGRAPH_RETURN_IF_ERROR(finish());
    const auto inputs = eval_inputs_.Slice(i);
    if (!inputs.ok()) return inputs.status();
    Result<Execution> execution = engine_->Execute(*eval_graph_, *inputs);
    if (!execution.ok()) return execution.status();
    pending.push_back(std::move(*execution));
  }
  while (!pending.empty()) CGRAPH_RETURN_IF_ERROR(finish());
  if (stopped()) return Status::Ok();  // a mean of a part says nothing
  std::string line = Where(made);
  for (Column& column : eval_) line += column.Take();
  Say(fmt::format("{} seconds={:.4g}\n", line,
                  std::chrono::duration<double>(Clock::now() - start).count()));
  return Status::Ok();
}

// A file that cannot be written does not end the run: what it has computed is worth more. The end
// of the run writes again, and fails where that fails.
Status Training::Save(uint64_t made) {
  Position position = position_;
  position.executions = made;
  const auto note = SaveStates(options_->save_state, *engine_,
                               counts_epochs_ ? position.ToMetadata() : StatesMetadata());
  if (!note.ok() && engine_->Ended()) return engine_->EndStatus();
  if (!note.ok()) {
    Report(*options_, ExitCodeOf(note.status().code()),
           fmt::format("{}\nafter {}; the run goes on", note.status().message(),
                       Counted(made, "execution")));
    return Status::Ok();
  }
  if (!note->empty() && *note != unsaved_) SayNote(*options_, *note);
  unsaved_ = *note;
  std::lock_guard lock(outcome_->mutex);
  outcome_->saved = made;
  return Status::Ok();
}

}  // namespace cgraph::command
