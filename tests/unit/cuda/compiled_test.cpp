// Code that is compiled at run time: by NVRTC itself, where it is installed (it needs no GPU), and
// what is kept of it on disk.
#include <catch2/catch.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <fmt/format.h>

#include "runtime/device/cuda/kernels/elementwise/chain_source.h"
#include "runtime/device/cuda/libraries/code_cache.h"
#include "runtime/device/cuda/libraries/nvrtc.h"
#include "runtime/device/cuda/module/module.h"

namespace cgraph::cuda {
namespace {

namespace fs = std::filesystem;
using plan::DType;

// A kernel in the making: x0 of its dtype, and each step's result is the next one's first operand.
struct ChainMaker {
  plan::Kernel kernel;
  std::vector<device::OperandType> inputs;
  device::OperandType output;
  DType last;

  explicit ChainMaker(DType dtype) : last(dtype) { AddInput(dtype); }
  int32_t AddInput(DType dtype) {
    inputs.emplace_back().dtype = dtype;
    return static_cast<int32_t>(inputs.size()) - 1;
  }
  void Add(const char* op, std::vector<int32_t> operands, DType dtype) {
    auto step = std::make_unique<plan::Primitive>();
    step->op = op;
    step->operands = std::move(operands);
    kernel.temporaries.push_back(dtype);
    step->operands.push_back(-static_cast<int32_t>(kernel.temporaries.size()));
    kernel.body.push_back(std::move(step));
    last = dtype;
  }
  // The operand that the step before has made, or x0.
  int32_t Before() const {
    return kernel.temporaries.empty() ? 0 : -static_cast<int32_t>(kernel.temporaries.size());
  }
  std::optional<ChainSource> Source() {
    kernel.body.back()->operands.back() = static_cast<int32_t>(inputs.size());
    kernel.temporaries.pop_back();
    output.dtype = last;
    return SourceOf(kernel, inputs, output);
  }
};

bool Takes(const char* dtypes, DType dtype) {
  const std::string_view kind = dtypes;
  if (kind == "kBool") return dtype == DType::bool_;
  if (kind == "kFloat") return plan::IsFloat(dtype);
  return dtype != DType::bool_ || kind == "kAny";
}

// Returns the source of a chain of every operation on a dtype, with casts to and from all others.
std::optional<ChainSource> EveryOperation(DType dtype) {
  ChainMaker chain(dtype);
  const int32_t condition = chain.AddInput(DType::bool_);
#define UNARY(name, operation, dtypes) \
  if (Takes(#dtypes, dtype)) chain.Add(name, {chain.Before()}, dtype);
#define BINARY(name, operation, dtypes) \
  if (Takes(#dtypes, dtype)) chain.Add(name, {chain.Before(), 0}, dtype);
#define SELECT(name, operation, dtypes) chain.Add(name, {condition, chain.Before(), 0}, dtype);
#define TERNARY(name, operation, dtypes) \
  if (Takes(#dtypes, dtype)) chain.Add(name, {chain.Before(), 0, 0}, dtype);
#define COMPARE(name, operation, dtypes)                    \
  if (Takes(#dtypes, dtype)) {                              \
    const int32_t before = chain.Before();                  \
    chain.Add(name, {before, 0}, DType::bool_);             \
    chain.Add("select", {chain.Before(), before, 0}, dtype); \
  }
#include "runtime/device/cpu/kernels/elementwise/operations.def"
  for (const DType other : {DType::bool_, DType::i8, DType::u8, DType::i32, DType::i64, DType::f16,
                            DType::bf16, DType::f32, DType::f64}) {
    chain.Add("cast", {chain.Before()}, other);
    chain.Add("cast", {chain.Before()}, dtype);
  }
  chain.Add("copy", {chain.Before()}, dtype);
  return chain.Source();
}

struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "cgraph-cache-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
    return files;
  }
};

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
void WriteAll(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace

TEST_CASE("NVRTC compiles chains of every operation") {
  const auto nvrtc = Nvrtc::Get();
  if (!nvrtc.ok()) {
    WARN("SKIPPED: " << nvrtc.status().message());
    return;
  }
  int compiled = 0;
  const auto compile = [&](DType dtype, int capability) {
    const auto source = EveryOperation(dtype);
    REQUIRE(source.has_value());
    const auto code = (*nvrtc)->Compile(source->text, DeviceHeaders(), capability);
    INFO(source->text << (code.ok() ? "" : code.status().message()));
    REQUIRE(code.ok());
    CHECK(code->find(source->name) != std::string::npos);
    CHECK(code->substr(1, 3) == "ELF");
    ++compiled;
  };
  for (const DType dtype : {DType::bool_, DType::i8, DType::u8, DType::i32, DType::i64, DType::f16,
                            DType::bf16, DType::f32, DType::f64}) {
    compile(dtype, 90);
  }
  for (const int capability : {80, 100}) compile(DType::bf16, capability);
  CHECK(compiled == 11);

  const auto source = EveryOperation(DType::bool_);
  const auto ptx = (*nvrtc)->Compile(source->text, DeviceHeaders(), 990);
  REQUIRE(ptx.ok());
  CHECK(ptx->find(".target sm_80") != std::string::npos);
  const auto wrong = (*nvrtc)->Compile("__global__ void f() { x = 1; }", DeviceHeaders(), 90);
  REQUIRE(!wrong.ok());
  CHECK(wrong.status().message().find("\"x\" is undefined") != std::string::npos);
}

TEST_CASE("a chain's source says all that decides about its code") {
  ChainMaker one(DType::f32), other(DType::f32), half(DType::f16), none(DType::f32);
  for (ChainMaker* chain : {&one, &other, &half}) chain->Add("exp", {0}, chain->last);
  other.Add("log", {other.Before()}, DType::f32);
  none.Add("matmul", {0, 0}, DType::f32);
  const auto first = one.Source(), longer = other.Source(), halves = half.Source();
  REQUIRE((first && longer && halves));
  CHECK(first->name != longer->name);
  CHECK(first->name != halves->name);
  CHECK(first->text.find("Computed<Exp, float, float>(x0)") != std::string::npos);
  CHECK(!none.Source().has_value());
  ChainMaker wide(DType::f32);
  for (int i = 0; i < 12; ++i) {
    wide.Add("add", {wide.Before(), wide.AddInput(DType::f32)}, wide.last);
  }
  CHECK(!wide.Source().has_value());  // 13 inputs
}

TEST_CASE("code is kept on disk") {
  const Folder folder;
  const std::string code(1000, 'c');
  const CodeCache cache(folder.path / "new" / "folder");
  CHECK(!cache.Find("key").has_value());
  cache.Keep("key", code);
  CHECK(cache.Find("key") == code);
  CHECK(!cache.Find("another key").has_value());
  CHECK(CodeCache(folder.path / "new" / "folder").Find("key") == code);
}

TEST_CASE("what is not as it was written is not used") {
  const Folder folder;
  const CodeCache cache(folder.path);
  const std::string code(1000, 'c');
  cache.Keep("key", code);
  REQUIRE(folder.Files().size() == 1);  // nothing temporary is left
  const fs::path file = folder.Files()[0];
  const std::string whole = ReadAll(file);
  int refused = 0;
  for (size_t at = 0; at < whole.size(); at += 7) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    WriteAll(file, changed);
    refused += cache.Find("key").has_value() ? 0 : 1;
    WriteAll(file, whole.substr(0, at));
    refused += cache.Find("key").has_value() ? 0 : 1;
  }
  CHECK(refused == 2 * static_cast<int>((whole.size() + 6) / 7));
  cache.Keep("other", code);  // one key's file under the name of another
  for (const fs::path& path : folder.Files()) {
    if (path != file) fs::rename(path, file);
  }
  CHECK(!cache.Find("key").has_value());
  cache.Keep("key", code);
  CHECK(cache.Find("key") == code);
}

TEST_CASE("a folder that cannot be used is no error") {
  const Folder folder;
  WriteAll(folder.path / "file", "x");
  for (const fs::path& path : {folder.path / "file", folder.path / "file" / "below", fs::path()}) {
    const CodeCache cache(path);
    cache.Keep("key", "code");
    CHECK(!cache.Find("key").has_value());
  }
}

TEST_CASE("what was not used for longest goes first") {
  const Folder folder;
  const CodeCache cache(folder.path, 5000);
  WriteAll(folder.path / "somebody else's", std::string(9000, 'x'));
  const auto age = [&](const std::string& key, int hours) {
    for (const fs::path& path : folder.Files()) {
      if (ReadAll(path).find(key + " code") == std::string::npos) continue;
      fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
    }
  };
  for (const std::string key : {"a", "b", "c", "d"}) {
    cache.Keep(key, key + " code" + std::string(1000, ' '));
    age(key, 10 - (key[0] - 'a'));
  }
  CHECK(cache.Find("a").has_value());  // is used again
  cache.Keep("e", "e code" + std::string(1000, ' '));
  CHECK(cache.Find("a").has_value());
  CHECK(!cache.Find("b").has_value());
  CHECK(cache.Find("c").has_value());
  CHECK(fs::exists(folder.path / "somebody else's"));
}

TEST_CASE("what a process left half-written is removed") {
  const Folder folder;
  const fs::path old = folder.path / "1-0.cgraph-temporary";
  const fs::path fresh = folder.path / "1-1.cgraph-temporary";
  WriteAll(old, "half");
  WriteAll(fresh, "half");
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  CodeCache(folder.path).Keep("key", "code");
  CHECK(!fs::exists(old));
  CHECK(fs::exists(fresh));
}

TEST_CASE("where code is kept") {
  setenv("CGRAPH_CACHE_DIR", "/own", 1);
  setenv("XDG_CACHE_HOME", "/caches", 1);
  setenv("HOME", "/home/me", 1);
  CHECK(CodeCache::DefaultFolder() == "/own");
  unsetenv("CGRAPH_CACHE_DIR");
  CHECK(CodeCache::DefaultFolder() == "/caches/cgraph");
  setenv("XDG_CACHE_HOME", "", 1);
  CHECK(CodeCache::DefaultFolder() == "/home/me/.cache/cgraph");
  unsetenv("HOME");
  CHECK(CodeCache::DefaultFolder().empty());
}

}  // namespace cgraph::cuda
