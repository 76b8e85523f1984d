#include "tests/emulation/misuse.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace cgraph::emulation {
namespace {

struct Reports {
  std::mutex mutex;
  bool counting = false;
  uint64_t count = 0;
  std::string last;
};

// Outlives every other object: threads of the emulation report until the process ends.
Reports& TheReports() {
  static Reports* const reports = new Reports;
  return *reports;
}

void Print(const std::string& sentence) {
  std::fprintf(stderr, "emulated GPU: misuse: %s\n", sentence.c_str());
  std::fflush(stderr);
}

}  // namespace

void Misuse(const std::string& sentence) {
  Reports& reports = TheReports();
  std::lock_guard lock(reports.mutex);
  if (!reports.counting) {
    Print(sentence);
    std::abort();
  }
  ++reports.count;
  reports.last = sentence;
}

void FatalMisuse(const std::string& sentence) {
  Print(sentence);
  std::abort();
}

void CountMisuse(bool count) {
  Reports& reports = TheReports();
  std::lock_guard lock(reports.mutex);
  reports.counting = count;
}

uint64_t MisuseCount() {
  Reports& reports = TheReports();
  std::lock_guard lock(reports.mutex);
  return reports.count;
}

std::string LastMisuse() {
  Reports& reports = TheReports();
  std::lock_guard lock(reports.mutex);
  return reports.last;
}

void ForgetMisuse() {
  Reports& reports = TheReports();
  std::lock_guard lock(reports.mutex);
  reports.count = 0;
  reports.last.clear();
}

}  // namespace cgraph::emulation
