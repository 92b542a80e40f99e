#pragma once

#include <optional>
#include <string>
#include <vector>

namespace octavo::bench {

/// One measurement beside its limit. `result` and `limit` share `unit`.
struct Row {
  std::string name;
  double result = 0;
  std::string unit = "/s";
  std::optional<double> limit;  ///< measured in the same run, or a bound the project set itself
  std::string limit_name;
  std::optional<double> p50_ms, p99_ms;
  std::string goal;  ///< as people read it: "≥ 0.8 of the limit"
  std::optional<bool> goal_met;
  std::string note;
};

class Report {
 public:
  void add(Row row);
  /// result ≥ `ratio` × limit.
  void add_with_ratio_goal(Row row, double ratio);
  void add_with_minimum(Row row, double minimum);
  void add_with_maximum(Row row, double maximum);

  std::string markdown() const;
  /// `facts` are name → value pairs that stand beside the rows (documents, seconds, machine).
  std::string json(const std::vector<std::pair<std::string, std::string>>& facts) const;

 private:
  std::vector<Row> rows_;
};

}  // namespace octavo::bench
