// Our declarations of NVRTC against its own header, where that is installed, as CMake finds out.
// Compiling this file is the test.
#include <nvrtc.h>

#include <type_traits>

#include "runtime/device/cuda/libraries/nvrtc.h"

namespace cgraph::cuda {

static_assert(rtc::kInvalidOption == NVRTC_ERROR_INVALID_OPTION);
static_assert(rtc::kCompilation == NVRTC_ERROR_COMPILATION);
static_assert(NVRTC_SUCCESS == 0 && sizeof(RtcProgram) == sizeof(nvrtcProgram));

// Whether a function of ours takes what theirs takes, where ours stands for their handle.
template <typename T>
struct Theirs { using Type = T; };
template <>
struct Theirs<RtcProgram> { using Type = nvrtcProgram; };
template <>
struct Theirs<RtcProgram*> { using Type = nvrtcProgram*; };
template <typename Ours, typename Other>
struct Alike : std::false_type {};
template <typename... Ours, typename... Others>
struct Alike<int (*)(Ours...), nvrtcResult (*)(Others...)>
    : std::is_same<void(typename Theirs<Ours>::Type...), void(Others...)> {};
#define FUNCTION(name, parameters) \
  static_assert(Alike<decltype(Nvrtc::name), decltype(&::name)>::value);
#include "runtime/device/cuda/libraries/nvrtc.def"
#undef FUNCTION

}  // namespace cgraph::cuda
