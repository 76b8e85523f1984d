// The emulated driver, as an emulated library reaches it: it is the libcuda.so.1 that the program
// has opened.
#ifndef CGRAPH_TESTS_EMULATION_CUBLASLT_DRIVER_H_
#define CGRAPH_TESTS_EMULATION_CUBLASLT_DRIVER_H_

#include "tests/emulation/control.h"

namespace cgraph::emulation {

// Null where the program's driver is not the emulated one.
const Control* TheControl();
// Returns the context that is current in the calling thread; null where there is none.
CUcontext TheCurrentContext();

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_CUBLASLT_DRIVER_H_
