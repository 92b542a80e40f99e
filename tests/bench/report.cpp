#include "bench/report.h"

#include <cmath>
#include <cstdio>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace octavo::bench {

namespace {

std::string grouped(double value) {
  if (value < 100) return fmt::format("{:.2f}", value);
  auto digits = fmt::format("{:.0f}", value);
  for (auto position = static_cast<int>(digits.size()) - 3; position > 0; position -= 3) {
    digits.insert(static_cast<std::size_t>(position), 1, ',');
  }
  return digits;
}

}  // namespace

void Report::add(Row row) {
  // To stderr as it goes, so that a long run shows progress and an aborted one loses nothing.
  fmt::print(stderr, "{:<44} {:>12} {}", row.name, grouped(row.result), row.unit);
  if (row.limit) fmt::print(stderr, "  (limit {}: {})", row.limit_name, grouped(*row.limit));
  if (row.p99_ms) fmt::print(stderr, "  p50 {:.3f} ms p99 {:.3f} ms", row.p50_ms.value_or(0), *row.p99_ms);
  if (!row.note.empty()) fmt::print(stderr, "  {}", row.note);
  fmt::print(stderr, "\n");
  rows_.push_back(std::move(row));
}

void Report::add_with_ratio_goal(Row row, double ratio) {
  row.goal = fmt::format("≥ {} of the limit", ratio);
  row.goal_met = row.limit && row.result >= ratio * *row.limit;
  add(std::move(row));
}

void Report::add_with_minimum(Row row, double minimum) {
  row.goal = fmt::format("≥ {} {}", grouped(minimum), row.unit);
  row.goal_met = row.result >= minimum;
  add(std::move(row));
}

void Report::add_with_maximum(Row row, double maximum) {
  row.goal = fmt::format("< {} {}", grouped(maximum), row.unit);
  row.goal_met = row.result < maximum;
  add(std::move(row));
}

std::string Report::markdown() const {
  std::string text =
      "| measurement | result | limit | ratio | p50 ms | p99 ms | goal | met | note |\n"
      "|---|---:|---:|---:|---:|---:|---|---|---|\n";
  for (const auto& row : rows_) {
    const auto milliseconds = [](const std::optional<double>& value) {
      return value ? fmt::format("{:.3f}", *value) : std::string();
    };
    text += fmt::format("| {} | {} {} | {} | {} | {} | {} | {} | {} | {} |\n", row.name, grouped(row.result), row.unit,
                        row.limit ? fmt::format("{} ({})", grouped(*row.limit), row.limit_name) : "",
                        row.limit && *row.limit > 0 ? fmt::format("{:.2f}", row.result / *row.limit) : "",
                        milliseconds(row.p50_ms), milliseconds(row.p99_ms), row.goal,
                        row.goal_met ? (*row.goal_met ? "yes" : "**no**") : "", row.note);
  }
  return text;
}

std::string Report::json(const std::vector<std::pair<std::string, std::string>>& facts) const {
  boost::json::object root;
  for (const auto& [name, value] : facts) root[name] = value;
  boost::json::array rows;
  for (const auto& row : rows_) {
    boost::json::object object{{"name", row.name}, {"result", row.result}, {"unit", row.unit}};
    if (row.limit) {
      object["limit"] = *row.limit;
      object["limit_name"] = row.limit_name;
    }
    if (row.p50_ms) object["p50_ms"] = *row.p50_ms;
    if (row.p99_ms) object["p99_ms"] = *row.p99_ms;
    if (!row.goal.empty()) object["goal"] = row.goal;
    if (row.goal_met) object["goal_met"] = *row.goal_met;
    if (!row.note.empty()) object["note"] = row.note;
    rows.push_back(std::move(object));
  }
  root["rows"] = std::move(rows);
  return boost::json::serialize(root) + "\n";
}

}  // namespace octavo::bench
