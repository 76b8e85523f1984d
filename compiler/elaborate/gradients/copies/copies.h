// Copies: params that are one variable at several places (`equal along t`), whose gradients are
// summed (copies.cpp); those that look like it and are not declared so, and those that graphs let
// drift apart (trained_apart.cpp).
#ifndef CGRAPH_COMPILER_ELABORATE_GRADIENTS_COPIES_COPIES_H_
#define CGRAPH_COMPILER_ELABORATE_GRADIENTS_COPIES_COPIES_H_

#include <map>
#include <optional>

#include "compiler/elaborate/gradients/copies/value_numbers.h"
#include "compiler/elaborate/gradients/make_op.h"

namespace cgraph::elaborate {

// Variable: what several states are copies of, by State::copies and their name.
using Variable = std::pair<std::string, std::string>;
inline Variable VariableOf(const graph::State& state) { return {state.copies, state.name}; }

// The declared copies of each variable, params and the optimizer's slots of them.
using Copies = std::map<Variable, std::vector<graph::StateId>>;
Copies DeclaredCopies(const graph::Module& module);

const graph::Instance& InstanceOf(const ElaborationContext& elaboration, graph::StateId state);
const InstanceDetails& DetailsOf(const ElaborationContext& elaboration, graph::StateId state);

// Returns for each state a text that is equal where what it begins with is.
const std::vector<std::string>& BeginningsOf(ElaborationContext& elaboration);

// Gradients by the value that they are of; nothing where the loss does not depend on it.
using FoundGradients = std::map<graph::ValueId, std::optional<Tensor>>;

// Replaces the gradients of copies by their sum: one all_reduce for as many as its link moves in
// ten latencies, or fewer, in the order in which they are done. False: an error was reported.
bool SumCopies(ElaborationContext& elaboration, OpMaker& maker, FoundGradients& found);

// Reports (false) a param that is a copy where only the method of its place is in sight: others
// have a part of its gradient.
bool CheckWholeVariables(ElaborationContext& elaboration, const FoundGradients& found, Range range);

// Notes in `suspects` the params that look like copies of one variable and are not declared so.
void FindUndeclaredCopies(ElaborationContext& elaboration, const FoundGradients& found,
                          Range range);

// Notes which variable a gradient is of, if that has copies. `call` tells calls of `grad` apart.
void NoteVariable(ElaborationContext& elaboration, graph::ValueId gradient, graph::ValueId of,
                  size_t call);

// Returns the numbers of the graph's values so far, for which states hold what they begin with.
ValueNumbers NumberValues(ElaborationContext& elaboration);

// Warns where graphs leave copies of a param with different values (W0509), and of suspects that
// they train apart (W0507).
void WarnOfCopiesTrainedApart(ElaborationContext& elaboration);

// Gives each param that has copies, and the optimizer's slots of it, the name of the places of all.
void NameCopies(ElaborationContext& elaboration);

// Returns the indices of its place along which a param is a copy.
std::vector<std::string> AlongOf(const ElaborationContext& elaboration, graph::StateId state);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_GRADIENTS_COPIES_COPIES_H_
