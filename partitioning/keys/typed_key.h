#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "partitioning/keys/partition_key.h"
#include "storage/catalog.h"

namespace octavo::partitioning {

/// The item has no value at the key's path: Cosmos DB's `{}`, JavaScript's undefined.
struct MissingValue {
  bool operator==(const MissingValue&) const = default;
};
struct NullValue {
  bool operator==(const NullValue&) const = default;
};
using KeyValue = std::variant<MissingValue, NullValue, bool, double, std::string>;

/// Appends the one text of a number in a key: 42, 42.0 and 4.2e1 are the same key.
void append_key_number(std::string& out, double number);

/// A typed partition key: one value, or several in a hierarchy. A value type.
///
/// Its text is the part of a document id before the first `:`.
///
/// Format (text of a typed partition key):
///   key   := value ("," value)*       several values only in a hierarchy, where "," inside a value is percent-encoded
///   value := text                     a string that is not empty: ":", "%" and a leading "_" or "!" percent-encoded
///          | "!" JSON                 other types and the empty string: !42 !true !null !""
///          | "!none"                  no value
class TypedKey {
 public:
  TypedKey() = default;
  TypedKey(std::vector<KeyValue> values, bool hierarchical) : values_(std::move(values)), hierarchical_(hierarchical) {}

  /// Errors: bad_request if no key has this text (for example an id written through the CouchDB API).
  static Expected<TypedKey> decode(std::string_view text, bool hierarchical);
  std::string encode() const;

  const std::vector<KeyValue>& values() const { return values_; }
  bool hierarchical() const { return hierarchical_; }

  /// Azure Cosmos DB's effective partition key, for versions 1 and 2 of one value and for hierarchies: bytes, whose
  /// order is the order of partition key ranges (shown as upper-case hexadecimal digits).
  std::string effective(storage::KeyScheme scheme) const;
  /// Position of the key's documents. A hierarchy's position is that of its first value.
  HashPosition position(storage::KeyScheme scheme) const;

  bool operator==(const TypedKey&) const = default;

 private:
  std::vector<KeyValue> values_;
  bool hierarchical_ = false;
};

/// Effective partition keys (bytes) from `min` to below `max`; an empty `max`: no bound.
struct EffectiveRange {
  std::string min;
  std::string max;

  /// Whether the partition key of this document, of a database with typed keys, lies in the range.
  bool holds(std::string_view document_id, storage::KeyScheme scheme) const;
};

/// The effective partition key at which a range of positions starting at `first` begins: "" for 0.
std::string effective_bound(HashPosition first, storage::KeyScheme scheme);
/// The lowest position whose keys can be at or above the effective partition key `bytes`.
HashPosition position_of_bound(std::string_view bytes, storage::KeyScheme scheme);

}  // namespace octavo::partitioning
