/* A library that is made for a version of cgraph_extern.h that never was. */
#include <stdint.h>

int32_t cgraph_extern_version(void);
int32_t trial_act(const void* call);

int32_t cgraph_extern_version(void) { return 999; }
int32_t trial_act(const void* call) { return call != 0; }
