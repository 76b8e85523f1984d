// Booleans: a byte each, 0 or 1. Kernels count and compare the bytes, so every border over which
// elements come in from outside checks them: files, inputs, states, results of methods.
#ifndef CGRAPH_RUNTIME_PLAN_BOOLEANS_H_
#define CGRAPH_RUNTIME_PLAN_BOOLEANS_H_

#include <cstdint>
#include <span>

#include "runtime/plan/plan.h"

namespace cgraph::plan {

inline constexpr char kWrongBooleans[] = "booleans that are neither 0 nor 1";

// Returns false where the bytes are of booleans and one is neither 0 nor 1.
bool ValidElements(DType dtype, std::span<const uint8_t> bytes);

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_BOOLEANS_H_
