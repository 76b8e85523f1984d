// Check on programs that nobody would write: mutated, deep, long.
#include <catch2/catch.hpp>
#include <cctype>
#include <cstdio>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/checked.h"
#include "tests/support/parsed.h"
#include "tests/support/refused_programs.h"

namespace cgraph {
namespace {

using testing::Checked;
using testing::kRefused;

// The words, numbers, signs and spaces of a program, comments left out.
std::vector<std::string> Tokens(const std::string& text) {
  static const std::regex kToken(
      R"(//[^\n]*|"[^"\n]*"|[A-Za-z_][A-Za-z_0-9]*|[0-9][0-9_]*(\.[0-9]+)?[a-zA-Z/]*|)"
      R"(->|<=|>=|==|!=|\.\.|[-+*/]=|\s+|.)");
  std::vector<std::string> tokens;
  for (std::sregex_iterator it(text.begin(), text.end(), kToken), end; it != end; ++it) {
    if (it->str().rfind("//", 0) != 0) tokens.push_back(it->str());
  }
  return tokens;
}

enum class Sort { kSpace, kWord, kNumber, kSign };
Sort SortOf(const std::string& token) {
  unsigned char c = token[0];
  return std::isspace(c)              ? Sort::kSpace
         : std::isdigit(c)            ? Sort::kNumber
         : std::isalpha(c) || c == '_' ? Sort::kWord
                                      : Sort::kSign;
}

// Mostly one token for another of the same sort, so that many mutants still parse.
std::string Mutate(std::vector<std::string> tokens, const std::vector<std::string>& words,
                   std::mt19937& random) {
  const auto pick = [&](size_t below) { return random() % below; };
  for (size_t edits = 1 + pick(2); edits > 0;) {
    size_t at = pick(tokens.size());
    const std::vector<std::string>& source = pick(6) == 0 ? words : tokens;
    const std::string other = source[pick(source.size())];
    if (SortOf(tokens[at]) == Sort::kSpace || SortOf(tokens[at]) != SortOf(other)) continue;
    // Signs rarely fit each other.
    if (SortOf(other) == Sort::kSign && pick(12) != 0) continue;
    --edits;
    if (pick(20) == 0) {
      tokens.erase(tokens.begin() + at);
    } else {
      tokens[at] = other;
    }
  }
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

TEST_CASE("mutated programs never crash check, and what it accepts validates") {
  std::vector<std::vector<std::string>> programs;
  std::vector<std::string> words;
  for (const auto& path : testing::Programs({"examples", "tests/conformance"})) {
    programs.push_back(Tokens(testing::ReadText(path)));
  }
  const size_t sound = programs.size();
  for (const std::string& text : kRefused) programs.push_back(Tokens(text));
  for (const auto& tokens : programs) words.insert(words.end(), tokens.begin(), tokens.end());
  std::mt19937 random(7);
  size_t accepted = 0, read = 0;
  constexpr size_t kRuns = 400;
  for (size_t run = 0; run < kRuns; ++run) {
    size_t program = run % (run % 3 == 0 ? programs.size() : sound);
    const Checked checked(Mutate(programs[program], words, random));  // validates
    checked.errors();
    bool syntax = false;
    for (const Diagnostic& diagnostic : checked.diagnostics.all()) {
      syntax |= CodeName(diagnostic.code).startswith("E02");
    }
    read += syntax ? 0 : 1;
    if (checked.diagnostics.has_errors()) continue;
    checked.dump();
    ++accepted;
  }
  std::printf("%zu mutated programs, %zu of them parsed, %zu accepted\n", kRuns, read, accepted);
  CHECK(accepted > 5);
  CHECK(read > kRuns / 4);
}

TEST_CASE("types of tuples of tuples do not grow without bound") {
  std::string text = "fn f(x: f32) -> f32 { let t0 = (x, x) ";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "t" + std::to_string(i - 1);
    text += "let t" + std::to_string(i) + " = (" + before + ", " + before + ") ";
  }
  CHECK(Checked(text + "return x }").Surprises() == "");
}

std::string Repeat(const std::string& text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += text;
  return repeated;
}

TEST_CASE("what the parser lets through is not too deep for check") {
  const std::string f = "fn f(x: int) -> int { return x }\n";
  CHECK(Checked(f + "const A = " + Repeat("0 + -f(", 90) + "1" + Repeat(")", 90)).Surprises() ==
        "");
  CHECK(Checked("const A = " + Repeat("- ", 400) + "1").Surprises() == "");
  CHECK(Checked("const A: " + Repeat("[", 190) + "int" + Repeat("; 1]", 190) + " = " +
                Repeat("[", 190) + "1" + Repeat("]", 190))
            .Surprises() == "");
  CHECK(Checked("fn f(x: [int; 1]) { let y = x" + Repeat("[0..1]", 400) + " }").Surprises() == "");
  CHECK(Checked("fn f() { " + Repeat("if true { ", 190) +
                Repeat("} ", 190) + "}")
            .Surprises() == "");
}

TEST_CASE("a long chain of consts needs no deep stack") {
  std::string text;
  for (int i = 0; i < 5'000; ++i) {
    text += "const A" + std::to_string(i) + " = A" + std::to_string(i + 1) + " + 1\n";
  }
  CHECK(Checked(text + "const A5000 = 1\n").Surprises() == "");
}

}  // namespace
}  // namespace cgraph
