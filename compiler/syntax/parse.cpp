// Parse works in this order: limits and encoding, lexemes, brackets, then item by item ANTLR's tree
// and from it our rows. A tree lives as long as its item is being built, so memory follows the
// largest item and not the file.
#include "compiler/syntax/parse.h"

#include "compiler/base/limits.h"
#include "compiler/syntax/build/builder.h"
#include "compiler/syntax/errors/mistakes.h"
#include "compiler/syntax/errors/recovery.h"
#include "llvm/Support/ConvertUTF.h"

namespace cgraph {
namespace syntax {
namespace {

// The most rules that may be active at once. A bracket takes about six; an `if` without brackets in
// the condition of an `if` takes three and is not counted by Balance.
constexpr size_t kMaxRules = kMaxNesting * 10;

// ANTLR's parser, with SLL prediction, our recovery, and a bound on its recursion.
class GuardedParser : public Grammar {
 public:
  GuardedParser(TokenWindow& window, SyntaxErrors& errors)
      : Grammar(&window), window_(window), recovery_(std::make_shared<Recovery>(window, errors)) {
    removeErrorListeners();
    setErrorHandler(recovery_);
    getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(
        antlr4::atn::PredictionMode::SLL);
  }

  ~GuardedParser() override { getTreeTracker().reset(); }  // the tracker itself frees nothing

  void enterRule(antlr4::ParserRuleContext* context, size_t state, size_t rule) override {
    while (!active_.empty() && active_.back() != context->parent) active_.pop_back();
    if (active_.size() == kMaxRules) {
      const Lexeme& at = window_.lexemes()[window_.index()];
      throw TooDeep{at.begin, at.end};
    }
    active_.push_back(context);
    context->children.reserve(4);  // few have more
    Grammar::enterRule(context, state, rule);
  }

  // Without ANTLR's dynamic_cast: a context's parent is what was being read, another context.
  void addContextToParseTree() override {
    auto* parent = static_cast<antlr4::ParserRuleContext*>(_ctx->parent);
    if (parent != nullptr) parent->addChild(_ctx);
  }

  void Forget() {
    window_.Forget();
    getTreeTracker().reset();
  }
  Recovery& recovery() { return *recovery_; }

 private:
  TokenWindow& window_;
  std::shared_ptr<Recovery> recovery_;
  // The rules that are being read, outermost first.
  std::vector<const antlr4::tree::ParseTree*> active_;
};

bool StartsItem(size_t type) {
  switch (type) {
    case Lexer::IMPORT:
    case Lexer::CONST:
    case Lexer::TYPE:
    case Lexer::TRANSPORT:
    case Lexer::FN:
    case Lexer::OP:
    case Lexer::ACTOR:
    case Lexer::OPTIMIZER:
    case Lexer::PLACE:
    case Lexer::GRAPH:
    case Lexer::SCHEDULE:
    case Lexer::TOPOLOGY:
      return true;
    default:
      return false;
  }
}

void ReportTooDeep(const TooDeep& where, SyntaxErrors& errors) {
  errors.ReportStructure(Code::kE0105, where.begin, where.end,
                         "this is nested too deeply; give names to its parts");
}

void ParseItems(const Lexemes& lexemes, SyntaxErrors& errors, File& file) {
  TokenWindow window(lexemes);
  GuardedParser parser(window, errors);
  Builder builder(file, errors);
  while (lexemes[window.index()].type != antlr4::Token::EOF) {
    if (!StartsItem(lexemes[window.index()].type)) {
      ReportUnexpected(lexemes, window.index(), {}, Grammar::RuleFile, errors);
      parser.recovery().SkipToDeclaration();
      continue;
    }
    try {
      Grammar::ItemContext* item = parser.item();
      if (item->exception == nullptr) builder.BuildItem(item);
    } catch (const TooDeep& where) {
      ReportTooDeep(where, errors);
      parser.recovery().SkipToDeclaration();
    }
    parser.Forget();
  }
}

// Returns the first byte that is not UTF-8, or the text's size.
size_t FirstForeignByte(llvm::StringRef text) {
  const auto* begin = reinterpret_cast<const llvm::UTF8*>(text.begin());
  const auto* at = begin;
  llvm::isLegalUTF8String(&at, begin + text.size());
  return static_cast<size_t>(at - begin);
}

bool CheckText(llvm::StringRef text, SyntaxErrors& errors) {
  if (text.size() > static_cast<size_t>(kMaxSourceBytes)) {
    errors.Report(Code::kE0102, 0, 0,
                  "this file has more than " + std::to_string(kMaxSourceBytes) +
                      " bytes; split it and import the parts");
    return false;
  }
  const size_t foreign = FirstForeignByte(text);
  if (foreign < text.size()) {
    const auto at = static_cast<uint32_t>(foreign);
    errors.Report(Code::kE0103, at, at + 1, "this byte is not part of UTF-8 text");
    return false;
  }
  return true;
}

}  // namespace

namespace {

// Parses bytes [begin, end) with `read`.
void ParsePart(uint32_t begin, uint32_t end, SyntaxErrors& errors,
               llvm::function_ref<void(Grammar&)> read) {
  Lexemes cut, lexemes;
  if (!Lex(errors.text(), begin, end, errors, cut) || !Balance(std::move(cut), errors, lexemes)) {
    return;
  }
  TokenWindow window(lexemes);
  GuardedParser parser(window, errors);
  try {
    read(parser);
  } catch (const antlr4::RecognitionException&) {  // reported by Recovery
  } catch (const TooDeep& where) {
    ReportTooDeep(where, errors);
  }
}

}  // namespace

void ParseHole(uint32_t begin, uint32_t end, SyntaxErrors& errors,
               llvm::function_ref<void(Grammar::ExprContext*)> use) {
  ParsePart(begin, end, errors, [&](Grammar& parser) { use(parser.interpolation()->expr()); });
}

}  // namespace syntax

std::optional<syntax::Using> ParseSchedule(SourceId source, syntax::File& file,
                                           Diagnostics& diagnostics) {
  using namespace syntax;
  file.source = source;
  std::optional<Using> use;
  SyntaxErrors errors(source, diagnostics);
  const llvm::StringRef text = errors.text();
  try {
    if (!CheckText(text, errors)) return use;
    Builder builder(file, errors);
    ParsePart(0, static_cast<uint32_t>(text.size()), errors, [&](Grammar& parser) {
      use = builder.BuildUsing(parser.scheduleFlag()->schedule());
    });
  } catch (const StopParsing&) {  // reported
  }
  return use;
}

syntax::File Parse(SourceId source, Diagnostics& diagnostics) {
  using namespace syntax;
  File file;
  file.source = source;
  SyntaxErrors errors(source, diagnostics);
  const llvm::StringRef text = errors.text();
  try {
    if (!CheckText(text, errors)) return file;
    Lexemes cut, lexemes;
    const auto end = static_cast<uint32_t>(text.size());
    if (!Lex(text, FirstCharacter(text), end, errors, cut)) return file;
    if (!Balance(std::move(cut), errors, lexemes)) return file;
    WarnOfDivisions(lexemes, errors);
    ParseItems(lexemes, errors, file);
  } catch (const StopParsing&) {  // reported
  }
  return file;
}

}  // namespace cgraph
