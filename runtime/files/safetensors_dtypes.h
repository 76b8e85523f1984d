// The names of dtypes in .safetensors files.
#ifndef CGRAPH_RUNTIME_FILES_SAFETENSORS_DTYPES_H_
#define CGRAPH_RUNTIME_FILES_SAFETENSORS_DTYPES_H_

#include "runtime/plan/plan.h"

namespace cgraph::files {

struct SafetensorsDType {
  const char* code;
  plan::DType dtype;
};
inline constexpr SafetensorsDType kSafetensorsDTypes[] = {
    {"BOOL", plan::DType::bool_}, {"I8", plan::DType::i8},   {"U8", plan::DType::u8},
    {"I32", plan::DType::i32},    {"I64", plan::DType::i64}, {"F16", plan::DType::f16},
    {"BF16", plan::DType::bf16},  {"F32", plan::DType::f32}, {"F64", plan::DType::f64},
};

}  // namespace cgraph::files

#endif  // CGRAPH_RUNTIME_FILES_SAFETENSORS_DTYPES_H_
