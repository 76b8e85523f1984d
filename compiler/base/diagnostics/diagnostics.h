// Diagnostics: messages of the compiler to its user, with a stable code, a range, notes and fixes.
//
// Every code stands once in `diagnostics.def` with its title and its long explanation. A message
// says what was seen, then the rule, then the mend, in lower case without a full stop, and points
// at the other place involved with a note. A phase goes on after an error: a wrong value becomes a
// poison value that is not reported again.
#ifndef CGRAPH_COMPILER_BASE_DIAGNOSTICS_DIAGNOSTICS_H_
#define CGRAPH_COMPILER_BASE_DIAGNOSTICS_DIAGNOSTICS_H_

#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/base/source.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace llvm::json {
class OStream;
}

namespace cgraph {

enum class Severity { kError, kWarning };

// One per line of diagnostics.def: Code::kE0101, ...
enum class Code {
#define DIAGNOSTIC(code, severity, title, explanation) k##code,
#include "compiler/base/diagnostics/diagnostics.def"
};

llvm::StringRef CodeName(Code code);         // "E0101"
llvm::StringRef CodeTitle(Code code);        // a few words
std::string CodeExplanation(Code code);      // what `cgc explain` prints
const char* WrittenExplanation(Code code);   // with the names of limits where their numbers stand
Severity CodeSeverity(Code code);
std::optional<Code> ParseCode(llvm::StringRef text);  // "E0101" or "e0101"
std::vector<Code> AllCodes();                         // in catalogue order

struct Note {
  Range range;  // may be invalid: then the note is printed without a place
  std::string message;
};

// Fix: replace `range` by `text`.
struct Fix {
  Range range;
  std::string text;
};

struct Diagnostic {
  Code code;
  Severity severity;
  Range range;
  std::string message;
  std::vector<Note> notes;
  std::vector<Fix> fixes;

  Diagnostic& AddNote(Range range, std::string message);
  Diagnostic& AddFix(Range range, std::string text);
  // Suggests the one of `candidates` that is near `name`, if any: "(did you mean ...?)" in the
  // message, and as a fix where the range is valid.
  Diagnostic& Suggest(Range name_range, const std::string& name,
                      llvm::ArrayRef<std::string> candidates);
};

// Collects the diagnostics of one compilation, in the order in which they were found; the printed
// order is by source and position.
class Diagnostics {
 public:
  explicit Diagnostics(const Sources& sources) : sources_(sources) {}

  // Adds a diagnostic; a second one with the same code and range is dropped (the returned reference
  // is then to a scratch diagnostic). References are valid until the next call.
  Diagnostic& Report(Code code, Range range, std::string message);

  bool has_errors() const { return errors_ > 0; }
  size_t errors() const { return errors_; }
  // Returns how many errors were reported, also those that were dropped; without warnings.
  size_t found_errors() const { return found_errors_; }
  const std::vector<Diagnostic>& all() const { return all_; }
  Diagnostic* first_error();  // for a note on what caused it; null: there is none
  const Sources& sources() const { return sources_; }
  void set_warnings_are_errors(bool value) { warnings_are_errors_ = value; }
  // Warnings that are dropped when they are reported, also where warnings are errors.
  void set_suppressed_warnings(std::vector<Code> codes) { suppressed_ = std::move(codes); }

  // Prints by source and position, each with its line and a caret under it; long lines are cut to a
  // window around the range. Prints at most `max_errors` errors (0: all) and says how many were
  // left out.
  void Print(llvm::raw_ostream& out, bool color, size_t max_errors) const;
  // As Print(), into a string without colours.
  std::string Text(size_t max_errors = 0) const;

 private:
  const Sources& sources_;
  std::vector<Diagnostic> all_;
  std::set<std::tuple<int, SourceId, uint32_t, uint32_t>> seen_;  // code and range
  Diagnostic scratch_{};
  size_t errors_ = 0, found_errors_ = 0;
  bool warnings_are_errors_ = false;
  std::vector<Code> suppressed_;
};

// Into an array of `json`, by source and position: objects of code, severity, message, file, line,
// column, end_line, end_column, notes and fixes.
void WriteJson(const Diagnostics& diagnostics, llvm::json::OStream& json);

// A program that gets the diagnostic and no other; empty where none can be shown.
llvm::StringRef CodeExample(Code code);

// Returns "-D NAME=VALUE" for a message. Of a long value, which may be a mistake as a whole, it has
// the beginning, with "..." behind it.
std::string ShownDefine(const std::string& name, const std::string& value);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_DIAGNOSTICS_DIAGNOSTICS_H_
