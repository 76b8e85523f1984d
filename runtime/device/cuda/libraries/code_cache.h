// CodeCache: compiled device code on disk, so that a plan that is loaded again compiles nothing. It
// is a help and no more: what cannot be read or written is compiled again.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_CODE_CACHE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_CODE_CACHE_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace cgraph::cuda {

class CodeCache {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{256} << 20;

  // Keeps files in this folder, which need not exist; empty: keeps none.
  explicit CodeCache(std::filesystem::path folder, uint64_t most_bytes = kMostBytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}
  // Returns $CGRAPH_CACHE_DIR, else $XDG_CACHE_HOME/cgraph, else ~/.cache/cgraph.
  static std::filesystem::path DefaultFolder();

  // Returns the code that was kept under a key, which is everything that the code depends on;
  // nothing where there is none, or the file is not as it was written.
  std::optional<std::string> Find(std::string_view key) const;
  // Keeps code. A file appears under its name when it is whole. Where files take more than the most
  // bytes then, those that were not used for longest are removed; and so is what processes that
  // ended have left half-written.
  void Keep(std::string_view key, std::string_view code) const;

 private:
  std::filesystem::path PathOf(std::string_view key) const;
  void Trim() const;

  const std::filesystem::path folder_;
  const uint64_t most_bytes_;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_CODE_CACHE_H_
