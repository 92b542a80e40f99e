#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "query/json/parsed_document.h"
#include "query/mango/find_request.h"
#include "query/mango/projection.h"

namespace octavo::query {

/// Groups and aggregates the matches of one query. One thread at a time. Memory: the groups, up to `bytes_max`.
class Aggregator {
 public:
  /// `request` has an aggregation, and outlives this.
  Aggregator(const FindRequest& request, std::size_t bytes_max);

  /// Adds one match; `field_text` as for a projection of the request's fields. Errors: bad_request too_many_groups.
  Expected<void> add(Projection::FieldText field_text);
  /// Counts documents without reading them.
  void add_count(std::uint64_t documents) { documents_ += documents; }

  /// The rows as JSON texts, ordered, with skip and limit applied. Call it once, at the end.
  Expected<std::vector<std::string>> take_rows();
  /// The reply's `count`.
  std::uint64_t count() const { return aggregation_.group_fields > 0 ? groups_.size() : documents_; }

 private:
  __extension__ using WideInteger = __int128;

  /// The state of one aggregate in one group.
  struct State {
    std::uint64_t values = 0;
    WideInteger integer_sum = 0;
    double real_sum = 0;           ///< of the numbers that are not integers…
    double real_compensation = 0;  ///< …and what rounding lost of their sum (Neumaier)
    bool has_reals = false;
    std::string extreme_key;
    std::string extreme_text;
  };
  struct Group {
    std::vector<std::string> texts;  ///< of the group fields; empty: the documents lack the field
    std::vector<State> states;
  };

  Expected<Group*> find_group(Projection::FieldText field_text);
  Expected<Group*> find_group_by_key(Projection::FieldText field_text);
  Expected<void> update(State& state, const Aggregate& aggregate, std::string_view text);
  Expected<void> append_key(std::string& key, std::string_view text);
  static void append_value(std::string& out, const State& state, const Aggregate& aggregate);
  Expected<std::string> order_key(const std::string& group_key, const Group& group);
  Expected<void> take_memory(std::size_t bytes);

  const FindRequest& request_;
  const Aggregation& aggregation_;
  const std::size_t bytes_max_;
  Projection group_projection_;
  DocumentParser parser_;
  std::unordered_map<std::string, Group> groups_;  ///< by the sort keys of their fields
  std::uint64_t documents_ = 0;
  std::size_t bytes_ = 0;
  std::string key_;    ///< scratch
  std::string texts_;  ///< scratch
  /// By the texts of their fields, as far as these are short and few.
  std::unordered_map<std::string, Group*> known_texts_;
};

}  // namespace octavo::query
