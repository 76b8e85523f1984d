// Checker: the data that the steps of Check share: the files that were loaded, the names they
// declare, the Program.
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

// A top-level name of a file. Ops and fns may share one: the first of them has the others.
struct Symbol {
  std::variant<program::ConstId, program::NamedTypeId, program::TransportId, program::OpId,
               program::FnId, program::ActorId, program::OptimizerId, program::PlaceId,
               program::GraphId, program::ScheduleId, program::TopologyId>
      node;
  Range range;
  bool deprecated = false;  // it is not suggested
  std::vector<Symbol> overloads = {};
};

struct Module;

struct Import {
  const Module* module;
  std::string qualifier;  // `tensor.relu`, or the alias
  bool unqualified;       // without an alias the names are visible by themselves, too
  Range range;
  std::string chosen = {};  // the module by -D; empty: the one that is written
};

// Module: one file. Its names are those that it declares and those that the files it imports
// declare, but not what these import in turn.
struct Module {
  explicit Module(std::shared_ptr<const syntax::File> parsed)
      : parsed(std::move(parsed)), file(*this->parsed) {}

  std::string name;    // "std.tensor", or the path of the named file
  std::string folder;  // where its imports are looked up first
  std::shared_ptr<const syntax::File> parsed;  // of the library: shared by compilations
  const syntax::File& file;
  std::map<std::string, Symbol> names;
  std::vector<Import> imports;
  std::vector<std::string> lost;  // qualifiers of imports that were not found, which is reported
};

// Written: where a row of the Program was written.
template <typename Decl>
struct Written {
  const Module* module;
  const Decl* decl;
};

struct Scope;

// Where a name of another language stands: alone, as `to` of a label, or as `to` of `x.to(...)`.
enum class NamePosition : uint8_t { kAlone, kBehindDot };

struct Checker {
  Checker(Sources& sources, const CheckOptions& options, Diagnostics& diagnostics);
  ~Checker();

  Sources& sources;
  const CheckOptions& options;
  Diagnostics& diagnostics;
  program::Program program;

  std::vector<std::unique_ptr<Module>> modules;  // the named file first
  const Module* tensor = nullptr;                // std.tensor: what operators mean
  // --schedule: replaces the `using` of every graph of the named file.
  struct ScheduleFlag {
    bool chosen = false;
    bool reversed = false;
    std::optional<syntax::Using> use;  // nothing: program order
    Module* module = nullptr;          // what its names are looked up in
  };
  ScheduleFlag flag;
  // --topology: the text of the flag, and the file in which its names are looked up.
  struct TopologyFlag {
    std::optional<syntax::Using> use;  // nothing: a whole file is named, or there is no flag
    Module* module = nullptr;          // of its arguments
    const Module* file = nullptr;      // that the flag names
  };
  TopologyFlag topology_flag;
  // True where a file had syntax errors or could not be imported: an unknown name may be one of its
  // own.
  bool names_missing = false;

  Table<program::ConstId, Written<syntax::ConstDecl>> consts;
  Table<program::NamedTypeId, Written<syntax::TypeDecl>> named_types;
  Table<program::TransportId, Written<syntax::TransportDecl>> transports;
  Table<program::OpId, Written<syntax::OpDecl>> ops;
  Table<program::FnId, Written<syntax::FnDecl>> fns;
  Table<program::ActorId, Written<syntax::ActorDecl>> actors;
  Table<program::OptimizerId, Written<syntax::OptimizerDecl>> optimizers;
  Table<program::StateId, Written<syntax::StateDecl>> states;
  Table<program::MethodId, Written<syntax::MethodDecl>> methods;
  Table<program::PlaceId, Written<syntax::PlaceDecl>> places;
  Table<program::GraphId, Written<syntax::GraphDecl>> graphs;
  Table<program::ScheduleId, Written<syntax::ScheduleDecl>> schedules;
  Table<program::TopologyId, Written<syntax::TopologyDecl>> topologies;

  // One scope per declaration that has a body: made with the signature, used again for the body.
  Table<program::OpId, std::unique_ptr<Scope>> op_scopes;
  Table<program::FnId, std::unique_ptr<Scope>> fn_scopes;
  Table<program::ActorId, std::unique_ptr<Scope>> actor_scopes;
  Table<program::MethodId, std::unique_ptr<Scope>> method_scopes;
  struct OptimizerScopes {
    std::unique_ptr<Scope> parameters, update;
    const syntax::MethodDecl* written;  // `update`; null: reported
  };
  Table<program::OptimizerId, OptimizerScopes> optimizer_scopes;
  Table<program::GraphId, std::unique_ptr<Scope>> graph_scopes;

  // How far the definition of a named type is resolved: one that is open stands for itself.
  enum class Progress : uint8_t { kNew, kOpen, kDone };
  Table<program::NamedTypeId, Progress> named_type_progress;
  int named_type_depth = 0;      // uses in definitions that are being resolved
  Range named_type_use;          // the outermost of them
  int64_t named_type_parts = 0;  // the types and arguments that uses have stood for
  bool named_type_limit_met = false;

  Table<program::ConstId, StaticType> const_types;
  // The consts that the value of a const names.
  Table<program::ConstId, std::vector<program::ConstId>> const_uses;
  std::map<std::pair<program::ActorId, std::string>, program::StateId> state_names;

  // Adds "(did you mean `x`?)" to the message, and a fix, when a candidate is near. It looks for a
  // limited number of names only, since a search is slow, and so is listing all names that are
  // visible.
  Diagnostic& Suggest(Diagnostic& diagnostic, Range range, const std::string& name,
                      llvm::function_ref<std::vector<std::string>()> candidates);
  Diagnostic& Suggest(Diagnostic& diagnostic, Range range, const std::string& name,
                      const std::vector<std::string>& candidates) {
    return Suggest(diagnostic, range, name, [&] { return candidates; });
  }
  // Adds "(here it is `f32`)" when other languages call it `name`; also as a fix of a valid
  // `range`.
  bool Translate(Diagnostic& diagnostic, Range range, const std::string& name,
                 NamePosition position = NamePosition::kAlone);
  int suggestions = 0;
  // The bytes of the fixes for calls of what is deprecated. Those of calls inside calls repeat each
  // other's text, so their sum is limited.
  size_t deprecated_bytes = 0;

  std::optional<std::map<std::string, std::string>> library_names;  // see LibraryNames
};

// The ops, fns and optimizers that the library's files declare, each with its file: "relu", "nn".
const std::map<std::string, std::string>& LibraryNames(Checker& checker);

// Returns "nn" when std/nn.cgraph of the library declares an op or fn of that name, else nothing:
// for programs that lack an import.
std::string LibraryFileOf(Checker& checker, const std::string& name);

// Returns the library's schedules: each has a file of its name.
std::vector<std::string> LibrarySchedules(const Checker& checker);

// ---- the steps, in order ------------------------------------------------------------------------

// Parses the named file, std.tensor and all that they import. False when std.tensor is missing:
// nothing else would make sense then.
bool LoadModules(Checker& checker, syntax::File main);

// Gives every declaration its row and its name.
void Declare(Checker& checker);

// Finds the ops of std.tensor that operators stand for.
void FindOperatorOps(Checker& checker);

// Resolves what bodies see of each other: parameters, results, dimension variables and state types.
void ResolveSignatures(Checker& checker);

// Resolves values, initialisers, clauses and bodies.
void ResolveBodies(Checker& checker);

// Resolves the rules of schedules, and the graphs that use them.
void ResolveSchedules(Checker& checker);

// Resolves the parts of topologies, and the one that --topology names.
void ResolveTopologies(Checker& checker);

// Reports consts that stand in their own value, directly or through others.
void CheckConstCycles(Checker& checker);

// Warns of graphs that need a compile-time argument and get none.
void WarnOfGraphsNobodyRuns(Checker& checker);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_CHECKER_H_
