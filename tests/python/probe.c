/* Methods that say where their arguments lie, and that fail. */
#include <cgraph_extern.h>

CGRAPH_EXTERN_LIBRARY

int32_t probe_address(const cgraph_call* call) {
  *(int64_t*)cgraph_data(&call->results[0]) = (int64_t)cgraph_data(&call->arguments[0]);
  return 0;
}

/* The first element, and where the tensor lies; fails where it is negative. */
int32_t probe_first(const cgraph_call* call) {
  const float first = *(const float*)cgraph_data(&call->arguments[0]);
  if (first < 0) return cgraph_fail(call, "the first element is negative, as asked");
  *(float*)cgraph_data(&call->results[0]) = first;
  return 0;
}
