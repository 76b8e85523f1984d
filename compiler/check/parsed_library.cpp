#include "compiler/check/parsed_library.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "compiler/syntax/parse.h"

namespace cgraph::check {
namespace {

// More than the library has files; a process that compiles with many libraries begins again.
constexpr size_t kMaxFiles = 64;

struct ParsedFiles {
  std::mutex mutex;
  std::map<std::pair<uint32_t, std::string>, std::shared_ptr<const syntax::File>> by_text;
};

ParsedFiles& Parsed() {
  static ParsedFiles* const parsed = new ParsedFiles;
  return *parsed;
}

}  // namespace

std::shared_ptr<const syntax::File> ParseLibrary(SourceId source, Diagnostics& diagnostics) {
  ParsedFiles& parsed = Parsed();
  std::pair key(source.index, diagnostics.sources()[source].text);
  const std::lock_guard lock(parsed.mutex);
  if (const auto found = parsed.by_text.find(key); found != parsed.by_text.end()) {
    return found->second;
  }
  const size_t before = diagnostics.all().size();
  auto file = std::make_shared<const syntax::File>(Parse(source, diagnostics));
  if (diagnostics.all().size() > before) return file;
  if (parsed.by_text.size() == kMaxFiles) parsed.by_text.clear();
  parsed.by_text.emplace(std::move(key), file);
  return file;
}

}  // namespace cgraph::check
