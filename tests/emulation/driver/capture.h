// Captures: how calls on streams become graphs, and what is prohibited meanwhile.
#ifndef CGRAPH_TESTS_EMULATION_DRIVER_CAPTURE_H_
#define CGRAPH_TESTS_EMULATION_DRIVER_CAPTURE_H_

#include "tests/emulation/driver/machine.h"

namespace cgraph::emulation {

// Returns whether the calling thread may make calls that are unsafe during captures; where it may
// not, the captures that prohibit it are made invalid.
bool UnsafeCallAllowed(Machine& machine);
// Makes a capture invalid and returns `error`.
CUresult Invalidate(const std::shared_ptr<Capture>& capture, CUresult error);

CUresult BeginCapture(Machine& machine, CUstream stream, CUstreamCaptureMode mode);
// Ends the capture whatever happens, unless the stream is not its origin or the thread not its own.
CUresult EndCapture(Machine& machine, CUstream stream, CUgraph& graph);
// Makes a node of work on a captured stream.
CUresult CaptureWork(CUstream stream, Work work);
void CaptureRecord(CUstream stream, CUevent event);
// The stream or the event is of a capture. The stream joins the event's.
CUresult CaptureWait(CUstream stream, CUevent event);

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_DRIVER_CAPTURE_H_
