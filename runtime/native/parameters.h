// Parameters: attributes of a plan's kernel as native code is given them.
#ifndef CGRAPH_RUNTIME_NATIVE_PARAMETERS_H_
#define CGRAPH_RUNTIME_NATIVE_PARAMETERS_H_

#include <bit>
#include <memory>
#include <span>
#include <vector>

#include <cgraph_extern.h>

#include "runtime/plan/plan.h"

namespace cgraph::native {

class Parameters {
 public:
  // Points into the attributes, which outlive this.
  explicit Parameters(std::span<const std::unique_ptr<plan::Attribute>> attributes) {
    reals_.reserve(attributes.size());
    for (const auto& attribute : attributes) {
      cgraph_parameter parameter{attribute->name.c_str(), nullptr, 0, nullptr, nullptr};
      if (!attribute->ints.empty()) {
        parameter.ints = attribute->ints.data();
        parameter.count = static_cast<int64_t>(attribute->ints.size());
      } else if (!attribute->bits.empty()) {
        reals_.push_back(std::bit_cast<double>(attribute->bits[0]));
        parameter.real = &reals_.back();
      } else {
        parameter.text = attribute->text.c_str();
      }
      list_.push_back(parameter);
    }
  }
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  const cgraph_parameter* data() const { return list_.data(); }
  int32_t size() const { return static_cast<int32_t>(list_.size()); }

 private:
  std::vector<double> reals_;
  std::vector<cgraph_parameter> list_;
};

}  // namespace cgraph::native

#endif  // CGRAPH_RUNTIME_NATIVE_PARAMETERS_H_
