// PlanHandle: a plan as Python holds it: checked, and its bytes as the file has them.
#ifndef CGRAPH_RUNTIME_PYTHON_BINDING_PLAN_HANDLE_H_
#define CGRAPH_RUNTIME_PYTHON_BINDING_PLAN_HANDLE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>

#include "runtime/plan/plan.h"

namespace cgraph::python {

class PlanHandle {
 public:
  PlanHandle(std::unique_ptr<plan::Plan> plan, std::string bytes)
      : plan_(std::move(plan)), bytes_(std::move(bytes)) {}

  const plan::Plan& plan() const { return *plan_; }
  std::span<const uint8_t> Bytes() const {
    return {reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()};
  }

 private:
  std::unique_ptr<plan::Plan> plan_;
  std::string bytes_;
};

void BindPlan(nanobind::module_& module);

}  // namespace cgraph::python

#endif  // CGRAPH_RUNTIME_PYTHON_BINDING_PLAN_HANDLE_H_
