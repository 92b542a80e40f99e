#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "base/error.h"
#include "query/json/field_path.h"
#include "query/selector/selector.h"

namespace octavo::query {

/// Limits on the indexes that a client may define.
inline constexpr std::size_t index_fields_max = 64;
inline constexpr std::size_t indexes_per_database_max = 1'000;

class AutomaticIndex;

/// A field of an index or of a sort, with its direction.
struct OrderedField {
  FieldPath path;
  bool descending = false;

  bool operator==(const OrderedField&) const = default;
};

/// Parses `["a", {"b": "desc"}]`: a sort specification, which is also the format of an index's fields. Directions may
/// differ from field to field. Errors: bad_request with Mango's words (invalid_sort_json, invalid_sort_field,
/// invalid_sort_dir).
Expected<std::vector<OrderedField>> parse_ordered_fields(const boost::json::value& json);
/// `[{"a":"asc"},{"b":"desc"}]`.
boost::json::array ordered_fields_to_json(const std::vector<OrderedField>& fields);

/// The content and order of a JSON index. Immutable value.
///
/// An index has an entry for every live document (except design documents) that matches its partial filter, even if the
/// document lacks some or all of its fields: a missing field sorts below null.
struct IndexDefinition {
  std::string design_document;  ///< `_design/…`
  std::string name;
  std::vector<OrderedField> fields;  ///< at least one
  std::optional<Selector> partial_filter;
  bool partitioned = false;  ///< stored inside each physical partition; serves queries of one logical partition
  /// 32 hexadecimal digits: a hash of everything that decides the entries (fields, directions, filter, partitioned,
  /// collation version), and of nothing else. Definitions with the same identity share one index on disk.
  std::string identity;

  /// Set for the automatic index (automatic_index.h), which is stored as one index, without fields…
  std::shared_ptr<const AutomaticIndex> automatic;
  /// … and for a part of it that is one path or one composite index: `fields` then has the fields of that part.
  std::optional<std::uint64_t> automatic_path;
  /// For a path that leads to the elements of an array, and to their content. A document may then have several entries.
  struct ElementPath {
    FieldPath array;
    FieldPath below;  ///< empty: the elements themselves
  };
  std::optional<ElementPath> elements;
  /// For a path with an entry for every document: the absence index that has those of the documents without it, which
  /// come before all others. Null: a document without the path has no entry.
  std::shared_ptr<const IndexDefinition> absence;
  /// True if each string at the path that is not plain has one more entry (automatic_index.h), after all others.
  bool has_unplain_entries = false;

  /// The members of the reply to `GET /{db}/_index`: ddoc, name, type, partitioned, def.
  boost::json::object to_json() const;
  /// `{"fields":[…],"partial_filter_selector":{…}}`; the filter only if there is one.
  boost::json::object def_to_json() const;
};

using IndexDefinitionPtr = std::shared_ptr<const IndexDefinition>;

/// The primary index, as listed among the indexes.
boost::json::object primary_index_to_json();

/// All indexes of one design document of language "query", ordered by name; empty for other languages. Views that are
/// not valid index definitions are skipped, as in CouchDB. `body` is the stored document; it must be JSON.
Expected<std::vector<IndexDefinitionPtr>> definitions_from_design_document(std::string_view id, std::string_view body,
                                                                           bool database_is_partitioned);

/// The fields and the filter of an index, and nothing else, from the `map` of its view or the result of def_to_json().
/// Errors: bad_request.
Expected<IndexDefinition> index_from_map(const boost::json::value& map);

/// A stored design document as an object. Errors: corrupted if it is not one.
Expected<boost::json::object> parse_design_document(std::string_view body);

}  // namespace octavo::query
