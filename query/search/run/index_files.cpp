#include "query/search/run/index_files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <lucene++/IndexReader.h>
#include <lucene++/IndexWriter.h>
#include <lucene++/LogByteSizeMergePolicy.h>
#include <lucene++/StandardAnalyzer.h>
#include <lucene++/Term.h>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include "base/folder.h"
#include "query/search/lucene/background_merges.h"
#include "query/search/lucene/commit_data.h"
#include "query/search/lucene/lucene_guard.h"
#include "query/search/lucene/lucene_text.h"
#include "query/search/lucene/lucene_values.h"

namespace octavo::query::search {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double buffer_megabytes = 16;
constexpr std::size_t column_bytes_max = 128ULL << 20;
// After a crash, no more changes than this are processed again.
constexpr std::size_t uncommitted_changes_max = 50'000;
constexpr std::chrono::seconds commit_interval{5};
// After this many changes of the feed without effect on the index, the checkpoint is recorded beside it; before the
// tombstones among them are dropped, if possible, or all documents would have to be looked at after a restart.
constexpr storage::Sequence unnoted_changes_max = 5'000;
constexpr std::size_t known_ids_max = 4'000'000;  // about 40 MB
// An index searched this recently will probably be searched again: after a change, its snapshot is refreshed at once.
constexpr std::uint64_t searched_lately_ms = 2'000;

std::uint64_t now_ms() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count());
}

Lucene::TermPtr id_term(std::string_view id) {
  return Lucene::newLucene<Lucene::Term>(id_field, to_wide(id));
}

using CommitData = std::map<std::string, std::string>;

std::optional<std::uint64_t> number_in(const CommitData& data, const std::string& name) {
  const auto found = data.find(name);
  if (found == data.end()) return std::nullopt;
  std::uint64_t number = 0;
  const char* end = found->second.data() + found->second.size();
  const auto read = std::from_chars(found->second.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

}  // namespace

IndexFiles::IndexFiles(FeedIndexOptions options, std::shared_ptr<const FieldAnalyzers> analyzers,
                       const FieldSource& source)
    : options_(std::move(options)),
      durable_(options_.durability != config::Durability::ephemeral),
      builder_(std::move(analyzers), source),
      columns_(column_bytes_max) {}

IndexFiles::~IndexFiles() {
  const std::lock_guard lock(write_mutex_);
  try {
    close_files();
  } catch (const std::exception& error) {
    // Leave the files as a crash would.
    drop_writer();
    spdlog::warn("the search index in {} was not closed: {}", options_.folder.c_str(), error.what());
  }
}

void IndexFiles::touch() {
  last_used_ms_.store(now_ms(), std::memory_order_relaxed);
}

void IndexFiles::adopt(const IndexState& state) {
  pending_ = state;
  purge_count_.store(state.purge_count, std::memory_order_release);
  checkpoint_.store(state.checkpoint, std::memory_order_release);
}

// --- opening ---

Expected<void> IndexFiles::open(storage::Sequence last_sequence) {
  const std::lock_guard lock(write_mutex_);
  std::error_code error;
  std::filesystem::create_directories(lucene_folder(), error);
  if (error) {
    const bool full = error.value() == ENOSPC || error.value() == EDQUOT;
    return fail(full ? ErrorCode::disk_full : ErrorCode::io_failure,
                "Cannot make the folder of a search index: " + error.message());
  }
  IndexState state;
  auto read = guard_lucene(last_error_, [&]() -> Expected<void> {
    make_lucene_values();
    open_directory();
    state = read_state();
    return {};
  });
  if (!read && read.error().code != ErrorCode::corrupted) return read;
  if (read && state.checkpoint > last_sequence) {
    spdlog::warn("the search index in {} knows changes that the database has lost: it is rebuilt",
                 options_.folder.string());
  } else if (read) {
    adopt(state);
    committed_checkpoint_.store(state.checkpoint, std::memory_order_release);
    // Otherwise the index may have been catching up when it was closed.
    if (state.checkpoint == last_sequence) complete_through_.store(last_sequence, std::memory_order_release);
    return {};
  } else {
    spdlog::error("the search index in {} cannot be read: it is rebuilt ({})", options_.folder.string(),
                  reason_of(read.error()));
  }
  return guard_lucene(last_error_, [&]() -> Expected<void> {
    start_over();
    return {};
  });
}

// The state of the last commit. Opens all its files, the only way to detect a missing or truncated file.
IndexState IndexFiles::read_state() {
  IndexState state;
  if (Lucene::IndexReader::indexExists(directory_)) state = read_commit();
  lucene_checkpoint_ = state.checkpoint;
  // The note records that the feed advanced without any change to the index.
  std::ifstream note(options_.folder / "checkpoint");
  storage::Sequence base = 0;
  storage::Sequence later = 0;
  std::uint64_t purges = 0;
  if (note >> base >> later >> purges && base == state.checkpoint && later > base) {
    state.checkpoint = later;
    state.purge_count = purges;
  }
  noted_checkpoint_ = state.checkpoint;
  return state;
}

IndexState IndexFiles::read_commit() {
  IndexState state;
  const Lucene::IndexReaderPtr reader = Lucene::IndexReader::open(directory_, true);
  const CommitData data = read_commit_data(reader->getCommitUserData());
  const bool empty = reader->maxDoc() == 0;
  // A reader falls back to an older commit if files of the last one are missing; a writer would continue with the last.
  const bool is_last = reader->isCurrent();
  reader->close();
  if (!is_last) throw Lucene::CorruptIndexException(L"a commit without all its files");
  const auto checkpoint = number_in(data, "checkpoint");
  if (!checkpoint) {
    if (empty) return state;
    throw Lucene::CorruptIndexException(L"a commit without a checkpoint");
  }
  state.checkpoint = *checkpoint;
  state.purge_count = number_in(data, "purges").value_or(0);
  state.next_ordinal = number_in(data, "ordinal").value_or(1);
  if (const auto scored = data.find("scored"); scored != data.end()) builder_.know_scored_fields(scored->second);
  return state;
}

void IndexFiles::start_over() {
  abandon_writer();
  columns_.clear();
  std::error_code error;
  storage::remove_folder(lucene_folder(), error);
  std::filesystem::remove(options_.folder / "checkpoint", error);
  std::filesystem::create_directories(lucene_folder(), error);
  last_error_->store(0);
  noted_checkpoint_ = 0;
  lucene_checkpoint_ = 0;
  adopt({});
  committed_checkpoint_.store(0, std::memory_order_release);
}

void IndexFiles::open_directory() {
  last_error_->store(0);
  if (directory_) return;
  directory_ = Lucene::newLucene<LuceneDirectory>(lucene_folder(), durable_, options_.faults, last_error_);
}

void IndexFiles::open_writer() {
  touch();
  if (writer_) return;
  open_directory();
  merges_ = Lucene::newLucene<BackgroundMerges>();
  committed_merges_ = 0;
  const bool exists = Lucene::IndexReader::indexExists(directory_);
  writer_ = Lucene::newLucene<Lucene::IndexWriter>(
      directory_, Lucene::newLucene<Lucene::StandardAnalyzer>(Lucene::LuceneVersion::LUCENE_30), !exists,
      Lucene::IndexWriter::MaxFieldLengthUNLIMITED);
  writer_->setMergeScheduler(merges_);
  writer_->setUseCompoundFile(false);
  writer_->setRAMBufferSizeMB(buffer_megabytes);
  open_.store(true, std::memory_order_relaxed);
  committed_at_ = Clock::now();
  if (writer_->maxDoc() == 0) known_ids_.emplace();
}

// --- changing ---

void IndexFiles::make_change(const Change& change) {
  const FeedDocument& document = *change.document;
  const bool present = document.present && !change.fields.empty();
  bool known = true;
  if (known_ids_) {
    const std::uint64_t hash = std::hash<std::string_view>{}(document.id);
    known = present ? !known_ids_->insert(hash).second : known_ids_->contains(hash);
    if (known_ids_->size() > known_ids_max) known_ids_.reset();
  }
  if (present) {
    const Lucene::DocumentPtr made = builder_.build(document, pending_.next_ordinal++, change.fields);
    if (known) {
      writer_->updateDocument(id_term(document.id), made);
    } else {
      writer_->addDocument(made);
    }
  } else if (known) {
    writer_->deleteDocuments(id_term(document.id));
  } else {
    return;
  }
  ++uncommitted_changes_;
  ++changes_;
}

Expected<void> IndexFiles::apply(FunctionRef<bool(Change&)> next, const Batch& batch) {
  const std::lock_guard lock(write_mutex_);
  if (merges_ && merges_->failed_for_good()) abandon_writer();
  if (losses() != batch.losses) return fail(ErrorCode::overloaded, "The search index went back to its last commit.");
  auto applied = guard_lucene(last_error_, [&]() -> Expected<void> {
    touch();
    for (Change change; next(change);) {
      open_writer();
      make_change(change);
    }
    pending_.checkpoint = std::max(pending_.checkpoint, batch.checkpoint);
    pending_.purge_count = batch.purge_count;
    if (batch.complete) known_ids_.reset();
    const bool due = uncommitted_changes_ >= uncommitted_changes_max || Clock::now() - committed_at_ >= commit_interval;
    if (uncommitted_changes_ > 0 && due) commit();
    const bool note_due = pending_.checkpoint - noted_checkpoint_ > unnoted_changes_max ||
                          (pending_.checkpoint > noted_checkpoint_ && noted_checkpoint_ < batch.dropped_through);
    if (uncommitted_changes_ == 0 && note_due) write_note();
    return {};
  });
  if (!applied) {
    give_up(applied.error());
    return applied;
  }
  adopt(pending_);
  if (batch.complete) complete_through_.store(pending_.checkpoint, std::memory_order_release);
  if (!batch.last || now_ms() - last_searched_ms_.load(std::memory_order_relaxed) > searched_lately_ms) return {};
  auto refreshed = guard_lucene(last_error_, [&]() -> Expected<void> {
    refresh();
    return {};
  });
  if (!refreshed) give_up(refreshed.error());
  return refreshed;
}

void IndexFiles::commit() {
  const std::uint64_t merges = merges_->merged();
  writer_->commit(make_commit_data({{"checkpoint", std::to_string(pending_.checkpoint)},
                                    {"purges", std::to_string(pending_.purge_count)},
                                    {"ordinal", std::to_string(pending_.next_ordinal)},
                                    {"scored", builder_.scored_fields()}}));
  uncommitted_changes_ = 0;
  committed_merges_ = merges;
  committed_at_ = Clock::now();
  committed_checkpoint_.store(pending_.checkpoint, std::memory_order_release);
  // Lucene makes no commit if the only changes were removals of documents that are not in the index.
  const auto data = read_commit_data(Lucene::IndexReader::getCommitUserData(directory_));
  lucene_checkpoint_ = number_in(data, "checkpoint").value_or(0);
  if (lucene_checkpoint_ == pending_.checkpoint) {
    noted_checkpoint_ = pending_.checkpoint;
  } else {
    write_note();
  }
}

// Replaces the small file as a whole. If it is lost, the feed is read again from the last commit on.
void IndexFiles::write_note() {
  const auto path = options_.folder / "checkpoint";
  const auto temporary = options_.folder / "checkpoint.new";
  {
    std::ofstream note(temporary, std::ios::trunc);
    note << lucene_checkpoint_ << ' ' << pending_.checkpoint << ' ' << pending_.purge_count << '\n';
    note.flush();
    if (!note) return;
  }
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (!error) noted_checkpoint_ = pending_.checkpoint;
}

// Invalidates the state that others may have read before.
void IndexFiles::take_back() {
  complete_through_.store(0, std::memory_order_release);
  losses_.fetch_add(1, std::memory_order_acq_rel);
}

// Drops the writer without a rollback, which might wait forever. The next writer removes files that no commit names.
void IndexFiles::drop_writer() {
  if (directory_) directory_->retire();
  if (merges_) merges_->give_up();
  merges_.reset();
  writer_.reset();
  directory_.reset();
}

// Returns to the last commit.
void IndexFiles::abandon_writer() {
  take_back();
  drop_writer();
  known_ids_.reset();
  uncommitted_changes_ = 0;
  {
    const std::lock_guard lock(reader_mutex_);
    snapshot_.reset();
  }
  open_.store(false, std::memory_order_relaxed);
  IndexState state;
  const auto read = guard_lucene(last_error_, [&]() -> Expected<void> {
    open_directory();
    state = read_state();
    return {};
  });
  // If the state cannot be read now, assume an empty index: the files are read or discarded when they are opened next.
  adopt(read ? state : IndexState{});
  committed_checkpoint_.store(pending_.checkpoint, std::memory_order_release);
}

// Returns to the last commit, or to an empty index if the commit is corrupted, which would fail again and again.
void IndexFiles::give_up(const Error& error) {
  if (error.code != ErrorCode::corrupted) return abandon_writer();
  spdlog::error("the search index in {} cannot be used: it is rebuilt ({})", options_.folder.string(),
                reason_of(error));
  const auto done = guard_lucene(last_error_, [&]() -> Expected<void> {
    start_over();
    return {};
  });
  static_cast<void>(done);
}

void IndexFiles::discard(const Error& error) {
  const std::lock_guard lock(write_mutex_);
  give_up(error);
}

// --- reading ---

void IndexFiles::refresh() {
  {
    const std::lock_guard lock(reader_mutex_);
    if (snapshot_ && snapshot_changes_ == changes_) {
      snapshot_->complete_through.store(complete_through_.load());
      return;
    }
  }
  auto reader = writer_ ? writer_->getReader() : Lucene::IndexReader::open(directory_, true);
  auto made =
      std::make_shared<const IndexSnapshot>(std::move(reader), complete_through_.load(std::memory_order_acquire));
  open_.store(true, std::memory_order_relaxed);
  const std::lock_guard lock(reader_mutex_);
  snapshot_.swap(made);
  snapshot_changes_ = changes_;
}

Expected<IndexSnapshotPtr> IndexFiles::snapshot(storage::Sequence at_least) {
  const std::uint64_t now = now_ms();
  last_searched_ms_.store(now, std::memory_order_relaxed);
  last_used_ms_.store(now, std::memory_order_relaxed);
  const auto present = [&]() -> IndexSnapshotPtr {
    const std::lock_guard lock(reader_mutex_);
    return snapshot_ && snapshot_->complete_through.load() >= at_least ? snapshot_ : nullptr;
  };
  if (auto ready = present()) return ready;
  const std::lock_guard lock(write_mutex_);
  if (auto ready = present()) return ready;
  if (merges_ && merges_->failed_for_good()) abandon_writer();
  auto refreshed = guard_lucene(last_error_, [&]() -> Expected<void> {
    open_directory();
    // An index that has never had a document has no files yet.
    if (!writer_ && !Lucene::IndexReader::indexExists(directory_)) open_writer();
    refresh();
    return {};
  });
  if (!refreshed) {
    if (merges_ || refreshed.error().code == ErrorCode::corrupted) give_up(refreshed.error());
    return std::unexpected(std::move(refreshed).error());
  }
  const std::lock_guard reading(reader_mutex_);
  return snapshot_;
}

std::uint64_t IndexFiles::bytes_on_disk() const {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (const std::string& file : storage::folder_entries(lucene_folder(), error)) {
    const auto size = std::filesystem::file_size(lucene_folder() / file, error);
    if (!error) bytes += size;
  }
  return bytes;
}

// --- closing ---

void IndexFiles::close_files() {
  if (merges_ && merges_->failed_for_good()) return abandon_writer();
  if (writer_) {
    const auto closed = guard_lucene(last_error_, [&]() -> Expected<void> {
      if (uncommitted_changes_ > 0) commit();
      writer_->close(false);
      return {};
    });
    if (!closed) return abandon_writer();
    writer_.reset();
    merges_.reset();
  }
  if (pending_.checkpoint > noted_checkpoint_) write_note();
  known_ids_.reset();
  {
    const std::lock_guard lock(reader_mutex_);
    snapshot_.reset();
  }
  columns_.clear();
  open_.store(false, std::memory_order_relaxed);
}

bool IndexFiles::close_if_idle() {
  const std::unique_lock lock(write_mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !is_open()) return false;
  {
    const std::lock_guard reading(reader_mutex_);
    if (snapshot_ && snapshot_.use_count() > 1) return false;
  }
  close_files();
  return true;
}

void IndexFiles::remove_files() {
  const std::lock_guard lock(write_mutex_);
  drop_writer();
  {
    const std::lock_guard reading(reader_mutex_);
    snapshot_.reset();
  }
  open_.store(false, std::memory_order_relaxed);
  pending_ = {};
  noted_checkpoint_ = 0;
  std::error_code error;
  storage::remove_folder(options_.folder, error);
  if (error) spdlog::warn("cannot remove the search index in {}: {}", options_.folder.string(), error.message());
}

}  // namespace octavo::query::search
