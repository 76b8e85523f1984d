// Executable: a kernel of the plan as a device prepared it at load; launched on a queue of that
// device.
#ifndef CGRAPH_RUNTIME_DEVICE_EXECUTABLE_H_
#define CGRAPH_RUNTIME_DEVICE_EXECUTABLE_H_

namespace cgraph::device {

class Executable {
 public:
  virtual ~Executable() = default;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_EXECUTABLE_H_
