// What both halves say alike of methods in native code.
#ifndef CGRAPH_RUNTIME_KINDS_NATIVE_H_
#define CGRAPH_RUNTIME_KINDS_NATIVE_H_

namespace cgraph {

// The state that holds the number of a place's object; no declared name has a space.
inline constexpr char kNativeObjectState[] = "native object";

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_KINDS_NATIVE_H_
