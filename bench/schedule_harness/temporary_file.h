// TemporaryFile: a file in the system's temporary folder, removed with the object.
#ifndef CGRAPH_BENCH_SCHEDULE_HARNESS_TEMPORARY_FILE_H_
#define CGRAPH_BENCH_SCHEDULE_HARNESS_TEMPORARY_FILE_H_

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace cgraph::bench {

class TemporaryFile {
 public:
  // `ending`: ".cgraph". Where no file can be made the path is empty.
  TemporaryFile(const std::string& text, const std::string& ending) {
    std::string name =
        (std::filesystem::temp_directory_path() / ("pipeline-XXXXXX" + ending)).string();
    const int file = mkstemps(name.data(), static_cast<int>(ending.size()));
    if (file < 0) return;
    path_ = name;
    std::ofstream(path_) << text;
    close(file);
  }
  ~TemporaryFile() {
    if (!path_.empty()) std::remove(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace cgraph::bench

#endif  // CGRAPH_BENCH_SCHEDULE_HARNESS_TEMPORARY_FILE_H_
