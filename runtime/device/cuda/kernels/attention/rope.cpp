// rope, by the positions of a list or those from a first one on, and by theta or a table.
#include "runtime/device/cuda/kernels/attention/arguments.h"
#include "runtime/device/cuda/kernels/makers.h"

namespace cgraph::cuda {
namespace {

ExecutableResult MakeOf(const Making& making, bool listed, bool has_table) {
  Rope rope;
  rope.listed = listed;
  rope.adjacent = *device::TextAttribute(making.request, "pairs") == "adjacent";
  rope.inverse = *device::BoolAttribute(making.request, "inverse");
  if (!has_table) rope.theta = *device::FloatAttribute(making.request, "theta");
  Result<CUfunction> function = making.Find("Rope", making.out().dtype);
  if (!function.ok()) return function.status();
  return ExecutableOf([launcher = making.launcher, function = *function, rope,
                       has_table](const Call& call) {
    Rope here = rope;
    here.x = call.inputs[0];
    here.positions = call.inputs[1];
    if (has_table) here.frequencies = static_cast<const double*>(call.inputs[2].data);
    here.out = call.outputs[0].data;
    return launcher.Items(call, function, BoundOfElements(here.x) / 2, here);
  });
}

}  // namespace

ExecutableResult MakeRope(const Making& making) { return MakeOf(making, false, false); }
ExecutableResult MakeRopeBy(const Making& making) { return MakeOf(making, false, true); }
ExecutableResult MakeRopeAt(const Making& making) { return MakeOf(making, true, false); }
ExecutableResult MakeRopeAtBy(const Making& making) { return MakeOf(making, true, true); }

}  // namespace cgraph::cuda
