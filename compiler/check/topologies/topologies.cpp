// Topologies: their parts, and the one that --topology names.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/check/calls/arguments.h"
#include "compiler/check/expressions/resolve.h"
#include "compiler/check/names.h"
#include "compiler/check/scope/scope.h"
#include "compiler/check/topologies/units.h"
#include "compiler/check/types/types.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/kinds/logical_device.h"

namespace cgraph::check {

using namespace program;

namespace {

const char* NameOf(TopologyParts kind) {
  return kind == kOfDevice ? "device" : kind == kOfResource ? "resource" : "link";
}

class PartReader {
 public:
  PartReader(Checker& checker, TopologyId id)
      : module_(*checker.topologies[id].module),
        decl_(*checker.topologies[id].decl),
        topology_(checker.program.topologies[id]),
        scope_(checker, module_, Site::kTopology, nullptr, &topology_.locals) {}

  void Run() {
    topology_.parameters = ResolveParameters(scope_, decl_.parameters);
    ResolveDefaults(scope_, decl_.parameters, topology_.parameters);
    if (decl_.parts.size() > kMaxTopologyParts) {
      scope_.Report(Code::kE0424, decl_.name.range,
                    fmt::format("a topology has at most {} parts", kMaxTopologyParts));
      return;
    }
    for (const syntax::TopologyPart& written : decl_.parts) NameResource(written);
    for (const syntax::TopologyPart& written : decl_.parts) {
      scope_.names.OpenBlock();
      topology_.parts.push_back(Read(written));
      scope_.names.CloseBlock();
    }
  }

 private:
  void NameResource(const syntax::TopologyPart& written) {
    const size_t position = &written - decl_.parts.data();
    const auto* resource = std::get_if<syntax::ResourcePart>(&written.node);
    if (resource == nullptr) return;
    const auto [first, added] = resources_.emplace(resource->name.text, position);
    if (added) return;
    const auto& before = std::get<syntax::ResourcePart>(decl_.parts[first->second].node);
    scope_.Report(Code::kE0302, resource->name.range,
                  fmt::format("`{}` is declared twice", resource->name.text))
        .AddNote(before.name.range, "the first declaration is here");
  }

  TopologyPart Read(const syntax::TopologyPart& written) {
    TopologyPart part;
    part.range = written.range;
    for (const syntax::Index& index : written.indices) {
      const ExprId range = ResolveIndexRange(scope_, index.range);
      const LocalId local =
          DeclareLocal(scope_, index.name, StaticType::Of(StaticType::kInt), LocalKind::kFixed);
      part.indices.push_back({index.name.text, local, range});
    }
    if (const auto* device = std::get_if<syntax::DevicePart>(&written.node)) {
      part.kind = kOfDevice;
      part.device = Device(device->device);
    } else if (const auto* link = std::get_if<syntax::LinkPart>(&written.node)) {
      part.kind = kOfLink;
      part.device = Device(link->from);
      part.to = Device(link->to);
      if (link->condition.valid()) part.condition = ResolveCondition(scope_, link->condition).id;
    } else {
      part.kind = kOfResource;
      part.name = std::get<syntax::ResourcePart>(written.node).name.text;
    }
    ReadProperties(written, part);
    return part;
  }

  ExprId Device(syntax::ExprId id) {
    const Value device = ResolveValue(scope_, id);
    if (device.type.known() && device.type.kind != StaticType::kDevice) {
      scope_.Report(Code::kE0421, scope_.Written(id).range,
                    fmt::format("a device is {}; this is {}", DevicesText("or"),
                                scope_.Describe(device.type)));
    }
    return device.id;
  }

  void ReadProperties(const syntax::TopologyPart& written, TopologyPart& part) {
    std::map<std::string, Range> seen;
    for (const syntax::Property& property : written.properties) {
      const auto [first, added] = seen.emplace(property.name.text, property.name.range);
      if (!added) {
        scope_
            .Report(Code::kE0404, property.name.range,
                    fmt::format("`{}` is given twice", property.name.text))
            .AddNote(first->second, "the first time here");
        continue;
      }
      const auto known = ParseProperty(property.name.text, part.kind);
      if (!known) {
        ReportUnknown(property.name, part.kind);
      } else if (*known == TopologyProperty::kThrough) {
        ReadThrough(property.value, part);
      } else {
        const Value value = ResolveQuantity(scope_, property.value, *known);
        part.properties.push_back({*known, value.id, scope_.Written(property.value).range});
      }
    }
    const bool flows = part.kind != kOfDevice;
    if (!flows || seen.count("bandwidth") != 0) return;
    scope_.Report(Code::kE0431, written.properties_range,
                  fmt::format("a {} states its `bandwidth`, such as bandwidth: 23.3GB/s",
                              NameOf(part.kind)));
  }

  void ReportUnknown(const syntax::Name& name, TopologyParts kind) {
    const std::vector<std::string> names = PropertiesOf(kind);
    Diagnostic& diagnostic = scope_.Report(
        Code::kE0431, name.range,
        fmt::format("a {} has no property `{}`; it has {}", NameOf(kind), name.text,
                    fmt::join(names, ", ")));
    scope_.checker.Suggest(diagnostic, name.range, name.text, names);
  }

  // Resolves the parts of a `through`: root, root[i / 2], [out[i], in[j]].
  void ReadThrough(syntax::ExprId id, TopologyPart& part) {
    const syntax::Expr& value = scope_.Written(id);
    if (const auto* list = std::get_if<syntax::ListExpr>(&value.node)) {
      for (syntax::ExprId item : list->items) ReadHop(item, part);
    } else {
      ReadHop(id, part);
    }
  }

  void ReadHop(syntax::ExprId id, TopologyPart& part) {
    const syntax::Expr& value = scope_.Written(id);
    const auto* index = std::get_if<syntax::IndexExpr>(&value.node);
    const syntax::Expr& base = index != nullptr ? scope_.Written(index->base) : value;
    const auto* name = std::get_if<syntax::NameExpr>(&base.node);
    const auto found = name != nullptr ? resources_.find(name->name) : resources_.end();
    if (found == resources_.end()) return ReportNoResource(name, base.range);
    TopologyPart::Hop hop{found->second, {}, value.range};
    const size_t wanted = decl_.parts[found->second].indices.size();
    const size_t given = index != nullptr ? index->subscripts.size() : 0;
    if (given != wanted) {
      scope_
          .Report(Code::kE0410, value.range,
                  fmt::format("`{}` has {} {}, not {}", name->name, wanted,
                              wanted == 1 ? "index" : "indices", given))
          .AddNote(decl_.parts[found->second].range, "declared here");
      return;
    }
    for (size_t i = 0; i < given; ++i) {
      if (!index->subscripts[i].valid()) {
        scope_.Report(Code::kE0410, value.range, "a link goes through single resources, not `:`");
        return;
      }
      hop.indices.push_back(ResolveInt(scope_, index->subscripts[i], "an index").id);
    }
    part.through.push_back(std::move(hop));
  }

  void ReportNoResource(const syntax::NameExpr* name, Range range) {
    std::vector<std::string> names;
    for (const auto& [known, position] : resources_) names.push_back(known);
    if (name == nullptr) {
      scope_.Report(Code::kE0431, range, "`through` names a resource, or a list of them");
      return;
    }
    Diagnostic& diagnostic =
        scope_.Report(Code::kE0431, range,
                      fmt::format("the topology has no resource `{}`", name->name));
    scope_.checker.Suggest(diagnostic, range, name->name, names);
  }

  const Module& module_;
  const syntax::TopologyDecl& decl_;
  Topology& topology_;
  Scope scope_;
  std::map<std::string, size_t> resources_;  // positions in the topology's parts
};

// ---- --topology ---------------------------------------------------------------------------------

void ReportNoTopology(Checker& checker, const syntax::Name& name) {
  std::vector<std::string> names;
  for (const Topology& topology : checker.program.topologies) names.push_back(topology.name);
  Diagnostic& diagnostic =
      checker.diagnostics.Report(Code::kE0325, name.range,
                                 fmt::format("there is no topology `{}`", name.text));
  checker.Suggest(diagnostic, name.range, name.text, names);
  const std::string known = fmt::format("{}", fmt::join(names, ", "));
  diagnostic.AddNote(Range(), "there are " + known + ", and files: --topology FILE.cgraph");
}

std::optional<TopologyId> FindTopology(Checker& checker, const syntax::Using& use) {
  const Module& module = *checker.topology_flag.module;
  const syntax::Name& name = use.path.back();
  const Found found = FindPath(checker, module, use.path);
  if (found.reported) return std::nullopt;
  if (!found.symbol) {
    if (!checker.names_missing) ReportNoTopology(checker, name);
    return std::nullopt;
  }
  if (const auto* id = std::get_if<TopologyId>(&found.symbol->node)) return *id;
  checker.diagnostics
      .Report(Code::kE0325, name.range,
              fmt::format("`--topology` takes a topology, and `{}` is none", name.text))
      .AddNote(found.symbol->range, "declared here");
  return std::nullopt;
}

// Returns the topology of a file that declares one only.
std::optional<TopologyId> OnlyOne(Checker& checker, const Module& file) {
  std::vector<TopologyId> ids;
  for (TopologyId id : checker.program.topologies.Ids()) {
    if (checker.topologies[id].module == &file) ids.push_back(id);
  }
  if (ids.size() == 1) return ids[0];
  if (checker.names_missing) return std::nullopt;
  Diagnostic& diagnostic = checker.diagnostics.Report(
      Code::kE0325, Range{file.file.source, 0, 0},
      ids.empty() ? "--topology: this file declares no topology"
                  : "--topology: this file declares several topologies; a file of its own for "
                    "each says which is meant");
  for (TopologyId id : ids) diagnostic.AddNote(checker.program.topologies[id].range, "one");
  return std::nullopt;
}

void ReadFlag(Checker& checker) {
  const Checker::TopologyFlag& flag = checker.topology_flag;
  if (flag.file == nullptr && !flag.use) return;
  const std::optional<TopologyId> id =
      flag.use ? FindTopology(checker, *flag.use) : OnlyOne(checker, *flag.file);
  if (!id) return;
  TopologyUse use;
  use.topology = *id;
  use.range = flag.use ? flag.use->range : checker.program.topologies[*id].range;
  if (flag.use && !flag.use->renamings.empty()) {
    checker.diagnostics.Report(Code::kE0323, flag.use->renamings[0].name.range,
                               "a topology has no names to rename");
  }
  const Module& module = flag.use ? *flag.module : *flag.file;
  const Topology& topology = checker.program.topologies[*id];
  Scope scope(checker, module, Site::kConst, nullptr, &use.locals);
  Arguments given = ResolveArguments(
      scope, flag.use ? flag.use->arguments : std::vector<syntax::Argument>());
  CheckArguments(scope, given,
                 {"topology `" + topology.name + "`", &topology.parameters, nullptr,
                  &topology.locals, topology.range},
                 use.range);
  use.arguments = std::move(given.arguments);
  checker.program.topology = std::move(use);
}

}  // namespace

void ResolveTopologies(Checker& checker) {
  for (TopologyId id : checker.program.topologies.Ids()) PartReader(checker, id).Run();
  ReadFlag(checker);
}

}  // namespace cgraph::check
