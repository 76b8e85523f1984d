// The plans whose mutants are tried: the samples, and plans and programs named on the command line.
#ifndef CGRAPH_TESTS_MUTANTS_ORIGINALS_H_
#define CGRAPH_TESTS_MUTANTS_ORIGINALS_H_

#include <string>
#include <vector>

#include "tests/mutants/trial.h"

namespace cgraph::mutants {

// One for each graph, the start graphs included, of each plan. A file that cannot be read or
// compiled ends the program.
std::vector<Original> FindOriginals(const std::vector<std::string>& files);

}  // namespace cgraph::mutants

#endif  // CGRAPH_TESTS_MUTANTS_ORIGINALS_H_
