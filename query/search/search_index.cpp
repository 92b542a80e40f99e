#include "query/search/search_index.h"

#include <algorithm>
#include <limits>
#include <lucene++/Term.h>
#include <lucene++/TermEnum.h>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "query/search/lucene/lucene_guard.h"
#include "query/search/lucene/lucene_text.h"
#include "query/search/run/index_files.h"
#include "query/search/run/searcher.h"

namespace octavo::query::search {

namespace {

// Limits of the documents whose fields are kept in memory before they are written to the files. They bound the memory
// and the time between two changes of the index.
constexpr std::size_t piece_documents_max = 256;
constexpr std::size_t piece_bytes_max = 8ULL << 20;

}  // namespace

SearchIndex::SearchIndex(std::string identity, std::shared_ptr<const FieldAnalyzers> analyzers,
                         std::unique_ptr<FieldSource> source, FeedIndexOptions options)
    : identity_(std::move(identity)),
      analyzers_(std::move(analyzers)),
      source_(std::move(source)),
      stopping_(options.stopping),
      files_(std::make_unique<IndexFiles>(std::move(options), analyzers_, *source_)) {}

SearchIndex::~SearchIndex() = default;

Expected<void> SearchIndex::open(storage::Sequence last_sequence) {
  return files_->open(last_sequence);
}

storage::Sequence SearchIndex::checkpoint() const {
  return files_->checkpoint();
}

storage::Sequence SearchIndex::complete_through() const {
  return files_->complete_through();
}

std::uint64_t SearchIndex::purge_count() const {
  return files_->purge_count();
}

storage::Sequence SearchIndex::knows_deletions_through() const {
  const bool is_scan_lost = files_->losses() != losses_at_scan_;
  return std::max(files_->checkpoint(), is_scan_lost ? 0 : scanned_through_);
}

/// The fields of consecutive documents.
struct SearchIndex::Fields {
  std::vector<std::vector<IndexedField>> of;  ///< only the first `count` are valid; the others keep their memory
  std::size_t count = 0;
};

namespace {

std::size_t bytes_of(const std::vector<IndexedField>& fields) {
  std::size_t bytes = 0;
  for (const auto& field : fields) {
    bytes += sizeof(field) + field.name.size();
    if (const auto* text = std::get_if<std::string>(&field.value)) bytes += text->size();
  }
  return bytes;
}

}  // namespace

// Reads the fields of the first documents. False: the time is over.
Expected<bool> SearchIndex::read_some(std::span<const FeedDocument> documents,
                                      std::chrono::steady_clock::time_point until, Fields& some) {
  std::size_t bytes = 0;
  some.count = 0;
  while (some.count < std::min(documents.size(), piece_documents_max) && bytes < piece_bytes_max) {
    if (stopping_ && stopping_->load(std::memory_order_relaxed)) return fail(ErrorCode::overloaded, "");
    if (some.of.size() == some.count) some.of.emplace_back();
    auto& fields = some.of[some.count];
    fields.clear();
    const FeedDocument& document = documents[some.count];
    if (document.present) OCTAVO_TRY_VOID(source_->read(document, fields));
    bytes += bytes_of(fields);
    ++some.count;
    if (std::chrono::steady_clock::now() >= until) return false;
  }
  return true;
}

// Functions run before the files are locked, because they may take long and searches must not wait for them.
Expected<std::size_t> SearchIndex::apply(const FeedChanges& changes) {
  const std::uint64_t losses = files_->losses();
  if (files_->checkpoint() < changes.from || knows_deletions_through() < changes.dropped_through) {
    return fail(ErrorCode::overloaded, "The search index went back.");
  }
  const auto until = std::chrono::steady_clock::now() + apply_time;
  Fields some;
  std::size_t taken = 0;
  bool last = false;
  while (!last) {
    OCTAVO_TRY(const bool in_time, read_some(changes.documents.subspan(taken), until, some));
    std::size_t next = 0;
    const auto produce = [&](IndexFiles::Change& change) {
      if (next == some.count) return false;
      change = {&changes.documents[taken + next], some.of[next]};
      ++next;
      return true;
    };
    const std::size_t after = taken + some.count;
    const bool all = after == changes.documents.size();
    last = all || !in_time;
    OCTAVO_TRY_VOID(files_->apply(produce, {.checkpoint = changes.checkpoint_after(after),
                                            .purge_count = files_->purge_count(),
                                            .complete = all && changes.complete,
                                            .last = last,
                                            .losses = losses,
                                            .dropped_through = changes.dropped_through}));
    taken = after;
  }
  return taken;
}

Expected<bool> SearchIndex::remove_known(const KnownPurges& purges) {
  const std::uint64_t losses = files_->losses();
  if (files_->checkpoint() < purges.since) return false;
  std::vector<FeedDocument> gone(purges.gone.size());
  for (std::size_t i = 0; i < gone.size(); ++i) gone[i].id = purges.gone[i];
  std::size_t next = 0;
  const auto produce = [&](IndexFiles::Change& change) {
    if (next == gone.size()) return false;
    change = {&gone[next++], {}};
    return true;
  };
  const IndexFiles::Batch batch{
      .checkpoint = files_->checkpoint(), .purge_count = purges.purge_count, .losses = losses};
  OCTAVO_TRY_VOID(files_->apply(produce, batch));
  purge_scan_.reset();
  return true;
}

Expected<bool> SearchIndex::remove_purged(const GoneDocuments& gone, std::size_t documents_max) {
  if (!purge_scan_ || purge_scan_->losses != files_->losses()) {
    purge_scan_.emplace(gone.purge_count, gone.watermark, files_->losses(), std::string());
  }
  std::vector<FeedDocument> found;
  std::string last = purge_scan_->last;
  bool end = false;
  // The newest one: at the same checkpoint, documents beyond it may have been added.
  OCTAVO_TRY(const auto snapshot, files_->snapshot(std::numeric_limits<storage::Sequence>::max()));
  const auto looked = guard_lucene(files_->last_error(), [&]() -> Expected<void> {
    const Lucene::TermEnumPtr terms = snapshot->reader->terms(Lucene::newLucene<Lucene::Term>(id_field, to_wide(last)));
    std::size_t seen = 0;
    for (Lucene::TermPtr term = terms->term(); term && term->_field == id_field; term = terms->term()) {
      std::string id = to_utf8(term->_text);
      if (id != last) {
        if (seen++ == documents_max) return {};
        OCTAVO_TRY(const bool is_gone_now, gone.is_gone(id));
        last = id;
        if (is_gone_now) {
          found.emplace_back();
          found.back().id = std::move(id);
        }
      }
      if (!terms->next()) break;
    }
    end = true;
    return {};
  });
  if (!looked) return std::unexpected(looked.error());
  std::size_t next = 0;
  const auto produce = [&](IndexFiles::Change& change) {
    if (next == found.size()) return false;
    change = {&found[next++], {}};
    return true;
  };
  const std::uint64_t count = end ? purge_scan_->purge_count : files_->purge_count();
  const IndexFiles::Batch batch{
      .checkpoint = files_->checkpoint(), .purge_count = count, .losses = purge_scan_->losses};
  if (auto removed = files_->apply(produce, batch); !removed) {
    purge_scan_.reset();
    return std::unexpected(removed.error());
  }
  purge_scan_->last = std::move(last);
  if (end) {
    scanned_through_ = purge_scan_->watermark;
    losses_at_scan_ = purge_scan_->losses;
    purge_scan_.reset();
  }
  return end;
}

Expected<SearchResult> SearchIndex::search(const SearchRequest& request) {
  OCTAVO_TRY(const auto snapshot, files_->snapshot(request.at_least));
  if (snapshot->complete_through.load() < request.at_least) {
    return fail(ErrorCode::index_went_back, "The search index went back to its last commit; try again.");
  }
  auto result =
      guard_lucene(files_->last_error(), [&] { return run_search(snapshot, *analyzers_, files_->columns(), request); });
  if (!result && result.error().code == ErrorCode::corrupted) {
    files_->discard(result.error());
  }
  return result;
}

Expected<SearchIndex::Info> SearchIndex::info() {
  OCTAVO_TRY(const auto snapshot, files_->snapshot(files_->checkpoint()));
  return guard_lucene(files_->last_error(), [&]() -> Expected<Info> {
    return Info{.pending_sequence = files_->checkpoint(),
                .committed_sequence = files_->committed_checkpoint(),
                .purge_count = files_->purge_count(),
                .documents = static_cast<std::uint64_t>(snapshot->reader->numDocs()),
                .deleted_documents = static_cast<std::uint64_t>(snapshot->reader->numDeletedDocs()),
                .bytes_on_disk = files_->bytes_on_disk()};
  });
}

std::size_t SearchIndex::open_store_count() const {
  return files_->is_open() ? 1 : 0;
}

std::uint64_t SearchIndex::last_used_ms() const {
  return files_->last_used_ms();
}

std::size_t SearchIndex::close_idle(std::uint64_t last_used_before_ms) {
  if (!files_->is_open() || files_->last_used_ms() > last_used_before_ms) return 0;
  return files_->close_if_idle() ? 1 : 0;
}

Expected<void> SearchIndex::compact(const std::function<bool()>& stopped) {
  return files_->compact(stopped);
}

std::uint64_t SearchIndex::file_bytes() const {
  return files_->bytes_on_disk();
}

std::optional<storage::Density> SearchIndex::density() {
  return files_->density();
}

void SearchIndex::remove_files() {
  files_->remove_files();
}

}  // namespace octavo::query::search
