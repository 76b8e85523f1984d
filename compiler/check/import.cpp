// Loading files: the named one, std.tensor, and whatever they import, each once.
//
// `import std.x` is library_dir/std/x.cgraph, or else all files of library_dir/x; `import a.b` is
// a/b.cgraph in the importing file's folder, then in the import folders. -D m=c.d reads another
// module where the named file has `import a.b as m`. A file is known by its canonical path: two
// spellings are one file. Files may not import each other in a circle.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/check/checker.h"
#include "compiler/check/gradients/gradients.h"
#include "compiler/check/parsed_library.h"
#include "compiler/syntax/parse.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "runtime/base/read_file.h"

namespace cgraph::check {
namespace {

namespace fs = std::filesystem;

std::string Canonical(const fs::path& path) {
  std::error_code error;
  fs::path canonical = fs::weakly_canonical(path, error);
  return (error ? path.lexically_normal() : canonical).string();
}

// Returns whether a path is an ordinary file: a device or a pipe might never end.
bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// Returns the files that can be imported from a folder, in the order of their names.
std::vector<std::string> FilesIn(const fs::path& folder, const std::string& prefix) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder.empty() ? "." : folder, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.extension() == ".cgraph" && IsFile(path)) {
      names.push_back(prefix + path.stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Returns the parts of a module's path, "a.b"; nothing where the text is none.
std::optional<std::vector<std::string>> PathParts(llvm::StringRef text) {
  std::vector<std::string> parts;
  for (llvm::StringRef part : llvm::split(text, '.')) {
    const bool is_name =
        !part.empty() && !llvm::isDigit(part[0]) &&
        llvm::all_of(part, [](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (!is_name) return std::nullopt;
    parts.push_back(part.str());
  }
  return parts;
}

// Returns whether the file has a const or type of that name, which -D means then.
bool DeclaresValue(const syntax::File& file, const std::string& name) {
  return llvm::any_of(file.items, [&](const syntax::Item& item) {
    const auto* constant = std::get_if<syntax::ConstDecl>(&item.node);
    const auto* type = std::get_if<syntax::TypeDecl>(&item.node);
    return (constant && constant->name.text == name) || (type && type->name.text == name);
  });
}

// Wanted: the file that an import or -D names.
struct Wanted {
  std::vector<std::string> parts;
  std::string by;          // "`import a.b`", or "-D m=a.b"
  Range range, path;       // of the import
  bool is_written = true;  // its path stands in the file
};

class Loader {
 public:
  explicit Loader(Checker& checker) : checker_(checker) {}

  bool Load(syntax::File main) {
    fs::path main_path = checker_.sources[main.source].path;
    by_path_[Canonical(main_path)] =
        Add(std::move(main), main_path.string(), main_path.parent_path());
    checker_.tensor = LoadTensor();
    ReadScheduleFlag();
    ReadTopologyFlag();
    ReadAliases(checker_.modules[0]->file);
    // Modules are added at the end while the loop runs.
    for (size_t i = 0; i < checker_.modules.size(); ++i) ResolveImports(*checker_.modules[i]);
    FindCycles();
    ReadGradients();
    return checker_.tensor != nullptr;
  }

 private:
  std::shared_ptr<const syntax::File> ParseImported(SourceId source) {
    const size_t errors = checker_.diagnostics.errors();
    const bool library = checker_.sources[source].kind == SourceKind::kLibrary;
    auto file = library ? ParseLibrary(source, checker_.diagnostics)
                        : std::make_shared<const syntax::File>(Parse(source, checker_.diagnostics));
    checker_.names_missing |= checker_.diagnostics.errors() > errors;
    return file;
  }

  Module* Add(syntax::File file, std::string name, const fs::path& folder) {
    return Add(std::make_shared<const syntax::File>(std::move(file)), std::move(name), folder);
  }

  Module* Add(std::shared_ptr<const syntax::File> file, std::string name, const fs::path& folder) {
    auto module = std::make_unique<Module>(std::move(file));
    module->name = std::move(name);
    module->folder = folder.string();
    checker_.modules.push_back(std::move(module));
    return checker_.modules.back().get();
  }

  const Module* LoadTensor() {
    fs::path path = fs::path(checker_.options.library_dir) / "std" / "tensor.cgraph";
    if (IsFile(path)) {
      return LoadFile(path, SourceKind::kLibrary, "<std>/tensor.cgraph", "std.tensor", Range());
    }
    checker_.diagnostics.Report(
        Code::kE0101, Range(),
        fmt::format("cannot find std/tensor.cgraph of the standard library in `{}`",
                    checker_.options.library_dir));
    return nullptr;
  }

  const Module* LoadFile(const fs::path& path, SourceKind kind, std::string shown, std::string name,
                         Range at) {
    auto [known, added] = by_path_.emplace(Canonical(path), nullptr);
    if (!added) return known->second;
    std::string text;
    const std::error_code error = ReadFile(path.string(), kMaxSourceBytes, text);
    if (error) {
      checker_.diagnostics.Report(Code::kE0101, at,
                                  fmt::format("cannot read `{}`: {}", shown, error.message()));
      checker_.names_missing = true;
      return nullptr;
    }
    SourceId source = checker_.sources.Add(std::move(shown), std::move(text), kind);
    known->second = Add(ParseImported(source), std::move(name), path.parent_path());
    return known->second;
  }

  // Where a program asks for gradients, the files of the library see std.grad, which their rules
  // are written with and which imports them: no circle that a user could make.
  void ReadGradients() {
    checker_.program.has_gradients = llvm::any_of(checker_.modules, [&](const auto& module) {
      return checker_.sources[module->file.source].kind != SourceKind::kLibrary &&
             AsksForGradients(module->file);
    });
    if (!checker_.program.has_gradients) return;
    const size_t loaded = checker_.modules.size();
    const fs::path path = fs::path(checker_.options.library_dir) / "std" / "grad.cgraph";
    const Module* gradients =
        LoadFile(path, SourceKind::kLibrary, "<std>/grad.cgraph", "std.grad", Range());
    for (size_t i = loaded; i < checker_.modules.size(); ++i) ResolveImports(*checker_.modules[i]);
    const std::string folder = Canonical(path.parent_path());
    for (const auto& module : checker_.modules) {
      // Also where a file of the library is the named one.
      const bool library = Canonical(module->folder) == folder;
      if (library && gradients != nullptr && module.get() != gradients) {
        module->imports.push_back({gradients, "grad", true, Range()});
      }
    }
  }

  void ResolveImports(Module& module) {
    for (const syntax::Item& item : module.file.items) {
      const auto* import = std::get_if<syntax::ImportDecl>(&item.node);
      if (!import || import->path.empty()) continue;
      Wanted wanted;
      for (const syntax::Name& part : import->path) wanted.parts.push_back(part.text);
      wanted.by = "`import " + llvm::join(wanted.parts, ".") + "`";
      wanted.range = item.range;
      wanted.path = {import->path[0].range.source, import->path.front().range.begin,
                     import->path.back().range.end};
      program::Alias* alias = nullptr;
      std::string chosen;
      if (&module == checker_.modules[0].get() && import->alias) {
        alias = &checker_.program.aliases[aliases_.at(import->alias->text)];
        chosen = Choose(*alias, wanted);
      }
      const std::string& qualifier = import->alias ? import->alias->text : import->path.back().text;
      const std::vector<const Module*> targets = Find(module, wanted);
      for (const Module* target : targets) {
        module.imports.push_back(
            {target, qualifier, !import->alias.has_value(), item.range, chosen});
        if (alias && !llvm::is_contained(alias->sources, target->file.source)) {
          alias->sources.push_back(target->file.source);
        }
      }
      if (targets.empty()) module.lost.push_back(qualifier);
    }
  }

  // Reads the aliases of the named file, and which modules -D names for them.
  void ReadAliases(const syntax::File& main) {
    std::vector<program::Alias>& aliases = checker_.program.aliases;
    for (const syntax::Item& item : main.items) {
      const auto* import = std::get_if<syntax::ImportDecl>(&item.node);
      if (!import || import->path.empty() || !import->alias) continue;
      const syntax::Name& name = *import->alias;
      const auto [known, added] = aliases_.try_emplace(name.text, aliases.size());
      if (added) aliases.push_back({name.text, {}, "", {}});
      std::vector<program::Alias::Import>& imports = aliases[known->second].imports;
      std::vector<std::string> parts;
      for (const syntax::Name& part : import->path) parts.push_back(part.text);
      std::string module = llvm::join(parts, ".");
      const bool again = !imports.empty() && imports[0].module == module;
      if (!again && imports.size() < 2) imports.push_back({std::move(module), name.range});
    }
    for (program::Alias& alias : aliases) {
      const auto define = checker_.options.defines.find(alias.name);
      if (define == checker_.options.defines.end() || DeclaresValue(main, alias.name)) continue;
      ReadChosen(alias, define->second);
    }
  }

  // Reads the module that -D names for an alias.
  void ReadChosen(program::Alias& alias, const std::string& text) {
    if (alias.imports.size() > 1) {
      const program::Alias::Import &first = alias.imports[0], &second = alias.imports[1];
      checker_.diagnostics
          .Report(Code::kE0501, Range(),
                  fmt::format("{}: `{}` is an alias of {} and of {}; give them two aliases",
                              ShownDefine(alias.name, text), alias.name, first.module,
                              second.module))
          .AddNote(first.range, fmt::format("the alias of {}", first.module))
          .AddNote(second.range, fmt::format("the alias of {}", second.module));
      return;
    }
    const std::optional<std::vector<std::string>> parts = PathParts(text);
    if (!parts || ParseDType(text) || parts->back() == "cgraph") {
      ReportNoPath(alias, text);
      return;
    }
    alias.chosen = text;
  }

  // Lets an import read the module that -D names for its alias; returns that module, empty where
  // it is the written one.
  static std::string Choose(const program::Alias& alias, Wanted& wanted) {
    if (alias.chosen.empty() || alias.chosen == alias.imports[0].module) return "";
    wanted.parts = *PathParts(alias.chosen);
    wanted.by = fmt::format("-D {}={}", alias.name, alias.chosen);
    wanted.is_written = false;
    return alias.chosen;
  }

  // Reports a value of -D that is no path of a module: a file's path, or a dtype.
  void ReportNoPath(const program::Alias& alias, const std::string& text) {
    std::string mend;
    llvm::StringRef file = text;
    file.consume_back(".cgraph");
    std::string dotted = file.str();
    std::replace(dotted.begin(), dotted.end(), '/', '.');
    if (ParseDType(text)) {
      mend = fmt::format("; a dtype that the module has a name for is chosen by -D {}.NAME={}",
                         alias.name, text);
    } else if (PathParts(dotted)) {
      mend = fmt::format("; write -D {}={}", alias.name, dotted);
    }
    checker_.diagnostics.Report(
        Code::kE0502, alias.imports[0].range,
        fmt::format("{}: `{}` stands for a module ({}), and the value given is no path of one, as "
                    "a.b after `import`{}",
                    ShownDefine(alias.name, text), alias.name, alias.imports[0].module, mend));
  }

  std::vector<const Module*> Find(const Module& from, const Wanted& wanted) {
    const std::vector<std::string>& parts = wanted.parts;
    const Range range = wanted.range;
    fs::path relative = llvm::join(parts, "/") + ".cgraph";
    std::vector<std::string> folders = {checker_.options.library_dir};
    bool library = parts[0] == "std";
    if (!library) {
      folders = {from.folder};
      folders.insert(folders.end(), checker_.options.import_dirs.begin(),
                     checker_.options.import_dirs.end());
    }
    for (const std::string& folder : folders) {
      fs::path path = fs::path(folder) / relative;
      if (!IsFile(path)) continue;
      std::string shown =
          library ? "<std>/" + relative.string().substr(sizeof("std/") - 1) : path.string();
      const SourceKind kind = library ? SourceKind::kLibrary : SourceKind::kFile;
      const Module* loaded = LoadFile(path, kind, shown, llvm::join(parts, "."), range);
      return loaded ? std::vector{loaded} : std::vector<const Module*>();
    }
    if (library && parts.size() == 2) {
      std::vector<const Module*> loaded = LoadFolder(parts[1], range);
      if (!loaded.empty()) return loaded;
    }
    ReportNotFound(wanted, relative, folders, library);
    return {};
  }

  // Reports a file that was not found. Its declarations are unknown, so from here on no unknown
  // name is reported.
  void ReportNotFound(const Wanted& wanted, const fs::path& relative,
                      const std::vector<std::string>& folders, bool library) {
    checker_.names_missing = true;
    const Range path = wanted.is_written ? wanted.path : Range();
    const std::string written = llvm::join(wanted.parts, ".");
    auto& diagnostic = checker_.diagnostics.Report(
        Code::kE0101, path,
        fmt::format("cannot find `{}`, which {} names", relative.string(), wanted.by));
    std::vector<std::string> near = FilesIn(fs::path(checker_.options.library_dir) / "std", "std.");
    for (const char* set : {"std.schedules", "std.topologies"}) near.push_back(set);
    if (!library) {
      for (const std::string& folder : folders) {
        const fs::path parent = fs::path(folder) / relative.parent_path();
        const size_t dot = written.rfind('.');
        const std::string prefix = dot == std::string::npos ? "" : written.substr(0, dot + 1);
        for (std::string& name : FilesIn(parent, prefix)) near.push_back(std::move(name));
      }
    }
    const std::string in_library = "std." + written;
    if (llvm::is_contained(near, in_library)) {
      diagnostic.message += fmt::format("; the library's is `{}{}`",
                                        wanted.is_written ? "import " : "", in_library);
      if (wanted.is_written) diagnostic.AddFix(path, in_library);
    } else {
      checker_.Suggest(diagnostic, path, written, near);
    }
    if (!wanted.is_written) diagnostic.AddNote(wanted.range, "instead of the module here");
    for (const std::string& folder : folders) {
      diagnostic.AddNote(Range(), "looked in `" + (folder.empty() ? "." : folder) + "`");
    }
    if (!library) diagnostic.AddNote(Range(), "`-I DIR` looks in another folder as well");
  }

  // Loads all files of a folder of the library, in the order of their names.
  std::vector<const Module*> LoadFolder(const std::string& folder, Range range) {
    std::vector<const Module*> loaded;
    for (const std::string& stem :
         FilesIn(fs::path(checker_.options.library_dir) / folder, "")) {
      const std::string file = folder + "/" + stem + ".cgraph";
      const Module* module = LoadFile(fs::path(checker_.options.library_dir) / file,
                                      SourceKind::kLibrary, "<std>/" + file,
                                      "std." + folder + "." + stem, range);
      if (module) loaded.push_back(module);
    }
    return loaded;
  }

  // Returns whether the text is `1f1b` or the like: a parser would only say that no name begins so.
  static bool IsNoName(const std::string& text) {
    return !std::isalpha(static_cast<unsigned char>(text[0])) && text[0] != '_';
  }

  // The value of --schedule becomes a file, which imports the library's schedules.
  void ReadScheduleFlag() {
    const std::string& text = checker_.options.schedule;
    checker_.flag.chosen = !text.empty();
    checker_.flag.reversed = text == "reversed";
    if (text.empty() || text == "program" || checker_.flag.reversed) return;
    syntax::File file;
    const SourceId source = checker_.sources.Add("--schedule", text, SourceKind::kFlag);
    if (IsNoName(text)) {
      const std::string name = text.substr(0, text.find('('));
      const Range at{source, 0, static_cast<uint32_t>(name.size())};
      Diagnostic& diagnostic = checker_.diagnostics.Report(
          Code::kE0321, at, fmt::format("there is no schedule `{}`", name));
      checker_.Translate(diagnostic, at, name);
      diagnostic.message += fmt::format("; there are program, reversed, auto, {}",
                                        fmt::join(LibrarySchedules(checker_), ", "));
      checker_.names_missing = true;
      return;
    }
    const size_t errors = checker_.diagnostics.errors();
    checker_.flag.use = ParseSchedule(source, file, checker_.diagnostics);
    checker_.names_missing |= checker_.diagnostics.errors() > errors;
    const Range at{source, 0, 0};
    file.items.push_back({syntax::ImportDecl{{{"std", at}, {"schedules", at}}, {}}, at});
    checker_.flag.module = Add(std::move(file), "--schedule", "");
  }

  // Reads the value of --topology: a whole file, or a text that becomes a file, which imports the
  // library's topologies.
  void ReadTopologyFlag() {
    const std::string& text = checker_.options.topology;
    if (text.empty()) return;
    Checker::TopologyFlag& flag = checker_.topology_flag;
    if (llvm::StringRef(text).endswith(".cgraph")) {
      flag.file = LoadFile(text, SourceKind::kFile, text, text, Range());
      return;
    }
    syntax::File file;
    const SourceId source = checker_.sources.Add("--topology", text, SourceKind::kFlag);
    const size_t errors = checker_.diagnostics.errors();
    flag.use = ParseSchedule(source, file, checker_.diagnostics);
    checker_.names_missing |= checker_.diagnostics.errors() > errors;
    const Range at{source, 0, 0};
    file.items.push_back({syntax::ImportDecl{{{"std", at}, {"topologies", at}}, {}}, at});
    flag.module = Add(std::move(file), "--topology", "");
  }

  // Finds imports in a circle, depth first with a stack of its own: an import of a file that is
  // still open closes a circle.
  void FindCycles() {
    enum State : uint8_t { kNew, kOpen, kDone };
    std::map<const Module*, State> states;
    for (const auto& root : checker_.modules) {
      if (states[root.get()] != kNew) continue;
      std::vector<std::pair<const Module*, size_t>> path = {{root.get(), 0}};
      states[root.get()] = kOpen;
      while (!path.empty()) {
        auto& [module, next] = path.back();
        if (next == module->imports.size()) {
          states[module] = kDone;
          path.pop_back();
          continue;
        }
        const Import& import = module->imports[next++];
        if (states[import.module] == kOpen) {
          ReportCycle(path, import);
        } else if (states[import.module] == kNew) {
          states[import.module] = kOpen;
          path.emplace_back(import.module, 0);
        }
      }
    }
  }

  void ReportCycle(const std::vector<std::pair<const Module*, size_t>>& path,
                   const Import& closing) {
    auto& diagnostic = checker_.diagnostics.Report(
        Code::kE0308, closing.range,
        fmt::format("this import closes a circle: `{}` is being imported already; put what both "
                    "files need into a third one",
                    closing.module->name));
    bool inside = false;
    for (size_t i = 0; i + 1 < path.size(); ++i) {
      inside |= path[i].first == closing.module;
      if (!inside) continue;
      diagnostic.AddNote(path[i].first->imports[path[i].second - 1].range, "imported from here");
    }
  }

  Checker& checker_;
  std::map<std::string, const Module*> by_path_;
  std::map<std::string, size_t> aliases_;  // of the named file, into the program's
};

// Returns the names that the library's files declare, each with its file. The files are not parsed
// for that: only programs that are wrong already ask for it, and the files need not be free of
// errors.
std::map<std::string, std::string> ReadLibraryNames(const fs::path& folder) {
  std::map<std::string, std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != ".cgraph" || !IsFile(entry->path())) continue;
    const std::string file = entry->path().stem().string();
    std::ifstream in(entry->path());
    for (std::string line; std::getline(in, line);) {
      llvm::StringRef rest = line;
      const bool declares = rest.consume_front("op ") || rest.consume_front("fn ") ||
                            rest.consume_front("optimizer ");
      if (!declares) continue;
      rest = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
      auto [known, added] = names.emplace(rest.str(), file);
      if (!added) known->second = std::min(known->second, file);  // in whatever order they come
    }
  }
  return names;
}

}  // namespace

const std::map<std::string, std::string>& LibraryNames(Checker& checker) {
  if (!checker.library_names) {
    checker.library_names = ReadLibraryNames(fs::path(checker.options.library_dir) / "std");
  }
  return *checker.library_names;
}

std::string LibraryFileOf(Checker& checker, const std::string& name) {
  const std::map<std::string, std::string>& names = LibraryNames(checker);
  const auto found = names.find(name);
  return found == names.end() ? "" : found->second;
}

std::vector<std::string> LibrarySchedules(const Checker& checker) {
  return FilesIn(fs::path(checker.options.library_dir) / "schedules", "");
}

bool LoadModules(Checker& checker, syntax::File main) {
  return Loader(checker).Load(std::move(main));
}

}  // namespace cgraph::check
