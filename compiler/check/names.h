// Which symbol a name means in a file.
//
// A file's own declarations come first; then the names of the files that it imports without an
// alias. A name that two imported files declare has to be qualified: `nn.relu`.
#ifndef CGRAPH_COMPILER_CHECK_NAMES_H_
#define CGRAPH_COMPILER_CHECK_NAMES_H_

#include <string>
#include <vector>

#include "compiler/check/checker.h"

namespace cgraph::check {

struct Found {
  const Symbol* symbol = nullptr;
  bool reported = false;  // an ambiguity: nothing more is to be said
};

Found FindName(Checker& checker, const Module& module, const std::string& name, Range at);
Found FindQualified(Checker& checker, const Module& module, const std::string& qualifier,
                    const std::string& name, Range at);
// `one_f_one_b`, or with a qualifier `pipelines.one_f_one_b`.
Found FindPath(Checker& checker, const Module& module, const std::vector<syntax::Name>& path);
// Whether the name means anything by itself, ambiguous or not.
bool HasName(const Module& module, const std::string& name);
bool IsQualifier(const Module& module, const std::string& name);
// What a message calls the file behind a qualifier: "`weights`", or "`q4_1`, which -D weights=q4_1
// names,".
std::string ShownModule(const Module& module, const std::string& qualifier);

// Candidates for "did you mean".
std::vector<std::string> VisibleNames(const Module& module);
std::vector<std::string> QualifiedNames(const Module& module, const std::string& qualifier);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_NAMES_H_
