// Print a Program.
#ifndef CGRAPH_COMPILER_PROGRAM_PRINT_H_
#define CGRAPH_COMPILER_PROGRAM_PRINT_H_

#include "compiler/program/program.h"
#include "llvm/Support/raw_ostream.h"

namespace cgraph {

// What `--emit program` shows: the declarations of the named file and the ops that they use.
void Print(const program::Program& program, llvm::raw_ostream& out);

// "f32[n <= B, 64]", for dumps and messages; `signature` names dimension variables and generics.
std::string TypeText(const program::Program& program, const program::Signature& signature,
                     program::TypeId type);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_PROGRAM_PRINT_H_
