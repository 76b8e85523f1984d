// The driver's functions of streams and events.
#include <cuda.h>
#include <fmt/format.h>

#include "tests/emulation/driver/capture.h"
#include "tests/emulation/driver/machine.h"
#include "tests/emulation/misuse.h"

using namespace cgraph::emulation;

namespace {

// A word that a stream writes or waits for is in memory that devices reach, and aligned.
CUresult CheckWord(const Machine& machine, CUdeviceptr address) {
  if (address % sizeof(uint64_t) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (machine.memory.Find(reinterpret_cast<const void*>(address)) != nullptr) return CUDA_SUCCESS;
  Misuse(fmt::format("a stream writes to {:#x} or waits for it, which is pageable memory",
                     address));
  return CUDA_ERROR_INVALID_VALUE;
}

// Refuses to ask about a stream that is captured.
CUresult NotCaptured(CUstream stream) {
  if (stream->capture.capture == nullptr) return CUDA_SUCCESS;
  return Invalidate(stream->capture.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

CUresult FindEvent(Machine& machine, CUevent event) {
  return machine.events.Lives(event) ? CUDA_SUCCESS : BadHandle("an event");
}

// Remembers what the driver has refused: what is issued behind it is not in order.
CUresult Ordered(CUstream handle, CUresult result) {
  if (result == CUDA_SUCCESS) return result;
  Machine& machine = TheMachine();
  Lock lock(machine.mutex);
  if (machine.streams.Lives(handle)) handle->refused = true;
  return result;
}

}  // namespace

CUresult cuStreamCreateWithPriority(CUstream* handle, unsigned flags, int) {
  return Serve(calls::k_cuStreamCreateWithPriority, [&](Machine& machine, Lock&) {
    if ((flags & CU_STREAM_NON_BLOCKING) == 0) {
      Misuse("a stream is made that waits for the default stream");
    }
    CUstream stream = machine.streams.Make();
    stream->context = CurrentContext();
    stream->number = static_cast<int>(machine.streams.made());
    machine.scheduler.Add(stream);
    *handle = stream;
    return CUDA_SUCCESS;
  });
}

// Returns at once; the work that was issued goes on.
CUresult cuStreamDestroy(CUstream handle) {
  return Serve(calls::k_cuStreamDestroy, [&](Machine& machine, Lock&) {
    if (!machine.streams.Lives(handle) || handle == handle->context->default_stream) {
      return BadHandle("a stream");
    }
    const CUresult captured = NotCaptured(handle);
    if (captured != CUDA_SUCCESS) return captured;
    machine.streams.Destroy(handle);
    machine.scheduler.Remove(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamQuery(CUstream handle) {
  return Serve(calls::k_cuStreamQuery, [&](Machine& machine, Lock&) {
    CUstream stream;
    const CUresult found = FindStreamOfAny(machine, handle, stream);
    if (found != CUDA_SUCCESS) return found;
    const CUresult captured = NotCaptured(stream);
    if (captured != CUDA_SUCCESS) return captured;
    return Scheduler::Idle(*stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return Serve(calls::k_cuStreamSynchronize, [&](Machine& machine, Lock& lock) {
    CUstream stream;
    const CUresult found = FindStreamOfAny(machine, handle, stream);
    if (found != CUDA_SUCCESS) return found;
    const CUresult captured = NotCaptured(stream);
    if (captured != CUDA_SUCCESS) return captured;
    return WaitForStream(machine, lock, stream);
  });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned) {
  return Serve(calls::k_cuStreamWaitEvent, [&](Machine& machine, Lock&) {
    CUstream stream;
    const CUresult found = FindStreamOfAny(machine, handle, stream);
    if (found != CUDA_SUCCESS) return found;
    const CUresult event_found = FindEvent(machine, event);
    if (event_found != CUDA_SUCCESS) return event_found;
    if (stream->capture.capture != nullptr || event->capture.capture != nullptr) {
      return CaptureWait(stream, event);
    }
    if (event->last == nullptr) {
      Misuse("a stream waits for an event that was never recorded");
      return CUDA_SUCCESS;
    }
    return Issue(machine, stream, {WaitForEvent{event->last}});
  });
}

CUresult cuStreamWriteValue64(CUstream handle, CUdeviceptr address, cuuint64_t value,
                              unsigned flags) {
  return Ordered(
      handle, Serve(calls::k_cuStreamWriteValue64, [&](Machine& machine, Lock&) {
        if ((flags & ~unsigned{CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER}) != 0) {
          return CUDA_ERROR_INVALID_VALUE;
        }
        CUstream stream;
        const CUresult found = FindStream(machine, handle, stream);
        if (found != CUDA_SUCCESS) return found;
        const CUresult checked = CheckWord(machine, address);
        if (checked != CUDA_SUCCESS) return checked;
        return Issue(machine, stream, {WriteValue{reinterpret_cast<uint64_t*>(address), value}});
      }));
}

CUresult cuStreamWaitValue64(CUstream handle, CUdeviceptr address, cuuint64_t value,
                             unsigned flags) {
  return Ordered(
      handle, Serve(calls::k_cuStreamWaitValue64, [&](Machine& machine, Lock&) {
        const unsigned comparison = flags & ~unsigned{CU_STREAM_WAIT_VALUE_FLUSH};
        if (comparison > CU_STREAM_WAIT_VALUE_NOR) return CUDA_ERROR_INVALID_VALUE;
        CUstream stream;
        const CUresult found = FindStream(machine, handle, stream);
        if (found != CUDA_SUCCESS) return found;
        const CUresult checked = CheckWord(machine, address);
        if (checked != CUDA_SUCCESS) return checked;
        return Issue(machine, stream,
                     {WaitForValue{reinterpret_cast<const uint64_t*>(address), value, comparison}});
      }));
}

CUresult cuEventCreate(CUevent* handle, unsigned flags) {
  return Serve(calls::k_cuEventCreate, [&](Machine& machine, Lock&) {
    constexpr unsigned kFlags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
    if ((flags & ~kFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
    CUevent event = machine.events.Make();
    event->context = CurrentContext();
    event->timing = (flags & CU_EVENT_DISABLE_TIMING) == 0;
    *handle = event;
    return CUDA_SUCCESS;
  });
}

// A record that is not done goes on, and so does who waits for it.
CUresult cuEventDestroy(CUevent event) {
  return Serve(calls::k_cuEventDestroy, [&](Machine& machine, Lock&) {
    const CUresult found = FindEvent(machine, event);
    if (found == CUDA_SUCCESS) machine.events.Destroy(event);
    return found;
  });
}

CUresult cuEventRecord(CUevent event, CUstream handle) {
  return Serve(calls::k_cuEventRecord, [&](Machine& machine, Lock&) {
    CUstream stream;
    const CUresult found = FindStream(machine, handle, stream);
    if (found != CUDA_SUCCESS) return found;
    const CUresult event_found = FindEvent(machine, event);
    if (event_found != CUDA_SUCCESS) return event_found;
    if (event->context != stream->context) {
      Misuse(fmt::format("an event of device {} is recorded on a stream of device {}",
                         event->context->device, stream->context->device));
      return CUDA_ERROR_INVALID_HANDLE;
    }
    if (stream->capture.capture != nullptr) {
      if (stream->capture.capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
      CaptureRecord(stream, event);
      return CUDA_SUCCESS;
    }
    event->capture = {};
    event->last = std::make_shared<Completion>();
    return Issue(machine, stream, {RecordEvent{event->last}});
  });
}

CUresult cuEventQuery(CUevent event) {
  return Serve(calls::k_cuEventQuery, [&](Machine& machine, Lock&) {
    const CUresult found = FindEvent(machine, event);
    if (found != CUDA_SUCCESS) return found;
    if (event->capture.capture != nullptr) {
      return Invalidate(event->capture.capture, CUDA_ERROR_CAPTURED_EVENT);
    }
    const bool done = event->last == nullptr || event->last->done;
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuEventSynchronize(CUevent event) {
  return Serve(calls::k_cuEventSynchronize, [&](Machine& machine, Lock& lock) {
    const CUresult found = FindEvent(machine, event);
    if (found != CUDA_SUCCESS) return found;
    if (event->capture.capture != nullptr) {
      return Invalidate(event->capture.capture, CUDA_ERROR_CAPTURED_EVENT);
    }
    const std::shared_ptr<Completion> last = event->last;
    if (last == nullptr) return CUDA_SUCCESS;
    const bool done = machine.scheduler.WaitUntil(lock, [&] { return last->done; });
    return done ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return Serve(calls::k_cuEventElapsedTime, [&](Machine& machine, Lock&) {
    for (CUevent event : {start, end}) {
      const CUresult found = FindEvent(machine, event);
      if (found != CUDA_SUCCESS) return found;
      if (!event->timing || event->last == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    }
    if (!start->last->done || !end->last->done) return CUDA_ERROR_NOT_READY;
    const std::chrono::duration<float, std::milli> elapsed = end->last->when - start->last->when;
    *milliseconds = elapsed.count();
    return CUDA_SUCCESS;
  });
}
