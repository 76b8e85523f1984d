#include "tests/support/plans/plan_fields.h"

#include <flatbuffers/idl.h>
#include <flatbuffers/reflection.h>

#include <cstdlib>
#include <cstring>

#include "runtime/plan/load.h"
#include "runtime/plan/plan_tables.h"

namespace cgraph::plan::testing {
namespace {

const char kSchemaText[] = {
#include "runtime/plan/plan_schema.inc"
};

const reflection::Schema& Schema() {
  static flatbuffers::Parser* const kParser = [] {
    auto* parser = new flatbuffers::Parser;
    if (!parser->Parse(kSchemaText) || !parser->SetRootType("cgraph.wire.Plan")) std::abort();
    parser->Serialize();
    return parser;
  }();
  return *reflection::GetSchema(kParser->builder_.GetBufferPointer());
}

std::string FieldName(const reflection::Object& object, const reflection::Field& field) {
  const std::string full = object.name()->str();
  return full.substr(full.rfind('.') + 1) + "." + field.name()->str();
}

class Walk {
 public:
  explicit Walk(const uint8_t* base) : base_(base) {}

  void Table(const flatbuffers::Table& table, const reflection::Object& object) {
    for (const reflection::Field* field : *object.fields()) {
      const uint8_t* at = table.GetAddressOf(field->offset());
      if (at == nullptr) continue;
      const std::string name = FieldName(object, *field);
      switch (field->type()->base_type()) {
        case reflection::String:
          Length(Follow(at), name);
          break;
        case reflection::Vector:
          Vector(Follow(at), *field, name);
          break;
        case reflection::Obj:
          Table(*reinterpret_cast<const flatbuffers::Table*>(Follow(at)), Object(*field));
          break;
        default:
          Scalar(at, field->type()->base_type(), name);
      }
    }
  }

  std::vector<PlanField> fields;

 private:
  static const reflection::Object& Object(const reflection::Field& field) {
    return *Schema().objects()->Get(field.type()->index());
  }
  static const uint8_t* Follow(const uint8_t* at) {
    return at + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(at);
  }

  void Scalar(const uint8_t* at, reflection::BaseType type, const std::string& name) {
    fields.push_back({name, static_cast<size_t>(at - base_), flatbuffers::GetTypeSize(type)});
  }
  void Length(const uint8_t* at, const std::string& name) {
    fields.push_back({name, static_cast<size_t>(at - base_), 4, true});
  }

  void Vector(const uint8_t* at, const reflection::Field& field, const std::string& name) {
    const reflection::BaseType element = field.type()->element();
    const size_t bytes = flatbuffers::GetTypeSizeInline(element, field.type()->index(), Schema());
    Length(at, name);
    const auto length = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(at);
    for (size_t i = 0; i < length; ++i) {
      const uint8_t* item = at + 4 + i * bytes;
      if (element == reflection::String) {
        Length(Follow(item), name);
      } else if (element != reflection::Obj) {
        Scalar(item, element, name + "[]");
      } else if (Object(field).is_struct()) {
        for (const reflection::Field* member : *Object(field).fields()) {
          Scalar(item + member->offset(), member->type()->base_type(),
                 FieldName(Object(field), *member));
        }
      } else {
        Table(*reinterpret_cast<const flatbuffers::Table*>(Follow(item)), Object(field));
      }
    }
  }

  const uint8_t* base_;
};

}  // namespace

std::vector<PlanField> PlanFields(std::span<const uint8_t> bytes) {
  if (!FromBytes(bytes).ok()) return {};
  Walk walk(bytes.data());
  walk.Table(*flatbuffers::GetAnyRoot(bytes.data()), *Schema().root_table());
  return std::move(walk.fields);
}

uint64_t ReadField(std::span<const uint8_t> bytes, const PlanField& field) {
  uint64_t number = 0;
  std::memcpy(&number, bytes.data() + field.offset, field.bytes);
  return number;
}

void WriteField(std::span<uint8_t> bytes, const PlanField& field, uint64_t number) {
  std::memcpy(bytes.data() + field.offset, &number, field.bytes);
}

std::vector<std::string> SchemaFields() {
  std::vector<std::string> types;
  for (const reflection::Object* object : *Schema().objects()) {
    for (const reflection::Field* field : *object->fields()) {
      const reflection::Type& type = *field->type();
      const std::string name = FieldName(*object, *field);
      if (type.base_type() != reflection::Obj) types.push_back(name);
      const bool of_scalars = type.base_type() == reflection::Vector &&
                              type.element() != reflection::Obj &&
                              type.element() != reflection::String;
      if (of_scalars) types.push_back(name + "[]");
    }
  }
  return types;
}

std::vector<std::string> SchemaLengths() {
  std::vector<std::string> types;
  for (const reflection::Object* object : *Schema().objects()) {
    for (const reflection::Field* field : *object->fields()) {
      const reflection::BaseType type = field->type()->base_type();
      if (type == reflection::Vector || type == reflection::String) {
        types.push_back(FieldName(*object, *field));
      }
    }
  }
  return types;
}

std::vector<uint8_t> AllFieldsToBytes(const Plan& plan) {
  flatbuffers::FlatBufferBuilder builder(4096);
  builder.ForceDefaults(true);
  wire::FinishPlanBuffer(builder, wire::CreatePlan(builder, &plan));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

}  // namespace cgraph::plan::testing
