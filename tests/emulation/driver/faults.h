// Faults: an access to a device's memory, or to freed memory, that the host's processor stops.
#ifndef CGRAPH_TESTS_EMULATION_DRIVER_FAULTS_H_
#define CGRAPH_TESTS_EMULATION_DRIVER_FAULTS_H_

#include "tests/emulation/driver/machine.h"

namespace cgraph::emulation {

// Makes faults in memory of the machine a misuse with a sentence, once more where a program has set
// a handler of its own since the last call. (Where AddressSanitizer is, it explains them.)
void ExplainFaults(Machine& machine);

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_DRIVER_FAULTS_H_
