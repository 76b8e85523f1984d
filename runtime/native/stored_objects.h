// Objects of places as bytes: how libraries save and restore them, between executions.
#ifndef CGRAPH_RUNTIME_NATIVE_STORED_OBJECTS_H_
#define CGRAPH_RUNTIME_NATIVE_STORED_OBJECTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/native/objects.h"

namespace cgraph::native {

// Storing: whether an object can be saved.
enum class Storing : uint32_t {
  kNothing,     // it keeps nothing: the library makes no object, or one without a state
  kImpossible,  // it cannot be saved
  kPossible,
};

struct StoredObject {
  Storing storing = Storing::kNothing;
  std::string why_not;         // kImpossible: as "libmine.so does not export `Layer_save`"
  std::vector<uint8_t> bytes;  // kPossible, if they were asked for
};

// Asks whether an object can be saved. kFailed, with what the library says, where asking fails.
Result<StoredObject> LookAtObject(const Object& object);
// Returns what the object keeps. kFailed, with what the library says.
Result<StoredObject> SaveObject(const Object& object);
// Puts an object that can be saved into the state that was saved. kFailed, with what the library
// says; the object may be half done then.
Status RestoreObject(const Object& object, std::span<const uint8_t> bytes);

}  // namespace cgraph::native

#endif  // CGRAPH_RUNTIME_NATIVE_STORED_OBJECTS_H_
