#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "base/error.h"
#include "query/json/field_path.h"
#include "query/project/row_template.h"
#include "query/selector/selector.h"

namespace octavo::query::project {

inline constexpr std::uint32_t newest_max = 10'000;
inline constexpr std::size_t projected_fields_max = 100;
inline constexpr std::size_t transform_bytes_max = 64ULL << 10;
inline constexpr std::size_t transformed_rows_max = 100;  // of a document: javascript/internal/transform_prelude.js
inline constexpr std::size_t joins_max = 8;
inline constexpr double share_min = 0.001;
inline constexpr std::uint64_t fan_out_limit = 100'000'000;
inline constexpr std::size_t projection_name_bytes_max = 128;

/// What a client asks for: which documents of a database become rows of another one, and what the rows are. A value
/// type. docs/projections.md describes the members.
struct ProjectionDefinition {
  boost::json::object json;  ///< as the client sent it

  std::string where;  ///< an SQL expression over `c`; empty: none
  std::optional<Selector> selector;
  bool include_derived = false;  ///< rows of other projections are sources, too
  std::string target;            ///< name of the database
  bool exclusive = false;        ///< clients do not write documents there
  /// How the target is created if it does not exist. The API knows what may be in it.
  std::optional<boost::json::object> creation;
  /// A changed definition makes its rows in a database of its own, which then takes the place of the target. Otherwise
  /// they replace the rows that are there.
  bool swaps_target = false;
  std::optional<RowTemplate> key;
  std::optional<RowTemplate> id;
  struct Field {
    std::string name;
    std::string expression;  ///< SQL over `c`
  };
  /// Values of other documents, by whose names the expressions of fields know them.
  struct Join {
    std::string name;
    std::string database;
    bool include_derived = false;
    std::string when;  ///< an SQL expression over `c`: only these documents are joined; empty: all
    bool is_count = false;
    // A lookup: the document with this partition key and id, or undefined.
    std::optional<RowTemplate> key;
    std::optional<RowTemplate> id;
    bool required = false;  ///< without that document there is no row
    // A count: how many documents for which `where` holds have `equals` of the source at `by`.
    std::string where;  ///< an SQL expression over `c`; empty: all
    std::optional<RowTemplate> by;
    std::optional<RowTemplate> equals;
  };
  std::vector<Join> joins;
  std::uint64_t fan_out_max = 1'000'000;  ///< rows that a change of one joined document may alter
  /// A JavaScript function that makes the rows. Empty: they have the fields below.
  std::string transform;
  bool keeps_all = false;  ///< rows have all fields of the document, beside those below
  std::vector<Field> fields;
  struct Newest {
    FieldPath by;  ///< in the row
    std::uint32_t count = 0;
  };
  std::optional<Newest> newest;  ///< of each partition key of the target only these rows
  double share = 1;              ///< of the time, it works at most this part
  bool stops_on_error = false;   ///< otherwise a document that cannot become a row gives none

  /// Checks the members and their types. Errors: bad_request, whose word is `unknown_member`, `limit` or
  /// `projection_syntax`.
  static Expected<ProjectionDefinition> parse(const boost::json::object& json);
  /// Refuses what earlier versions stored, although it cannot have been meant. Errors: bad_request.
  Expected<void> check_new() const;
};

/// Error bad_request: a name consists of letters, digits, `_` and `-`, and begins with a letter or a digit.
Expected<void> check_projection_name(std::string_view name);

}  // namespace octavo::query::project
