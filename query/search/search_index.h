#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "query/follow/feed_index.h"
#include "query/follow/feed_index_kind.h"
#include "query/search/analysis/analyzer.h"
#include "query/search/documents/field_source.h"
#include "query/search/syntax/search_request.h"

namespace octavo::query::search {

class IndexFiles;

/// A full-text index: Lucene++ with the fields that a FieldSource extracts from each document.
///
/// Format (files of a search index):
///   lucene/          Lucene's own files, in the format of Lucene 3
///   checkpoint       how far the index has followed the feed without any change to it since the last commit
///   definition.json  the definition, as of each index that follows the feed
///
/// Searches run on the calling thread, which must be a worker because they may take long. FeedIndex describes which
/// threads may call the other functions.
class SearchIndex final : public FeedIndex {
 public:
  SearchIndex(std::string identity, std::shared_ptr<const FieldAnalyzers> analyzers,
              std::unique_ptr<FieldSource> source, FeedIndexOptions options);
  ~SearchIndex() override;

  /// Errors: bad_request with Cloudant's words; timeout at the request's deadline; corrupted, after which the index is
  /// rebuilt; errors of the disk; index_went_back: after an error, the index lost changes up to
  /// `at_least` and is reading them from the feed again.
  Expected<SearchResult> search(const SearchRequest& request);
  const FieldAnalyzers& analyzers() const { return *analyzers_; }

  struct Info {
    storage::Sequence pending_sequence = 0;
    storage::Sequence committed_sequence = 0;
    std::uint64_t purge_count = 0;
    std::uint64_t documents = 0;
    std::uint64_t deleted_documents = 0;  ///< still in the files, until their segments are merged
    std::uint64_t bytes_on_disk = 0;
  };
  Expected<Info> info();

  const std::string& identity() const override { return identity_; }
  Expected<void> open(storage::Sequence last_sequence) override;
  storage::Sequence checkpoint() const override;
  storage::Sequence complete_through() const override;
  std::uint64_t purge_count() const override;
  storage::Sequence knows_deletions_through() const override;
  Expected<std::size_t> apply(const FeedChanges& changes) override;
  Expected<bool> remove_known(const KnownPurges& purges) override;
  Expected<bool> remove_purged(const GoneDocuments& gone, std::size_t documents_max) override;
  std::size_t open_store_count() const override;
  std::uint64_t last_used_ms() const override;
  std::size_t close_idle(std::uint64_t last_used_before_ms) override;
  Expected<void> compact(const std::function<bool()>& stopped) override;
  std::uint64_t file_bytes() const override;
  std::optional<storage::Density> density() override;
  void remove_files() override;

 private:
  struct Fields;
  Expected<bool> read_some(std::span<const FeedDocument> documents, std::chrono::steady_clock::time_point until,
                           Fields& some);

  const std::string identity_;
  const std::shared_ptr<const FieldAnalyzers> analyzers_;
  const std::unique_ptr<FieldSource> source_;
  const std::shared_ptr<const std::atomic<bool>> stopping_;
  const std::unique_ptr<IndexFiles> files_;

  struct PurgeScan {
    std::uint64_t purge_count;    ///< at the start
    storage::Sequence watermark;  ///< at the start
    std::uint64_t losses;         ///< IndexFiles::losses() at the start
    std::string last;             ///< the last id checked
  };
  std::optional<PurgeScan> purge_scan_;
  /// What query::PurgeScan::scanned_through() returned, as long as nothing was lost since that scan.
  storage::Sequence scanned_through_ = 0;
  std::uint64_t losses_at_scan_ = 0;
};

}  // namespace octavo::query::search
