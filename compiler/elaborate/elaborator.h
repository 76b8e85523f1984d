// The elaborator: what the files of this folder share while one program is elaborated.
//
// An interpreter over compile-time values (compile_time.h) whose ops append to a graph (builder.h).
// Each group of members below is one file. A function that fails has reported why and returns
// Poison, nothing or false; a poisoned value is never reported again.
#ifndef CGRAPH_COMPILER_ELABORATE_ELABORATOR_H_
#define CGRAPH_COMPILER_ELABORATE_ELABORATOR_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/diagnostics.h"
#include "compiler/elaborate/builder.h"
#include "compiler/elaborate/elaborate.h"
#include "compiler/elaborate/frame.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::elaboration {

// An argument that was evaluated, before it is matched with a parameter.
struct Actual {
  std::string label;
  Value value;
  Range range;
  Range label_range;  // of a label
};

// Where an expression is evaluated.
struct Context {
  Frame& frame;
  Range range;
  Expected expected;
};

// In order of insertion.
template <typename Key, typename T>
using OrderedMap = llvm::MapVector<Key, T, std::map<Key, unsigned>>;

// A method call (or a state's initialiser) in progress: its ops get one Call, its writes wait.
struct MethodScope {
  graph::Call call;
  graph::CallId call_id;  // invalid until the first op
  OrderedMap<graph::StateId, Tensor> pending;  // in the order of their first assignment
};

// The places of one declaration: an instance per combination of indices, the last one fastest.
struct PlaceTable {
  std::vector<IntRange> indices;
  std::vector<graph::InstanceId> instances;
};

// What the graph's Instance does not need to know.
struct InstanceDetails {
  program::ActorId actor;
  Frame frame;                // the actor's parameters
  std::vector<Value> layout;  // per state of the actor: a tree with StateLeaf leaves
};

class Elaborator {
 public:
  Elaborator(const program::Program& program, const ElaborateOptions& options,
             Diagnostics& diagnostics)
      : program_(program), options_(options), diagnostics_(diagnostics) {}

  graph::Module Run();

 private:
  // elaborate.cpp: the steps, and one graph.
  std::vector<program::GraphId> SelectGraphs();
  void ElaborateStart();
  void ElaborateGraph(program::GraphId id);
  int64_t Inflight(const program::Graph& source);

  // ports.cpp: a graph's inputs and outputs.
  void BindInputSymbols(program::TypeId type, Frame& frame);
  Value AddInput(program::TypeId type, const std::string& name, Frame& frame, Range range);
  void AddOutputs(const Value& value, const std::string& name, Range range);

  // report.cpp: diagnostics with their context, and the limits on time and depth.
  Diagnostic& Report(Code code, Range range, std::string message);
  bool Step(Range range, int64_t count = 1);
  Range SiteOr(Range range) const;
  std::string Text(const graph::Type& type) const;
  std::string Describe(const Value& value) const;
  std::string Declared(program::TypeId type, const Frame& frame) const;
  std::string Declared(program::ExprId dim, const Frame& frame) const;
  std::string Describe(const Subject& subject, const Frame& frame) const;

  // constants.cpp: consts and -D.
  void EvaluateConsts();
  Value ConstValue(program::ConstId id);
  std::optional<Value> Define(const program::Const& constant, const std::string& text,
                              const Value& usual);

  // places.cpp: instances, devices, states.
  void CreatePlaces();
  void CreatePlace(program::PlaceId id);
  void CreateInstance(program::PlaceId id, const std::vector<int64_t>& indices);
  Value StateLayout(program::TypeId type, const std::string& name, Frame& frame,
                    graph::InstanceId instance);
  graph::DeviceId Intern(const graph::Device& device);
  std::optional<graph::DeviceId> DeviceOf(const Value& value, Range range);
  Value IndexPlaces(program::PlaceId id, const std::vector<Value>& subscripts, Range range);

  // evaluate_expr.cpp.
  Value Evaluate(program::ExprId id, Frame& frame, Expected expected = {});
  std::optional<int64_t> EvaluateInt(program::ExprId id, Frame& frame, const char* what);
  std::optional<bool> EvaluateCondition(program::ExprId id, Frame& frame);
  Value Eval(const program::IntLiteral& e, const Context& context);
  Value Eval(const program::FloatLiteral& e, const Context& context);
  Value Eval(const program::BoolLiteral& e, const Context& context);
  Value Eval(const program::StringLiteral& e, const Context& context);
  Value Eval(const program::NoneLiteral& e, const Context& context);
  Value Eval(const program::LocalRef& e, const Context& context);
  Value Eval(const program::StateRef& e, const Context& context);
  Value Eval(const program::ConstRef& e, const Context& context);
  Value Eval(const program::PlaceRef& e, const Context& context);
  Value Eval(const program::DimRef& e, const Context& context);
  Value Eval(const program::GenericRef& e, const Context& context);
  Value Eval(const program::DeviceRef& e, const Context& context);
  Value Eval(const program::Unary& e, const Context& context);
  Value Eval(const program::Chain& e, const Context& context);
  Value Eval(const program::If& e, const Context& context);
  Value Eval(const program::Via& e, const Context& context);
  Value Eval(const program::On& e, const Context& context);
  Value Eval(const program::After& e, const Context& context);
  Value Binary(BinaryOperator op, const Actual& a, const Actual& b,
               const Context& context);

  // lists.cpp: lists, tuples, indexing, iteration.
  Value Eval(const program::Field& e, const Context& context);
  Value Eval(const program::Index& e, const Context& context);
  Value Eval(const program::Tuple& e, const Context& context);
  Value Eval(const program::List& e, const Context& context);
  Value Eval(const program::Comprehension& e, const Context& context);
  bool RunClauses(const program::Comprehension& e, size_t clause, const Context& context,
                  std::vector<Value>& items);
  Value EvaluateLazily(program::ExprId id, Frame& frame);
  Value FieldOf(const Value& base, const program::Field& field);
  Value IndexOf(const Value& base, const program::Index& e, const Context& context);
  Value IndexList(const std::vector<Value>& items, llvm::ArrayRef<Value> subscripts, Range range);
  std::optional<std::vector<Value>> ListItems(const Value& value, Range range);
  bool CheckListLength(int64_t length, Range range);
  Value Zip(const std::vector<Actual>& actuals, Range range);
  bool Iterate(const std::vector<program::LocalId>& pattern, bool tuple_pattern,
               program::ExprId list, Frame& frame, llvm::function_ref<bool()> turn);
  bool BindPattern(const std::vector<program::LocalId>& pattern, bool tuple_pattern,
                   const Value& value, Frame& frame, Range range);

  // views.cpp: x[i] and x[a..b] on a tensor.
  Value IndexTensor(const Tensor& tensor, llvm::ArrayRef<Value> subscripts, Range range);

  // execute_statement.cpp.
  bool ExecuteBlock(const std::vector<program::StatementId>& statements, Frame& frame);
  bool Execute(const program::Bind& s, Frame& frame, Range range);
  bool Execute(const program::For& s, Frame& frame, Range range);
  bool Execute(const program::IfStatement& s, Frame& frame, Range range);
  bool Execute(const program::Return& s, Frame& frame, Range range);
  bool Execute(const program::Assign& s, Frame& frame, Range range);
  bool Execute(const program::Evaluate& s, Frame& frame, Range range);
  void AssignLocal(const program::Assign& s, Frame& frame, Range range);
  Value* Element(Value& list, program::ExprId subscript, Frame& frame);

  // adapt.cpp: values against declared types.
  Value Adapt(const Value& value, program::TypeId type, Frame& frame, const Subject& subject,
              Range range);
  Value AdaptCompileTime(const Value& value, program::CompileTimeKind kind, Frame& frame,
                         const Subject& subject, Range range);
  Value AdaptTensor(const Value& value, program::TypeId type, Frame& frame,
                    const Subject& subject, Range range);
  Value AdaptList(const Value& value, const program::ListType& type, Frame& frame,
                  const Subject& subject, Range range);
  Value AdaptTuple(const Value& value, program::TypeId type, Frame& frame, const Subject& subject,
                   Range range);
  bool BindDType(const program::TensorType& type, DType dtype, Frame& frame,
                 const Subject& subject, Range range);
  Value AdaptHint(const Value& value, program::TypeId type, Frame& frame, const Subject& subject,
                  Range range);

  // unify.cpp: dimensions against declared dimensions.
  struct Match {
    program::TypeId type;
    const graph::Type& actual;
    Frame& frame;
    const Subject& subject;
    Range range;
  };
  bool MatchDims(const Match& match);
  bool MatchDim(const Match& match, const program::Dim& dim, size_t position);
  bool MatchRun(const Match& match, const program::Dim& dim, size_t position, size_t length);
  bool MatchExpr(const Match& match, program::ExprId expr, size_t position);
  bool BindDim(const Match& match, program::DimVariableId variable, size_t position);
  bool CheckDeferred(Frame& frame);
  std::optional<size_t> RunLength(const program::Dim& dim, Frame& frame);
  void ReportRank(const Match& match);
  void ReportDim(const Match& match, size_t position, const std::string& declared,
                 const graph::Dim& wanted, const BoundDims* bound);

  // dims.cpp: declared dimensions to concrete ones.
  bool IsKnown(program::ExprId id, const Frame& frame) const;
  bool IsKnown(const program::TensorType& type, const Frame& frame) const;
  program::ExprId Reduce(program::ExprId id, Frame& frame);
  std::optional<graph::Dim> EvaluateDim(program::ExprId id, Frame& frame);
  std::optional<int64_t> EvaluateDimInt(program::ExprId id, Frame& frame, const char* what);
  std::optional<Dims> EvaluateDims(const std::vector<program::Dim>& dims, Frame& frame);
  std::optional<Dims> EvaluateRun(program::ExprId id, Frame& frame);
  std::optional<Dims> Broadcast(const Dims& a, const Dims& b, Frame& frame, Range range);
  std::optional<Dims> Drop(const Dims& run, program::ExprId index, Frame& frame, Range range);
  std::optional<Dims> Permuted(const Dims& run, program::ExprId order, Frame& frame, Range range);
  std::optional<Dims> ListedRun(program::ExprId id, Frame& frame);
  std::optional<std::vector<int64_t>> ListedInts(program::ExprId id, Frame& frame);
  bool IsRun(program::ExprId id, const Frame& frame) const;
  std::optional<graph::Dim> BoundedDim(const program::Dim& dim, Frame& frame);
  std::optional<graph::Type> ConcreteType(const program::TensorType& type, Frame& frame,
                                          Range range);
  const program::Type* ExpectedTensor(const Expected& expected) const;
  bool CheckTensorLimits(const graph::Type& type, Range range);
  Value DimFunction(const program::CallBuiltin& e, const Context& context);

  // arguments.cpp: arguments to parameters.
  std::vector<Actual> EvaluateArguments(const std::vector<program::Argument>& arguments,
                                        const std::vector<program::Parameter>* parameters,
                                        Frame& callee, Frame& frame);
  void ReportNoParameter(const std::vector<program::Parameter>& parameters,
                         const std::vector<Actual>& actuals, size_t at,
                         const std::string& subject);
  std::optional<std::vector<const Actual*>> MatchArguments(
      const std::vector<program::Parameter>& parameters, const std::vector<Actual>& actuals,
      const Frame& callee, Range site);
  bool BindParameters(const std::vector<program::Parameter>& parameters,
                      const std::vector<Actual>& actuals, Frame& callee, Range site,
                      program::ExprId where = {});
  bool BindParameter(const program::Parameter& parameter, const Actual* actual, Frame& callee);
  void RankHints(program::ExprId where, Frame& callee);

  // call_op.cpp: ops.
  struct OpCall {
    program::OpId op;
    std::vector<Actual> actuals;
    std::optional<graph::Type> type_argument;
    std::optional<DType> dtype_argument;
    Expected expected;
    Range range;
  };
  Value Eval(const program::CallOp& e, const Context& context);
  Value Eval(const program::Cast& e, const Context& context);
  Value CallOperation(const OpCall& call, Frame& op_frame);
  Value CallOperation(const OpCall& call);
  bool ApplyWhere(const OpCall& call, Frame& op_frame);
  void CountFromTheEnd(const program::Op& op, std::vector<Actual>& actuals) const;
  bool CheckSame(const OpCall& call, Frame& op_frame);
  std::optional<bool> Holds(program::ExprId where, Frame& op_frame);
  bool TakeExpectedType(const OpCall& call, Frame& op_frame);
  bool CheckOperands(const std::string& name, size_t taken, size_t made, Range range);
  Value EmitOp(const OpCall& call, Frame& op_frame);
  bool MayOverwrite(const std::vector<graph::Use>& operands, size_t at,
                    const graph::Type& result) const;
  void AddParameters(const OpCall& call, Frame& op_frame, graph::Op& op);
  bool ResultTypes(program::TypeId type, Frame& op_frame, std::vector<graph::Type>& types,
                   Range range);
  Value TakeResults(program::TypeId type, Frame& op_frame, llvm::ArrayRef<graph::ValueId>& rest);
  int64_t Cost(program::ExprId expr, Frame& op_frame);

  // placement.cpp: where ops run, and how operands get there.
  void EvaluateTransports();
  Journey JourneyOf(const program::Route& route) const;
  graph::DeviceId DeviceOfOp(const std::vector<graph::Use>& operands) const;
  void CheckTransport(const graph::Use& use, graph::DeviceId to);
  graph::Call MakeCall(graph::InstanceId instance, std::string method, graph::DeviceId device,
                       Range site) const;

  // call_method.cpp: methods and their state.
  Value Eval(const program::CallMethod& e, const Context& context);
  Value Finish(MethodScope& scope, const Value& result);
  Tensor Snapshot(MethodScope& scope, const Tensor& tensor);
  void CommitStates(MethodScope& scope);
  graph::CallId CallOf(MethodScope& scope);
  Tensor ReadState(graph::StateId state);
  Value ReadStates(const Value& layout);
  void AssignState(const program::Assign& s, Frame& frame, Range range);
  void StoreState(const Value& layout, const Value& value);
  const Value& LayoutOf(program::StateId state, const Frame& frame) const;

  // call_fn.cpp: fns, graphs and what is part of the language.
  Value Eval(const program::CallFn& e, const Context& context);
  Value Eval(const program::CallGraph& e, const Context& context);
  Value Eval(const program::CallBuiltin& e, const Context& context);
  Value CallBody(const program::Signature& signature, const program::Body& body, Frame& callee,
                 Range site);
  Value Inline(const program::Signature& signature, const program::Body& body, Frame& callee,
               Range site);

  // collectives.cpp.
  struct Participants {
    std::vector<graph::DeviceId> devices;      // by rank
    std::vector<std::vector<Tensor>> tensors;  // by rank; of the root alone where only it gives
    std::vector<Range> ranges;                 // where each was named
    Value shape;                               // lists and tuples around the tensors of one
  };
  Value Eval(const program::CallCollective& e, const Context& context);
  Value EvaluateVia(program::ExprId base, const Journey& via, Frame& frame, Expected expected);
  Value Collect(const program::CallCollective& e, Transport via, const Context& context);
  bool FindGivers(const program::CallCollective& e, Frame& frame, Participants& found);
  bool FindPlaces(const program::CallCollective& e, Frame& frame, Participants& found);
  bool TakeTensors(const Value& value, Range range, std::vector<Tensor>& tensors);
  std::optional<graph::DeviceId> HomeOf(const std::vector<Tensor>& tensors, Range range);
  bool CheckParticipants(const Participants& found, const char* name);
  bool CheckReduction(const program::CallCollective& e, const Participants& found, Range range);
  std::optional<std::vector<graph::Type>> CollectiveResults(const program::CallCollective& e,
                                                            const Participants& found,
                                                            Range range);
  void CheckGroupTransport(const graph::Collective& collective, Range range);

  // How numbers in dimensions and costs are computed.
  enum class Mode {
    kNormal,
    kDims,  // division must be exact; a bounded dimension is no number
    kCost,  // at the bound
  };

  // What surrounds the evaluation, for notes and for Call.indices.
  struct Loop {
    const std::string* name;
    const Frame* frame;
    program::LocalId local;
  };
  struct Inlined {
    const Frame* frame;
    Range site;
    const program::Op* op = nullptr;  // that is called, rather than a body that is run
  };

  const program::Program& program_;
  const ElaborateOptions& options_;
  Diagnostics& diagnostics_;
  graph::Module module_;

  std::vector<std::optional<Value>> consts_;
  std::vector<uint32_t> capacities_;  // by TransportId; 0: the usual one
  std::map<program::PlaceId, PlaceTable> places_;
  std::vector<InstanceDetails> instances_;  // by InstanceId
  std::map<std::tuple<graph::DeviceKind, uint32_t, uint32_t>, graph::DeviceId> devices_;

  // Of the graph in work; none while consts and places are evaluated.
  GraphBuilder* builder_ = nullptr;
  bool in_start_ = false;
  MethodScope* method_ = nullptr;
  std::optional<graph::DeviceId> on_;  // by the nearest `on`
  std::vector<graph::CallId> after_;   // by all `after`s around
  Mode mode_ = Mode::kNormal;
  std::vector<Loop> loops_;
  std::vector<Inlined> inlined_;

  int64_t steps_ = 0;
  bool stopped_ = false;  // a limit was met: everything unwinds
  int depth_ = 0;         // of C++ calls, in nested expressions and statements
};

}  // namespace cgraph::elaboration

#endif  // CGRAPH_COMPILER_ELABORATE_ELABORATOR_H_
