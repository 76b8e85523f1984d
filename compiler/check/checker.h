// What the steps of Check share: the files that were loaded, the names they declare, the Program.
#ifndef CGRAPH_COMPILER_CHECK_CHECKER_H_
#define CGRAPH_COMPILER_CHECK_CHECKER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/check/check.h"
#include "compiler/check/static_types/static_type.h"

namespace cgraph::check {

// A top-level name of a file.
struct Symbol {
  std::variant<program::ConstId, program::TransportId, program::OpId, program::FnId,
               program::ActorId, program::PlaceId, program::GraphId,
               program::ScheduleId, program::TopologyId>
      node;
  Range range;
};

struct Module;

struct Import {
  const Module* module;
  std::string qualifier;  // `tensor.relu`, or the alias
  bool unqualified;       // without an alias the names are visible by themselves, too
  Range range;
};

// One file. Its names are what it declares and what the files it imports declare, one step far.
struct Module {
  std::string name;    // "std.tensor", or the path of the named file
  std::string folder;  // where its imports are looked up first
  syntax::File file;
  std::map<std::string, Symbol> names;
  std::vector<Import> imports;
};

// Where a row of the Program was written.
template <typename Decl>
struct Written {
  const Module* module;
  const Decl* decl;
};

struct Scope;

struct Checker {
  Checker(Sources& sources, const CheckOptions& options, Diagnostics& diagnostics);
  ~Checker();

  Sources& sources;
  const CheckOptions& options;
  Diagnostics& diagnostics;
  program::Program program;

  std::vector<std::unique_ptr<Module>> modules;  // the named file first
  const Module* tensor = nullptr;                // std.tensor: what operators mean
  // --schedule: instead of the `using` of every graph of the named file.
  struct ScheduleFlag {
    bool chosen = false;
    std::optional<syntax::Using> use;  // nothing: program order
    Module* module = nullptr;          // what its names are looked up in
  };
  ScheduleFlag flag;
  // --topology: what the flag says, and the file in which its names are looked up.
  struct TopologyFlag {
    std::optional<syntax::Using> use;  // nothing: a whole file is named, or there is no flag
    Module* module = nullptr;          // of its arguments
    const Module* file = nullptr;      // that the flag names
  };
  TopologyFlag topology_flag;
  // A file had syntax errors or could not be imported: an unknown name may be one of its own.
  bool names_missing = false;

  Table<program::ConstId, Written<syntax::ConstDecl>> consts;
  Table<program::TransportId, Written<syntax::TransportDecl>> transports;
  Table<program::OpId, Written<syntax::OpDecl>> ops;
  Table<program::FnId, Written<syntax::FnDecl>> fns;
  Table<program::ActorId, Written<syntax::ActorDecl>> actors;
  Table<program::StateId, Written<syntax::StateDecl>> states;
  Table<program::MethodId, Written<syntax::MethodDecl>> methods;
  Table<program::PlaceId, Written<syntax::PlaceDecl>> places;
  Table<program::GraphId, Written<syntax::GraphDecl>> graphs;
  Table<program::ScheduleId, Written<syntax::ScheduleDecl>> schedules;
  Table<program::TopologyId, Written<syntax::TopologyDecl>> topologies;

  // One per declaration that has a body: made with the signature, used again for the body.
  Table<program::OpId, std::unique_ptr<Scope>> op_scopes;
  Table<program::FnId, std::unique_ptr<Scope>> fn_scopes;
  Table<program::ActorId, std::unique_ptr<Scope>> actor_scopes;
  Table<program::MethodId, std::unique_ptr<Scope>> method_scopes;
  Table<program::GraphId, std::unique_ptr<Scope>> graph_scopes;

  Table<program::ConstId, StaticType> const_types;
  // Which consts the value of a const names.
  Table<program::ConstId, std::vector<program::ConstId>> const_uses;
  std::map<std::pair<program::ActorId, std::string>, program::StateId> state_names;

  // "(did you mean `x`?)" in the message and as a fix, when a candidate is near; looks for so many
  // names only, since a search is slow, and so is listing all names that are visible.
  Diagnostic& Suggest(Diagnostic& diagnostic, Range range, const std::string& name,
                      llvm::function_ref<std::vector<std::string>()> candidates);
  Diagnostic& Suggest(Diagnostic& diagnostic, Range range, const std::string& name,
                      const std::vector<std::string>& candidates) {
    return Suggest(diagnostic, range, name, [&] { return candidates; });
  }
  // "(here it is `f32`)" when other languages call it `name`; as a fix, too, of a valid `range`.
  bool Translate(Diagnostic& diagnostic, Range range, const std::string& name);
  int suggestions = 0;

  std::optional<std::map<std::string, std::string>> library_names;  // see LibraryFileOf
};

// "nn" when std/nn.cgraph of the library declares an op or fn of that name, else nothing: for
// programs that lack an import.
std::string LibraryFileOf(Checker& checker, const std::string& name);

// The library's schedules: each has a file of its name.
std::vector<std::string> LibrarySchedules(const Checker& checker);

// ---- the steps, in order ------------------------------------------------------------------------

// Parses the named file, std.tensor and all that they import. False when std.tensor is missing:
// nothing else would make sense then.
bool LoadModules(Checker& checker, syntax::File main);

// Gives every declaration its row and its name.
void Declare(Checker& checker);

// Finds the ops of std.tensor that operators stand for.
void FindOperatorOps(Checker& checker);

// Parameters, results, dimension variables and state types: what bodies see of each other.
void ResolveSignatures(Checker& checker);

// Values, initialisers, clauses and bodies.
void ResolveBodies(Checker& checker);

// The rules of schedules, and the graphs that use them.
void ResolveSchedules(Checker& checker);

// The parts of topologies, and the one that --topology names.
void ResolveTopologies(Checker& checker);

// A const may not stand in its own value, also not through others.
void CheckConstCycles(Checker& checker);

// Of graphs that need a compile-time argument and get none.
void WarnOfGraphsNobodyRuns(Checker& checker);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_CHECKER_H_
