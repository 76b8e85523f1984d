#include "runtime/python/binding/tensors/borrow.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>

#include "runtime/python/binding/errors.h"

namespace nb = nanobind;

namespace cgraph::python {
namespace {

using Ports = std::span<const InputPort>;

// Child: a part and the ports below it.
struct Child {
  PathStep step;
  Ports ports;
};

// Returns the parts at a depth, each once; the ports of one lie beside each other.
std::vector<Child> ChildrenOf(Ports ports, size_t depth) {
  std::vector<Child> children;
  for (size_t first = 0, end = 0; first < ports.size(); first = end) {
    const PathStep& step = ports[first].way[depth];
    while (end < ports.size() && ports[end].way[depth] == step) ++end;
    children.push_back({step, ports.subspan(first, end - first)});
  }
  return children;
}

std::string TypeName(nb::handle value) {
  const char* name = Py_TYPE(value.ptr())->tp_name;
  return fmt::format("{} {}", std::strchr("aeiou", name[0]) != nullptr ? "an" : "a", name);
}

// The number of elements; -1 of what has none.
Py_ssize_t LengthOf(nb::handle value) {
  if (PySequence_Check(value.ptr()) == 0) return -1;
  const Py_ssize_t length = PyObject_Size(value.ptr());
  if (length < 0) PyErr_Clear();  // an array without dimensions
  return length;
}

class PartFinder {
 public:
  explicit PartFinder(const std::string& graph) : graph_(graph) {}

  // `path`: what the value is called, "pair.xs".
  void Find(nb::handle value, Ports ports, size_t depth, const std::string& path) {
    if (ports[0].way.size() == depth) {
      found.push_back(nb::borrow(value));
      return;
    }
    const std::vector<Child> children = ChildrenOf(ports, depth);
    const bool named = std::holds_alternative<std::string>(children[0].step);
    const bool in_order =
        !named || ((PyTuple_Check(value.ptr()) != 0 || PyList_Check(value.ptr()) != 0) &&
                   !nb::hasattr(value, "_fields"));
    if (in_order) CheckLength(value, children, path);
    else CheckNames(value, children, path);
    for (size_t i = 0; i < children.size(); ++i) {
      const Child& child = children[i];
      const nb::object part = in_order ? At(value, static_cast<Py_ssize_t>(i))
                                       : Named(value, child, depth, path);
      Find(part, child.ports, depth + 1, NameOf(child, path));
    }
  }

  std::vector<nb::object> found;  // by port

 private:
  static std::string NameOf(const Child& child, const std::string& path) {
    if (const auto* name = std::get_if<std::string>(&child.step)) return path + "." + *name;
    const Py_ssize_t index = std::get<Py_ssize_t>(child.step);
    return IsList(child, path) ? fmt::format("{}[{}]", path, index)
                               : fmt::format("{}.{}", path, index);
  }
  static bool IsList(const Child& child, const std::string& path) {
    return child.ports[0].name[path.size()] == '[';
  }
  static nb::object At(nb::handle value, Py_ssize_t index) {
    PyObject* item = PySequence_GetItem(value.ptr(), index);
    if (item == nullptr) throw nb::python_error();
    return nb::steal(item);
  }

  void CheckLength(nb::handle value, const std::vector<Child>& children,
                   const std::string& path) const {
    const Py_ssize_t length = LengthOf(value);
    if (length == static_cast<Py_ssize_t>(children.size())) return;
    Raise("InputError",
          fmt::format("`{}`: `{}` is a {} of {}, and was given {}", graph_, path,
                      IsList(children[0], path) ? "list" : "tuple", children.size(),
                      length < 0 ? TypeName(value) : fmt::format("{}", length)));
  }

  // Raises where a value has names that are no part's.
  void CheckNames(nb::handle value, const std::vector<Child>& children,
                  const std::string& path) const {
    const bool is_dict = PyDict_Check(value.ptr()) != 0;
    const nb::object keys =
        is_dict ? nb::borrow(value) : nb::getattr(value, "_fields", nb::make_tuple());
    std::vector<std::string> names;
    for (const Child& child : children) names.push_back(std::get<std::string>(child.step));
    for (nb::handle key : keys) {
      const std::string name = nb::cast<std::string>(nb::str(key));
      if (std::count(names.begin(), names.end(), name) > 0) continue;
      Raise("InputError", fmt::format("`{}`: `{}` has no part `{}`; its parts: {}", graph_, path,
                                      name, fmt::join(names, ", ")));
    }
  }

  nb::object Named(nb::handle value, const Child& child, size_t depth,
                   const std::string& path) const {
    const std::string& name = std::get<std::string>(child.step);
    const bool is_dict = PyDict_Check(value.ptr()) != 0;
    PyObject* part = is_dict ? Py_XNewRef(PyDict_GetItemString(value.ptr(), name.c_str()))
                             : PyObject_GetAttrString(value.ptr(), name.c_str());
    if (part != nullptr) return nb::steal(part);
    PyErr_Clear();
    const InputPort& port = child.ports[0];
    const bool is_leaf = port.way.size() == depth + 1;
    Raise("InputError",
          fmt::format("`{}` takes `{}`{}, and `{}` was given {} without `{}`", graph_,
                      NameOf(child, path), is_leaf ? " as " + port.type : "", path,
                      TypeName(value), name));
  }

  const std::string& graph_;
};

}  // namespace

std::vector<nb::object> PartsOf(nb::handle argument, std::span<const InputPort> ports,
                                const std::string& graph) {
  PartFinder finder(graph);
  finder.Find(argument, ports, 0, nb::cast<std::string>(ports[0].argument));
  return std::move(finder.found);
}

}  // namespace cgraph::python
