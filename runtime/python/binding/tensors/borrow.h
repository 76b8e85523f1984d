// Borrowing inputs: a Python object that holds a tensor, as an Input of the engine whose data lies
// where it lay. By the buffer protocol where the object has it (NumPy's arrays do), else by DLPack,
// from this machine's memory or from that of a GPU on which the engine runs.
#ifndef CGRAPH_RUNTIME_PYTHON_BINDING_TENSORS_BORROW_H_
#define CGRAPH_RUNTIME_PYTHON_BINDING_TENSORS_BORROW_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/nanobind.h>

#include "runtime/engine/engine.h"
#include "runtime/plan/check.h"
#include "runtime/python/binding/tensors/dlpack.h"

namespace cgraph::python {

// The steps to a tensor in the value that a port is a part of: "pair.xs[0]" is "pair", "xs", 0.
using PathStep = std::variant<std::string, Py_ssize_t>;
std::vector<PathStep> PathOf(const std::string& port);

// InputPort: a leaf of an input, "pair.x" or "xs[0]": the argument `pair` or `xs`, and the way from
// it to the tensor.
struct InputPort {
  std::string name;
  std::string type;  // "f32[n <= 64, 10]"
  plan::DType dtype = plan::DType::f32;
  uint8_t rank = 0;
  nanobind::object argument;  // its name, interned
  std::vector<PathStep> way;
};
// Reads argument and way from the port's name.
void FindWay(InputPort& port);

// Borrowed: a tensor of the caller's. Made and destroyed with the GIL held.
class Borrowed {
 public:
  Borrowed() = default;
  Borrowed(Borrowed&& other) noexcept { *this = std::move(other); }
  Borrowed& operator=(Borrowed&& other) noexcept;
  ~Borrowed() { Release(); }

  // Raises where the object holds no tensor of the port's dtype that can be read as it lies. The
  // extents are the engine's to check. `graph`: for messages. `engine`: whose stream waits for what
  // makes a tensor on a GPU; null: there may be none.
  void Take(nanobind::handle object, const InputPort& port, const std::string& graph,
            const Engine* engine);
  Input AsInput(const InputPort& port) const;
  int64_t Elements() const;
  void Release();

 private:
  enum class Kind : uint8_t { kNone, kBuffer, kPlain, kVersioned, kNumber };
  static constexpr int32_t kHost = -1;
  void TakeBuffer(const InputPort& port, const std::string& graph);
  void TakeCapsule(nanobind::handle object, const InputPort& port, const std::string& graph,
                   const Engine* engine);
  void TakeTensor(const DLTensor& tensor, const InputPort& port, const std::string& graph);
  bool TakeNumber(nanobind::handle object, const InputPort& port);

  Kind kind_ = Kind::kNone;
  uint8_t rank_ = 0;
  int32_t gpu_ = kHost;         // in whose memory it lies
  const void* data_ = nullptr;  // null: number_
  int64_t dims_[kMaxRank] = {};
  union {
    Py_buffer buffer_;
    DLManagedTensor* plain_;
    VersionedTensor* versioned_;
    int64_t number_;  // the bytes of a scalar
  };
};

// BorrowedInputs: all inputs of one execution, in the order of the ports.
class BorrowedInputs {
 public:
  BorrowedInputs() = default;
  // Raises where an argument is missing, unknown or unfit. `args`: in the order of the arguments;
  // `kwargs` may be null.
  BorrowedInputs(const std::vector<InputPort>& ports, nanobind::handle args,
                 nanobind::handle kwargs, const std::string& graph, const Engine& engine);

  std::vector<Input> AsInputs(const std::vector<InputPort>& ports) const;
  int64_t Elements() const;  // of all of them

 private:
  std::vector<Borrowed> tensors_;
};

// Returns for each of these ports, which are all that one argument has, the object inside the
// argument. A list is whatever has as many elements; a tuple with names is a dict of these names,
// an object with these attributes, or as many elements in order. Raises InputError where one is
// absent, or where there are more, which nothing would read.
std::vector<nanobind::object> PartsOf(nanobind::handle argument, std::span<const InputPort> ports,
                                      const std::string& graph);

}  // namespace cgraph::python

#endif  // CGRAPH_RUNTIME_PYTHON_BINDING_TENSORS_BORROW_H_
