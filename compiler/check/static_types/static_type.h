// StaticType: what is known about a value before anything is elaborated.
//
// A StaticType is never wrong, but may be incomplete: a kind, a dtype and a rank where they follow
// from declarations, and kUnknown everywhere else (a `var` may change its type from one turn of a
// loop to the next). Check rejects only what no value of the StaticType could be.
#ifndef CGRAPH_COMPILER_CHECK_STATIC_TYPES_STATIC_TYPE_H_
#define CGRAPH_COMPILER_CHECK_STATIC_TYPES_STATIC_TYPE_H_

#include <optional>
#include <string>
#include <vector>

#include "compiler/program/program.h"

namespace cgraph::check {

struct StaticType {
  enum Kind : uint8_t {
    kUnknown,
    kNothing,                     // what a call without a result gives
    kInt, kFloat, kBool, kStr,    // compile-time values
    kTensor, kList, kTuple,
    kPlace, kPlaces, kDevice,     // one place; an array of places
    kDims,                        // a run of dimensions, in signatures and costs
  };
  Kind kind = kUnknown;
  std::optional<DType> dtype;      // kTensor
  int rank = -1;                   // kTensor; -1: not known
  program::ActorId actor;          // kPlace, kPlaces
  int indices = 0;                 // kPlaces: how many subscripts name one of them
  std::vector<StaticType> parts;       // kList: one, what every element is; kTuple: the fields
  std::vector<std::string> names;  // kTuple: per field, may be empty
  // For kTensor: its declaration, for messages, with what the names of its dimensions are looked up
  // in.
  struct Declaration {
    program::TypeId type;  // invalid: nothing does
    const program::Signature* signature = nullptr;
    const Table<program::LocalId, program::Local>* locals = nullptr;
  };
  Declaration declared;
  int weight = 1;                  // Statics in this one: the big ones become kUnknown

  bool known() const { return kind != kUnknown; }
  bool is_number() const { return kind == kInt || kind == kFloat; }
  bool is_list_of_ints() const { return kind == kList && parts[0].kind == kInt; }

  static StaticType Of(Kind kind) { return {.kind = kind}; }
  static StaticType Tensor(std::optional<DType> dtype, int rank) {
    return {.kind = kTensor, .dtype = dtype, .rank = rank};
  }
  static StaticType List(StaticType element);
  static StaticType Tuple(std::vector<StaticType> parts, std::vector<std::string> names);
};

// The type that replaces one that was reported as wrong: a tensor without a dtype. Everything fits
// it.
inline program::TensorType PoisonType() { return {}; }
bool IsPoison(const program::Type& type);

// Returns the StaticType of a value of this declared type.
StaticType StaticOf(const program::Program& program, program::TypeId type);

// Returns what is known of a value that is either of the two.
StaticType Join(const StaticType& a, const StaticType& b);

// Describes a type with an article, for messages: "an i64[?, ?]", "a compile-time int", "a list".
std::string Describe(const program::Program& program, const StaticType& type);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_STATIC_TYPES_STATIC_TYPE_H_
