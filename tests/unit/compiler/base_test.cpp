// compiler/base: places in texts, diagnostics and their catalogue, CHECK.

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <vector>

#include "compiler/base/byte_intervals.h"
#include "compiler/base/check.h"
#include "compiler/base/diagnostics/diagnostics.h"
#include "llvm/Support/JSON.h"
#include "runtime/base/text.h"

namespace cgraph {
namespace {

TEST_CASE("a place is a line and a byte column") {
  Sources sources;
  const SourceId id = sources.Add("a.cgraph", "one\ntwo\n\nlast");
  const auto at = [&](uint32_t offset) {
    const LineColumn place = sources.Locate(id, offset);
    return std::make_pair(place.line, place.column);
  };
  CHECK(at(0) == std::make_pair(1u, 1u));
  CHECK(at(3) == std::make_pair(1u, 4u));  // the newline belongs to its line
  CHECK(at(4) == std::make_pair(2u, 1u));
  CHECK(at(8) == std::make_pair(3u, 1u));
  CHECK(at(13) == std::make_pair(4u, 5u));  // the end of the text
  CHECK(sources.Text({id, 4, 7}) == "two");
  CHECK(sources.Text({id, 9, 900}) == "last");
  CHECK(sources.Text({}) == "");
  const SourceId empty = sources.Add("empty", "");
  CHECK(sources.Locate(empty, 0).line == 1);
}

TEST_CASE("diagnostics print by position, with their line, notes and fixes") {
  Sources sources;
  const SourceId id = sources.Add("a.cgraph", "let x = 1\n\tlett \xc3\xa9 = 2\n");
  Diagnostics diagnostics(sources);
  diagnostics.Report(Code::kE0212, {id, 11, 15}, "second").AddFix({id, 11, 15}, "let");
  diagnostics.Report(Code::kE0201, {id, 4, 5}, "first").AddNote({id, 16, 18}, "look here");
  diagnostics.Report(Code::kE0101, {}, "nowhere");
  CHECK(diagnostics.errors() == 3);
  CHECK(diagnostics.Text() ==
        "a.cgraph:1:5: error: first [E0201]\n"
        "    1 | let x = 1\n"
        "      |     ^\n"
        "a.cgraph:2:7: note: look here\n"
        "    2 |  lett \xc3\xa9 = 2\n"
        "      |       ^\n"
        "a.cgraph:2:2: error: second [E0212]\n"
        "    2 |  lett \xc3\xa9 = 2\n"
        "      |  ^~~~\n"
        "      = fix: write 'let'\n"
        "cgc: error: nowhere [E0101]\n");
}

TEST_CASE("the same code at the same place is reported once") {
  Sources sources;
  const SourceId id = sources.Add("a", "abc");
  Diagnostics diagnostics(sources);
  diagnostics.Report(Code::kE0201, {id, 0, 1}, "one");
  diagnostics.Report(Code::kE0201, {id, 0, 1}, "again").AddNote({}, "lost");
  diagnostics.Report(Code::kE0202, {id, 0, 1}, "another code");
  diagnostics.Report(Code::kE0201, {id, 0, 2}, "another range");
  CHECK(diagnostics.errors() == 3);
  CHECK(diagnostics.all()[0].notes.empty());
}

TEST_CASE("more errors than asked for are counted, not shown") {
  Sources sources;
  const SourceId id = sources.Add("a", "abc");
  Diagnostics diagnostics(sources);
  for (uint32_t i = 0; i < 3; ++i) diagnostics.Report(Code::kE0201, {id, i, i + 1}, "bad");
  const std::string text = diagnostics.Text(2);
  CHECK(text.find("1:2: error") != std::string::npos);
  CHECK(text.find("1:3: error") == std::string::npos);
  CHECK(text.find("1 more error held back") != std::string::npos);
}

TEST_CASE("what is shown of a source is short and printable") {
  Sources sources;
  const SourceId id = sources.Add(
      "a", std::string(1'000'000, 'x') + "!" + std::string(1'000'000, 'y') +
               "\n\x01\xff\x80\x1b[31m");
  Diagnostics diagnostics(sources);
  diagnostics.Report(Code::kE0201, {id, 1'000'000, 1'000'001}, "in a long line");
  diagnostics.Report(Code::kE0201, {id, 2'000'002, 2'000'004}, "among foreign bytes");
  const std::string text = diagnostics.Text();
  CHECK(text.size() < 1000);
  CHECK(text.find("\x1b") == std::string::npos);
  CHECK(text.find("\xff") == std::string::npos);
  CHECK(text.find("...xxxx") != std::string::npos);
}

TEST_CASE("a long value of -D is cut at the end of a character, and a sign says so") {
  CHECK(ShownDefine("N", "") == "-D N=");
  CHECK(ShownDefine("m.N", std::string(60, 'x')) == "-D m.N=" + std::string(60, 'x'));
  CHECK(ShownDefine("N", std::string(61, 'x')) == "-D N=" + std::string(60, 'x') + "...");
  const std::string begin(59, 'x');
  CHECK(ShownDefine("N", begin + "\u00e9") == "-D N=" + begin + "...");
  CHECK(ShownDefine("N", "x" + begin + "\u00e9") == "-D N=x" + begin + "...");
  CHECK(ShownDefine("N", std::string(61, '\x80')) == "-D N=...");
}

TEST_CASE("what is shown on a terminal neither moves its cursor nor turns its lines around") {
  CHECK(Printable("a\tb\n\x1b[2J\x07\r\x7f") == "a b\n?[2J???");
  CHECK(Printable("\u00e4 \u2192 \u6f22 \U0001f600 \u200d") ==
        "\u00e4 \u2192 \u6f22 \U0001f600 \u200d");
  // An escape of one character, marks of direction, what has no width.
  for (const char* mark :
       {"\xc2\x9b", "\u202e", "\u2066", "\u200f", "\u061c", "\u200b", "\ufeff"}) {
    CHECK(Printable(mark) == "?");
  }
  // No UTF-8: a byte that begins nothing, a long form, half of a pair, one too many, an end.
  CHECK(Printable("\xff \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe6\xbc") ==
        "? ?? ??? ???? ??");
  Sources sources;
  const SourceId id = sources.Add("a\u202e", "let x = \u202e1");
  Diagnostics diagnostics(sources);
  diagnostics.Report(Code::kE0201, {id, 11, 12}, "x\u202e");
  CHECK(diagnostics.Text().find("\u202e") == std::string::npos);
}

TEST_CASE("diagnostics as JSON can be read back") {
  Sources sources;
  const SourceId id = sources.Add("a\"\xff.cgraph", "abc\ndef\n");
  Diagnostics diagnostics(sources);
  diagnostics.Report(Code::kE0203, {id, 4, 6}, "a \"quoted\" message \xff")
      .AddNote({id, 0, 1}, "here")
      .AddFix({id, 4, 5}, ")");
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::json::OStream json(out);
  json.array([&] { WriteJson(diagnostics, json); });
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(out.str());
  REQUIRE(static_cast<bool>(value));
  const llvm::json::Object& first = *(*value->getAsArray())[0].getAsObject();
  CHECK(first.getString("code")->str() == "E0203");
  CHECK(first.getString("severity")->str() == "error");
  CHECK(*first.getInteger("line") == 2);
  CHECK(*first.getInteger("column") == 1);
  CHECK(*first.getInteger("end_column") == 3);
  CHECK(first.getArray("notes")->size() == 1);
  CHECK((*first.getArray("fixes"))[0].getAsObject()->getString("text")->str() == ")");
}

TEST_CASE("every code has a name of its own, a title and an explanation") {
  std::set<std::string> names;
  for (Code code : AllCodes()) {
    const std::string name = CodeName(code).str();
    INFO(name);
    CHECK(names.insert(name).second);
    CHECK(name.size() == 5);
    CHECK(name[0] == (CodeSeverity(code) == Severity::kError ? 'E' : 'W'));
    CHECK(!CodeTitle(code).empty());
    CHECK(CodeExplanation(code).size() > 20);
    CHECK(CodeExplanation(code).find("{kMax") == std::string::npos);
    CHECK(ParseCode(name) == code);
  }
  CHECK(names.size() >= 20);
  CHECK(!ParseCode("E9999"));
}

TEST_CASE("byte intervals say of each byte what an array of bytes would say") {
  std::mt19937 random(1);
  ByteIntervals<int> intervals;
  std::vector<int> bytes(40, 0);  // 0: nothing is known
  for (int i = 1; i <= 20'000; ++i) {
    const uint64_t begin = random() % 40, end = begin + random() % (41 - begin);
    switch (random() % 3) {
      case 0:
        intervals.Assign(begin, end, i);
        std::fill(bytes.begin() + begin, bytes.begin() + end, i);
        break;
      case 1:
        intervals.Update(begin, end, [&](int& known) { known += 1'000'000; });
        for (uint64_t byte = begin; byte < end; ++byte) bytes[byte] += 1'000'000;
        break;
      default:
        if (random() % 50 == 0) {
          intervals.Clear();
          std::fill(bytes.begin(), bytes.end(), 0);
        }
    }
    std::set<int> seen, expected(bytes.begin() + begin, bytes.begin() + end);
    intervals.ForEach(begin, end, [&](int known) { seen.insert(known); });
    expected.erase(0);
    if (begin < end) REQUIRE(seen == expected);
  }
}

TEST_CASE("did you mean") {
  const std::vector<std::string> names = {"relu", "sigmoid", "for", "softmax"};
  CHECK(DidYouMean("rleu", names) == "relu");
  CHECK(DidYouMean("sigmoyd", names) == "sigmoid");
  CHECK(DidYouMean("fro", names) == "for");
  CHECK(DidYouMean("x", names) == "");
  CHECK(DidYouMean("completely_else", names) == "");
  CHECK(DidYouMean(std::string(1'000'000, 'a'), names) == "");
  Diagnostic near{}, far{};
  near.Suggest({SourceId(0), 3, 7}, "rleu", names);
  CHECK(near.message == " (did you mean `relu`?)");
  REQUIRE(near.fixes.size() == 1);
  CHECK(near.fixes[0].text == "relu");
  CHECK(near.fixes[0].range.begin == 3);
  far.Suggest({SourceId(0), 3, 7}, "completely_else", names);
  CHECK(far.message.empty());
  CHECK(far.fixes.empty());
  CHECK(EditDistance("abc", "abc") == 0);
  CHECK(EditDistance("abc", "acb") == 1);
  CHECK(EditDistance("", "abc") == 3);
}

TEST_CASE("a failed CHECK can be caught, and says what to report") {
  bool built = false;
  CGRAPH_CHECK(true, "test", (built = true, "never built"));
  CHECK(!built);
  std::string said;
  try {
    CGRAPH_CHECK(1 + 1 == 3, "test", "arithmetic");
  } catch (const InternalError& error) {
    said = error.what();
  }
  CHECK(said.find("internal error in phase 'test': arithmetic") != std::string::npos);
  CHECK(said.find("please report it") != std::string::npos);
}

}  // namespace
}  // namespace cgraph
