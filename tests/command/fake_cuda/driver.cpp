// A libcuda.so.1 that has no more than a version, which FAKE_DRIVER says: 13000 is CUDA 13.0.
// Without FAKE_DRIVER it does not know one.
#include <cstdlib>

extern "C" int cuDriverGetVersion(int* version) {
  const char* text = std::getenv("FAKE_DRIVER");
  if (text == nullptr) return 1;
  *version = std::atoi(text);
  return 0;
}
