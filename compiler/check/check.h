// Check: Syntax -> Program. `main` is the named file, parsed; what it imports is parsed here.
//
// Loads what the file imports, declares, resolves every name, and checks once per body what does
// not depend on dimensions: names, arity, labels, kinds, and dtype and rank where both are known.
// Dimensions are checked while elaborating, with concrete integers. What is not in the language yet
// is refused by name. Returns a Program that is only to be used when `diagnostics` has no errors.
#ifndef CGRAPH_COMPILER_CHECK_CHECK_H_
#define CGRAPH_COMPILER_CHECK_CHECK_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/program/program.h"
#include "compiler/syntax/syntax.h"

namespace cgraph {

struct CheckOptions {
  std::vector<std::string> import_dirs;  // searched in order, after the importing file's own folder
  std::string library_dir;  // where `std.` lives: std.tensor is library_dir/std/tensor.cgraph
  // -D NAME=VALUE: of types of the named file that stand for a dtype, the dtype; other names are
  // those of consts, which elaboration gives their values.
  std::map<std::string, std::string> defines;
  // What stands behind `using` in every graph of the named file; "program": program order. Empty:
  // what the graphs say.
  std::string schedule;
  // --topology: the name of one, with its arguments, or a file that declares one. Empty: none.
  std::string topology;
};

program::Program Check(syntax::File main, Sources& sources, const CheckOptions& options,
                       Diagnostics& diagnostics);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_CHECK_CHECK_H_
