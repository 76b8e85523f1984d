// Readers of .npy and .safetensors: files that NumPy and Python wrote, and files that lie.
//
// A lie must be refused with a sentence that says what is wrong; whatever bytes are changed,
// reading ends with a tensor whose size fits its shape, or with an error.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "runtime/base/permutation.h"
#include "runtime/files/npy.h"
#include "runtime/files/safetensors.h"
#include "runtime/files/write_safetensors.h"
#include "runtime/plan/kinds.h"

namespace cgraph::files {
namespace {

using plan::DType;

const std::string kDigits = CGRAPH_SOURCE_DIR "/examples/digits/";

// Folder: a folder that is removed afterwards.
class Folder {
 public:
  Folder() { REQUIRE(mkdtemp(path_.data()) != nullptr); }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string Write(const std::string& name, std::string_view bytes) const {
    const std::string file = path_ + "/" + name;
    std::ofstream(file, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return file;
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_ = std::filesystem::temp_directory_path() / "files_test.XXXXXX";
};

std::span<const uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Returns a file as NumPy writes it, for any dictionary.
std::string Npy(const std::string& dictionary, std::string_view data, int version = 1) {
  std::string header = dictionary;
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += {static_cast<char>(version), 0, static_cast<char>(header.size() & 0xff),
            static_cast<char>(header.size() >> 8)};
  if (version > 1) bytes += {0, 0};
  return bytes + header + std::string(data);
}
std::string F4(const std::string& shape, std::string_view data) {
  return Npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }", data);
}

std::string Refusal(const std::string& bytes) {
  Result<Array> array = ParseNpy(AsBytes(bytes));
  REQUIRE(!array.ok());
  CHECK(array.status().code() == StatusCode::kInvalid);
  return array.status().message();
}

std::string Safe(const std::string& header, std::string_view data) {
  std::string bytes(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(data);
}
std::string Refusal(const Folder& folder, const std::string& bytes) {
  const std::string path = folder.Write("bad.safetensors", bytes);
  auto file = Safetensors::Open(path);
  REQUIRE(!file.ok());
  CHECK(file.status().code() == StatusCode::kInvalid);
  CHECK(file.status().message().find(path) == 0);
  return file.status().message().substr(path.size() + 2);
}

}  // namespace

TEST_CASE("npy files that NumPy wrote", "[npy]") {
  Result<Array> images = ReadNpy(kDigits + "images.npy");
  REQUIRE(images.ok());
  CHECK(images->dtype == DType::f32);
  CHECK(images->dims == std::vector<int64_t>{1797, 64});
  CHECK(images->bytes.size() == 1797 * 64 * 4);
  float first[4];
  std::memcpy(first, images->bytes.data(), sizeof(first));
  CHECK(first[2] == 0.3125f);  // pixel (0, 2) of the first image is 5 of 16
  Result<Array> labels = ReadNpy(kDigits + "labels.npy");
  REQUIRE(labels.ok());
  CHECK(labels->dtype == DType::i64);
  CHECK(labels->dims == std::vector<int64_t>{1797});
  int64_t label;
  std::memcpy(&label, labels->bytes.data() + 8 * 9, 8);
  CHECK(label == 9);
}

TEST_CASE("npy headers", "[npy]") {
  const auto dims = [](const std::string& bytes) {
    Result<Array> array = ParseNpy(AsBytes(bytes));
    INFO((array.ok() ? "" : array.status().message()));
    REQUIRE(array.ok());
    return array->dims;
  };
  CHECK(dims(F4("()", "abcd")).empty());
  CHECK(dims(F4("(2,)", "abcdefgh")) == std::vector<int64_t>{2});
  CHECK(dims(F4("(1, 2)", "abcdefgh")) == std::vector<int64_t>{1, 2});
  CHECK(dims(F4("(0, 5)", "")) == std::vector<int64_t>{0, 5});
  const std::string odd = "{\"shape\":(3,),'fortran_order':False,'descr':'|u1'}";
  CHECK(dims(Npy(odd, "abc", 2)) == std::vector<int64_t>{3});
  CHECK(dims(Npy(odd, "abc", 3)) == std::vector<int64_t>{3});
}

TEST_CASE("npy dtypes as others than NumPy write them", "[npy]") {
  const auto dtype = [](const std::string& descr, const std::string& data) {
    Result<Array> array =
        ParseNpy(AsBytes(Npy("{'descr': '" + descr +
                                 "', 'fortran_order': False, 'shape': (1,), }", data)));
    INFO(descr << ": " << (array.ok() ? "" : array.status().message()));
    REQUIRE(array.ok());
    return array->dtype;
  };
  for (const char* u8 : {"|u1", "<u1", "=u1", ">u1", "u1", "B", "uint8"}) {
    CHECK(dtype(u8, "a") == DType::u8);
  }
  for (const char* boolean : {"|b1", "<b1", ">b1", "?", "|?", "bool"}) {
    CHECK(dtype(boolean, "\1") == DType::bool_);
  }
  CHECK(dtype("<i1", "a") == DType::i8);
  CHECK(dtype("=f4", "abcd") == DType::f32);
  CHECK(dtype("f", "abcd") == DType::f32);
  CHECK(dtype("float32", "abcd") == DType::f32);
  CHECK(dtype("q", "abcdefgh") == DType::i64);
  CHECK(dtype("<V2", "ab") == DType::bf16);
  // In one dimension Fortran's order is C's.
  for (const char* shape : {"()", "(1,)", "(1, 1)"}) {
    CHECK(ParseNpy(AsBytes(Npy(fmt::format("{{'descr': '<f4', 'fortran_order': True, 'shape': {}}}",
                                           shape),
                               "abcd")))
              .ok());
  }
}

TEST_CASE("npy headers that lie or say what we do not read", "[npy]") {
  CHECK(Refusal("") == "it is no .npy file: it does not begin with \\x93NUMPY");
  CHECK(Refusal("version https://git-lfs.github.com/spec/v1\n").find("`git lfs pull`") !=
        std::string::npos);
  CHECK(Refusal("\x93NUMPY") == "it is no .npy file: it does not begin with \\x93NUMPY");
  CHECK(Refusal(std::string("\x93NUMPY\1\0\xff\xff{", 11)) == "it ends inside its header");
  CHECK(Refusal(std::string("\x93NUMPY\2\0\xff\xff\xff\x7f{", 13)) ==
        "its header has 2147483647 bytes; more than 65536 are refused");
  CHECK(Refusal(std::string("\x93NUMPY\4\0\1\0 ", 11)) ==
        "its format is 4.0; known are 1.0, 2.0 and 3.0");
  CHECK(Refusal(F4("(3,)", "abcdefgh")) ==
        "its header promises 12 bytes of elements, and 8 follow");
  CHECK(Refusal(F4("(1,)", "abcdefgh")) == "its header promises 4 bytes of elements, and 8 follow");
  CHECK(Refusal(F4("(-1,)", "")) == "its `shape` is no tuple of numbers >= 0");
  CHECK(Refusal(F4("(1.5,)", "")) == "its `shape` is no tuple of numbers >= 0");
  CHECK(Refusal(F4("3", "")) == "its `shape` is no tuple");
  CHECK(Refusal(F4("(nan,)", "")) == "its `shape` is no tuple of numbers >= 0");
  CHECK(Refusal(F4("(99999999999999999999,)", "")) == "its `shape` has a number above 2^63");
  CHECK(Refusal(F4("(4294967296, 4294967296)", "")) ==
        "its `shape` has more elements than any memory");
  CHECK(Refusal(F4("(4294967296, 0, 4294967296)", "")) ==
        "its `shape` has more elements than any memory");
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1, ";
  CHECK(Refusal(F4(many + ")", "abcd")) == "its `shape` has more than 64 dimensions");
  const auto with = [](const std::string& descr, const std::string& order) {
    return Refusal(
        Npy("{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': (1,), }", "abcd"));
  };
  CHECK(with("'>f4'", "False") == "its elements are big-endian (`>f4`); save it with "
                                  "x.astype(x.dtype.newbyteorder('<'))");
  CHECK(Refusal(Npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1, 2), }",
                    "abcdefghijklmnop")) ==
        "its elements are in Fortran order; save it with np.ascontiguousarray(x)");
  CHECK(with("'<c8'", "False").find("its elements are `<c8`; known are bool") == 0);
  CHECK(with("'|O'", "False").find("its elements are `|O`") == 0);
  CHECK(with("[('a', '<f4')]", "False") ==
        "it holds records; save each field as an array of its own");
  CHECK(with("'<f4'", "Maybe") == "its `fortran_order` is neither True nor False");
  CHECK(with("'<f4', 'descr': '<f4'", "False") ==
        "its header has an entry `descr` that is unknown or there twice");
  CHECK(with("'<f4', 'x': 3", "False") ==
        "its header has an entry `x` that is unknown or there twice");
  CHECK(Refusal(Npy("{'descr': '<f4'}", "")) ==
        "its header lacks one of `descr`, `fortran_order` and `shape`");
  CHECK(Refusal(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': ()} 3", "abcd")) ==
        "its header goes on after the dictionary");
  CHECK(Refusal(Npy("{'descr': '<f4", "")) == "its `descr` is no text");
  CHECK(Refusal(Npy("[[[[[[[[[[[", "")) == "its header is no dictionary");
  CHECK(Refusal(Npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", "\1\2")) ==
        "it has booleans that are neither 0 nor 1");
}

TEST_CASE("npy: whatever byte is changed", "[npy]") {
  const std::string good = F4("(2, 3)", "abcdefghijklmnopqrstuvwx");
  int read = 0, refused = 0;
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xff, 0x20, 0x10}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ change);
      Result<Array> array = ParseNpy(AsBytes(bad));
      ++(array.ok() ? read : refused);
      if (array.ok()) CHECK(plan::TensorBytes(array->dtype, array->dims) == array->bytes.size());
    }
    const Result<Array> cut = ParseNpy(AsBytes(good.substr(0, at)));
    CHECK(!cut.ok());
  }
  CHECK(read > 0);
  CHECK(refused > 100);
}

TEST_CASE("npy from files and pipes", "[npy]") {
  const Folder folder;
  const std::string good = F4("(2, 3)", "abcdefghijklmnopqrstuvwx");
  CHECK(ReadNpy(folder.Write("good.npy", good)).ok());
  const auto missing = ReadNpy(folder / "missing.npy");
  REQUIRE(!missing.ok());
  CHECK(missing.status().code() == StatusCode::kNotFound);
  CHECK(missing.status().message() ==
        fmt::format("cannot read {}: No such file or directory", folder / "missing.npy"));
  const auto folder_read = ReadNpy(folder / "");
  REQUIRE(!folder_read.ok());
  CHECK(folder_read.status().code() == StatusCode::kNotFound);
  const auto cut = ReadNpy(folder.Write("cut.npy", good.substr(0, good.size() - 1)));
  REQUIRE(!cut.ok());
  CHECK(cut.status().message() ==
        fmt::format("{}: its header promises 24 bytes of elements, and 23 follow",
                    folder / "cut.npy"));

  // A pipe has no size: memory must follow what arrives, and not what is promised.
  const auto through_pipe = [&](const std::string& bytes) {
    const std::string pipe = folder / "pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << bytes; });
    Result<Array> array = ReadNpy(pipe);
    writer.join();
    unlink(pipe.c_str());
    return array;
  };
  const auto piped = through_pipe(good);
  REQUIRE(piped.ok());
  CHECK(piped->bytes.size() == 24);
  CHECK(through_pipe(F4("(300000,)", std::string(1'200'000, 'x')))->bytes.size() == 1'200'000);
  CHECK(through_pipe(F4("(1125899906842624,)", "abcd"))
            .status()
            .message()
            .find("its header promises 4503599627370496 bytes of elements, and 4 follow") !=
        std::string::npos);
  CHECK(through_pipe(good + "y").status().message().find("more bytes follow") != std::string::npos);
}

TEST_CASE("npy by rows", "[npy]") {
  const Folder folder;
  const std::string path = folder.Write("good.npy", F4("(3, 2)", "abcdefghijklmnopqrstuvwx"));
  const auto rows = NpyRows::Open(path);
  REQUIRE(rows.ok());
  CHECK(rows->dtype() == DType::f32);
  CHECK(rows->dims() == std::vector<int64_t>{3, 2});
  CHECK(rows->row_bytes() == 8);
  std::string two(16, ' ');
  const auto out = std::span(reinterpret_cast<uint8_t*>(two.data()), two.size());
  REQUIRE(rows->Read(1, out).ok());
  CHECK(two == "ijklmnopqrstuvwx");
  REQUIRE(rows->Read(0, out.first(8)).ok());
  CHECK(two == "abcdefghqrstuvwx");
  CHECK(rows->Read(3, {}).ok());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  CHECK(rows->Read(0, out).ok());
  CHECK(rows->Read(1, out).message() ==
        fmt::format("{} has become shorter while it was read", path));
  CHECK(NpyRows::Open(path).status().message() ==
        fmt::format("{}: its header promises 24 bytes of elements, and 23 follow", path));
  CHECK(NpyRows::Open(folder.Write("no.npy", "abc")).status().message().find(
            "no.npy: it is no .npy file") != std::string::npos);
  CHECK(NpyRows::Open(folder / "missing.npy").status().code() == StatusCode::kNotFound);
  CHECK(NpyRows::Open("/dev/zero").status().code() == StatusCode::kInvalid);
  for (const char* shape : {"(0, 2)", "(3, 0)", "()"}) {
    const auto empty = NpyRows::Open(
        folder.Write("empty.npy", F4(shape, std::string_view(shape) == "()" ? "abcd" : "")));
    REQUIRE(empty.ok());
    CHECK(empty->row_bytes() == (std::string_view(shape) == "()" ? 4 : 0));
  }
}

// What an epoch's rows are is written down in documents, and in files that say where a run was.
TEST_CASE("orders of rows are the same for ever") {
  CHECK(Permutation(10, 7, 0) == std::vector<int64_t>{6, 1, 8, 3, 0, 2, 9, 4, 5, 7});
  CHECK(Permutation(0, 7, 0).empty());
  CHECK(Permutation(1, 7, 3) == std::vector<int64_t>{0});
  std::vector<std::vector<int64_t>> seen;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
    for (uint64_t epoch = 0; epoch < 5; ++epoch) {
      std::vector<int64_t> order = Permutation(1000, seed, epoch);
      CHECK(std::count(seen.begin(), seen.end(), order) == 0);
      seen.push_back(order);
      std::sort(order.begin(), order.end());
      for (int64_t i = 0; i < 1000; ++i) REQUIRE(order[static_cast<size_t>(i)] == i);
    }
  }
  // Each row is at each place about as often as at any other: 24,000 orders of four rows, of which
  // each place should have each row 6,000 times, with a deviation of 67.
  int64_t at[4][4] = {};
  for (uint64_t epoch = 0; epoch < 24000; ++epoch) {
    const std::vector<int64_t> order = Permutation(4, 5, epoch);
    for (size_t place = 0; place < 4; ++place) ++at[place][order[place]];
  }
  for (const auto& place : at) {
    for (const int64_t count : place) CHECK(std::abs(count - 6000) < 5 * 67);
  }
}

namespace {

Status WriteNpy(const std::string& path, DType dtype, std::span<const int64_t> dims,
                std::span<const uint8_t> bytes) {
  OutputFiles files;
  CGRAPH_RETURN_IF_ERROR(AddNpy(files, path, dtype, dims, bytes));
  return files.Commit();
}

}  // namespace

TEST_CASE("npy is written as NumPy does", "[npy]") {
  const Folder folder;
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{}, {3}, {2, 3}, {0, 7}}) {
    for (const DType dtype : {DType::bool_, DType::i8, DType::u8, DType::i32, DType::i64,
                              DType::f16, DType::bf16, DType::f32, DType::f64}) {
      const std::vector<uint8_t> bytes(*plan::TensorBytes(dtype, dims), 1);
      const std::string path = folder / "x.npy";
      REQUIRE(WriteNpy(path, dtype, dims, bytes).ok());
      Result<Array> back = ReadNpy(path);
      REQUIRE(back.ok());
      CHECK(back->dtype == dtype);
      CHECK(back->dims == dims);
      CHECK(back->bytes == bytes);
    }
  }
  // The header that numpy.save writes for np.zeros((2, 3), np.float32).
  const std::vector<uint8_t> header = FormatNpyHeader(DType::f32, std::vector<int64_t>{2, 3});
  const std::string expected =
      std::string("\x93NUMPY\1\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                  69) +
      std::string(58, ' ') + "\n";
  CHECK(std::string(header.begin(), header.end()) == expected);
  CHECK(WriteNpy(folder / "no/such/folder.npy", DType::f32, {}, {}).code() ==
        StatusCode::kNotFound);
}

TEST_CASE("where one of several files cannot take its name, the others have what they had") {
  const Folder folder;
  const auto text = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string old = folder.Write("old", "old"), fresh = folder / "fresh";
  const std::string last = folder / "last";
  {
    OutputFiles files;
    for (const std::string& path : {old, fresh, last}) REQUIRE(files.Add(path, "new").ok());
    std::filesystem::create_directory(last);  // meanwhile
    CHECK(files.Commit().message() == "cannot write " + last + ": it is a folder");
  }
  CHECK(text(old) == "old");
  CHECK(!std::filesystem::exists(fresh));
  std::filesystem::remove(last);
  OutputFiles files;
  for (const std::string& path : {old, fresh, last}) REQUIRE(files.Add(path, "new").ok());
  REQUIRE(files.Commit().ok());
  for (const std::string& path : {old, fresh, last}) CHECK(text(path) == "new");
  const std::filesystem::directory_iterator left(std::filesystem::path(old).parent_path());
  CHECK(std::distance(begin(left), end(left)) == 3);  // no temporary ones
}

TEST_CASE("safetensors that Python wrote", "[safetensors]") {
  auto file = Safetensors::Open(kDigits + "digits.safetensors");
  REQUIRE(file.ok());
  const auto& entries = (*file)->entries();
  REQUIRE(entries.size() == 4);
  CHECK(entries.at("fc1.weight").dims == std::vector<int64_t>{64, 32});
  CHECK(entries.at("fc2.bias").dims == std::vector<int64_t>{10});
  std::vector<uint8_t> whole(64 * 32 * 4), part(3 * 5 * 4);
  REQUIRE((*file)->Read("fc1.weight", {}, {}, whole).ok());
  // Rows 10 to 12, columns 4 to 8.
  REQUIRE((*file)
              ->Read("fc1.weight", std::vector<int64_t>{10, 4}, std::vector<int64_t>{3, 5}, part)
              .ok());
  for (size_t row = 0; row < 3; ++row) {
    CHECK(std::memcmp(&part[row * 20], &whole[((10 + row) * 32 + 4) * 4], 20) == 0);
  }
  std::vector<uint8_t> rows(2 * 32 * 4);
  REQUIRE((*file)
              ->Read("fc1.weight", std::vector<int64_t>{62, 0}, std::vector<int64_t>{2, 32}, rows)
              .ok());
  CHECK(std::memcmp(rows.data(), &whole[62 * 32 * 4], rows.size()) == 0);

  const Status missing = (*file)->Read("fc3.weight", {}, {}, whole);
  CHECK(missing.message() ==
        kDigits +
            "digits.safetensors has no tensor `fc3.weight` (did you mean `fc1.weight`?); it has "
            "`fc1.bias`, "
            "`fc1.weight`, `fc2.bias`, `fc2.weight`");
  CHECK(!(*file)
             ->Read("fc1.weight", std::vector<int64_t>{62, 0}, std::vector<int64_t>{3, 32}, whole)
             .ok());
  CHECK(!(*file)
             ->Read("fc1.weight", std::vector<int64_t>{-1, 0}, std::vector<int64_t>{1, 1}, part)
             .ok());
  CHECK(!(*file)->Read("fc1.weight", std::vector<int64_t>{0}, std::vector<int64_t>{1}, part).ok());
  CHECK(!(*file)->Read("fc1.weight", {}, {}, part).ok());
}

TEST_CASE("safetensors: what a file says of itself", "[safetensors]") {
  const Folder folder;
  const std::string path = folder / "said.safetensors";
  const uint8_t bytes[] = {1, 2, 3, 4};
  const NamedTensor tensor{"a", DType::u8, {4}, bytes};
  for (const Safetensors::Metadata& said :
       {Safetensors::Metadata{}, {{"epoch", "3"}}, {{"\"quoted\"", "two\nlines"}, {"", ""}}}) {
    OutputFiles files;
    REQUIRE(AddSafetensors(files, path, {&tensor, 1}, said).ok());
    REQUIRE(files.Commit().ok());
    const auto file = Safetensors::Open(path);
    REQUIRE(file.ok());
    CHECK((*file)->metadata() == said);
    CHECK((*file)->entries().size() == 1);
  }
  const auto open = [&](const std::string& header) {
    return Safetensors::Open(folder.Write("good.safetensors", Safe(header, "")));
  };
  CHECK((*open(R"({"__metadata__": {"a": "1", "a": "2"}})"))->metadata().at("a") == "2");
  CHECK(!open(R"({"__metadata__": {"a": 1}})").ok());
  CHECK(!open(R"({"__metadata__": {"a": {"b": "c"}}})").ok());
}

TEST_CASE("safetensors headers", "[safetensors]") {
  const Folder folder;
  const auto open = [&](const std::string& header, std::string_view data) {
    return Safetensors::Open(folder.Write("good.safetensors", Safe(header, data)));
  };
  auto file = open(
      R"({"__metadata__": {"format": "pt"}, "b": {"dtype": "I64", "shape": [], "data_offsets": [4, 12]},
                      "a": {"data_offsets": [0, 4], "shape": [2, 2], "dtype": "I8"},
                      "e": {"dtype": "F32", "shape": [0, 3], "data_offsets": [4, 4]},
                      "u": {"dtype": "U16", "shape": [1], "data_offsets": [12, 14]}})",
      "abcdefghijklmn");
  INFO((file.ok() ? "" : file.status().message()));
  REQUIRE(file.ok());
  CHECK((*file)->entries().size() == 3);
  std::vector<uint8_t> four(4);
  REQUIRE((*file)->Read("a", {}, {}, four).ok());
  CHECK(std::memcmp(four.data(), "abcd", 4) == 0);
  REQUIRE((*file)->Read("e", {}, {}, {}).ok());
  CHECK((*file)
            ->Read("u", {}, {}, four)
            .message()
            .find("tensor `u` is U16, a dtype that cgraph lacks") != std::string::npos);
  CHECK(open("{}", "").ok());

  const auto refused = [&](const std::string& header, std::string_view data = "abcd") {
    return Refusal(folder, Safe(header, data));
  };
  const std::string good = R"("a": {"dtype": "I8", "shape": [4], "data_offsets": [0, 4]})";
  CHECK(refused("{" + good + ", " + good + "}") == "its header is wrong: `a` is there twice");
  CHECK(refused("[" + good + "]") == "its header is wrong: it has a list where none belongs");
  CHECK(refused("{" + good).find("its header is wrong: it is no JSON at byte ") == 0);
  CHECK(refused("{" + good + "} x").find("its header is wrong: it is no JSON at byte ") == 0);
  const auto entry = [&](const std::string& text) { return refused("{\"a\": " + text + "}"); };
  CHECK(entry(R"({"dtype": "I8", "shape": [5], "data_offsets": [0, 4]})") ==
        "tensor `a` has 4 bytes, which its shape and dtype do not make");
  CHECK(entry(R"({"dtype": "I8", "shape": [5], "data_offsets": [0, 5]})") ==
        "its tensors have 5 bytes, and 4 follow the header");
  CHECK(entry(R"({"dtype": "I8", "shape": [2], "data_offsets": [2, 4]})") ==
        "tensor `a` begins at 2, but what stands before it ends at 0");
  CHECK(entry(R"({"dtype": "I8", "shape": [2], "data_offsets": [4, 2]})") ==
        "data_offsets of tensor `a` are no begin and end");
  CHECK(entry(R"({"dtype": "I8", "shape": [4294967296, 4294967297], "data_offsets": [0, 4]})") ==
        "tensor `a` has 4 bytes, which its shape and dtype do not make");
  CHECK(entry(R"({"dtype": "I8", "shape": [-4], "data_offsets": [0, 4]})") ==
        "its header is wrong: it has a negative number");
  CHECK(entry(R"({"dtype": "I8", "shape": [4.0], "data_offsets": [0, 4]})") ==
        "its header is wrong: it has a fraction");
  CHECK(entry(R"({"dtype": "I8", "shape": [18446744073709551615], "data_offsets": [0, 4]})") ==
        "its header is wrong: it has a number above 2^63");
  CHECK(entry(R"({"dtype": "I8", "shape": [4], "shape": [4], "data_offsets": [0, 4]})") ==
        "its header is wrong: tensor `a` has a list `shape` that is unknown or there twice");
  CHECK(entry(R"({"dtype": "I8", "shape": [[4]], "data_offsets": [0, 4]})") ==
        "its header is wrong: it has a list where none belongs");
  CHECK(entry(R"({"dtype": "I8", "shape": [4]})") ==
        "its header is wrong: tensor `a` lacks dtype, shape or data_offsets");
  CHECK(entry(R"({"dtype": {"x": "y"}})") ==
        "its header is wrong: it has an object where none belongs");
  CHECK(entry("null") == "its header is wrong: it has a null");
  CHECK(entry("true") == "its header is wrong: it has a true or false");
  CHECK(refused(std::string(1'000'000, '[')) ==
        "its header is wrong: it has a list where none belongs");
}

TEST_CASE("safetensors: sizes that cannot be", "[safetensors]") {
  const Folder folder;
  CHECK(Refusal(folder, "") == "it is no .safetensors file: too short");
  CHECK(Refusal(folder, std::string(8, '\xff')) ==
        "it is no .safetensors file: its header would have 18446744073709551615 bytes");
  CHECK(Refusal(folder, std::string("\x03\0\0\0\0\0\0\0{}", 10)) ==
        "it is no .safetensors file: its header would have 3 bytes");
  for (const std::string& begin : {std::string("PK\3\4\x2d\0\x08\x08", 8),
                                   std::string("\x80\2\x8a\x0a\x6c\xfc\x9c\x46", 8)}) {
    CHECK(Refusal(folder, begin).find("like those of torch.save()") != std::string::npos);
  }
  CHECK(Refusal(folder, "\x93NUMPY\1\2").find("but a .npy, which has one array") !=
        std::string::npos);
  CHECK(Refusal(folder, "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n") ==
        "it is a pointer of Git LFS to the file, which is not here: `git lfs pull` fetches it");
  CHECK(Refusal(folder, "{\"metadata\": {}}").find(".safetensors.index.json") !=
        std::string::npos);
  // As long as a header may be, the first byte of a pickle is a length.
  CHECK(Refusal(folder, std::string("\x80\2\0\0\0\0\0\0", 8) + std::string(640, ' '))
            .find("its header is wrong") == 0);
  CHECK(Safetensors::Open(folder / "missing").status().code() == StatusCode::kNotFound);
  CHECK(!Safetensors::Open("/dev/zero").ok());
}

TEST_CASE("safetensors: whatever byte is changed", "[safetensors]") {
  const Folder folder;
  const std::string good =
      Safe(R"({"a":{"dtype":"I8","shape":[2,2],"data_offsets":[0,4]}})", "abcd");
  int read = 0, refused = 0;
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int change : {0x01, 0x80, 0x02, 0x20}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ change);
      auto file = Safetensors::Open(folder.Write("bad.safetensors", bad));
      ++(file.ok() ? read : refused);
      if (!file.ok()) continue;
      for (const auto& [name, entry] : (*file)->entries()) {
        std::vector<uint8_t> out(entry.bytes);
        CHECK(plan::TensorBytes(entry.dtype, entry.dims) == entry.bytes);
        CHECK((*file)->Read(name, {}, {}, out).code() != StatusCode::kNotFound);
      }
    }
  }
  CHECK(read > 0);
  CHECK(refused > 50);
}

}  // namespace cgraph::files
