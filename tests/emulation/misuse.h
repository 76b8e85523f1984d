// Misuse: what a program does that no real GPU would answer for. The emulation says it in a
// sentence on stderr and, unless it is told to count, aborts.
#ifndef CGRAPH_TESTS_EMULATION_MISUSE_H_
#define CGRAPH_TESTS_EMULATION_MISUSE_H_

#include <cstdint>
#include <string>

namespace cgraph::emulation {

// Reports a misuse. Returns where misuse is counted; what was asked for is then done as well as it
// can be.
void Misuse(const std::string& sentence);
// Reports a misuse that nothing can follow, and aborts.
[[noreturn]] void FatalMisuse(const std::string& sentence);

// Whether misuse is counted rather than ends the process, from here on.
void CountMisuse(bool count);
uint64_t MisuseCount();
// Returns the sentence of the last misuse that was counted; empty when there is none.
std::string LastMisuse();
void ForgetMisuse();

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_MISUSE_H_
