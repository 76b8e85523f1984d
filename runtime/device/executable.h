// Executable: a kernel or an upload as a device prepared it at load, to be launched on its queues.
#ifndef CGRAPH_RUNTIME_DEVICE_EXECUTABLE_H_
#define CGRAPH_RUNTIME_DEVICE_EXECUTABLE_H_

namespace cgraph::device {

class Executable {
 public:
  virtual ~Executable() = default;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_EXECUTABLE_H_
