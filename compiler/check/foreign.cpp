// Words of PyTorch, NCCL, MPI, Python and C, and what is written here for them.
#include <map>
#include <string>

#include <fmt/format.h>

#include "compiler/check/calls/calls.h"
#include "compiler/check/checker.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/base/kinds/collective.h"

namespace cgraph::check {
namespace {

struct ForeignName {
  std::string ours;  // or what does without it
  bool absent;       // the library has no such thing
};

// What a name of another language is called here; null when it is none.
const ForeignName* FromElsewhere(const std::string& name, NamePosition position) {
  static const std::map<std::string, ForeignName> kNames = {
#define FOREIGN(theirs, ours) {theirs, {ours, false}},
#define ABSENT(theirs, mend) {theirs, {mend, true}},
#define METHOD(theirs, ours)
#include "compiler/check/foreign.def"
  };
  static const std::map<std::string, ForeignName> kMethods = {
#define FOREIGN(theirs, ours)
#define ABSENT(theirs, mend)
#define METHOD(theirs, ours) {theirs, {ours, false}},
#include "compiler/check/foreign.def"
  };
  if (position == NamePosition::kBehindDot) {
    const auto method = kMethods.find(name);
    if (method != kMethods.end()) return &method->second;
  }
  const auto found = kNames.find(name);
  return found == kNames.end() ? nullptr : &found->second;
}

// Returns the collective that NCCL, MPI, PyTorch or JAX call so: `ncclAllReduce`, `MPI_Bcast`,
// `Allgatherv`, `all_gather_into_tensor`.
std::optional<CollectiveKind> CollectiveElsewhere(llvm::StringRef name) {
  const bool of_mpi = name.consume_front("MPI_");
  if (!of_mpi) name.consume_front("nccl");
  const auto plain = [](llvm::StringRef text) {
    std::string word = text.lower();
    llvm::erase_value(word, '_');
    return word;
  };
  const std::string word = plain(name);
  if (word == "psum" || word == "pmean" || word == "pmax" || word == "pmin") {
    return CollectiveKind::kAllReduce;
  }
  for (const CollectiveTraits& traits : kCollectiveTraits) {
    llvm::StringRef rest = word;
    if (of_mpi) rest.consume_front("i");  // MPI_Iallreduce
    const bool fits = rest.consume_front(plain(traits.name)) ||
                      (traits.kind == CollectiveKind::kBroadcast && rest.consume_front("bcast"));
    if (!fits) continue;
    for (const char* ending : {"", "v", "w", "tensor", "intotensor", "single", "object",
                               "objectlist", "coalesced"}) {
      if (rest == ending) return traits.kind;
    }
  }
  return std::nullopt;
}

}  // namespace

bool Checker::Translate(Diagnostic& diagnostic, Range range, const std::string& name,
                        NamePosition position) {
  const ForeignName* foreign = FromElsewhere(name, position);
  if (foreign == nullptr) return false;
  const std::string& ours = foreign->ours;
  if (foreign->absent) {
    diagnostic.message +=
        fmt::format("; there is no such op (docs/language.md, \"Not in the language yet\"){}{}",
                    ours.empty() ? "" : "; ", ours);
    return true;
  }
  diagnostic.message += " (here it is " + ours + ")";
  const llvm::StringRef quoted(ours);
  const bool replaces = quoted.startswith("`") && quoted.find('`', 1) == quoted.size() - 1;
  if (replaces && range.valid()) diagnostic.AddFix(range, quoted.drop_front().drop_back().str());
  return true;
}

bool TranslateCollective(Diagnostic& diagnostic, Range range, const std::string& name) {
  const std::optional<CollectiveKind> kind = CollectiveElsewhere(name);
  if (!kind) return false;
  diagnostic.message += fmt::format(" (here it is {})", UsageOf(*kind));
  if (range.valid()) diagnostic.AddFix(range, TraitsOf(*kind).name);
  return true;
}

}  // namespace cgraph::check
