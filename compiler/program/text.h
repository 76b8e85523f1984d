// A Program's types and expressions as text, close to how they were written.
//
// Names are those of what an id refers to; nested operator chains get parentheses, so that the text
// shows the tree. Used by Print and by messages.
#ifndef CGRAPH_COMPILER_PROGRAM_TEXT_H_
#define CGRAPH_COMPILER_PROGRAM_TEXT_H_

#include <set>
#include <string>
#include <vector>

#include "compiler/program/program.h"

namespace cgraph::program {

class TextPrinter {
 public:
  // The names of dimension variables, generics and locals; either may be null where none occur.
  TextPrinter(const Program& program, const Signature* signature,
              const Table<LocalId, Local>* locals)
      : program_(program), signature_(signature), locals_(locals) {}

  std::string Text(ExprId id) const;
  std::string Text(const Route& route) const;  // "nccl", "fast"
  std::string Text(TypeId id) const;           // "[Layer; 4]"
  std::string Meaning(TypeId id) const;        // "[Layer; 4] where Layer = (f32[8, 8], f32[8])"
  std::string Expanded(TypeId id) const;       // "[(f32[8, 8], f32[8]); 4]"
  std::string Text(const std::vector<Argument>& arguments) const;  // without parentheses
  std::string Name(LocalId id) const;
  std::string Pattern(const std::vector<LocalId>& pattern, bool tuple) const;

 private:
  enum class Names : uint8_t { kShort, kOfParts, kNone };  // which named types stay names
  std::string Text(TypeId id, Names names) const;
  void ListNamed(TypeId id, std::set<std::string>& known, std::vector<TypeId>& named) const;
  std::string Text(const Dim& dim) const;
  std::string Text(const std::vector<Dim>& dims) const;
  std::string Name(DimVariableId id) const;
  std::string Name(GenericId id) const;
  std::string Grouped(ExprId id) const;  // in parentheses where it binds loosely
  std::string Joined(const std::vector<ExprId>& ids) const;
  std::string NodeText(const StringLiteral& node) const;
  std::string NodeText(const Chain& node) const;
  std::string NodeText(const DeviceRef& node) const;
  std::string NodeText(const Comprehension& node) const;
  std::string NodeText(const Index& node) const;
  std::string NodeText(const CallOp& node) const;
  std::string NodeText(const CallCollective& node) const;

  const Program& program_;
  const Signature* signature_;
  const Table<LocalId, Local>* locals_;
};

// Says what stands for an argument's label that an optimizer, or its `update`, does not take, as
// other libraries name it: the end of a message, and the label to write in place. Both are empty
// where nothing is known.
struct MeantLabel {
  std::string message;  // " (here it is `decay`)"
  std::string fix;
};
MeantLabel FindMeantLabel(const Optimizer& optimizer, bool of_update, const std::string& label);

// What an operand that is no tensor and no number consists of.
enum class Parts : uint8_t { kNone, kTuple, kList, kListOfTuples };

// Says how arithmetic is written of each part of such operands; empty where neither has parts.
std::string ArithmeticOfParts(BinaryOperator op, Parts a, Parts b);
std::string NegationOfParts(Parts operand);

// Returns the shortest text that reads back as this float: with a dot, or an exponent.
std::string FloatText(double value);

}  // namespace cgraph::program

#endif  // CGRAPH_COMPILER_PROGRAM_TEXT_H_
