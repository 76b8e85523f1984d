// Names: locals, states and dimension variables first, then the file's names; devices, transports.
#include <cctype>

#include <fmt/format.h>

#include "compiler/check/names.h"
#include "compiler/check/resolver.h"

namespace cgraph::check {

using namespace program;

bool Resolver::IsOwnName(const std::string& name) const {
  return names_.count(name) || dim_names_.count(name) ||
         (actor_.valid() && checker_.state_names.count({actor_, name}));
}

Value Resolver::ResolveName(const std::string& name, Range range) {
  if (name == "none") return Make(NoneLiteral(), range, Static());
  if (auto own = ResolveOwnName(name, range)) return *own;
  if (in_type_) {
    if (auto dim = ResolveDimName(name, range)) return *dim;
  }
  Found found = FindName(checker_, module_, name, range);
  if (found.reported) return Poison(range);
  if (found.symbol) return ResolveSymbol(*found.symbol, name, range);
  return ReportUnknownName(name, range);
}

std::optional<Value> Resolver::ResolveOwnName(const std::string& name, Range range) {
  if (auto local = names_.find(name); local != names_.end()) {
    LocalId id = local->second;
    used_.insert(id);
    if (id.index >= hidden_below_) return Make(LocalRef{id}, range, local_types_[id.index]);
    Report(Code::kE0316, range,
           fmt::format("`{}` is a parameter; a default value and an attribute are the same for "
                       "every call and can use consts only",
                       name))
        .AddNote((*locals_)[id].range, "declared here");
    return Poison(range);
  }
  if (actor_.valid()) {
    auto state = checker_.state_names.find({actor_, name});
    if (state != checker_.state_names.end()) {
      const TypeId type = program_.states[state->second].type;
      Static known = StaticOf(program_, type);
      if (known.kind == Static::kTensor) {
        known.declared = {type, nullptr, &program_.actors[actor_].locals};
      }
      return Make(StateRef{state->second}, range, std::move(known));
    }
  }
  auto dim = dim_names_.find(name);
  if (dim == dim_names_.end()) return std::nullopt;
  if (in_type_) dim_uses_.emplace_back(dim->second, range);
  bool run = signature_->dim_variables[dim->second].run;
  // In a body an extent may be dynamic; in types and costs it counts as an integer.
  bool integer = in_type_ || site_ == Site::kOp;
  Static type = Static::Of(run ? Static::kDims : integer ? Static::kInt : Static::kUnknown);
  return Make(DimRef{dim->second}, range, type);
}

// A new dimension variable, where the type being resolved may bring one.
std::optional<Value> Resolver::ResolveDimName(const std::string& name, Range range) {
  if (std::isupper(static_cast<unsigned char>(name[0]))) return std::nullopt;
  Found found = FindName(checker_, module_, name, range);
  if (found.reported) return Poison(range);
  if (found.symbol && std::holds_alternative<ConstId>(found.symbol->node)) {
    Report(Code::kE0319, range,
           fmt::format("`{}` is declared in the file, but as a dimension a name with a small "
                       "initial is a dimension variable; give the const a capital initial",
                       name))
        .AddNote(found.symbol->range, "declared here");
    return Poison(range);
  }
  std::optional<DimVariableId> id = DimVariable(name, false, *in_type_, range);
  if (!id) return Poison(range);
  dim_uses_.emplace_back(*id, range);
  return Make(DimRef{*id}, range, Static::Of(Static::kInt));
}

Value Resolver::ResolveSymbol(const Symbol& symbol, const std::string& name, Range range) {
  if (const auto* id = std::get_if<ConstId>(&symbol.node)) {
    if (const_.valid()) checker_.const_uses[const_].push_back(*id);
    return Make(ConstRef{*id}, range, checker_.const_types[*id]);
  }
  if (const auto* id = std::get_if<PlaceId>(&symbol.node)) {
    const Place& place = program_.places[*id];
    if (!OpensScope()) {
      Report(Code::kE0316, range,
             fmt::format("`{}` is a place; only graphs, and fns that graphs call, can use places: "
                         "actors know nothing of each other",
                         name))
          .AddNote(symbol.range, "declared here");
      return Poison(range);
    }
    Static type = Static::Of(place.indices.empty() ? Static::kPlace : Static::kPlaces);
    type.actor = place.actor;
    type.indices = static_cast<int>(place.indices.size());
    return Make(PlaceRef{*id}, range, type);
  }
  if (std::holds_alternative<Refused>(symbol.node)) return Poison(range);
  const char* kind = std::holds_alternative<ActorId>(symbol.node)       ? "an actor"
                     : std::holds_alternative<GraphId>(symbol.node)     ? "a graph"
                     : std::holds_alternative<OpId>(symbol.node)        ? "an op"
                     : std::holds_alternative<TransportId>(symbol.node) ? "a transport"
                                                                        : "a fn";
  Report(Code::kE0305, range, fmt::format("`{}` is {}, not a value", name, kind))
      .AddNote(symbol.range, "declared here");
  return Poison(range);
}

// Where a `let` or `var` behind `use` declares the name.
std::optional<Range> Resolver::DeclaredLater(const std::vector<syntax::StatementId>& ids,
                                             const std::string& name, Range use) const {
  auto in_pattern = [&](const syntax::Pattern& pattern) -> std::optional<Range> {
    for (const syntax::Name& declared : pattern.names) {
      if (declared.text == name && declared.range.begin > use.begin) return declared.range;
    }
    return std::nullopt;
  };
  for (syntax::StatementId id : ids) {
    const auto& node = module_.file.statements[id].node;
    std::optional<Range> found;
    if (const auto* let = std::get_if<syntax::Let>(&node)) found = in_pattern(let->pattern);
    if (const auto* var = std::get_if<syntax::Var>(&node)) found = in_pattern(var->pattern);
    if (const auto* loop = std::get_if<syntax::For>(&node)) {
      found = DeclaredLater(loop->body, name, use);
    }
    if (const auto* branch = std::get_if<syntax::If>(&node)) {
      found = DeclaredLater(branch->then_body, name, use);
      if (!found) found = DeclaredLater(branch->else_body, name, use);
    }
    if (found) return found;
  }
  return std::nullopt;
}

// `mend` is what helps where no other name is near.
Value Resolver::ReportUnknownName(const std::string& name, Range range, const char* mend) {
  if (checker_.syntax_errors) return Poison(range);
  if (IsDeviceWord(name)) {
    Report(Code::kE0421, range,
           "a device is written with its number: cpu[0], gpu[0], node[1].gpu[0]");
    return Poison(range);
  }
  if (signature_ && FindGeneric(name)) {
    Report(Code::kE0305, range,
           fmt::format("`{}` is a dtype variable, not a value; it can stand in types and in "
                       "width({})",
                       name, name));
    return Poison(range);
  }
  if (IsQualifier(module_, name)) {
    Report(Code::kE0305, range,
           fmt::format("`{0}` is an imported file, not a value; write `{0}.` and one of its names",
                       name));
    return Poison(range);
  }
  if (auto later = body_ ? DeclaredLater(*body_, name, range) : std::nullopt) {
    Report(Code::kE0301, range,
           fmt::format("`{}` is not declared yet: values flow from top to bottom, and what the next "
                       "execution needs of this one is kept in a state",
                       name))
        .AddNote(*later, "it is declared here");
    return Poison(range);
  }
  std::vector<std::string> candidates = VisibleNames(module_);
  for (const auto& [local, id] : names_) candidates.push_back(local);
  for (const auto& [dim, id] : dim_names_) candidates.push_back(dim);
  if (actor_.valid()) {
    for (StateId id : program_.actors[actor_].states) {
      candidates.push_back(program_.states[id].name);
    }
  }
  Diagnostic& diagnostic =
      Report(Code::kE0301, range, fmt::format("`{}` is not declared", name));
  if (checker_.Translate(diagnostic, range, name)) return Poison(range);
  checker_.Suggest(diagnostic, range, name, candidates);
  if (diagnostic.fixes.empty()) diagnostic.message += mend;
  return Poison(range);
}

const std::string* Resolver::QualifierOf(syntax::ExprId id) const {
  const auto* name = std::get_if<syntax::NameExpr>(&Written(id).node);
  if (!name || IsOwnName(name->name) || HasName(module_, name->name)) return nullptr;
  return IsQualifier(module_, name->name) ? &name->name : nullptr;
}

// ---- devices and transports ---------------------------------------------------------------------

bool Resolver::IsDeviceWord(const std::string& name) const {
  return (name == "cpu" || name == "gpu" || name == "node") && !IsOwnName(name) &&
         !HasName(module_, name);
}

// cpu[i], gpu[i], node[j].gpu[i]; nothing when the base is no device word.
std::optional<Value> Resolver::ResolveDevice(const syntax::IndexExpr& node, Range range) {
  const syntax::Expr& base = Written(node.base);
  const auto* word = std::get_if<syntax::NameExpr>(&base.node);
  const auto* field = std::get_if<syntax::FieldExpr>(&base.node);
  const syntax::IndexExpr* on_node = nullptr;
  if (field) {
    on_node = std::get_if<syntax::IndexExpr>(&Written(field->base).node);
    if (!on_node) return std::nullopt;
    word = std::get_if<syntax::NameExpr>(&Written(on_node->base).node);
    if (!word || word->name != "node") return std::nullopt;
  }
  if (!word || !IsDeviceWord(word->name)) return std::nullopt;
  const std::string& kind = field ? field->name.text : word->name;
  bool one_each = node.subscripts.size() == 1 && node.subscripts[0].valid() &&
                  (!on_node || (on_node->subscripts.size() == 1 && on_node->subscripts[0].valid()));
  if ((kind != "cpu" && kind != "gpu") || !one_each) {
    Report(Code::kE0421, range, "a device is cpu[i], gpu[i], node[j].cpu[i] or node[j].gpu[i]");
    return Poison(range);
  }
  DeviceRef device;
  device.kind = kind == "cpu" ? DeviceRef::kCpu : DeviceRef::kGpu;
  if (on_node) device.node = ResolveInt(on_node->subscripts[0], "the number of a node").id;
  device.index = ResolveInt(node.subscripts[0], "the number of a device").id;
  return Make(device, range, Static::Of(Static::kDevice));
}

std::optional<Route> Resolver::ResolveRoute(syntax::ExprId id) {
  const syntax::Expr& expr = Written(id);
  if (std::holds_alternative<syntax::CallExpr>(expr.node)) {
    Report(Code::kE0712, expr.range,
           "options of a transport stand where it gets a name: transport fast = shm(capacity: 4)");
    return std::nullopt;
  }
  const auto* name = std::get_if<syntax::NameExpr>(&expr.node);
  std::vector<std::string> candidates = {
#define TRANSPORT(id, name) name,
#include "compiler/base/transports.def"
  };
  if (name) {
    if (auto transport = ParseTransport(name->name)) return Route{*transport, {}, expr.range};
  }
  Found found;
  if (const auto* field = std::get_if<syntax::FieldExpr>(&expr.node)) {
    const std::string* qualifier = QualifierOf(field->base);
    if (qualifier) found = FindQualified(checker_, module_, *qualifier, field->name.text, expr.range);
  } else if (name) {
    found = FindName(checker_, module_, name->name, expr.range);
  }
  if (found.reported) return std::nullopt;
  if (found.symbol) {
    const auto* declared = std::get_if<TransportId>(&found.symbol->node);
    if (declared) return Route{program_.transports[*declared].base, *declared, expr.range};
    if (std::holds_alternative<Refused>(found.symbol->node)) return std::nullopt;
  }
  for (const NamedTransport& transport : program_.transports) candidates.push_back(transport.name);
  Diagnostic& diagnostic =
      Report(Code::kE0314, expr.range,
             "`via` takes a transport: auto, local, shm, nccl, mpi, host or one that the file "
             "declares");
  if (name != nullptr) checker_.Suggest(diagnostic, expr.range, name->name, candidates);
  return std::nullopt;
}

}  // namespace cgraph::check
