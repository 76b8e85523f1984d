// CUDA's vector types that kernels use for accesses of 8 and 16 bytes, aligned as nvcc aligns them.
#ifndef CGRAPH_TESTS_EMULATION_GRID_VECTORS_H_
#define CGRAPH_TESTS_EMULATION_GRID_VECTORS_H_

#define CGRAPH_VECTOR2(type, element, alignment)                          \
  struct alignas(alignment) type {                                        \
    element x, y;                                                         \
  };                                                                      \
  inline type make_##type(element x, element y) { return {x, y}; }
#define CGRAPH_VECTOR4(type, element, alignment)                          \
  struct alignas(alignment) type {                                        \
    element x, y, z, w;                                                   \
  };                                                                      \
  inline type make_##type(element x, element y, element z, element w) {   \
    return {x, y, z, w};                                                  \
  }

CGRAPH_VECTOR2(uchar2, unsigned char, 2)
CGRAPH_VECTOR2(ushort2, unsigned short, 4)
CGRAPH_VECTOR2(int2, int, 8)
CGRAPH_VECTOR2(uint2, unsigned, 8)
CGRAPH_VECTOR2(float2, float, 8)
CGRAPH_VECTOR2(longlong2, long long, 16)
CGRAPH_VECTOR2(ulonglong2, unsigned long long, 16)
CGRAPH_VECTOR2(double2, double, 16)
CGRAPH_VECTOR4(uchar4, unsigned char, 4)
CGRAPH_VECTOR4(ushort4, unsigned short, 8)
CGRAPH_VECTOR4(int4, int, 16)
CGRAPH_VECTOR4(uint4, unsigned, 16)
CGRAPH_VECTOR4(float4, float, 16)

#undef CGRAPH_VECTOR2
#undef CGRAPH_VECTOR4

#endif  // CGRAPH_TESTS_EMULATION_GRID_VECTORS_H_
