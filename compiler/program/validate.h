// Validate a Program.
#ifndef CGRAPH_COMPILER_PROGRAM_VALIDATE_H_
#define CGRAPH_COMPILER_PROGRAM_VALIDATE_H_

#include "compiler/program/program.h"

namespace cgraph {

// CHECKs what Check promises: every id in range and of its own body, every call's target there.
void Validate(const program::Program& program);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_PROGRAM_VALIDATE_H_
