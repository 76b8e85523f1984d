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
  void Count(const std::string& kind, const Trial& trial);

  uint64_t trials() const { return trials_; }
  uint64_t proved() const { return proved_; }
  uint64_t false_accepts() const { return false_accepts_; }
  std::string Text() const;

 private:
  using Outcomes = std::array<uint64_t, interpreter::kOutcomes>;
  struct Row {
    Outcomes proved{};
    Outcomes refused{};
  };

  uint64_t trials_ = 0;
  uint64_t proved_ = 0;
  uint64_t false_accepts_ = 0;
  std::map<plan::Refusal, Outcomes> by_refusal_;
  std::map<std::string, Row> by_kind_;
};

}  // namespace cgraph::mutants

#endif  // CGRAPH_TESTS_MUTANTS_MATRIX_H_
