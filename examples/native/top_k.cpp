// The method of Chooser in native.cgraph: the k largest of each row, the largest first; of equal
// ones the first. It needs no object, so there is no Chooser_create.
//
//   c++ -O2 -shared -fPIC -I runtime/include -o libtop_k.so examples/native/top_k.cpp
#include <algorithm>
#include <numeric>
#include <vector>

#include <cgraph_extern.h>

CGRAPH_EXTERN_LIBRARY

extern "C" int32_t top_k(const cgraph_call* call) {
  const DLTensor& scores = call->arguments[0];
  const int64_t k = call->parameters[0].ints[0];
  const int64_t width = scores.shape[1];
  if (k > width) return cgraph_fail(call, "k is more than a row has");
  const float* row = static_cast<const float*>(cgraph_data(&scores));
  float* values = static_cast<float*>(cgraph_data(&call->results[0]));
  int64_t* indices = static_cast<int64_t*>(cgraph_data(&call->results[1]));
  std::vector<int64_t> order(width);  // an exception would be the error of this call
  for (int64_t r = 0; r < scores.shape[0]; ++r, row += width, values += k, indices += k) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return row[a] > row[b]; });
    for (int64_t i = 0; i < k; ++i) {
      indices[i] = order[i];
      values[i] = row[order[i]];
    }
  }
  return 0;
}
