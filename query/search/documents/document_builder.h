#pragma once

#include <cstdint>
#include <lucene++/LuceneHeaders.h>
#include <lucene++/PositionIncrementAttribute.h>
#include <lucene++/TermAttribute.h>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/search/analysis/analyzer.h"
#include "query/search/documents/field_source.h"

namespace octavo::query::search {

/// Passes the tokens of one field to Lucene.
class ListTokenStream : public Lucene::TokenStream {
 public:
  ListTokenStream();
  bool incrementToken() override;
  void reset() override { next_ = 0; }
  TokenList& tokens() { return tokens_; }

 private:
  TokenList tokens_;
  std::size_t next_ = 0;
  Lucene::TermAttributePtr term_;
  Lucene::PositionIncrementAttributePtr position_;
};

/// The data of a document that a hit needs, stored in Lucene as one binary field.
///
/// Format (stored document of a search index):
///   stored := ordinal:u64 id_size:varint id fields      fields: JSON object of stored fields; absent if there are none
///
/// Ordinals increase with the document's number in the index, and merges preserve that order.
struct StoredDocument {
  std::uint64_t ordinal = 0;
  std::string_view id;
  std::string_view fields;

  /// The result has views into `bytes`; nullopt if these are invalid.
  static std::optional<StoredDocument> read(std::string_view bytes);
};

/// Makes Lucene documents. Reuses its buffers; one thread at a time.
class DocumentBuilder {
 public:
  DocumentBuilder(std::shared_ptr<const FieldAnalyzers> analyzers, const FieldSource& source)
      : analyzers_(std::move(analyzers)), source_(source) {}

  /// The document is valid until the next call.
  Lucene::DocumentPtr build(const FeedDocument& document, std::uint64_t ordinal, std::span<const IndexedField> fields);

  /// The most fields with norms: each costs a byte of memory per document of the index, and hostile documents could add
  /// a new field each.
  static constexpr std::size_t scored_fields_max = 200;
  /// The fields that have norms, as text to store with the index.
  std::string scored_fields() const;
  void know_scored_fields(std::string_view text);

 private:
  void add_text(const Lucene::DocumentPtr& document, const IndexedField& field, std::string_view text);
  void add_number(const Lucene::DocumentPtr& document, const IndexedField& field, double number);
  void add_exact(const Lucene::DocumentPtr& document, const Lucene::String& name, std::string_view text);
  bool is_scored(std::string_view field);
  const boost::shared_ptr<ListTokenStream>& next_stream();

  std::shared_ptr<const FieldAnalyzers> analyzers_;
  const FieldSource& source_;
  std::vector<boost::shared_ptr<ListTokenStream>> streams_;
  std::size_t streams_used_ = 0;
  std::set<std::string, std::less<>> scored_;
  std::string stored_;
};

}  // namespace octavo::query::search
