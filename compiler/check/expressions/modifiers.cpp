// `via`, `on` and `after`.
#include <fmt/format.h>

#include "compiler/check/expressions/resolve.h"
#include "compiler/check/expressions/visit.h"
#include "compiler/check/scope/scope.h"

namespace cgraph::check {

using namespace program;

namespace {

Value ResolveVia(Scope& scope, const syntax::Modified& node, Range range) {
  Value base = Resolve(scope, node.base);
  std::optional<Route> route = ResolveRoute(scope, node.argument);
  if (!scope.MayUsePlaces()) {
    scope.Report(
        Code::kE0422, range,
        "values travel between places, in graphs; a `via` inside an actor or a const means "
        "nothing");
    return base;
  }
  if (!route) return base;
  WarnOfOverriddenVia(scope, base.id, *route);
  if (const auto* local = std::get_if<LocalRef>(&scope.program.exprs[base.id].node)) {
    const auto let = scope.routed_lets.find(local->local);
    if (let != scope.routed_lets.end() && let->second.overridden++ == 0) let->second.by = range;
  }
  return scope.Make(Via{base.id, *route}, range, base.type);
}

Value ResolveAfter(Scope& scope, const syntax::Modified& node, Range range) {
  Value done = Resolve(scope, node.argument);  // also a call without a result
  Value base = Resolve(scope, node.base);
  if (!scope.MayUsePlaces()) {
    scope.Report(
        Code::kE0422, range,
        "`after` orders calls of a graph; everything inside an actor runs in program order");
    return base;
  }
  StaticType::Kind kind = done.type.kind;
  bool comes_from_calls = !done.type.known() || kind == StaticType::kTensor ||
                          kind == StaticType::kList || kind == StaticType::kTuple ||
                          kind == StaticType::kNothing;
  if (!comes_from_calls) {
    scope.Report(
        Code::kE0406, scope.Written(node.argument).range,
        fmt::format("`after` takes a call, what calls have made, or a list of these; this is {}",
                    scope.Describe(done.type)));
  }
  return scope.Make(After{base.id, done.id}, range, base.type);
}

Value ResolveOn(Scope& scope, const syntax::Modified& node, Range range) {
  Value base = Resolve(scope, node.base);
  if (!scope.MayUsePlaces()) {
    scope.Report(Code::kE0422, range,
                 "`on` places ops of a graph; everything inside an actor runs where the actor is");
    return base;
  }
  Value where = ResolveValue(scope, node.argument);
  StaticType::Kind kind = where.type.kind;
  if (kind != StaticType::kPlace && kind != StaticType::kDevice && where.type.known()) {
    scope.Report(Code::kE0421, scope.Written(node.argument).range,
                 fmt::format("`on` takes a place or a device such as gpu[0]; this is {}",
                             scope.Describe(where.type)));
  }
  return scope.Make(On{base.id, where.id}, range, base.type);
}

}  // namespace

Value Visit(Scope& scope, const syntax::Modified& node, Range range) {
  switch (node.kind) {
    case syntax::Modified::kVia: return ResolveVia(scope, node, range);
    case syntax::Modified::kOn: return ResolveOn(scope, node, range);
    case syntax::Modified::kAfter: break;
  }
  return ResolveAfter(scope, node, range);
}

}  // namespace cgraph::check
