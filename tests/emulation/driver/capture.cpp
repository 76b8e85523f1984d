#include "tests/emulation/driver/capture.h"

#include <algorithm>

namespace cgraph::emulation {

CUresult Invalidate(const std::shared_ptr<Capture>& capture, CUresult error) {
  capture->invalid = true;
  return error;
}

// A capture prohibits unsafe calls to its own thread unless it is relaxed, and to all threads when
// its mode is global.
bool UnsafeCallAllowed(Machine& machine) {
  bool allowed = true;
  for (const auto& capture : machine.captures) {
    const bool own = capture->thread == std::this_thread::get_id();
    if (capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
        (own && capture->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)) {
      capture->invalid = true;
      allowed = false;
    }
  }
  return allowed;
}

CUresult BeginCapture(Machine& machine, CUstream stream, CUstreamCaptureMode mode) {
  if (stream == stream->context->default_stream) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture.capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream;
  capture->streams.insert(stream);
  machine.captures.insert(capture);
  stream->capture = {std::move(capture), {}};
  return CUDA_SUCCESS;
}

namespace {

// Returns whether the stream's next work would come after every node of the capture.
bool Joined(const CapturePoint& point) {
  const GraphNodes& nodes = point.capture->nodes;
  std::vector<bool> behind(nodes.size());
  for (size_t i = nodes.size(); i-- > 0;) {
    if (!behind[i] && point.nodes.count(i) == 0) return false;
    for (const size_t dependency : nodes[i].dependencies) behind[dependency] = true;
  }
  return true;
}

}  // namespace

CUresult EndCapture(Machine& machine, CUstream stream, CUgraph& graph) {
  graph = nullptr;
  const CapturePoint point = stream->capture;
  const auto& capture = point.capture;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream) {
    return Invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  }
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture->thread != std::this_thread::get_id()) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  for (CUstream member : capture->streams) member->capture = {};
  machine.captures.erase(capture);
  if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!Joined(point)) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  graph = machine.graphs.Make();
  graph->nodes = std::move(capture->nodes);
  return CUDA_SUCCESS;
}

CUresult CaptureWork(CUstream stream, Work work) {
  Capture& capture = *stream->capture.capture;
  if (capture.invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  auto& frontier = stream->capture.nodes;
  capture.nodes.push_back({std::move(work), {frontier.begin(), frontier.end()}});
  frontier = {capture.nodes.size() - 1};
  return CUDA_SUCCESS;
}

void CaptureRecord(CUstream stream, CUevent event) {
  event->last = nullptr;
  event->capture = stream->capture;
}

CUresult CaptureWait(CUstream stream, CUevent event) {
  const auto& of_event = event->capture.capture;
  const auto& of_stream = stream->capture.capture;
  if (of_event == nullptr) return Invalidate(of_stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  const bool ended = of_event->origin->capture.capture != of_event;
  if (ended) {
    if (of_stream != nullptr) Invalidate(of_stream, CUDA_SUCCESS);
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  if (of_event->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (of_stream != nullptr && of_stream != of_event) {
    Invalidate(of_event, CUDA_SUCCESS);
    return Invalidate(of_stream, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  if (stream == stream->context->default_stream) {
    return Invalidate(of_event, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  }
  if (of_stream == nullptr) {
    stream->capture.capture = of_event;
    of_event->streams.insert(stream);
  }
  stream->capture.nodes.insert(event->capture.nodes.begin(), event->capture.nodes.end());
  return CUDA_SUCCESS;
}

}  // namespace cgraph::emulation
