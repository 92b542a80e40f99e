#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <simdjson.h>

#include "base/error.h"
#include "partitioning/keys/typed_key.h"
#include "query/json/field_path.h"

namespace octavo::query::advice {

/// A document of a scan. The views live as long as the row that it was read from.
struct ScannedDocument {
  simdjson::dom::element body;  ///< an object
  std::string_view id;
  std::int64_t modified_s = 0;
  std::uint64_t bytes = 0;  ///< of its id and body, as limits count them
};

/// A path that the advisor reads: a property, the document's `/_id`, or `/_ts`, the time of its last write.
class AdvisedPath {
 public:
  /// `text`: as in containers, `/address/zip`. Errors: bad_request, naming the text.
  static Expected<AdvisedPath> parse(std::string_view text);
  /// nullopt: the path has no such text, or names the whole document.
  static std::optional<AdvisedPath> of(const FieldPath& path);

  using Value = std::variant<partitioning::MissingValue, partitioning::NullValue, bool, double, std::string_view>;
  /// Objects, arrays and absent properties are missing values. A text lives as long as the document.
  Value read(const ScannedDocument& document) const;
  /// The value as Unix time, in seconds: a number of seconds or (from 10^11 on) milliseconds, or a text such as
  /// `2020-05-31T12:00:00Z`. nullopt: it is no time from 1970 on.
  std::optional<std::uint32_t> read_time(const ScannedDocument& document) const;

  const std::string& text() const { return text_; }
  bool is(const FieldPath& path) const { return path_ == path; }
  bool operator==(const AdvisedPath& other) const { return source_ == other.source_ && path_ == other.path_; }

 private:
  enum class Source : std::uint8_t { body, id, modified };
  std::string text_;
  FieldPath path_;
  Source source_ = Source::body;
};

/// A partition key that might be chosen: one property, several as a hierarchy, or several joined into one text.
struct KeyCandidate {
  enum class Kind : std::uint8_t { single, hierarchical, composite };

  static constexpr std::size_t hierarchy_paths_max = 3;  ///< Azure Cosmos DB's limit
  static constexpr std::size_t composite_paths_max = 8;

  Kind kind = Kind::single;
  std::vector<AdvisedPath> paths;
  std::string separator;  ///< of a composite key

  bool has(const AdvisedPath& path) const;
  bool operator==(const KeyCandidate&) const = default;
};

/// Reads the values of a candidate's key, one document after the other. Not thread-safe.
class KeyReader {
 public:
  /// `candidate` must outlive the reader.
  explicit KeyReader(const KeyCandidate& candidate) : candidate_(candidate), values_(candidate.paths.size()) {}

  /// What follows concerns this document, which must live until the next call.
  void read(const ScannedDocument& document);
  /// The key has no value, or lacks one of its values. Such documents share a logical partition.
  bool is_missing() const { return is_missing_; }
  /// The key as JSON: `"ann"`, `42`, `["ann","2020-05"]`; `{}` stands for a missing value. Equal keys have equal texts.
  const std::string& text() const { return text_; }
  /// The position of the key's documents in the hash space of a container.
  partitioning::HashPosition position() const;

 private:
  const KeyCandidate& candidate_;
  std::vector<AdvisedPath::Value> values_;
  std::string joined_;  ///< of a composite key
  std::string text_;
  bool is_missing_ = false;
};

}  // namespace octavo::query::advice
