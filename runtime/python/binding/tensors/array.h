// Array: one result of an execution, given to Python without a copy, or the copy of a state. It
// keeps its memory alive, whatever becomes of the engine, and so does everything that is made from
// it: by the buffer protocol (NumPy, memoryview) and by DLPack (PyTorch, JAX). A result may lie in
// memory of a GPU; then there is DLPack alone.
#ifndef CGRAPH_RUNTIME_PYTHON_BINDING_TENSORS_ARRAY_H_
#define CGRAPH_RUNTIME_PYTHON_BINDING_TENSORS_ARRAY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nanobind/nanobind.h>

#include "runtime/engine/engine.h"
#include "runtime/plan/check.h"
#include "runtime/python/binding/forks.h"

namespace cgraph::python {

// CopiedTensor: a tensor in memory of its own.
struct CopiedTensor {
  std::vector<uint8_t> bytes;
  device::Tensor tensor;  // of these bytes
};

class Array {
 public:
  // What keeps a tensor's memory: the results of its execution, or the tensor itself.
  using Owner = std::variant<OfThisProcess<Outputs>, std::shared_ptr<CopiedTensor>>;

  Array(const Outputs& outputs, size_t index);
  explicit Array(std::shared_ptr<CopiedTensor> copied);

  const device::Tensor& tensor() const { return *tensor_; }
  nanobind::tuple Shape() const;
  std::optional<uint32_t> gpu() const { return gpu_; }
  std::string Device() const;  // "cpu", "cuda:0"
  nanobind::tuple DLPackDevice() const;
  // Returns this array, where it lies in this machine's memory; else a copy there.
  Array OnHost() const;
  // `max_version`: None, or the pair that says which form of capsule is wanted. `stream`: on which
  // what lies on a GPU is used. `dl_device`: where it lies, or this machine's memory.
  nanobind::object DLPack(nanobind::handle stream, nanobind::handle max_version,
                          nanobind::handle dl_device, nanobind::handle copy) const;
  // Fills a view, or sets an error and returns -1.
  int GetBuffer(PyObject* self, Py_buffer* view, int flags);

 private:
  void SetShape();

  Owner owner_;
  const device::Tensor* tensor_;
  size_t index_ = 0;             // of outputs
  std::optional<uint32_t> gpu_;  // in whose memory it lies
  Py_ssize_t shape_[kMaxRank] = {};
  Py_ssize_t strides_[kMaxRank] = {};  // in bytes
};

void BindArray(nanobind::module_& module);

}  // namespace cgraph::python

#endif  // CGRAPH_RUNTIME_PYTHON_BINDING_TENSORS_ARRAY_H_
