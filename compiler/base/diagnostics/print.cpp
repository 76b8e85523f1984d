// Printing of diagnostics: for people (`file:line:column: error: message [E0203]`, the line, a
// caret) and for programs (JSON).
//
// The line printer is our own and not llvm::SourceMgr's, because a line may be megabytes long, hold
// bytes that are not UTF-8, or contain tabs and control characters. It shows a window around the
// range, with everything unprintable replaced, and the caret stands under the right character.
#include <algorithm>

#include "compiler/base/diagnostics/diagnostics.h"
#include "llvm/Support/JSON.h"
#include "runtime/base/text.h"

namespace cgraph {
namespace {

using llvm::raw_ostream;

constexpr uint32_t kWindowBefore = 60;  // bytes shown before the range's begin in a long line
constexpr uint32_t kWindowBytes = 140;

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// Returns the line as it can be shown: the same number of characters, one column each as far as we
// can tell.
std::string PrintableLine(llvm::StringRef bytes) {
  std::string shown = Printable(bytes);
  std::replace(shown.begin(), shown.end(), '\n', '?');
  return shown;
}

struct Window {
  std::string before, marked, after;  // of the first line that the range touches
  bool cut_begin = false, cut_end = false;
};

Window CutWindow(const Sources& sources, const Range& range) {
  const llvm::StringRef text = sources[range.source].text;
  const Range line = sources.LineAt(range.source, range.begin);
  const size_t begin = range.begin, end = range.end;
  const size_t line_begin = line.begin, line_end = line.end;
  Window window;
  size_t from = line_begin, to = line_end;
  if (line_end - line_begin > kWindowBytes) {
    from = begin > line_begin + kWindowBefore ? begin - kWindowBefore : line_begin;
    to = std::min<size_t>(line_end, from + kWindowBytes);
    while (from > line_begin && IsContinuation(text[from])) --from;
    while (to < line_end && IsContinuation(text[to])) ++to;
  }
  window.cut_begin = from > line_begin;
  window.cut_end = to < line_end;
  const size_t mark = std::clamp<size_t>(begin, from, to);
  const size_t mark_end = std::clamp<size_t>(end, mark, to);
  window.before = PrintableLine(text.slice(from, mark));
  window.marked = PrintableLine(text.slice(mark, mark_end));
  window.after = PrintableLine(text.slice(mark_end, to));
  return window;
}

size_t Columns(llvm::StringRef shown) {
  return static_cast<size_t>(
      std::count_if(shown.begin(), shown.end(), [](char byte) { return !IsContinuation(byte); }));
}

class Printer {
 public:
  Printer(const Sources& sources, raw_ostream& out, bool color)
      : sources_(sources), out_(out), color_(color) {}

  void Print(const Diagnostic& diagnostic) {
    const bool error = diagnostic.severity == Severity::kError;
    Headline(diagnostic.range, error ? "error" : "warning",
             error ? raw_ostream::RED : raw_ostream::MAGENTA, diagnostic.message,
             CodeName(diagnostic.code));
    Line(diagnostic.range);
    for (const Note& note : diagnostic.notes) {
      Headline(note.range, "note", raw_ostream::CYAN, note.message, "");
      Line(note.range);
    }
    for (const Fix& fix : diagnostic.fixes) PrintFix(fix);
  }

 private:
  void Color(raw_ostream::Colors color, bool bold) {
    if (color_) out_.changeColor(color, bold);
  }
  void Reset() {
    if (color_) out_.resetColor();
  }

  void Headline(const Range& range, const char* kind, raw_ostream::Colors color,
                llvm::StringRef message, llvm::StringRef code) {
    Color(raw_ostream::SAVEDCOLOR, true);
    if (range.valid()) {
      const LineColumn at = sources_.Locate(range.source, range.begin);
      out_ << PrintableLine(sources_[range.source].path) << ":" << at.line << ":" << at.column
           << ": ";
    } else {
      out_ << "cgc: ";
    }
    Color(color, true);
    out_ << kind << ": ";
    Reset();
    Color(raw_ostream::SAVEDCOLOR, true);
    out_ << PrintableLine(message);
    Reset();
    if (!code.empty()) out_ << " [" << code << "]";
    out_ << "\n";
  }

  void Line(const Range& range) {
    if (!range.valid()) return;
    const Window window = CutWindow(sources_, range);
    const std::string number = std::to_string(sources_.Locate(range.source, range.begin).line);
    const std::string indent = window.cut_begin ? "..." : "";
    out_ << llvm::right_justify(number, 5) << " | " << indent << window.before << window.marked
         << window.after << (window.cut_end ? "..." : "") << "\n";
    out_.indent(5) << " | ";
    out_.indent(static_cast<unsigned>(indent.size() + Columns(window.before)));
    Color(raw_ostream::GREEN, true);
    const size_t width = Columns(window.marked);
    out_ << "^" << std::string(width > 1 ? width - 1 : 0, '~');
    Reset();
    out_ << "\n";
  }

  void PrintFix(const Fix& fix) {
    const std::string old = PrintableLine(sources_.Text(fix.range));
    out_.indent(5) << " = ";
    Color(raw_ostream::GREEN, true);
    if (fix.text.empty()) {
      out_ << "fix: remove '" << old << "'";
    } else if (old.empty()) {
      out_ << "fix: insert '" << PrintableLine(fix.text) << "'";
    } else {
      out_ << "fix: write '" << PrintableLine(fix.text) << "'";
    }
    Reset();
    out_ << "\n";
  }

  const Sources& sources_;
  raw_ostream& out_;
  const bool color_;
};

std::vector<const Diagnostic*> ByPosition(const std::vector<Diagnostic>& all) {
  std::vector<const Diagnostic*> sorted;
  for (const Diagnostic& diagnostic : all) sorted.push_back(&diagnostic);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic* a, const Diagnostic* b) {
    return std::tie(a->range.source, a->range.begin) < std::tie(b->range.source, b->range.begin);
  });
  return sorted;
}

// Replaces bytes that are not UTF-8, which llvm::json refuses.
std::string Utf8(llvm::StringRef text) { return llvm::json::fixUTF8(text); }

void WriteRange(llvm::json::OStream& json, const Sources& sources, const Range& range) {
  if (!range.valid()) return;
  const LineColumn begin = sources.Locate(range.source, range.begin);
  const LineColumn end = sources.Locate(range.source, range.end);
  json.attribute("file", Utf8(sources[range.source].path));
  json.attribute("line", begin.line);
  json.attribute("column", begin.column);
  json.attribute("end_line", end.line);
  json.attribute("end_column", end.column);
}

void WriteDiagnostic(llvm::json::OStream& json, const Sources& sources,
                     const Diagnostic& diagnostic) {
  json.object([&] {
    json.attribute("code", CodeName(diagnostic.code));
    json.attribute("severity", diagnostic.severity == Severity::kError ? "error" : "warning");
    json.attribute("message", Utf8(diagnostic.message));
    WriteRange(json, sources, diagnostic.range);
    json.attributeArray("notes", [&] {
      for (const Note& note : diagnostic.notes) {
        json.object([&] {
          json.attribute("message", Utf8(note.message));
          WriteRange(json, sources, note.range);
        });
      }
    });
    json.attributeArray("fixes", [&] {
      for (const Fix& fix : diagnostic.fixes) {
        json.object([&] {
          json.attribute("text", Utf8(fix.text));
          WriteRange(json, sources, fix.range);
        });
      }
    });
  });
}

}  // namespace

void Diagnostics::Print(raw_ostream& out, bool color, size_t max_errors) const {
  if (color) out.enable_colors(true);
  Printer printer(sources_, out, color);
  size_t shown = 0;
  for (const Diagnostic* diagnostic : ByPosition(all_)) {
    if (diagnostic->severity == Severity::kError) {
      if (max_errors != 0 && shown == max_errors) continue;
      ++shown;
    }
    printer.Print(*diagnostic);
  }
  if (shown < errors_) {
    out << "cgc: " << Counted(errors_ - shown, "more error") << " held back\n";
  }
}

std::string Diagnostics::Text(size_t max_errors) const {
  std::string text;
  llvm::raw_string_ostream out(text);
  Print(out, /*color=*/false, max_errors);
  return text;
}

void WriteJson(const Diagnostics& diagnostics, llvm::json::OStream& json) {
  for (const Diagnostic* diagnostic : ByPosition(diagnostics.all())) {
    WriteDiagnostic(json, diagnostics.sources(), *diagnostic);
  }
}

}  // namespace cgraph
