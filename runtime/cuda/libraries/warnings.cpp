#include "runtime/cuda/libraries/complaints.h"

#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace cgraph::cuda {
namespace {

struct Complaint {
  std::string text;
  bool taken = false;
};
struct Complaints {
  std::mutex mutex;
  std::map<std::string, Complaint> of;  // by library
};
Complaints& All() {
  static Complaints complaints;
  return complaints;
}

}  // namespace

void Complain(const char* library, const std::string& what, const Status& why) {
  std::string text = fmt::format("{} {}", library, what);
  const std::string& reason = why.message();
  if (!why.ok()) text += ": " + reason.substr(0, reason.find('\n'));
  std::lock_guard lock(All().mutex);
  All().of.try_emplace(library, Complaint{std::move(text)});
}

void ComplainUnused(const char* library, const Status& why) {
  if (why.ok() || why.code() == StatusCode::kNotFound) return;
  Complain(library, "is not used", why);
}

std::vector<std::string> TakeComplaints() {
  std::lock_guard lock(All().mutex);
  std::vector<std::string> texts;
  for (auto& [library, complaint] : All().of) {
    if (!std::exchange(complaint.taken, true)) texts.push_back(complaint.text);
  }
  return texts;
}

}  // namespace cgraph::cuda
