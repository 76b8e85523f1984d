// Runs a fuzz target without a fuzzer: over saved inputs, then over so many changed ones, the same
// in every run.
//
//   replay [-v] [--changed COUNT] FILE|FOLDER...
//
// The input that is being tried lies in ./replay_TARGET.input until it is done, for the one that
// crashes or hangs; -v says how long each took. Fails where there is no input.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" {
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
// Not every target has one, or has both.
[[gnu::weak]] size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                             unsigned seed);
[[gnu::weak]] size_t LLVMFuzzerCustomCrossOver(const uint8_t* one, size_t one_size,
                                               const uint8_t* other, size_t other_size,
                                               uint8_t* out, size_t max_size, unsigned seed);
}

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

class Trials {
 public:
  Trials(fs::path kept, bool verbose) : kept_(std::move(kept)), verbose_(verbose) {
    file_ = open(kept_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  }
  ~Trials() {
    close(file_);
    fs::remove(kept_);
  }

  void Try(const Bytes& input, const std::string& name) {
    const bool kept = pwrite(file_, input.data(), input.size(), 0) >= 0 &&
                      ftruncate(file_, static_cast<off_t>(input.size())) == 0;
    if (!kept) std::abort();
    const auto begin = std::chrono::steady_clock::now();
    LLVMFuzzerTestOneInput(input.data(), input.size());
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    if (verbose_) std::printf("%s: %.1f ms\n", name.c_str(), took.count());
    std::fflush(stdout);
  }

 private:
  const fs::path kept_;
  const bool verbose_;
  int file_;
};

// Returns one input, changed up to three times over.
Bytes Changed(const std::vector<Bytes>& inputs, std::minstd_rand& random) {
  const Bytes& input = inputs[random() % inputs.size()];
  const Bytes& other = inputs[random() % inputs.size()];
  Bytes bytes(input);
  bytes.resize(2 * input.size() + 64);  // room to grow
  size_t size = input.size();
  for (size_t turns = 1 + random() % 3; turns > 0; --turns) {
    const unsigned seed = random();
    if (LLVMFuzzerCustomCrossOver != nullptr && seed % 8 == 0) {
      Bytes crossed(bytes.size());
      size = LLVMFuzzerCustomCrossOver(bytes.data(), size, other.data(), other.size(),
                                       crossed.data(), crossed.size(), seed);
      bytes = std::move(crossed);
    } else {
      size = LLVMFuzzerCustomMutator != nullptr
                 ? LLVMFuzzerCustomMutator(bytes.data(), size, bytes.size(), seed)
                 : LLVMFuzzerMutate(bytes.data(), size, bytes.size());
    }
  }
  bytes.resize(size);
  return bytes;
}

Bytes Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<fs::path> paths;
  bool verbose = false;
  int64_t changed = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "-v") {
      verbose = true;
    } else if (argument == "--changed" && i + 1 < argc) {
      changed = std::atoll(argv[++i]);
    } else if (fs::is_directory(argument)) {
      for (const auto& entry : fs::directory_iterator(argument)) paths.push_back(entry.path());
    } else {
      paths.push_back(argument);
    }
  }
  if (paths.empty()) return 1;
  std::sort(paths.begin(), paths.end());  // a folder has no order
  Trials trials(fs::path(argv[0]).filename().string() + ".input", verbose);
  std::vector<Bytes> inputs;
  for (const fs::path& path : paths) {
    inputs.push_back(Read(path));
    trials.Try(inputs.back(), path.string());
  }
  std::minstd_rand random(1);
  for (int64_t i = 0; i < changed; ++i) {
    trials.Try(Changed(inputs, random), "changed " + std::to_string(i));
  }
  std::printf("%zu inputs replayed, %ld changed ones tried\n", inputs.size(),
              static_cast<long>(changed));
  return 0;
}
