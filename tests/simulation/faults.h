// Faults: what is left out or done wrong on purpose, to see that trials of the seeds that are tried
// every time find it.
#ifndef CGRAPH_TESTS_SIMULATION_FAULTS_H_
#define CGRAPH_TESTS_SIMULATION_FAULTS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "tests/simulation/trial.h"

namespace cgraph::simulation {

// Returns the fault with a number, from 1, in the order in which FindFaults() tries them; 0: none.
Fault FaultNumber(uint64_t number);

// Tries each fault with seeds from `first` on, at most `seeds` of them; prints with which one it
// was found. Returns whether all were. `try_seed` returns what is wrong.
bool FindFaults(uint64_t first, uint64_t seeds,
                const std::function<std::string(const TrialOptions&)>& try_seed);

}  // namespace cgraph::simulation

#endif  // CGRAPH_TESTS_SIMULATION_FAULTS_H_
