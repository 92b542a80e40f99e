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

/// Entry keys longer than this are cut off. Queries test every document that an entry names, so a cut costs no
/// result.
inline constexpr std::size_t automatic_key_bytes_max = 256;

/// An index of every path of the documents that a policy names, without anybody having named a field.
///
///   entry  := path:u64be key+                what is at the path, in the order of `order()`; then the document's id
///   key    := a sort key (collation/sort_key.h), cut off after 256 bytes and closed with FF
///           | 08 00 | 09 00                  an array, an object: that it is there, not what is in it
///           | 0A ICU sort key                by bytes: one more for each string that is not plain, cut off likewise
///
/// `path` is a hash of the names on the way; the elements of an array stand at a path of their own (`/tags/[]`). A
/// document without a value at a path has no entry there. A composite index is one more path with a key for each of its
/// fields (`missing` included), and has an entry for every document.
///
/// Keys that are cut off do not tell the order of the values. A document with one at a path (in a composite index: with
/// an array or object as well) has an entry at a path that says so, `inexact_path`: while there is any, no query begins
/// to be sorted by the index.
///
/// An index by bytes has strings apart that the collation takes for equal. Of plain strings (is_plain_text in
/// query/json/plain_strings.h) it does so only when they are the same; every other string at a path of its own (not in
/// a composite index) has one more entry, by the collation, after all others: what equals a plain string is there, or
/// at its bytes. No range of other values reaches these entries. Indexes from before (`has_unplain_entries`) have none.
///
/// Immutable and thread-safe.
class AutomaticIndex {
 public:
  /// What is indexed, as Azure Cosmos DB writes it: `{"includedPaths":[{"path":"/*"}],"excludedPaths":[…],
  /// "compositeIndexes":[…]}`. A path ends with `/?` (what is there) or `/*` (and all below); the longer path counts,
  /// and of equal ones `/?`. Null: nothing is indexed (`"indexingMode":"none"` or `"automatic":false`). What is damaged
  /// is left out.
  static std::shared_ptr<const AutomaticIndex> from_policy(const boost::json::object& policy, StringOrder order);
  /// All paths.
  static std::shared_ptr<const AutomaticIndex> of_everything(StringOrder order);
  /// As to_json wrote it; null when it did not.
  static std::shared_ptr<const AutomaticIndex> from_json(const boost::json::object& stored);
  boost::json::object to_json() const;

  StringOrder order() const { return order_; }
  /// Whether strings that are not plain have one more entry.
  bool has_unplain_entries() const { return unplain_; }
  /// Composite indexes, each with its fields in order.
  const std::vector<std::vector<OrderedField>>& composites() const { return composites_; }

  /// Whether values at `base`, or with `below` those at that path in the elements of the array at `base`, are indexed.
  bool covers(const FieldPath& base, const FieldPath* below = nullptr) const;
  static std::uint64_t path_hash(const FieldPath& base, const FieldPath* below = nullptr);
  static std::uint64_t composite_hash(const std::vector<OrderedField>& fields);

  static std::uint64_t inexact_path(std::uint64_t path);

  /// What the keys of the additional entries begin with: greater than every other key's first byte at a single path.
  static constexpr char unplain_tag = '\x0A';
  /// The key of such an entry, or of a plain string as it would have it.
  static void append_unplain_key(std::string& out, std::string_view text);
  /// Whether an entry, with its path in front, is such a one.
  static bool is_unplain(std::string_view entry);

  /// Entries of one document without its id, sorted, each once. Reused: keeps its memory.
  class Entries {
   public:
    std::size_t size() const { return places_.size(); }
    std::string_view operator[](std::size_t i) const {
      return std::string_view(bytes_).substr(places_[i].start, places_[i].size);
    }
    void clear() {
      bytes_.clear();
      places_.clear();
    }

   private:
    friend class AutomaticIndex;
    struct Place {
      std::size_t start;
      std::size_t size;
    };
    std::string bytes_;
    std::vector<Place> places_;
  };
  /// Replaces what `entries` has. Some 50 ns for each value, more for long strings in ICU's order.
  void entries_of(const IndexedDocument& document, Entries& entries) const;

  /// Key of one value as entries have it. True: values that differ may have this key too.
  static bool append_key(std::string& out, const simdjson::dom::element& value, StringOrder order);
  static bool append_key(std::string& out, const boost::json::value& value, StringOrder order);

 private:
  /// What the policy says of a path and of those below it.
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
  static void add_unplain(std::uint64_t path, std::string_view text, Entries& entries);
  void add_composite_entries(const IndexedDocument& document, Entries& entries) const;

  StringOrder order_;
  bool unplain_;
  Rule root_;
  std::vector<std::vector<OrderedField>> composites_;
  std::vector<std::uint64_t> composite_hashes_;
  boost::json::object policy_;  ///< what of it decides the entries
};

using AutomaticIndexPtr = std::shared_ptr<const AutomaticIndex>;

/// The index as it is kept: without a path or fields of its own.
IndexDefinitionPtr automatic_definition(AutomaticIndexPtr automatic);

/// One path, or one composite index, of it, as queries use it.
IndexDefinitionPtr automatic_path_definition(AutomaticIndexPtr automatic, const FieldPath& base,
                                             const FieldPath* below = nullptr);
IndexDefinitionPtr automatic_composite_definition(AutomaticIndexPtr automatic, std::size_t number);

/// What the automatic index of a database made by the Cosmos door is (`resource.indexingPolicy` of its definition).
AutomaticIndexPtr automatic_index_of(std::string_view database_definition);

}  // namespace octavo::query
