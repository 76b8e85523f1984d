// The original plans, which are tried themselves and mutated: the samples, plans and programs named
// on the command line, small plans at random, and plans that the compiler makes of random graphs.
#ifndef CGRAPH_TESTS_MUTANTS_ORIGINALS_H_
#define CGRAPH_TESTS_MUTANTS_ORIGINALS_H_

#include <string>
#include <vector>

#include "tests/mutants/trial.h"

namespace cgraph::mutants {

// Returns one for each graph, the start graphs included, of each plan. A file that cannot be read
// or compiled ends the program.
std::vector<Original> FindOriginals(const std::vector<std::string>& files);

// Returns a plan that nobody has seen before. It may be wrong, unless the compiler made it.
Original RandomOriginal(Random& random);

}  // namespace cgraph::mutants

#endif  // CGRAPH_TESTS_MUTANTS_ORIGINALS_H_
