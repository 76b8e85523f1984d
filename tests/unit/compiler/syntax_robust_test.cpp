// The parser on texts that nobody writes: limits, foreign bytes, mutated programs; and the grammar
// against ambiguity.
#include <catch2/catch.hpp>
#include <chrono>
#include <random>

#include "compiler/base/limits.h"
#include "compiler/syntax/antlr.h"
#include "tests/support/parsed.h"

namespace cgraph {
namespace {

using testing::Parsed;

std::string Repeat(const std::string& text, size_t times) {
  std::string repeated;
  repeated.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) repeated += text;
  return repeated;
}

std::string Codes(const std::string& text) {
  const Parsed parsed(text);
  std::string codes;
  for (const Diagnostic& diagnostic : parsed.diagnostics.all()) {
    codes += (codes.empty() ? "" : " ") + CodeName(diagnostic.code).str();
  }
  return codes;
}

TEST_CASE("nesting is limited") {
  const std::string deep = Repeat("(", 100'000) + "1" + Repeat(")", 100'000);
  CHECK(Codes("const A = " + deep) == "E0105");
  CHECK(Codes("const A: " + Repeat("[", 1000) + "f32" + Repeat("; 1]", 1000) + " = 1") == "E0105");
  CHECK(Codes("graph g() {" + Repeat("if a { ", 10'000)) == "E0105");
  CHECK(Codes("const A = \"{" + deep + "}\"") == "E0105");
  CHECK(Codes("const A = " + Repeat("(", kMaxNesting) + "1" + Repeat(")", kMaxNesting)) == "");
  CHECK(Codes("const A = " + Repeat("[1 + -f(", kMaxNesting / 2) + "1" +
              Repeat(")]", kMaxNesting / 2)) == "");
}

TEST_CASE("nesting without brackets is limited, and the next declaration is read") {
  for (const char* step : {"- ", "not ", "if "}) {
    INFO(step);
    const Parsed parsed("const A = " + Repeat(step, 20'000) + "1\nconst B = 2\n");
    CHECK(parsed.where() == "1:E0105");
    CHECK(parsed.dump().find("const B") != std::string::npos);
  }
  for (const char* step : {".a", "()", "[0]", " via a", " on a"}) {
    INFO(step);
    const Parsed parsed("const A = a" + Repeat(step, 20'000) + "\nconst B = 2\n");
    CHECK(parsed.where() == "1:E0105");
    CHECK(parsed.dump().find("const B") != std::string::npos);
  }
  CHECK(Codes("graph g() { if a { } " + Repeat("else if a { } ", 20'000) + "}") == "E0105");
}

TEST_CASE("long is not deep") {
  CHECK(Codes("const A = a" + Repeat(" + a * 2", 20'000)) == "");
  CHECK(Codes("const A = [" + Repeat("1, ", 20'000) + "]") == "");
  CHECK(Codes("const A = f(" + Repeat("\"{i}\", ", 5'000) + ")") == "");
  CHECK(Codes("graph g() {" + Repeat("f() ", 20'000) + "}") == "");
}

TEST_CASE("tokens, bytes and errors are limited") {
  CHECK(Codes("graph g() {" + Repeat(";", 6 << 20) + "}") == "E0104");
  CHECK(Codes(std::string(kMaxSourceBytes + 1, ' ')) == "E0102");
  const Parsed parsed(Repeat("}\n", 100'000));
  CHECK(parsed.diagnostics.errors() == kMaxSyntaxErrors + 1);
  CHECK(parsed.diagnostics.all().back().code == Code::kE0106);
}

TEST_CASE("foreign bytes") {
  CHECK(Codes("") == "");
  CHECK(Codes("\xef\xbb\xbf" "const A = 1") == "");
  CHECK(Codes("// \xc3\xa9\nconst A = \"\xe2\x82\xac\"") == "");
  CHECK(Codes("const A = \"\xff\"") == "E0103");
  CHECK(Codes(std::string("const A = 1\0const B = 2", 23)) == "E0211");
  CHECK(Codes("const A = 1\r\nconst B = 2\r\n") == "");
}

// Random edits of real programs: bytes and words removed, doubled, swapped, replaced.
std::string Mutate(std::string text, std::mt19937& random) {
  static const std::vector<std::string> kWords = {
      "(",   ")", "[",  "]",  "{",     "}",  "let",  "method", "graph", "=", "\"",
      "{{",  "<", "->", "..", ",",     "if", "else", "for",    "\n",    "1", "cast",
      "f32", ";", "/*", "\\", "place", "@",  ":",    "via",    "\xc3"};
  const auto pick = [&](size_t below) { return random() % below; };
  for (size_t edits = 1 + pick(6); edits > 0 && !text.empty(); --edits) {
    const size_t at = pick(text.size());
    const size_t length = std::min(text.size() - at, 1 + pick(20));
    switch (pick(5)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, text.substr(at, length));
        break;
      case 2:
        text.insert(at, kWords[pick(kWords.size())]);
        break;
      case 3:
        text.replace(at, 1, kWords[pick(kWords.size())]);
        break;
      default: {
        const size_t other = pick(text.size());
        std::swap(text[at], text[other]);
      }
    }
  }
  return text;
}

TEST_CASE("mutated programs never crash the parser, and its tables hold") {
  std::mt19937 random(20);
  std::vector<std::string> programs;
  for (const auto& path : testing::Programs({"tests/syntax", "examples"})) {
    programs.push_back(testing::ReadText(path));
  }
  REQUIRE(programs.size() >= 10);
  size_t refused = 0;
  constexpr size_t kRuns = 3000;
  for (size_t run = 0; run < kRuns; ++run) {
    const Parsed parsed(Mutate(programs[run % programs.size()], random));  // validates
    parsed.dump();
    parsed.errors();
    refused += parsed.diagnostics.has_errors() ? 1 : 0;
  }
  std::printf("%zu mutated programs, %zu of them refused\n", kRuns, refused);
  CHECK(refused > kRuns / 2);
}

TEST_CASE("parsing is linear in the text") {
  const std::string body =
      "  let y = first.hidden(x) via auto\n  let z = (y * 2 + relu(x) @ w) / 3.0\n  return z\n}\n";
  const auto seconds = [&](size_t graphs) {
    const std::string text = Repeat("graph g(x: f32[n <= 64, 4]) -> f32[n, 4] {\n" + body, graphs);
    const auto begin = std::chrono::steady_clock::now();
    CHECK(Codes(text) == "");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const double small = seconds(500);
  const double large = seconds(5'000);
  std::printf("parsed %.0f lines a second\n", 25'000 / large);
  CHECK(large < 30 * small);  // ten times the text; the rest is for a busy machine
}

// Counts what exact ambiguity detection finds.
class AmbiguityCounter : public antlr4::BaseErrorListener {
 public:
  void reportAmbiguity(antlr4::Parser*, const antlr4::dfa::DFA&, size_t, size_t, bool,
                       const antlrcpp::BitSet&, antlr4::atn::ATNConfigSet*) override {
    ++ambiguities;
  }
  void syntaxError(antlr4::Recognizer*, antlr4::Token*, size_t, size_t, const std::string&,
                   std::exception_ptr) override {
    ++errors;
  }
  size_t ambiguities = 0, errors = 0;
};

AmbiguityCounter CountAmbiguities(const std::string& text) {
  antlr4::ANTLRInputStream input(text);
  syntax::Lexer lexer(&input);
  antlr4::CommonTokenStream tokens(&lexer);
  syntax::Grammar parser(&tokens);
  AmbiguityCounter counter;
  parser.removeErrorListeners();
  parser.addErrorListener(&counter);
  parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(
      antlr4::atn::PredictionMode::LL_EXACT_AMBIG_DETECTION);
  parser.file();
  parser.getTreeTracker().reset();
  return counter;
}

TEST_CASE("the grammar is not ambiguous in any program of the repository") {
  size_t programs = 0;
  for (const auto& path : testing::Programs({"tests/syntax", "examples", "stdlib"})) {
    const AmbiguityCounter counter = CountAmbiguities(testing::ReadText(path));
    INFO(path);
    CHECK(counter.ambiguities == 0);
    CHECK(counter.errors == 0);
    ++programs;
  }
  std::printf("exact ambiguity detection over %zu programs\n", programs);
  CHECK(programs >= 15);
}

}  // namespace
}  // namespace cgraph
