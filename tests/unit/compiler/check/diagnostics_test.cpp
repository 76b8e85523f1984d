// Each diagnostic of check with the program that draws it.
#include <catch2/catch.hpp>
#include <cstdio>
#include <set>
#include <string>

#include "tests/support/checked.h"
#include "tests/support/refused_programs.h"

namespace cgraph {
namespace {

using testing::Checked;
using testing::TempFolder;
using testing::kRefused;

// Returns the codes that the text of a test expects.
std::set<std::string> ExpectedCodes(const std::string& text) {
  std::set<std::string> codes;
  for (size_t at = text.find("//^ "); at != std::string::npos; at = text.find("//^ ", at + 1)) {
    codes.insert(text.substr(at + 4, 5));
  }
  return codes;
}

TEST_CASE("every diagnostic of check has a program that draws it, in place and in words") {
  // Codes that need several files are below. Codes that need a file without declarations, or
  // --topology: tests/golden.
  std::set<std::string> drawn = {"E0307", "E0308", "E0317", "E0325", "W0302"};
  for (const std::string& text : kRefused) {
    INFO(text);
    CHECK(Checked(text).Surprises() == "");
    drawn.merge(ExpectedCodes(text));
  }
  size_t codes = 0;
  for (const std::string code : {
#define DIAGNOSTIC(code, severity, title, explanation) #code,
#include "compiler/base/diagnostics/diagnostics.def"
       }) {
    bool ours = code.rfind("E03", 0) == 0 || code.rfind("E04", 0) == 0 ||
                code.rfind("E071", 0) == 0 || code.rfind("W03", 0) == 0;
    if (!ours) continue;
    INFO(code);
    CHECK(drawn.count(code) == 1);
    ++codes;
  }
  std::printf("%zu codes in %zu refused programs\n", codes, kRefused.size());
  CHECK(codes > 50);
}

TEST_CASE("what goes wrong with several files") {
  TempFolder folder;
  const std::string main = (folder.path() / "main.cgraph").string();
  folder.Write("a.cgraph", "import b\nconst SHARED = 1\nconst A = 1\n");
  folder.Write("b.cgraph", "import a\nconst SHARED = 2\nconst B = 1\n");
  folder.Write("c.cgraph", "const SHARED = 3\nimport d\n");
  folder.Write("d.cgraph", "const D = 3\n");
  folder.Write("broken.cgraph", "const B = \nfn f( -> {");
  folder.Write("main.cgraph", "");

  CHECK(Checked("import missing.file\n//^ E0101 cannot find `missing/file.cgraph`", main)
            .Surprises() == "");
  CHECK(Checked("import std.missing\n//^ E0101 cannot find `std/missing.cgraph`").Surprises() ==
        "");
  CHECK(Checked("import c\nconst X = D\n//^ E0301 `D` is not declared", main).Surprises() == "");
  CHECK(Checked("import c\nimport a as q\nconst X = SHARED + q.SHARED", main)
            .errors()
            .find("E0307") == std::string::npos);

  // The error is in the file that closes the circle; a name that is imported twice is ambiguous.
  const Checked circle("import a\nimport c\nconst X = SHARED", main);
  CHECK(circle.errors().find("this import closes a circle: `a` is being imported") !=
        std::string::npos);
  CHECK(circle.errors().find("`SHARED` is declared by `a` and by `c`") != std::string::npos);
  CHECK(Checked("import main\n//^ E0308 this import closes a circle", main).Surprises() == "");

  // A name that could not be read is not reported as unknown.
  const Checked broken("import broken\nconst X = B + f(1) + broken.C", main);
  INFO(broken.errors());
  for (const Diagnostic& diagnostic : broken.diagnostics.all()) {
    CHECK(CodeName(diagnostic.code).startswith("E02"));
  }
}

TEST_CASE("a library that is absent or lacks what operators need") {
  TempFolder folder;
  const Checked absent("const A = 1", "test.cgraph", {}, folder.path().string());
  CHECK(absent.errors().find("cannot find std/tensor.cgraph") != std::string::npos);
  folder.Write("std/tensor.cgraph",
               "op add<T: number>(a: T[*s], b: T[*t]) -> T[*broadcast(s, t)]\n");
  const Checked poor("graph g(x: f32) -> f32 { return x + x * x }", "test.cgraph", {},
                     folder.path().string());
  CHECK(poor.errors().find("matmul, negate, logical_not, cast, stack, copy") != std::string::npos);
  CHECK(poor.errors().find("E0317") != std::string::npos);
}

}  // namespace
}  // namespace cgraph
