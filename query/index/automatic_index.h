#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "query/collation/sort_key.h"
#include "query/index/index_definition.h"
#include "query/index/index_entry.h"

namespace octavo::query {

/// Longer entry keys are cut off. Queries test every document that an entry names, so a cut loses no result.
inline constexpr std::size_t automatic_key_bytes_max = 256;

/// An index of every path of the documents that a policy includes, without a client having named a field.
///
/// Format (entry of an automatic index):
///   entry  := path:u64be key+                what is at the path, in the order of `order()`; then the document's id
///   key    := a sort key (collation/sort_key.h), cut off after 256 bytes and closed with FF
///           | 08 00 | 09 00                  an array, an object: that it is there, not what is in it
///           | 0A ICU sort key                by bytes: one more for each string that is not plain, cut off likewise
///
/// `path` is a hash of the names on the way; the elements of an array have a separate path (`/tags/[]`). A document
/// without a value at a path has no entry there. A composite index is one more path with a key for each of its fields
/// (`missing` included), and has an entry for every document.
///
/// Keys that are cut off do not define the order of the values. A document with such a key at a path (in a composite
/// index: also with an array or object) has an additional entry at a marker path, `inexact_path`; while one exists, no
/// new query uses the index for sorting.
///
/// An index by bytes distinguishes strings that are equal by the collation. Plain strings (is_plain_text in
/// query/json/plain_strings.h) are equal only if identical; every other string at a single path (not in a composite
/// index) has one more entry, by the collation, after all others. Strings equal to a plain string are thus found there,
/// or at its bytes. No range of other values contains these entries. Older indexes (`has_unplain_entries`) have none.
///
/// An absence index (`of_absence`) has one entry, with the key `missing`, for each document that lacks one path, and no
/// others: what an order of the path needs beside the entries of the index of all paths. It is stored like that one.
///
/// Immutable and thread-safe.
class AutomaticIndex {
 public:
  /// Parses a policy as Azure Cosmos DB writes it: `{"includedPaths":[{"path":"/*"}],"excludedPaths":[…],
  /// "compositeIndexes":[…]}`. A path ends with `/?` (the value there) or `/*` (and all below); the longer path
  /// decides, and of equal ones `/?`. Null: nothing is indexed (`"indexingMode":"none"` or `"automatic":false`).
  /// Damaged parts are ignored.
  static std::shared_ptr<const AutomaticIndex> from_policy(const boost::json::object& policy, StringOrder order);
  /// Indexes all paths.
  static std::shared_ptr<const AutomaticIndex> of_everything(StringOrder order);
  /// The documents that lack `path`, for orders by bytes.
  static std::shared_ptr<const AutomaticIndex> of_absence(FieldPath path);
  /// Parses the result of to_json(); null if it is invalid.
  static std::shared_ptr<const AutomaticIndex> from_json(const boost::json::object& stored);
  boost::json::object to_json() const;

  StringOrder order() const { return order_; }
  /// Whether strings that are not plain have one more entry.
  bool has_unplain_entries() const { return unplain_; }
  /// The path that its documents lack; nullopt: it is no absence index.
  const std::optional<FieldPath>& absent_path() const { return absent_path_; }
  /// Composite indexes, each with its fields in order.
  const std::vector<std::vector<OrderedField>>& composites() const { return composites_; }

  /// Whether values at `base` are indexed, or with `below` those at that path in the elements of the array at `base`.
  bool covers(const FieldPath& base, const FieldPath* below = nullptr) const;
  static std::uint64_t path_hash(const FieldPath& base, const FieldPath* below = nullptr);
  static std::uint64_t composite_hash(const std::vector<OrderedField>& fields);

  static std::uint64_t inexact_path(std::uint64_t path);

  /// First byte of the keys of the additional entries: greater than every other key's first byte at a single path.
  static constexpr char unplain_tag = '\x0A';
  /// Appends the key of such an entry, or the key that a plain string would have there.
  static void append_unplain_key(std::string& out, std::string_view text);
  /// Whether an entry, including its path, is an additional one.
  static bool is_unplain(std::string_view entry);

  /// Entries of one document without its id, sorted, each once. Reusable: keeps its memory.
  class Entries {
   public:
    std::size_t size() const { return extents_.size(); }
    std::string_view operator[](std::size_t i) const {
      return std::string_view(bytes_).substr(extents_[i].start, extents_[i].size);
    }
    void clear() {
      bytes_.clear();
      extents_.clear();
    }

   private:
    friend class AutomaticIndex;
    struct Extent {
      std::size_t start;
      std::size_t size;
    };
    std::string bytes_;
    std::vector<Extent> extents_;
  };
  /// Replaces the content of `entries`. Some 50 ns for each value, more for long strings in ICU's order.
  void entries_of(const IndexedDocument& document, Entries& entries) const;

  /// The keys of one value at a single path, as in the entries: one, and a second one for a string that is not plain.
  std::vector<std::string> keys_of(const simdjson::dom::element& value) const;

  /// Appends the key of one value as in the entries. True: different values may have this key, too.
  static bool append_key(std::string& out, const simdjson::dom::element& value, StringOrder order);
  static bool append_key(std::string& out, const boost::json::value& value, StringOrder order);
  /// The same for the entry of a composite index with these fields.
  static bool append_composite_key(std::string& out, const simdjson::dom::element& body,
                                   const std::vector<OrderedField>& fields, StringOrder order);

 private:
  /// What the policy says about a path and the paths below it.
  struct Rule {
    std::vector<std::pair<std::string, std::unique_ptr<Rule>>> children;  ///< sorted by name; `[]`: elements
    std::optional<bool> here;
    std::optional<bool> below;

    const Rule* child(std::string_view name) const;
  };
  AutomaticIndex(StringOrder order, bool unplain) : order_(order), unplain_(unplain) {}
  static std::shared_ptr<const AutomaticIndex> make(const boost::json::object& policy, StringOrder order, bool unplain);
  void add_paths(const boost::json::object& policy, std::string_view member, bool included);
  void add_composites(const boost::json::object& policy);
  void visit(const simdjson::dom::element& value, const Rule* rule, bool included, std::uint64_t path,
             Entries& entries) const;
  static void add_mark(std::uint64_t path, Entries& entries);
  bool has_unplain_entry(const simdjson::dom::element& value) const;
  static void add_unplain(std::uint64_t path, std::string_view text, Entries& entries);
  void add_composite_entries(const IndexedDocument& document, Entries& entries) const;

  StringOrder order_;
  bool unplain_;
  std::optional<FieldPath> absent_path_;
  Rule root_;
  std::vector<std::vector<OrderedField>> composites_;
  std::vector<std::uint64_t> composite_hashes_;
  boost::json::object policy_;  ///< the part that decides the entries
};

using AutomaticIndexPtr = std::shared_ptr<const AutomaticIndex>;

/// The index as it is stored: without a path or fields.
IndexDefinitionPtr automatic_definition(AutomaticIndexPtr automatic);
/// Whether it is the automatic index of a policy, and not an absence index.
bool is_of_policy(const IndexDefinition& definition);

/// One path, or one composite index, of the automatic index, for queries.
IndexDefinitionPtr automatic_path_definition(AutomaticIndexPtr automatic, const FieldPath& base,
                                             const FieldPath* below = nullptr);
/// The path `base` with an entry for every document: with those of the absence index of `base`.
IndexDefinitionPtr complete_path_definition(AutomaticIndexPtr automatic, const FieldPath& base);
/// The identity of that definition, which does not depend on the policy.
std::string complete_path_identity(const FieldPath& base);
/// The identity of a path without its absence index, of either; any other identity is returned as it is.
std::string_view index_of_path(std::string_view identity);
IndexDefinitionPtr automatic_composite_definition(AutomaticIndexPtr automatic, std::size_t number);

}  // namespace octavo::query
