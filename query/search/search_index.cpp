#include "query/search/search_index.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "query/search/internal/index_files.h"
#include "query/search/internal/lucene_guard.h"
#include "query/search/internal/lucene_text.h"
#include "query/search/internal/searcher.h"

#include <lucene++/Term.h>
#include <lucene++/TermEnum.h>

namespace octavo::query::search {

SearchIndex::SearchIndex(std::string identity, std::shared_ptr<const FieldAnalyzers> analyzers,
                         std::unique_ptr<FieldSource> source, FeedIndexOptions options)
    : identity_(std::move(identity)),
      analyzers_(std::move(analyzers)),
      source_(std::move(source)),
      stopping_(options.stopping),
      files_(std::make_unique<IndexFiles>(options, analyzers_, *source_)) {}

SearchIndex::~SearchIndex() = default;

Expected<void> SearchIndex::open(storage::Sequence last_sequence) {
  OCTAVO_TRY_VOID(files_->open(last_sequence));
  // Else it may have been catching up.
  if (files_->checkpoint() == last_sequence) complete_through_.store(last_sequence, std::memory_order_release);
  return {};
}

storage::Sequence SearchIndex::checkpoint() const {
  return files_->checkpoint();
}

std::uint64_t SearchIndex::purge_count() const {
  return files_->purge_count();
}

Expected<void> SearchIndex::apply(std::span<const FeedDocument> documents, storage::Sequence checkpoint,
                                  bool complete) {
  std::vector<IndexedField> fields;
  std::size_t next = 0;
  const auto produce = [&](IndexFiles::Change& change) -> Expected<bool> {
    if (next == documents.size()) return false;
    if (stopping_ && stopping_->load(std::memory_order_relaxed)) return fail(ErrorCode::overloaded, "");
    const FeedDocument& document = documents[next++];
    fields.clear();
    if (document.present) OCTAVO_TRY_VOID(source_->read(document, fields));
    change = {&document, fields};
    return true;
  };
  OCTAVO_TRY_VOID(files_->apply(produce, checkpoint, files_->purge_count(), complete));
  if (complete) complete_through_.store(files_->checkpoint(), std::memory_order_release);
  return {};
}

Expected<bool> SearchIndex::remove_purged(std::uint64_t purge_count, std::size_t documents_max,
                                          FunctionRef<Expected<bool>(std::string_view id)> is_gone) {
  if (!purge_scan_) purge_scan_.emplace(purge_count, std::string());
  std::vector<FeedDocument> gone;
  std::string last = purge_scan_->last;
  bool end = false;
  OCTAVO_TRY(const auto snapshot, files_->snapshot(files_->checkpoint()));
  const auto looked = guard_lucene(files_->directory(), [&]() -> Expected<void> {
    const Lucene::TermEnumPtr terms =
        snapshot->reader->terms(Lucene::newLucene<Lucene::Term>(id_field, to_wide(last)));
    std::size_t seen = 0;
    for (Lucene::TermPtr term = terms->term(); term && term->_field == id_field; term = terms->term()) {
      std::string id = to_utf8(term->_text);
      if (id != last) {
        if (seen++ == documents_max) return {};
        OCTAVO_TRY(const bool is_gone_now, is_gone(id));
        last = id;
        if (is_gone_now) {
          gone.emplace_back();
          gone.back().id = std::move(id);
        }
      }
      if (!terms->next()) break;
    }
    end = true;
    return {};
  });
  if (!looked) return std::unexpected(looked.error());
  std::size_t next = 0;
  const auto produce = [&](IndexFiles::Change& change) -> Expected<bool> {
    if (next == gone.size()) return false;
    change = {&gone[next++], {}};
    return true;
  };
  const std::uint64_t count = end ? purge_scan_->count_at_start : files_->purge_count();
  if (auto removed = files_->apply(produce, files_->checkpoint(), count, false); !removed) {
    purge_scan_.reset();
    return std::unexpected(removed.error());
  }
  purge_scan_->last = std::move(last);
  if (end) purge_scan_.reset();
  return end;
}

Expected<SearchResult> SearchIndex::search(const SearchRequest& request) {
  OCTAVO_TRY(const auto snapshot, files_->snapshot(request.at_least));
  auto result = guard_lucene(files_->directory(),
                             [&] { return run_search(snapshot, *analyzers_, files_->columns(), request); });
  if (!result && result.error().code == ErrorCode::corrupted) {
    spdlog::error("search index {}: {} It is built anew.", identity_, result.error().reason);
    complete_through_.store(0, std::memory_order_release);
    files_->discard();
  }
  return result;
}

Expected<SearchIndex::Info> SearchIndex::info() {
  OCTAVO_TRY(const auto snapshot, files_->snapshot(files_->checkpoint()));
  return guard_lucene(files_->directory(), [&]() -> Expected<Info> {
    return Info{.pending_sequence = files_->checkpoint(),
                .committed_sequence = files_->committed_checkpoint(),
                .purge_count = files_->purge_count(),
                .documents = static_cast<std::uint64_t>(snapshot->reader->numDocs()),
                .deleted_documents = static_cast<std::uint64_t>(snapshot->reader->numDeletedDocs()),
                .bytes_on_disk = files_->bytes_on_disk()};
  });
}

std::size_t SearchIndex::open_environment_count() const {
  return files_->is_open() ? 1 : 0;
}

std::uint64_t SearchIndex::last_used_ms() const {
  return files_->last_used_ms();
}

std::size_t SearchIndex::close_idle(std::uint64_t last_used_before_ms) {
  if (!files_->is_open() || files_->last_used_ms() > last_used_before_ms) return 0;
  return files_->close_if_idle() ? 1 : 0;
}

void SearchIndex::remove_files() {
  files_->remove_files();
}

}  // namespace octavo::query::search
