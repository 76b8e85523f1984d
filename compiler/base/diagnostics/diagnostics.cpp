// The collection of diagnostics and their catalogue; print.cpp prints them.
#include "compiler/base/diagnostics/diagnostics.h"

#include <algorithm>

#include "compiler/base/topology_property.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/text.h"

namespace cgraph {
namespace {

struct CatalogueEntry {
  const char* name;
  Severity severity;
  const char* title;
  const char* explanation;
};

#define CGRAPH_RANGE_LINE(unit, what, least, most, scale, words) "  " what " is " words "\n"

constexpr CatalogueEntry kCatalogue[] = {
#define DIAGNOSTIC(code, severity, title, explanation) \
  {#code, Severity::severity, title, explanation},
#include "compiler/base/diagnostics/diagnostics.def"
};
#undef CGRAPH_RANGE_LINE

const CatalogueEntry& Entry(Code code) { return kCatalogue[static_cast<size_t>(code)]; }

}  // namespace

llvm::StringRef CodeName(Code code) { return Entry(code).name; }
llvm::StringRef CodeTitle(Code code) { return Entry(code).title; }
const char* WrittenExplanation(Code code) { return Entry(code).explanation; }
Severity CodeSeverity(Code code) { return Entry(code).severity; }

std::optional<Code> ParseCode(llvm::StringRef text) {
  for (size_t i = 0; i < std::size(kCatalogue); ++i) {
    if (text.equals_insensitive(kCatalogue[i].name)) return static_cast<Code>(i);
  }
  return std::nullopt;
}

std::vector<Code> AllCodes() {
  std::vector<Code> codes;
  for (size_t i = 0; i < std::size(kCatalogue); ++i) codes.push_back(static_cast<Code>(i));
  return codes;
}

Diagnostic& Diagnostic::AddNote(Range note_range, std::string note_message) {
  notes.push_back({note_range, std::move(note_message)});
  return *this;
}

Diagnostic& Diagnostic::AddFix(Range fix_range, std::string text) {
  fixes.push_back({fix_range, std::move(text)});
  return *this;
}

Diagnostic& Diagnostic::Suggest(Range name_range, const std::string& name,
                                llvm::ArrayRef<std::string> candidates) {
  const std::string nearest = DidYouMean(name, candidates);
  if (nearest.empty()) return *this;
  message += " (did you mean `" + nearest + "`?)";
  return name_range.valid() ? AddFix(name_range, nearest) : *this;
}

Diagnostic& Diagnostics::Report(Code code, Range range, std::string message) {
  const Severity severity = warnings_are_errors_ ? Severity::kError : CodeSeverity(code);
  Diagnostic diagnostic{code, severity, range, std::move(message), {}, {}};
  const bool known =
      !seen_.insert({static_cast<int>(code), range.source, range.begin, range.end}).second;
  const bool suppressed =
      CodeSeverity(code) == Severity::kWarning && llvm::is_contained(suppressed_, code);
  if (CodeSeverity(code) == Severity::kError) ++found_errors_;
  if (suppressed || (known && range.valid())) {
    scratch_ = std::move(diagnostic);
    return scratch_;
  }
  if (severity == Severity::kError) ++errors_;
  all_.push_back(std::move(diagnostic));
  return all_.back();
}

Diagnostic* Diagnostics::first_error() {
  for (Diagnostic& diagnostic : all_) {
    if (diagnostic.severity == Severity::kError) return &diagnostic;
  }
  return nullptr;
}

std::string ShownDefine(const std::string& name, const std::string& value) {
  constexpr size_t kMostBytes = 60;
  size_t end = std::min(value.size(), kMostBytes);
  const auto is_inside = [&](size_t at) { return (value[at] & 0xC0) == 0x80; };  // of a character
  while (end > 0 && end < value.size() && is_inside(end)) --end;
  return "-D " + name + "=" + value.substr(0, end) + (end < value.size() ? "..." : "");
}

}  // namespace cgraph
