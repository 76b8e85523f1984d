#include "runtime/device/cuda/libraries/warnings.h"

#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace cgraph::cuda {
namespace {

struct Warning {
  std::string text;
  bool taken = false;
};
struct Warnings {
  std::mutex mutex;
  std::map<std::string, Warning> of;  // by library
};
Warnings& All() {
  static Warnings warnings;
  return warnings;
}

}  // namespace

void Warn(const char* library, const std::string& what, const Status& why) {
  std::string text = fmt::format("{} {}", library, what);
  const std::string& reason = why.message();
  if (!why.ok()) text += ": " + reason.substr(0, reason.find('\n'));
  std::lock_guard lock(All().mutex);
  All().of.try_emplace(library, Warning{std::move(text)});
}

void WarnUnused(const char* library, const Status& why) {
  if (why.ok() || why.code() == StatusCode::kNotFound) return;
  Warn(library, "is not used", why);
}

std::vector<std::string> TakeWarnings() {
  std::lock_guard lock(All().mutex);
  std::vector<std::string> texts;
  for (auto& [library, warning] : All().of) {
    if (!std::exchange(warning.taken, true)) texts.push_back(warning.text);
  }
  return texts;
}

}  // namespace cgraph::cuda
