#include "runtime/python/binding/module.h"

#include <cstdint>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "runtime/base/files.h"
#include "runtime/base/output_files.h"
#include "runtime/python/binding/errors.h"
#include "runtime/python/binding/without_gil.h"

namespace nb = nanobind;

namespace cgraph::python {
namespace {

// Raises cgraph.Error where the file cannot be written. Bytes of a path need not be UTF-8.
void WriteFile(const nb::bytes& path_bytes, const nb::bytes& data) {
  const std::string path(path_bytes.c_str(), path_bytes.size());
  if (path.find('\0') != std::string::npos) {
    RaiseBuiltin(PyExc_ValueError, "embedded null byte in a path");
  }
  const OutputFiles::Bytes bytes{reinterpret_cast<const uint8_t*>(data.c_str()), data.size()};
  const Status status = [&] {
    const WithoutGil unlocked;
    OutputFiles files;
    const Status added = files.Add(path, {bytes});
    return added.ok() ? files.Commit() : added;
  }();
  if (!status.ok()) Raise("Error", status.message());
}

}  // namespace

void BindFiles(nb::module_& module) {
  module.def("write_file", &WriteFile);
  // " (did you mean `x.cgplan`?)", or nothing.
  module.def("near_plan_hint", [](const std::string& path) {
    return NearFileHint(path, {".cgplan"});
  });
}

}  // namespace cgraph::python
