// The header of an .npy file is the text of a Python dictionary: {'descr': '<f4', 'fortran_order':
// False, 'shape': (3, 4), }. It is parsed by hand, strictly: three keys, once each. What it says is
// compared with the size of the file before memory is taken; from a pipe, memory grows only with
// the bytes that arrive.
#include "runtime/files/npy.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "runtime/files/file.h"
#include "runtime/plan/kinds.h"

namespace cgraph::files {
namespace {

using plan::DType;

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;
// Bytes of the dictionary; NumPy itself stops at 10,000.
constexpr size_t kMaxNpyHeader = 64 << 10;
constexpr size_t kMaxNpyRank = 64;  // NumPy's limit
constexpr size_t kChunk = 1 << 20;

// NpyDType: a dtype as .npy files write it, and as others do whose files NumPy reads.
struct NpyDType {
  DType dtype;
  const char* code;     // the first character is the mark
  const char* letters;  // those of Python's `struct`
  const char* name;
};
// NumPy has no bf16: raw elements of two bytes are read as bf16, as ml_dtypes saves them.
constexpr NpyDType kNpyDTypes[] = {
    {DType::bool_, "|b1", "?", "bool"},   {DType::i8, "|i1", "b", "int8"},
    {DType::u8, "|u1", "B", "uint8"},     {DType::i32, "<i4", "i", "int32"},
    {DType::i64, "<i8", "lq", "int64"},   {DType::f16, "<f2", "e", "float16"},
    {DType::f32, "<f4", "f", "float32"},  {DType::f64, "<f8", "d", "float64"},
    {DType::bf16, "|V2", "", "bfloat16"},
};
constexpr std::string_view kMarks = "<=|>";

// Returns the dtype that a `descr` without its mark names; null where there is none.
const NpyDType* FindDType(std::string_view text) {
  for (const NpyDType& known : kNpyDTypes) {
    const bool is_letter =
        text.size() == 1 && std::string_view(known.letters).find(text[0]) != std::string_view::npos;
    if (text == known.code + 1 || text == known.name || is_letter) return &known;
  }
  return nullptr;
}

struct Header {
  DType dtype = DType::f32;
  std::vector<int64_t> dims;
  bool fortran_order = false;
  size_t offset = 0;   // of the elements
  uint64_t bytes = 0;  // of the elements
};

Status Bad(const std::string& why) { return {StatusCode::kInvalid, why}; }

// Parses the dictionary, from its opening to its closing brace.
class DictionaryParser {
 public:
  explicit DictionaryParser(std::string_view text) : text_(text) {}

  Status Parse(Header& header) {
    if (!Take('{')) return Bad("its header is no dictionary");
    bool descr = false, order = false, shape = false;
    while (!Take('}')) {
      std::string_view key;
      if (!String(key) || !Take(':')) return Bad("its header is no dictionary of three entries");
      bool& seen = key == "descr" ? descr : key == "fortran_order" ? order : shape;
      if ((&seen == &shape && key != "shape") || seen) {
        return Bad(fmt::format("its header has an entry `{}` that is unknown or there twice", key));
      }
      seen = true;
      CGRAPH_RETURN_IF_ERROR(key == "descr"           ? Descr(header)
                             : key == "fortran_order" ? Order(header)
                                                      : Shape(header));
      if (!Take(',') && !Peek('}')) return Bad("its header is no dictionary of three entries");
    }
    Space();
    if (!text_.empty()) return Bad("its header goes on after the dictionary");
    if (!descr || !order || !shape) {
      return Bad("its header lacks one of `descr`, `fortran_order` and `shape`");
    }
    if (header.fortran_order && HasTwoOrders(header.dims)) {
      return Bad("its elements are in Fortran order; save it with np.ascontiguousarray(x)");
    }
    return Status::Ok();
  }

 private:
  void Space() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\n"), text_.size())); }
  bool Peek(char c) {
    Space();
    return !text_.empty() && text_[0] == c;
  }
  bool Take(char c) {
    const bool there = Peek(c);
    if (there) text_.remove_prefix(1);
    return there;
  }
  bool String(std::string_view& value) {
    if (!Peek('\'') && !Peek('"')) return false;
    const size_t end = text_.find(text_[0], 1);
    if (end == std::string_view::npos) return false;
    value = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return true;
  }
  bool Word(std::string_view word) {
    Space();
    if (text_.substr(0, word.size()) != word) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  Status Descr(Header& header) {
    if (Peek('[')) return Bad("it holds records; save each field as an array of its own");
    std::string_view code;
    if (!String(code)) return Bad("its `descr` is no text");
    const char mark = code.empty() || kMarks.find(code[0]) == std::string_view::npos ? 0 : code[0];
    const NpyDType* dtype = FindDType(code.substr(mark != 0 ? 1 : 0));
    // The bytes of an element have an order where there are several.
    if (dtype != nullptr && (mark != '>' || plan::DTypeBytes(dtype->dtype) == 1)) {
      header.dtype = dtype->dtype;
      return Status::Ok();
    }
    if (mark == '>') {
      return Bad(fmt::format("its elements are big-endian (`{}`); save it with "
                             "x.astype(x.dtype.newbyteorder('<'))", code));
    }
    return Bad(fmt::format("its elements are `{}`; known are bool, i8, u8, i32, i64, f16, f32, "
                           "f64 and bf16 as ml_dtypes saves it; save it with x.astype(...)", code));
  }
  Status Order(Header& header) {
    header.fortran_order = Word("True");
    if (header.fortran_order || Word("False")) return Status::Ok();
    return Bad("its `fortran_order` is neither True nor False");
  }
  // Returns whether Fortran's order of such elements is another than C's.
  static bool HasTwoOrders(const std::vector<int64_t>& dims) {
    return std::count(dims.begin(), dims.end(), 0) == 0 &&
           std::count_if(dims.begin(), dims.end(), [](int64_t dim) { return dim > 1; }) > 1;
  }
  Status Shape(Header& header) {
    if (!Take('(')) return Bad("its `shape` is no tuple");
    while (!Take(')')) {
      Space();
      int64_t dim = 0;
      size_t digits = 0;
      for (; digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9'; ++digits) {
        if (__builtin_mul_overflow(dim, int64_t{10}, &dim) ||
            __builtin_add_overflow(dim, int64_t{text_[digits] - '0'}, &dim)) {
          return Bad("its `shape` has a number above 2^63");
        }
      }
      if (digits == 0) return Bad("its `shape` is no tuple of numbers >= 0");
      text_.remove_prefix(digits);
      if (header.dims.size() == kMaxNpyRank) {
        return Bad(fmt::format("its `shape` has more than {} dimensions", kMaxNpyRank));
      }
      header.dims.push_back(dim);
      if (!Take(',') && !Peek(')')) return Bad("its `shape` is no tuple of numbers >= 0");
    }
    return Status::Ok();
  }

  std::string_view text_;
};

// Parses the header in the first bytes of a file: all of the file, or at least the longest header.
Result<Header> ParseHeader(std::span<const uint8_t> bytes) {
  if (const std::string text = LfsPointerText(bytes); !text.empty()) return Bad(text);
  if (bytes.size() < kMagicBytes + 2 || std::memcmp(bytes.data(), kMagic, kMagicBytes) != 0) {
    return Bad("it is no .npy file: it does not begin with \\x93NUMPY");
  }
  const int version = bytes[6];
  if (version < 1 || version > 3 || bytes[7] != 0) {
    return Bad(fmt::format("its format is {}.{}; known are 1.0, 2.0 and 3.0", version, bytes[7]));
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  Header header;
  header.offset = kMagicBytes + 2 + length_bytes;
  if (bytes.size() < header.offset) return Bad("it ends inside its header");
  size_t length = 0;
  for (size_t i = length_bytes; i > 0; --i) length = length << 8 | bytes[kMagicBytes + 1 + i];
  if (length > kMaxNpyHeader) {
    return Bad(
        fmt::format("its header has {} bytes; more than {} are refused", length, kMaxNpyHeader));
  }
  if (length > bytes.size() - header.offset) return Bad("it ends inside its header");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + header.offset, length);
  CGRAPH_RETURN_IF_ERROR(DictionaryParser(text).Parse(header));
  header.offset += length;
  const std::optional<uint64_t> data = plan::TensorBytes(header.dtype, header.dims);
  if (!data) return Bad("its `shape` has more elements than any memory");
  header.bytes = *data;
  return header;
}

Status WrongSize(const Header& header, uint64_t there) {
  return Bad(fmt::format("its header promises {} bytes of elements, and {} follow", header.bytes,
                         there));
}

Result<Array> Finish(Header header, std::vector<uint8_t> bytes) {
  if (!plan::ValidElements(header.dtype, bytes)) {
    return Bad(fmt::format("it has {}", plan::kWrongBooleans));
  }
  return Array{header.dtype, std::move(header.dims), std::move(bytes)};
}

// Reads the elements from a stream. Memory grows with what arrives, whatever the header promises.
Result<Array> ReadStream(File& file, Header header, std::span<const uint8_t> read_already) {
  std::vector<uint8_t> bytes(read_already.begin(), read_already.end());
  while (bytes.size() <= header.bytes) {
    const size_t before = bytes.size();
    // One byte more than promised is read, to notice data that follows.
    const size_t wanted = std::min<uint64_t>(header.bytes + 1 - before, std::max(before, kChunk));
    bytes.resize(before + wanted);
    Result<size_t> count = file.Read(std::span(bytes).subspan(before));
    if (!count.ok()) return count.status();
    bytes.resize(before + *count);
    if (*count < wanted) break;
  }
  if (bytes.size() < header.bytes) return WrongSize(header, bytes.size());
  if (bytes.size() > header.bytes) return Bad("more bytes follow than its header promises");
  return Finish(std::move(header), std::move(bytes));
}

Result<Array> ReadSized(const File& file, Header header) {
  const uint64_t there = *file.size() - header.offset;
  if (there != header.bytes) return WrongSize(header, there);
  std::vector<uint8_t> bytes(header.bytes);
  CGRAPH_RETURN_IF_ERROR(file.ReadAt(header.offset, bytes));
  return Finish(std::move(header), std::move(bytes));
}

// Reads the first bytes of a file, in which its header is.
Result<std::vector<uint8_t>> ReadPrefix(File& file) {
  const size_t longest = kMagicBytes + 6 + kMaxNpyHeader;
  std::vector<uint8_t> prefix(std::min<uint64_t>(file.size().value_or(longest), longest));
  Result<size_t> count = file.Read(prefix);
  if (!count.ok()) return count.status();
  prefix.resize(*count);
  return prefix;
}

Result<Array> ReadOpen(File& file) {
  Result<std::vector<uint8_t>> prefix = ReadPrefix(file);
  if (!prefix.ok()) return prefix.status();
  Result<Header> header = ParseHeader(*prefix);
  if (!header.ok()) return header.status();
  if (file.size()) return ReadSized(file, std::move(*header));
  const size_t offset = header->offset;
  return ReadStream(file, std::move(*header), std::span(*prefix).subspan(offset));
}

// Says which file it is that is wrong.
Status Of(const File& file, const Status& status) {
  if (status.code() != StatusCode::kInvalid) return status;
  return {status.code(), fmt::format("{}: {}", file.path(), status.message())};
}

}  // namespace

Result<Array> ParseNpy(std::span<const uint8_t> bytes) {
  Result<Header> header = ParseHeader(bytes);
  if (!header.ok()) return header.status();
  const std::span<const uint8_t> data = bytes.subspan(header->offset);
  if (data.size() != header->bytes) return WrongSize(*header, data.size());
  return Finish(std::move(*header), {data.begin(), data.end()});
}

Result<Array> ReadNpy(const std::string& path, Patience patience) {
  Result<File> file = File::Open(path, patience);
  if (!file.ok()) return file.status();
  Result<Array> array = ReadOpen(*file);
  if (!array.ok()) return Of(*file, array.status());
  return array;
}

Result<NpyRows> NpyRows::Open(const std::string& path) {
  Result<File> file = File::Open(path);
  if (!file.ok()) return file.status();
  if (!file->size()) return Status(StatusCode::kInvalid, fmt::format("{} is no file", path));
  NpyRows rows(std::move(*file));
  Result<std::vector<uint8_t>> prefix = ReadPrefix(rows.file_);
  if (!prefix.ok()) return prefix.status();
  Result<Header> header = ParseHeader(*prefix);
  if (!header.ok()) return Of(rows.file_, header.status());
  const uint64_t there = *rows.file_.size() - header->offset;
  if (there != header->bytes) return Of(rows.file_, WrongSize(*header, there));
  rows.dtype_ = header->dtype;
  rows.offset_ = header->offset;
  const bool has_rows = !header->dims.empty() && header->dims[0] > 0;
  rows.row_bytes_ = header->bytes / static_cast<uint64_t>(has_rows ? header->dims[0] : 1);
  rows.dims_ = std::move(header->dims);
  return rows;
}

std::vector<uint8_t> FormatNpyHeader(DType dtype, std::span<const int64_t> dims) {
  const auto code = std::find_if(std::begin(kNpyDTypes), std::end(kNpyDTypes),
                                 [dtype](const NpyDType& known) { return known.dtype == dtype; });
  assert(code != std::end(kNpyDTypes));
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (", code->code);
  for (const int64_t dim : dims) text += fmt::format("{}, ", dim);
  if (dims.size() > 1) text.resize(text.size() - 2);
  if (dims.size() == 1) text.pop_back();
  text += "), }";
  // Elements begin at a multiple of 64 bytes; the header ends with a newline.
  const size_t fixed = kMagicBytes + 4;
  text.append(63 - (fixed + text.size()) % 64, ' ');
  text += '\n';
  std::vector<uint8_t> header;
  header.reserve(fixed + text.size());
  std::copy(kMagic, kMagic + kMagicBytes, std::back_inserter(header));
  for (const size_t byte : {size_t{1}, size_t{0}, text.size() & 0xff, text.size() >> 8}) {
    header.push_back(static_cast<uint8_t>(byte));
  }
  std::copy(text.begin(), text.end(), std::back_inserter(header));
  return header;
}

Status AddNpy(OutputFiles& files, const std::string& path, DType dtype,
              std::span<const int64_t> dims, std::span<const uint8_t> bytes) {
  return files.Add(path, {FormatNpyHeader(dtype, dims), bytes});
}

}  // namespace cgraph::files
