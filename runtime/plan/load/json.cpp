// A plan as JSON and back, by FlatBuffers' own generator and parser over the schema that is
// compiled in. All fields are written, also those that have their default, so that the text can be
// edited without knowing the schema. On the way in the JSON is read strictly: unknown fields and
// unknown names of enum members are refused, and what was read passes the same gate as a file
// (FromBytes).
#include <flatbuffers/idl.h>
#include <fmt/format.h>

#include "runtime/plan/load.h"

namespace cgraph::plan {
namespace {

const char kSchema[] = {
#include "runtime/plan/plan_schema.inc"
};

flatbuffers::IDLOptions Options() {
  flatbuffers::IDLOptions options;
  options.strict_json = true;
  options.output_default_scalars_in_json = true;
  options.indent_step = 1;
  return options;
}

// Loads the schema. The parser writes to a builder that grows; nothing else of it outlives a call.
bool LoadSchema(flatbuffers::Parser& parser) {
  return parser.Parse(kSchema) && parser.SetRootType("cgraph.wire.Plan");
}

}  // namespace

std::string ToJson(const Plan& plan) {
  flatbuffers::IDLOptions options = Options();
  options.allow_non_utf8 = true;  // a plan that was never in a file may name a file so
  flatbuffers::Parser parser(options);
  std::string json;
  const std::vector<uint8_t> bytes = ToBytes(plan);
  const bool good = LoadSchema(parser) && flatbuffers::GenerateText(parser, bytes.data(), &json);
  assert(good && "the schema is compiled in");
  (void)good;
  return json;
}

Result<std::unique_ptr<Plan>> FromJson(const std::string& json) {
  flatbuffers::Parser parser(Options());
  if (!LoadSchema(parser)) {
    return Status(StatusCode::kInternal, fmt::format("the plan's schema: {}", parser.error_));
  }
  if (json.find('\0') != std::string::npos) {
    return Status(StatusCode::kInvalid, "not a plan in JSON: it has a zero byte");
  }
  if (!parser.ParseJson(json.c_str())) {
    return Status(StatusCode::kInvalid, fmt::format("not a plan in JSON: {}", parser.error_));
  }
  return FromBytes({parser.builder_.GetBufferPointer(), parser.builder_.GetSize()});
}

}  // namespace cgraph::plan
