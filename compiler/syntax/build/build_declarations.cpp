#include "compiler/syntax/build/builder.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/syntax/build/literals.h"
#include "runtime/base/kinds/native.h"

namespace cgraph::syntax {
namespace {

constexpr std::string_view kPythonFile = ".py";

// Says how a method is named that the program names by its module's file.
std::string NamedByFile(std::string_view file, std::string_view method) {
  std::string_view module = file.substr(0, file.size() - kPythonFile.size());
  module.remove_prefix(module.rfind('/') + 1);
  return fmt::format(
      "a method in Python is named by its module, not by its file: \"python:{}:{}\"; "
      "cgrun --lib {} says where the module is",
      module, method, file);
}

// Splits at any of these characters.
std::vector<std::string_view> SplitAt(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (size_t end; (end = text.find_first_of(separators)) != std::string_view::npos;) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

// Returns what a method in Python was meant to be, as "package.module:Class.method", that is
// written with other separators: as a path, with a dot for the colon, or with the module behind the
// colon. Empty where that is not clear. A class is known by its capital letter.
std::string MeantInPython(std::string_view symbol) {
  if (symbol.starts_with("./")) symbol.remove_prefix(2);
  const std::vector<std::string_view> parts = SplitAt(symbol, "/.:");
  const auto is_class = [](std::string_view part) {
    return !part.empty() && part.front() >= 'A' && part.front() <= 'Z';
  };
  auto member = std::find_if(parts.begin(), parts.end(), is_class);
  if (member == parts.end()) --member;
  if (member == parts.begin()) return "";
  std::string meant = fmt::format("{}:{}", fmt::join(parts.begin(), member, "."),
                                  fmt::join(member, parts.end(), "."));
  return ReadPythonSymbol(meant) ? meant : "";
}

// Returns what is wrong with the name of native code; nothing where it is one.
std::string ProblemOfNative(std::string_view library, std::string_view symbol) {
  if (library == kPythonLibrary) {
    const std::string_view module = symbol.substr(0, symbol.find(':'));
    // Deeper in a package a module may well be called `py`.
    if (module.ends_with(kPythonFile) && module.size() < symbol.size() &&
        (module.find('/') != std::string_view::npos ||
         IsPythonName(module.substr(0, module.size() - kPythonFile.size())))) {
      return NamedByFile(module, symbol.substr(module.size() + 1));
    }
    if (ReadPythonSymbol(symbol)) return "";
    const std::string meant = MeantInPython(symbol);
    return fmt::format(
        "a method in Python is named by its module, and by a function or a class's method there, "
        "as in \"python:package.module:Class.method\"{}; cgrun --lib says where the module is",
        meant.empty() ? "" : fmt::format(" (did you mean \"python:{}\"?)", meant));
  }
  if (library.ends_with(kPythonFile)) return NamedByFile(library, symbol);
  if (library.empty() || symbol.empty() || library.find('/') != std::string_view::npos) {
    return "native code is named by a library's file name and a function in it, as in "
           "\"libmine.so:function\", or in Python as in \"python:module:Class.method\"; "
           "cgrun --lib says where the file is";
  }
  const std::string text = fmt::format("{}:{}", library, symbol);
  const bool is_c = symbol.find('.') == std::string_view::npos;  // no function of C's has a dot
  if (is_c || library.find(".so") != std::string_view::npos || !ReadPythonSymbol(text)) return "";
  return fmt::format(
      "`{}` is no function of a shared library; for a method in Python write "
      "\"python:{}\"",
      text, text);
}

}  // namespace

void Builder::BuildItem(Grammar::ItemContext* context) {
  const Range range = RangeOf(context);
  const auto add = [&](auto node) { file_.items.push_back({std::move(node), range}); };
  if (auto* import = context->importDecl()) {
    add(BuildImport(import));
  } else if (auto* constant = context->constDecl()) {
    ConstDecl node{BuildName(constant->name()), {}, {}};
    if (constant->type() != nullptr) node.type = BuildType(constant->type());
    node.value = BuildExpr(constant->expr());
    add(std::move(node));
  } else if (auto* type = context->typeDecl()) {
    add(BuildTypeDecl(type));
  } else if (auto* transport = context->transportDecl()) {
    add(BuildTransport(transport));
  } else if (auto* fn = context->fnDecl()) {
    add(BuildFn(fn));
  } else if (auto* op = context->opDecl()) {
    add(BuildOp(op));
  } else if (auto* actor = context->actorDecl()) {
    add(BuildActor(actor));
  } else if (auto* optimizer = context->optimizerDecl()) {
    add(BuildOptimizer(optimizer));
  } else if (auto* place = context->placeDecl()) {
    add(BuildPlace(place));
  } else if (auto* graph = context->graphDecl()) {
    add(BuildGraph(graph));
  } else if (auto* topology = context->topologyDecl()) {
    add(BuildTopology(topology));
  } else if (auto* schedule = context->scheduleDecl()) {
    add(BuildSchedule(schedule));
  }
}

ImportDecl Builder::BuildImport(Grammar::ImportDeclContext* context) {
  ImportDecl node;
  for (Grammar::NameContext* name : context->name()) node.path.push_back(BuildName(name));
  // A path with one name more than its dots can join has an alias, the last name.
  if (node.path.size() > context->DOT().size() + 1) {
    node.alias = std::move(node.path.back());
    node.path.pop_back();
  }
  return node;
}

TypeDecl Builder::BuildTypeDecl(Grammar::TypeDeclContext* context) {
  TypeDecl node{BuildName(context->name()), {}, {}};
  if (context->parameters() != nullptr) node.parameters = BuildParameters(context->parameters());
  node.type = BuildType(context->type());
  return node;
}

TransportDecl Builder::BuildTransport(Grammar::TransportDeclContext* context) {
  const std::vector<Grammar::NameContext*> names = context->name();
  TransportDecl node{BuildName(names[0]), BuildName(names[1]), {}};
  if (context->arguments() != nullptr) {
    node.arguments = BuildArguments(context->arguments()->argument());
  }
  return node;
}

FnDecl Builder::BuildFn(Grammar::FnDeclContext* context) {
  FnDecl node;
  node.name = BuildName(context->name());
  node.generics = BuildGenerics(context->generics());
  node.parameters = BuildParameters(context->parameters());
  node.result = BuildResult(context->result());
  if (context->deprecation() != nullptr) {
    node.deprecated = BuildExpr(context->deprecation()->expr());
  }
  if (context->gradient() != nullptr) node.gradient = BuildGradient(context->gradient());
  node.body = BuildBlock(context->block());
  return node;
}

OpDecl Builder::BuildOp(Grammar::OpDeclContext* context) {
  OpDecl node;
  node.name = {TextOf(context->opName()->start).str(), RangeOf(context->opName())};
  node.generics = BuildGenerics(context->generics());
  node.parameters = BuildParameters(context->parameters());
  node.result = BuildResult(context->result());
  uint64_t seen = 0;
  for (Grammar::OpClauseContext* clause : context->opClause()) BuildOpClause(clause, node, seen);
  return node;
}

// Reports a clause that was there before. `seen` has a bit per kind of clause.
void Builder::RefuseSecond(const antlr4::Token* keyword, const std::string& rule, uint64_t& seen) {
  const uint64_t bit = uint64_t{1} << keyword->getType();  // soft keywords are the first types
  if ((seen & bit) != 0) {
    const Range range = RangeOf(keyword);
    errors_.Report(Code::kE0217, range.begin, range.end,
                   "a second `" + TextOf(keyword).str() + "`; " + rule);
  }
  seen |= bit;
}

void Builder::BuildOpClause(Grammar::OpClauseContext* context, OpDecl& op, uint64_t& seen) {
  const antlr4::Token* keyword = context->start;
  RefuseSecond(keyword, "an op has each clause once", seen);
  switch (keyword->getType()) {
    case Lexer::WHERE:
      op.where = BuildExpr(context->expr());
      break;
    case Lexer::COST:
      op.cost = BuildArguments(context->arguments()->argument());
      break;
    case Lexer::KERNEL:
      op.kernel = PlainString(context->STRING());
      if (context->kernelTakes() == nullptr) break;
      for (Grammar::NameContext* name : context->kernelTakes()->name()) {
        op.takes.push_back(BuildName(name));
      }
      break;
    case Lexer::EFFECT:
      op.effect = BuildName(context->name());
      break;
    case Lexer::INPLACE:
      op.inplace = BuildName(context->name());
      break;
    case Lexer::ELEMENTWISE:
      op.elementwise = RangeOf(keyword);
      break;
    case Lexer::DEPRECATED:
      op.deprecated = BuildExpr(context->deprecation()->expr());
      break;
    case Lexer::GRAD:
      op.gradient = BuildGradient(context->gradient());
      break;
    default:
      op.fails = true;
  }
}

std::string Builder::PlainString(antlr4::tree::TerminalNode* literal) {
  const antlr4::Token* token = literal->getSymbol();
  const Range range = RangeOf(token);
  DecodedString decoded = DecodeString(TextOf(token), range.begin, errors_);
  if (!decoded.holes.empty()) {
    errors_.Report(Code::kE0209, decoded.holes[0].begin - 1, decoded.holes[0].end + 1,
                   "this string is a fixed name and cannot contain an expression");
  }
  return std::move(decoded.texts[0]);
}

Gradient Builder::BuildGradient(Grammar::GradientContext* context) {
  Gradient node;
  for (Grammar::NameContext* name : context->name()) node.names.push_back(BuildName(name));
  node.has_body = context->block() != nullptr;
  if (node.has_body) {
    node.body = BuildBlock(context->block());
  } else {
    node.arguments = BuildArguments(context->arguments()->argument());
  }
  node.range = RangeOf(context);
  return node;
}

Name Builder::BuildGradientBy(Grammar::GradientByContext* context) {
  return BuildName(context->name());
}

ActorDecl Builder::BuildActor(Grammar::ActorDeclContext* context) {
  ActorDecl node;
  node.name = BuildName(context->name());
  node.parameters = BuildParameters(context->parameters());
  BuildMembers(context->members(), node.states, node.methods);
  return node;
}

OptimizerDecl Builder::BuildOptimizer(Grammar::OptimizerDeclContext* context) {
  OptimizerDecl node;
  node.name = BuildName(context->name());
  node.generics = BuildGenerics(context->generics());
  node.parameters = BuildParameters(context->parameters());
  BuildMembers(context->members(), node.states, node.methods);
  return node;
}

void Builder::BuildMembers(Grammar::MembersContext* context, std::vector<StateDecl>& states,
                           std::vector<MethodDecl>& methods) {
  for (Grammar::MemberContext* member : context->member()) {
    if (member->exception != nullptr) continue;
    if (member->stateDecl() != nullptr) {
      states.push_back(BuildState(member->stateDecl()));
    } else {
      methods.push_back(BuildMethod(member->methodDecl()));
    }
  }
}

std::vector<Name> Builder::BuildAlong(Grammar::AlongContext* context) {
  std::vector<Name> names;
  if (context == nullptr) return names;
  for (Grammar::NameContext* name : context->name()) names.push_back(BuildName(name));
  return names;
}

StateDecl Builder::BuildState(Grammar::StateDeclContext* context) {
  StateDecl node;
  node.name = BuildName(context->name());
  node.type = BuildType(context->type());
  node.value = BuildExpr(context->expr());
  node.is_param = context->PARAM() != nullptr;
  node.along = BuildAlong(context->along());
  node.range = RangeOf(context);
  return node;
}

MethodDecl Builder::BuildMethod(Grammar::MethodDeclContext* context) {
  MethodDecl node;
  node.name = BuildName(context->name());
  node.parameters = BuildParameters(context->parameters());
  node.result = BuildResult(context->result());
  node.range = RangeOf(context);
  if (context->gradientBy() != nullptr) node.gradient_by = BuildGradientBy(context->gradientBy());
  if (context->block() != nullptr) {
    node.body = BuildBlock(context->block());
  } else {
    node.native = BuildExtern(context->externBody(), node.gradient_by);
  }
  return node;
}

ExternBody Builder::BuildExtern(Grammar::ExternBodyContext* context,
                                std::optional<Name>& gradient_by) {
  ExternBody node;
  const std::string text = PlainString(context->STRING());
  const size_t colon = text.find(':');
  node.library = text.substr(0, colon);
  if (colon != std::string::npos) node.symbol = text.substr(colon + 1);
  node.range = RangeOf(context->STRING()->getSymbol());
  const std::string problem = ProblemOfNative(node.library, node.symbol);
  if (!problem.empty()) {
    errors_.Report(Code::kE0218, node.range.begin, node.range.end, problem);
  }
  uint64_t seen = 0;
  for (Grammar::ExternClauseContext* clause : context->externClause()) {
    const antlr4::Token* keyword = clause->start;
    RefuseSecond(keyword, "a native method has each clause once", seen);
    if (keyword->getType() == Lexer::COST) {
      node.cost = BuildArguments(clause->arguments()->argument());
      continue;
    }
    if (clause->gradientBy() != nullptr) {
      gradient_by = BuildGradientBy(clause->gradientBy());
      continue;
    }
    if (keyword->getType() == Lexer::KEYED) {
      node.keys = BuildOperand(clause->operand());
      continue;
    }
    std::vector<Name> states;
    for (Grammar::NameContext* name : clause->name()) states.push_back(BuildName(name));
    (keyword->getType() == Lexer::READS    ? node.reads
     : keyword->getType() == Lexer::WRITES ? node.writes
                                           : node.adds) = std::move(states);
  }
  return node;
}

PlaceDecl Builder::BuildPlace(Grammar::PlaceDeclContext* context) {
  PlaceDecl node;
  node.name = BuildName(context->name());
  node.indices = BuildIndices(context->indices());
  const std::vector<Grammar::OperandContext*> operands = context->operand();
  node.actor = BuildOperand(operands[0]);
  node.device = BuildOperand(operands[1]);
  node.along = BuildAlong(context->along());
  if (context->trainedBy() != nullptr) {
    node.trained_by = BuildOperand(context->trainedBy()->operand());
  }
  return node;
}

GraphDecl Builder::BuildGraph(Grammar::GraphDeclContext* context) {
  GraphDecl node;
  node.name = BuildName(context->name());
  node.parameters = BuildParameters(context->parameters());
  node.result = BuildResult(context->result());
  for (Grammar::AttributeContext* attribute : context->attribute()) {
    if (attribute->usingClause() == nullptr) {
      node.attributes.push_back(BuildAttribute(attribute));
      continue;
    }
    node.usings.push_back(BuildUsing(attribute->usingClause()->schedule()));
  }
  node.body = BuildBlock(context->block());
  return node;
}

Attribute Builder::BuildAttribute(Grammar::AttributeContext* context) {
  Grammar::AttributeValueContext* value = context->attributeValue();
  const std::vector<Grammar::NameContext*> names = context->name();
  Attribute node{BuildName(names[0]), {}, {}, {}};
  node.value = value->literal() != nullptr
                   ? BuildLiteral(value->literal())
                   : Add(Expr{NameExpr{TextOf(value->start).str()}, RangeOf(value)});
  for (size_t i = 1; i < names.size(); ++i) node.more.push_back(BuildName(names[i]));
  if (context->expr() != nullptr) node.condition = BuildExpr(context->expr());
  return node;
}

std::vector<Index> Builder::BuildIndices(Grammar::IndicesContext* context) {
  std::vector<Index> indices;
  if (context == nullptr) return indices;
  for (Grammar::IndexContext* index : context->index()) {
    indices.push_back({BuildName(index->name()), BuildExpr(index->expr())});
  }
  return indices;
}

std::vector<Generic> Builder::BuildGenerics(Grammar::GenericsContext* context) {
  std::vector<Generic> generics;
  if (context == nullptr) return generics;
  for (Grammar::GenericContext* generic : context->generic()) {
    const std::vector<Grammar::NameContext*> names = generic->name();
    Generic built{BuildName(names[0]), std::nullopt};
    if (names.size() > 1) built.bound = BuildName(names[1]);
    generics.push_back(std::move(built));
  }
  return generics;
}

std::vector<Parameter> Builder::BuildParameters(Grammar::ParametersContext* context) {
  std::vector<Parameter> parameters;
  if (context == nullptr) return parameters;
  for (Grammar::ParameterContext* parameter : context->parameter()) {
    Parameter built{BuildName(parameter->name()), BuildType(parameter->type()), {}};
    if (parameter->expr() != nullptr) built.default_value = BuildExpr(parameter->expr());
    parameters.push_back(std::move(built));
  }
  return parameters;
}

Result Builder::BuildResult(Grammar::ResultContext* context) {
  Result result;
  if (context == nullptr) return result;
  result.type = BuildType(context->type());
  if (context->operand() != nullptr) result.via = BuildOperand(context->operand());
  return result;
}

}  // namespace cgraph::syntax
