#include <functional>
#include <map>
#include <queue>
#include <set>

#include <fmt/format.h>

#include "compiler/base/check.h"
#include "compiler/base/derived_calls.h"
#include "compiler/base/kernels.h"
#include "compiler/elaborate/calls/calls.h"
#include "compiler/elaborate/calls/method_scope.h"
#include "compiler/elaborate/gradients/activity.h"
#include "compiler/elaborate/gradients/derive.h"
#include "compiler/elaborate/gradients/halves.h"
#include "compiler/elaborate/gradients/rules.h"
#include "compiler/elaborate/gradients/sums.h"
#include "compiler/elaborate/gradients/transpose.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/values/make.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaborate {
namespace {

using graph::CallId;
using graph::ValueId;

// In a graph each forward call on the way gets derived calls; within a method all derived ops
// belong to the method's own call.
class Deriver {
 public:
  Deriver(ElaborationContext& elaboration, Range range)
      : elaboration_(elaboration),
        builder_(*elaboration.builder),
        maker_(elaboration, range),
        range_(range) {}

  bool Run(const Tensor& loss, const std::optional<Tensor>& from, const Targets& targets) {
    const size_t first = elaboration_.method ? elaboration_.method->first_node : 0;
    std::optional<Activity> activity =
        FindActivity(elaboration_, first, loss.value, targets, range_);
    if (!activity) return false;
    activity_ = std::move(*activity);
    targets_ = &targets.values;
    const CallId last = graph::MakerOf(builder_.graph(), loss.value);
    if (last.valid()) builder_.graph().calls[last].differentiated = true;
    if (!activity_.IsActive(Root(loss.value))) return !targets.values.empty() || ReportNothing();
    if (!Seed(loss, from)) return false;
    return elaboration_.method ? DeriveNodes(activity_.nodes, nullptr) : Walk();
  }

  // Returns the sum of what came for a value, where that is; nothing where the loss does not depend
  // on it.
  std::optional<Tensor> Found(ValueId root) {
    if (const auto total = totals_.find(root); total != totals_.end()) return total->second;
    const auto sums = sums_.find(root);
    if (sums == sums_.end()) return std::nullopt;
    std::optional<Tensor> total;
    OnDevice(builder_.value(root).home, [&] { total = Total(maker_, sums->second); });
    return total;
  }

  // Runs `make` for ops that stand alone on a device; within a method it is the method's.
  template <typename Make>
  void OnDevice(graph::DeviceId device, Make make) {
    if (elaboration_.method != nullptr) return make();
    llvm::SaveAndRestore<std::optional<graph::DeviceId>> on(elaboration_.on, device);
    make();
  }

 private:
  bool ReportNothing() {
    Report(elaboration_, Code::kE0903, range_,
           "the loss depends on no param that `of:` names, and on no method with `grad by`; "
           "say what the gradients are of, grad(loss, of: net), or how a method in Python is "
           "differentiated, `grad by auto` behind it");
    return false;
  }

  ValueId Root(ValueId id) const { return graph::RootOf(builder_.graph(), id); }
  const TapeNode& node(size_t at) const { return elaboration_.tape->nodes[at]; }

  bool Seed(const Tensor& loss, const std::optional<Tensor>& from) {
    bool made = false;
    const graph::Value value = builder_.value(loss.value);
    OnDevice(value.home, [&] {
      const Tensor seed = from ? *from : maker_.Ones(value.type);
      made = sums_[Root(loss.value)][value.home].Add(maker_, loss.value, seed);
    });
    return made;
  }

  // Returns the call of a node: that of its first result, where a fn outside methods has several.
  CallId CallOf(size_t at) const {
    CallId call;
    ForEachTensor(node(at).result, [&](const Tensor& tensor) {
      if (!call.valid()) call = graph::MakerOf(builder_.graph(), tensor.value);
    });
    return call;
  }

  // Derives the calls whose consumers' derived calls are all made, the first forward call first: so
  // micro-batches go up, as in a pipeline by hand.
  bool Walk() {
    std::map<CallId, std::vector<size_t>> nodes;
    std::map<CallId, std::set<CallId>> feeds, consumers;
    for (size_t at : activity_.nodes) nodes[CallOf(at)].push_back(at);
    for (const auto& [call, own] : nodes) {
      for (size_t at : own) {
        for (const Value& argument : node(at).arguments) {
          ForEachTensor(argument, [&, call = call](const Tensor& tensor) {
            const ValueId root = Root(tensor.value);
            if (!activity_.IsActive(root)) return;
            const size_t made_by = activity_.maker[root.index];
            if (made_by == Activity::kNoNode) return;
            const CallId maker = CallOf(made_by);
            if (maker == call) return;
            feeds[call].insert(maker);
            consumers[maker].insert(call);
          });
        }
      }
    }
    std::priority_queue<CallId, std::vector<CallId>, std::greater<>> ready;
    std::map<CallId, size_t> waits;
    for (const auto& [call, own] : nodes) {
      waits[call] = consumers[call].size();
      if (waits[call] == 0) ready.push(call);
    }
    size_t derived = 0;
    while (!ready.empty()) {
      const CallId call = ready.top();
      ready.pop();
      if (!DeriveCall(call, nodes[call])) return false;
      ++derived;
      for (CallId before : feeds[call]) {
        if (--waits[before] == 0) ready.push(before);
      }
    }
    CGRAPH_CHECK(derived == nodes.size(), "elaborate", "calls wait for each other's gradients");
    return true;
  }

  bool DeriveCall(CallId id, const std::vector<size_t>& nodes) {
    builder_.graph().calls[id].differentiated = true;
    const graph::Call forward = builder_.graph().calls[id];
    const DerivedCall derived{id, forward.indices, forward.index_names};
    llvm::SaveAndRestore<const DerivedCall*> of(elaboration_.derived, &derived);
    if (!forward.instance.valid()) {
      if (std::holds_alternative<TapeNode::Collective>(node(nodes[0]).callee)) {
        return DeriveCollective(nodes[0]);
      }
      llvm::SaveAndRestore<std::optional<graph::DeviceId>> on(elaboration_.on, forward.device);
      return DeriveNodes(nodes, &forward);
    }
    if (!CheckName(forward)) return false;
    const std::string by = GradientBy(nodes);
    const TailMark before(builder_.graph());
    MethodScope scope{MakeCall(elaboration_, forward.instance,
                               by.empty() ? DerivedName(forward.method) : by, forward.device,
                               forward.site)};
    {
      llvm::SaveAndRestore<MethodScope*> inside(elaboration_.method, &scope);
      if (!DeriveNodes(nodes, &forward)) return false;
      if (!scope.call_id.valid() && !KeepCall()) return false;
      CommitStates(elaboration_, scope);
    }
    before.SetRanges(builder_.graph(), forward.site);
    if (elaboration_.halved && scope.call_id.valid()) {
      Halve(elaboration_, scope, before, IsByAutograd(nodes) ? MadeSince(before) : Activations(),
            incoming_);
    }
    return true;
  }

  // Returns the method that computes the gradients of these nodes; empty where rules or PyTorch do.
  std::string GradientBy(const std::vector<size_t>& nodes) const {
    const auto* method = std::get_if<program::MethodId>(&node(nodes[0]).callee);
    if (method == nullptr || IsByAutograd(nodes)) return "";
    return elaboration_.program.methods[*method].gradient_by;
  }
  // PyTorch makes all gradients of a call at once, so the second half has none.
  bool IsByAutograd(const std::vector<size_t>& nodes) const {
    const auto* method = std::get_if<program::MethodId>(&node(nodes[0]).callee);
    return method != nullptr && elaboration_.program.methods[*method].gradient_by == kGradientAuto;
  }
  std::set<ValueId> MadeSince(const TailMark& before) const {
    std::set<ValueId> values;
    for (size_t i = before.values(); i < builder_.graph().values.size(); ++i) {
      values.insert(ValueId(i));
    }
    return values;
  }

  // Keeps a copy of what came in where a derived call computes nothing, so that a schedule can
  // count it.
  bool KeepCall() {
    for (Outgoing& part : outgoing_) {
      Sum& sum = sums_[part.root][part.device];
      if (!sum.value) continue;
      sum.value = maker_.Copy(*sum.value);
      return sum.value->value.valid();
    }
    return true;
  }

  bool CheckName(const graph::Call& forward) {
    const std::string name = DerivedName(forward.method);
    const program::ActorId actor = elaboration_.places.instances[forward.instance.index].actor;
    const program::MethodId method = FindMethod(elaboration_.program, actor, forward.method);
    program::MethodId other = FindMethod(elaboration_.program, actor, name);
    for (Half half : {Half::kInput, Half::kWeight}) {
      if (!elaboration_.halved || other.valid()) break;
      other = FindMethod(elaboration_.program, actor, DerivedName(forward.method, half));
    }
    if (!other.valid() || elaboration_.program.methods[method].gradient_by == name) return true;
    Report(elaboration_, Code::kE0905, range_,
           fmt::format(
               "the calls that `grad` derives of `{}` are named `{}`, and `{}` has a method "
               "of that name: rename it, or say that it computes the gradients: `method "
               "{}(...) grad by {}`",
               forward.method, name, elaboration_.program.actors[actor].name, forward.method, name))
        .AddNote(elaboration_.program.methods[other].range, "declared here");
    return false;
  }

  // Goes through the ops of one call backwards.
  bool DeriveNodes(const std::vector<size_t>& nodes, const graph::Call* forward) {
    own_.clear();
    outgoing_.clear();
    incoming_.clear();
    group_ = {nodes.begin(), nodes.end()};
    for (size_t at : llvm::reverse(nodes)) {
      if (!Step(elaboration_, range_, 1) || !DeriveNode(at, forward)) return false;
    }
    return SumTargets();
  }

  // Sums what came for a target that this call itself has made, where no node of it has asked.
  bool SumTargets() {
    bool failed = false;
    for (ValueId target : *targets_) {
      if (own_.count(target) != 0 && totals_.count(target) == 0) TotalOf(target, failed);
    }
    return !failed;
  }

  bool DeriveNode(size_t at, const graph::Call* forward) {
    const TapeNode& own = node(at);
    std::map<ValueId, Tensor> gradients;  // of the results, by the value itself
    bool failed = false;
    ForEachTensor(own.result, [&](const Tensor& tensor) {
      const std::optional<Tensor> total = TotalOf(tensor.value, failed);
      if (total) gradients.emplace(tensor.value, *total);
    });
    if (failed) return false;
    if (gradients.empty()) return true;
    const RuleContext rule{own, gradients, activity_, range_, forward};
    return ApplyRule(elaboration_, maker_, rule,
                     [&](const Tensor& of, Tensor part) { return Contribute(of, part); });
  }

  // Returns what has come for a result of the call: from its own ops, and from elsewhere.
  std::optional<Tensor> TotalOf(ValueId result, bool& failed) {
    const ValueId root = Root(result);
    if (!activity_.IsActive(root)) return std::nullopt;
    std::optional<Tensor> total;
    if (const auto sums = sums_.find(root); sums != sums_.end()) {
      total = Total(maker_, sums->second);
      if (total) incoming_.push_back(*total);
    }
    if (const auto sum = own_.find(root); sum != own_.end() && sum->second.value) {
      total = total ? maker_.Add(*total, *sum->second.value) : *sum->second.value;
    }
    failed = failed || (total && !total->value.valid());
    if (total && targets_->count(root) != 0) totals_[root] = *total;
    return total;
  }

  // Adds a part of the gradient of an operand: to what its maker, in the same call, goes on with,
  // or to the sum of this device.
  bool Contribute(const Tensor& of, Tensor part) {
    const ValueId root = Root(of.value);
    if (!activity_.IsActive(root)) return true;
    const bool is_param = IsParam(elaboration_, root);
    part = maker_.Adapt(part, GradientType(elaboration_, of.value));
    if (!part.value.valid()) return false;
    part.via = of.via;
    const size_t maker = activity_.maker[root.index];
    if (maker != Activity::kNoNode && group_.count(maker) != 0) {
      return own_[root].Add(maker_, of.value, part);
    }
    const graph::DeviceId device = elaboration_.method ? elaboration_.method->call.device
                                   : elaboration_.on   ? *elaboration_.on
                                                       : kCaller;
    if (is_param && !MadeHere(part.value)) part = maker_.Copy(part);
    Sum& sum = sums_[root][device];
    if (!sum.Add(maker_, of.value, part)) return false;
    NameGradient(sum.value->value, root);
    outgoing_.push_back({root, device});
    return true;
  }

  // Names a gradient by what it is of, for pictures and messages.
  void NameGradient(ValueId gradient, ValueId of) {
    const std::string& name = builder_.value(of).name;
    if (!name.empty() && builder_.value(gradient).name.empty()) {
      builder_.graph().values[gradient].name = "grad " + name;
    }
  }

  // Returns whether the current call has made a value, rather than passing on what came in.
  bool MadeHere(ValueId id) const {
    if (elaboration_.method == nullptr) return true;
    const CallId maker = graph::MakerOf(builder_.graph(), id);
    return maker.valid() && maker == elaboration_.method->call_id;
  }

  bool DeriveCollective(size_t at) {
    const TapeNode& own = node(at);
    own_.clear();
    outgoing_.clear();
    incoming_.clear();
    std::vector<std::optional<Tensor>> gradients;
    bool failed = false;
    ForEachTensor(own.result, [&](const Tensor& tensor) {
      OnDevice(builder_.value(tensor.value).home,
               [&] { gradients.push_back(TotalOf(tensor.value, failed)); });
    });
    if (failed) return false;
    group_ = {at};
    return Transpose(elaboration_, maker_, own, gradients, activity_, range_,
                     [&](const Tensor& of, Tensor part) {
                       const graph::DeviceId home = builder_.value(part.value).home;
                       llvm::SaveAndRestore<std::optional<graph::DeviceId>> on(elaboration_.on,
                                                                               home);
                       return Contribute(of, part);
                     });
  }

  // Returns what this derived call has made that is the gradient of an activation.
  std::set<ValueId> Activations() const {
    std::set<ValueId> values;
    for (const Outgoing& part : outgoing_) {
      if (!activity_.from_input[part.root.index]) continue;
      values.insert(Root(sums_.at(part.root).at(part.device).value->value));
    }
    for (const auto& [root, sum] : own_) {
      if (activity_.from_input[root.index] && sum.value) values.insert(Root(sum.value->value));
    }
    return values;
  }

  struct Outgoing {
    ValueId root;
    graph::DeviceId device;
  };

  ElaborationContext& elaboration_;
  GraphBuilder& builder_;
  OpMaker maker_;
  const Range range_;
  Activity activity_;
  const std::set<ValueId>* targets_ = nullptr;  // the roots that `of:` means
  std::map<ValueId, Sums> sums_;                // by root: of what other calls have made
  std::map<ValueId, Tensor> totals_;            // of targets that a derived call has summed
  // These belong to the call that is being derived:
  std::set<size_t> group_;          // its nodes
  std::map<ValueId, Sum> own_;      // by root: of what it has made itself
  std::vector<Outgoing> outgoing_;  // the sums that it has added to
  std::vector<Tensor> incoming_;    // what came for its results
};

}  // namespace

bool Derive(ElaborationContext& elaboration, const Tensor& loss, const std::optional<Tensor>& from,
            const Targets& targets, Range range, FoundGradients& found) {
  Deriver deriver(elaboration, range);
  if (!deriver.Run(loss, from, targets)) return false;
  for (ValueId target : targets.values) found.emplace(target, deriver.Found(target));
  return true;
}

}  // namespace cgraph::elaborate
