#include "compiler/check/names.h"

#include <fmt/format.h>

#include "llvm/ADT/STLExtras.h"

namespace cgraph::check {
namespace {

// Returns the one symbol of that name among the imports that `visible` lets through.
template <typename Visible>
Found FindImported(Checker& checker, const Module& module, const std::string& name, Range at,
                   Visible visible) {
  Found found;
  const Import* first = nullptr;
  for (const Import& import : module.imports) {
    if (!visible(import)) continue;
    auto entry = import.module->names.find(name);
    if (entry == import.module->names.end() || &entry->second == found.symbol) continue;
    if (found.symbol) {
      checker.diagnostics
          .Report(Code::kE0307, at,
                  fmt::format("`{0}` is declared by `{1}` and by `{2}`; write `{3}.{0}` or import "
                              "one of them with `as`",
                              name, first->module->name, import.module->name, first->qualifier))
          .AddNote(found.symbol->range, "declared here")
          .AddNote(entry->second.range, "and here");
      return {nullptr, true};
    }
    found.symbol = &entry->second;
    first = &import;
  }
  return found;
}

// Lists what a file declares, for suggestions.
void ListNames(const Module& module, std::vector<std::string>& names) {
  for (const auto& [name, symbol] : module.names) {
    if (!symbol.deprecated) names.push_back(name);
  }
}

}  // namespace

Found FindName(Checker& checker, const Module& module, const std::string& name, Range at) {
  auto own = module.names.find(name);
  if (own != module.names.end()) return {&own->second, false};
  return FindImported(checker, module, name, at,
                      [](const Import& import) { return import.unqualified; });
}

Found FindQualified(Checker& checker, const Module& module, const std::string& qualifier,
                    const std::string& name, Range at) {
  return FindImported(checker, module, name, at,
                      [&](const Import& import) { return import.qualifier == qualifier; });
}

Found FindPath(Checker& checker, const Module& module, const std::vector<syntax::Name>& path) {
  const syntax::Name& name = path.back();
  return path.size() > 1 ? FindQualified(checker, module, path[0].text, name.text, name.range)
                         : FindName(checker, module, name.text, name.range);
}

bool HasName(const Module& module, const std::string& name) {
  if (module.names.count(name)) return true;
  for (const Import& import : module.imports) {
    if (import.unqualified && import.module->names.count(name)) return true;
  }
  return false;
}

bool IsQualifier(const Module& module, const std::string& name) {
  for (const Import& import : module.imports) {
    if (import.qualifier == name) return true;
  }
  return llvm::is_contained(module.lost, name);
}

std::string ShownModule(const Module& module, const std::string& qualifier) {
  for (const Import& import : module.imports) {
    if (import.qualifier != qualifier || import.chosen.empty()) continue;
    return fmt::format("`{0}`, which -D {1}={0} names,", import.chosen, qualifier);
  }
  return "`" + qualifier + "`";
}

std::vector<std::string> VisibleNames(const Module& module) {
  std::vector<std::string> names;
  ListNames(module, names);
  for (const Import& import : module.imports) {
    if (import.unqualified) ListNames(*import.module, names);
  }
  return names;
}

std::vector<std::string> QualifiedNames(const Module& module, const std::string& qualifier) {
  std::vector<std::string> names;
  for (const Import& import : module.imports) {
    if (import.qualifier == qualifier) ListNames(*import.module, names);
  }
  return names;
}

}  // namespace cgraph::check
