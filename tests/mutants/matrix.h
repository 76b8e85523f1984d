// Counts of trials: prover against interpreter, and per kind of mutation.
#ifndef CGRAPH_TESTS_MUTANTS_MATRIX_H_
#define CGRAPH_TESTS_MUTANTS_MATRIX_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "tests/mutants/trial.h"

namespace cgraph::mutants {

class Matrix {
 public:
  void Count(const MutationKind& kind, const Trial& trial);

  uint64_t trials() const { return trials_; }
  uint64_t proved() const { return proved_; }
  uint64_t false_accepts() const { return false_accepts_; }
  uint64_t false_rejects() const { return false_rejects_; }
  std::string Text() const;

 private:
  using Outcomes = std::array<uint64_t, interpreter::kOutcomes>;
  // Row: the counts of trials in which the two judges agree that a plan is right, or wrong; in
  // which they do not; and in which the prover refuses a plan for what it says, not for what it
  // does.
  struct Row {
    uint64_t right = 0, wrong = 0, false_accepts = 0, false_rejects = 0, not_a_plan = 0;
  };
  static std::string Line(const std::string& name, const Row& row);

  uint64_t trials_ = 0;
  uint64_t proved_ = 0;
  uint64_t false_accepts_ = 0;
  uint64_t false_rejects_ = 0;
  std::map<plan::Refusal, Outcomes> by_refusal_;
  std::array<std::map<std::string, Row>, kFaults> by_fault_;  // then by kind
};

}  // namespace cgraph::mutants

#endif  // CGRAPH_TESTS_MUTANTS_MATRIX_H_
