// What both halves say alike of methods in native code and in Python.
#ifndef CGRAPH_RUNTIME_BASE_KINDS_NATIVE_H_
#define CGRAPH_RUNTIME_BASE_KINDS_NATIVE_H_

#include <cstddef>
#include <optional>
#include <string_view>

namespace cgraph {

// The state that holds the number of a place's object; no declared name has a space. Where methods
// say what they do to the object, it has several slots, which on the host all hold the number, and
// of which on a GPU the first does. A call that keeps something for a key touches the key's slot,
// one that adds to the object a slot of its own, one that reads the object reads them all, one that
// may change it writes them all. So the calls that may not be exchanged are those that touch the
// same bytes.
inline constexpr char kNativeObjectState[] = "native object";
inline constexpr int kObjectSlots = 64;

// The ops that call native code: a method, and what makes the object of a place. These are their
// attributes, in this order; those arguments that are no tensors follow by the names of their
// parameters.
//
//   extern         library, symbol, actor, reads, writes, names, object; a `name` for each of
//                  `names` arguments; a `state` for each that it reads, then for each that it may
//                  write, but not for the object's number: the last operand, and, where `object`
//                  is 1, the last of `writes`; where it is 0 it is only read, beside `reads`
//   extern_create  library, symbol, place, methods; a `method`, which is a symbol, `methods` times
inline constexpr char kExternOp[] = "extern";
inline constexpr char kExternCreateOp[] = "extern_create";
// How many attributes there are before those that there are several of.
inline constexpr size_t kExternHead = 7, kExternCreateHead = 4;
inline constexpr size_t kExternSymbol = 1, kExternNames = 5;  // where these two are
namespace extern_attributes {
inline constexpr char kLibrary[] = "library", kSymbol[] = "symbol";
inline constexpr char kActor[] = "actor", kReads[] = "reads", kWrites[] = "writes";
inline constexpr char kNames[] = "names", kName[] = "name", kState[] = "state";
inline constexpr char kObject[] = "object";
inline constexpr char kPlace[] = "place", kMethods[] = "methods", kMethod[] = "method";
}  // namespace extern_attributes

// The library of methods in Python: `extern "python:package.module:Class.method"`.
inline constexpr char kPythonLibrary[] = "python";
// How a method that PyTorch differentiates, `grad by auto`, is called, behind its symbol: with
// tensors of PyTorch's; with what autograd needs kept for a later call; to take the gradients of
// its results and return those of its arguments. The last two have one more argument, whose name no
// parameter has: the number that both know the kept results by, and then which arguments are to
// have gradients, or which results give them.
inline constexpr char kAutogradCall[] = "@call", kAutogradKeep[] = "@keep";
inline constexpr char kAutogradBackward[] = "@backward";
inline constexpr char kAutogradArgument[] = "autograd of";
// What such calls return behind their results: a number that no other call of the object has. The
// call back takes that of its forward call, and every later call of the object takes that of the
// call back, as a state that it reads: so what follows a failure fails, too.
inline constexpr char kAutogradMark[] = "autograd mark";
// The symbol as the program names it.
inline std::string_view SymbolInProgram(std::string_view symbol) {
  for (const std::string_view mode : {kAutogradCall, kAutogradKeep, kAutogradBackward}) {
    if (symbol.ends_with(mode)) return symbol.substr(0, symbol.size() - mode.size());
  }
  return symbol;
}

// What cgraph_python_import of libcgraph_python.so returns where a module has raised something
// while it was imported; where there is no such module it returns 1.
inline constexpr int kImportRaised = 2;

// PythonSymbol: "package.module:Class.method", or "package.module:function".
struct PythonSymbol {
  std::string_view module, class_name, function;  // no class: empty
  // "package": what says whether a program may use the module.
  std::string_view package() const { return module.substr(0, module.find('.')); }
};

// Whether the text is a name of Python's. Its letters beyond ASCII are not looked at.
inline bool IsPythonName(std::string_view text) {
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                        static_cast<unsigned char>(c) >= 0x80;
    if (!letter && (!digit || &c == text.data())) return false;
  }
  return !text.empty();
}

// Nothing where the text is no such symbol.
inline std::optional<PythonSymbol> ReadPythonSymbol(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  PythonSymbol symbol{text.substr(0, colon), {}, text.substr(colon + 1)};
  if (const size_t dot = symbol.function.find('.'); dot != std::string_view::npos) {
    symbol.class_name = symbol.function.substr(0, dot);
    symbol.function.remove_prefix(dot + 1);
    if (!IsPythonName(symbol.class_name)) return std::nullopt;
  }
  for (std::string_view rest = symbol.module;;) {
    const size_t dot = rest.find('.');
    if (!IsPythonName(rest.substr(0, dot))) return std::nullopt;
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  return IsPythonName(symbol.function) ? std::optional(symbol) : std::nullopt;
}

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_KINDS_NATIVE_H_
