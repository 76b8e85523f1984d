// CSV as the inputs of bench/schedule have it: a line of column names, then a line per row; no
// quotes. Spaces around a field, empty lines and a carriage return at the end do not count.
#ifndef CGRAPH_BENCH_SCHEDULE_HARNESS_CSV_H_
#define CGRAPH_BENCH_SCHEDULE_HARNESS_CSV_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace cgraph::bench {

struct Csv {
  std::string path;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // as many fields as columns
  std::vector<int> lines;                      // by row: where it stands

  std::optional<size_t> Column(const std::string& name) const;
  // Returns a whole number of 0 to `most`.
  Result<int64_t> Whole(size_t row, size_t column, int64_t most) const;
  // Returns a number of 0 to `most`.
  Result<double> Number(size_t row, size_t column, double most) const;
};

Result<Csv> ReadCsv(const std::string& path);

}  // namespace cgraph::bench

#endif  // CGRAPH_BENCH_SCHEDULE_HARNESS_CSV_H_
