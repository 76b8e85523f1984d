#include "runtime/native/stored_objects.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "runtime/native/guarded.h"
#include "runtime/native/library.h"

namespace cgraph::native {
namespace {

void Append(void* to, const void* data, uint64_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  auto& all = *static_cast<std::vector<uint8_t>*>(to);
  all.insert(all.end(), bytes, bytes + size);
}

// "`Layer_save` of libmine.so"; of an interpreter's objects "the object's save in python".
std::string CodeOf(const Object& object, const char* what) {
  return object.library->is_interpreter()
             ? fmt::format("the {} of its object in {}", what, object.library->path())
             : fmt::format("`{}_{}` of {}", object.actor, what, object.library->path());
}

// The status of a call that has failed.
Status Failed(const Object& object, const std::string& code, int32_t returned, std::string error) {
  if (error.empty()) error = fmt::format("it returned {}", returned);
  return Status(StatusCode::kFailed, fmt::format("{}: {}: {}", object.place, code, error));
}

Status MakeDeviceCurrent(const Object& object) {
  if (!object.make_current || object.make_current()) return Status::Ok();
  return Status(StatusCode::kFailed,
                fmt::format("{}: its GPU cannot be used any more", object.place));
}

Result<StoredObject> Save(const Object& object, bool asks_only) {
  StoredObject stored;
  if (object.made == nullptr) return stored;
  cgraph_save* save = object.library->FindSave(object.actor);
  if (save == nullptr) {
    stored.storing = Storing::kImpossible;
    stored.why_not = fmt::format("{} does not export `{}_save` and `{}_restore`",
                                 object.library->path(), object.actor, object.actor);
    return stored;
  }
  CGRAPH_RETURN_IF_ERROR(MakeDeviceCurrent(object));
  stored.storing = Storing::kPossible;
  if (asks_only && !object.library->is_interpreter()) return stored;
  std::string error;
  const cgraph_saving saving{object.place.c_str(),
                             object.actor.c_str(),
                             asks_only ? nullptr : Append,
                             &stored.bytes,
                             SetText,
                             &error};
  const std::string code = CodeOf(object, "save");
  int32_t returned = 0;
  const bool failed = Fails(object.place, code, 1, error, [&] {
    returned = save(object.made, &saving);
    return returned != 0;
  });
  if (failed && returned == CGRAPH_NOT_SAVED) {
    stored.storing = error.empty() ? Storing::kNothing : Storing::kImpossible;
    stored.why_not = std::move(error);
    stored.bytes.clear();
    return stored;
  }
  if (failed || !error.empty()) return Failed(object, code, returned, std::move(error));
  return stored;
}

}  // namespace

Result<StoredObject> LookAtObject(const Object& object) { return Save(object, true); }
Result<StoredObject> SaveObject(const Object& object) { return Save(object, false); }

Status RestoreObject(const Object& object, std::span<const uint8_t> bytes) {
  CGRAPH_RETURN_IF_ERROR(MakeDeviceCurrent(object));
  cgraph_restore* restore = object.library->FindRestore(object.actor);
  // The library gets a copy of its own, so that checkers of the heap find a read beyond the end.
  const size_t words = bytes.size() / sizeof(std::max_align_t) + 1;
  const auto copy = std::make_unique<std::max_align_t[]>(words);
  if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
  std::string error;
  const cgraph_restoring restoring{
      object.place.c_str(), object.actor.c_str(), copy.get(), bytes.size(), SetText, &error};
  const std::string code = CodeOf(object, "restore");
  int32_t returned = 0;
  const bool failed = Fails(object.place, code, 1, error, [&] {
    returned = restore(object.made, &restoring);
    return returned != 0;
  });
  if (failed || !error.empty()) return Failed(object, code, returned, std::move(error));
  return Status::Ok();
}

}  // namespace cgraph::native
