/* The actor Normalizer of native.cgraph: subtracts a running mean of all rows that it has seen.
 *
 *   cc -O2 -shared -fPIC -I runtime/include -o libnormalizer.so examples/native/normalizer.c
 */
#include <stdlib.h>

#include <cgraph_extern.h>

CGRAPH_EXTERN_LIBRARY

enum { kWidth = 4 };

typedef struct Normalizer {
  double decay;
  double mean[kWidth];
} Normalizer;

void* Normalizer_create(const cgraph_actor* actor) {
  Normalizer* made = calloc(1, sizeof *made);
  if (made == NULL) return cgraph_fail_create(actor, "no memory");
  made->decay = *actor->parameters[0].real;
  return made;
}

void Normalizer_destroy(void* object) { free(object); }

int32_t normalizer_centre(const cgraph_call* call) {
  Normalizer* normalizer = call->object;
  const DLTensor* x = &call->arguments[0];
  const float* from = cgraph_data(x);
  float* to = cgraph_data(&call->results[0]);
  if (x->shape[1] != kWidth) return cgraph_fail(call, "rows are 4 wide");
  for (int64_t row = 0; row < x->shape[0]; ++row) {
    for (int64_t i = 0; i < kWidth; ++i, ++from, ++to) {
      double* mean = &normalizer->mean[i];
      *mean = normalizer->decay * *mean + (1 - normalizer->decay) * *from;
      *to = (float)(*from - *mean);
    }
  }
  return 0;
}
