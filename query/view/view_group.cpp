#include "query/view/view_group.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "base/folder.h"
#include "base/json_writer.h"
#include "query/follow/parallel_work.h"
#include "query/index/index_entry.h"
#include "query/javascript/functions.h"
#include "query/json/parsed_document.h"

namespace octavo::query::views {

namespace {

constexpr std::uint8_t group_state_version = 1;
constexpr std::string_view group_state_key = "state";
constexpr std::size_t meta_tree = 3;
// A checkpoint that advances without any change to the rows is written only after this many changes. After a restart,
// those changes are processed again without effect. If the tombstones among them were dropped, all documents would have
// to be looked at.
constexpr storage::Sequence unstored_changes = 50'000;
// Rows of a batch are kept in memory until they are written: about this many bytes, plus those of the documents being
// mapped.
constexpr std::size_t row_bytes_max = 64ULL << 20;
// A thread keeps an output buffer up to this size for the next document.
constexpr std::size_t output_bytes_kept = 1ULL << 20;

storage::Store::Options store_options_of(const FeedIndexOptions& options) {
  storage::Store::Options store;
  store.folder = options.folder;
  store.trees = {"rows", "by_document", "summaries", "meta", std::string(storage::tree_of_long_keys)};
  store.durability =
      options.durability == config::Durability::ephemeral ? config::Durability::ephemeral : config::Durability::relaxed;
  store.capacity_bytes_initial = 1ULL << 20;
  store.faults = options.faults;
  return store;
}

/// The row keys in an entry of by_document.
std::vector<std::string_view> split_keys(std::string_view stored) {
  std::vector<std::string_view> keys;
  ByteReader reader(stored);
  while (reader.ok() && !reader.rest().empty()) keys.push_back(reader.sized_bytes());
  return keys;
}

/// True if every parser is certain to accept `json`, which JSON.stringify produced.
bool is_plain(std::string_view json) {
  constexpr std::ptrdiff_t plain_depth_max = 100;
  const auto opens = [](char c) { return c == '[' || c == '{'; };
  return json.find("\\ud") == std::string_view::npos && std::ranges::count_if(json, opens) <= plain_depth_max;
}

/// Makes the rows of one document.
class RowBuilder {
 public:
  RowBuilder(const ViewGroupDefinition& definition, const FeedDocument& document)
      : definition_(definition), document_(document) {
    append_key_text(escaped_id_, document.id);
  }

  /// A row of view number `view`; `key` and `value` are JSON texts.
  void add(std::size_t view, std::string_view key, std::string_view value) {
    // Large integers in keys were already rounded by JavaScript; keys in requests are rounded the same way.
    thread_local DocumentParser parser(LargeIntegers::rounded);  // NOLINT(misc-use-internal-linkage)
    // Skip rows with half a surrogate pair or deeper nesting than any document: they would block the index for good.
    if (!is_plain(value) && !parser.parse(value)) return;
    const auto parsed = parser.parse(key);
    if (!parsed) return;
    ViewGroup::Row row;
    row.key = definition_.partitioned ? view_prefix(view, document_.partition_key) : view_prefix(view);
    append_sort_key(row.key, *parsed, definition_.key_order());
    row.key += escaped_id_;
    const auto ordinal = static_cast<std::uint32_t>(rows_.size());
    for (int shift = 24; shift >= 0; shift -= 8) row.key += static_cast<char>(ordinal >> shift);
    append_row_value(row.value, escaped_id_.size(), key, value);
    rows_.push_back(std::move(row));
  }

  std::vector<ViewGroup::Row> sorted_rows() && {
    std::ranges::sort(rows_, {}, &ViewGroup::Row::key);
    return std::move(rows_);
  }

 private:
  const ViewGroupDefinition& definition_;
  const FeedDocument& document_;
  std::string escaped_id_;
  std::vector<ViewGroup::Row> rows_;
};

Expected<void> add_index_rows(const std::vector<IndexDefinition>& indexes, const FeedDocument& document,
                              RowBuilder& rows) {
  thread_local DocumentParser parser;  // NOLINT(misc-use-internal-linkage): local to the function
  OCTAVO_TRY(const auto body, parser.parse(document.json));
  std::string key, value, fields;
  for (std::size_t i = 0; i < indexes.size(); ++i) {
    key.clear();
    value.clear();
    const IndexedDocument indexed{body, document.json, document.id, document.revision};
    if (!append_index_entry(indexes[i], indexed, key, value)) continue;
    const auto entry = IndexRow::decode(key, value);
    OCTAVO_ASSERT(entry.has_value());
    fields.clear();
    bool complete = true;
    for (std::size_t field = 0; complete && field < indexes[i].fields.size(); ++field) {
      const auto text = entry->field(field);
      complete = !text.empty();
      fields += field == 0 ? '[' : ',';
      fields += text;
    }
    fields += ']';
    // A document that lacks a field has an entry in the index, but in CouchDB it has no row.
    if (complete) rows.add(i, fields, "null");
  }
  return {};
}

}  // namespace

std::size_t ViewGroup::bytes_of(const std::vector<Row>& rows) {
  std::size_t bytes = 0;
  for (const auto& row : rows) bytes += 2 * row.key.size() + row.value.size() + 64;
  return bytes;
}

struct ViewGroup::Change {
  std::string id;
  std::vector<Row> rows;  ///< sorted
};

ViewGroup::ViewGroup(std::string identity, ViewGroupDefinition definition, FeedIndexOptions options)
    : identity_(std::move(identity)),
      definition_(std::move(definition)),
      options_(std::move(options)),
      store_(store_options_of(options_)) {}

ViewGroup::~ViewGroup() = default;

Expected<std::unique_ptr<FeedIndex>> ViewGroup::make(const FeedIndexDefinition& definition, FeedIndexOptions options) {
  OCTAVO_TRY(auto views, ViewGroupDefinition::from_content(definition.content));
  std::unique_ptr<ViewGroup> group(new ViewGroup(definition.identity, std::move(views), std::move(options)));
  OCTAVO_TRY_VOID(group->prepare());
  return std::unique_ptr<FeedIndex>(std::move(group));
}

Expected<void> ViewGroup::prepare() {
  std::vector<javascript::Program::Function> maps;
  std::vector<javascript::Program::Function> reduces;
  std::vector<std::size_t> reduce_numbers;
  for (const auto& view : definition_.views) {
    if (definition_.of_indexes) {
      OCTAVO_TRY(const auto map, parse_json(view.map, LargeIntegers::exact));
      OCTAVO_TRY(auto index, index_from_map(map));
      indexes_.push_back(std::move(index));
    } else {
      maps.push_back({"view " + view.name + " map", view.map});
    }
    reduce_numbers.push_back(reduces.size());
    if (view.reduce && !is_built_in(*view.reduce)) reduces.push_back({"view " + view.name + " reduce", *view.reduce});
  }
  maps_ = std::make_shared<javascript::Program>(options_.database_tag, std::move(maps), definition_.modules);
  const auto program =
      std::make_shared<javascript::Program>(options_.database_tag, std::move(reduces), definition_.modules);
  for (std::size_t i = 0; i < definition_.views.size(); ++i) {
    reducers_.emplace_back();
    if (!definition_.views[i].reduce) continue;
    OCTAVO_TRY(reducers_.back(), make_reducer(*definition_.views[i].reduce, program, reduce_numbers[i]));
  }
  return {};
}

Expected<void> ViewGroup::open(storage::Sequence last_sequence) {
  const bool exists = storage::Store::exists_in(options_.folder);
  // An interrupted removal may have left other files.
  auto opened = exists ? store_.open() : store_.create_again();
  if (!opened && opened.error().code == ErrorCode::corrupted) {
    // Everything in an index can be computed from the documents again.
    spdlog::error("{}: the views are rebuilt", reason_of(opened.error()));
    opened = store_.create_again();
  }
  OCTAVO_TRY_VOID(opened);
  std::optional<std::string> state;
  {
    OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
    OCTAVO_TRY(const auto stored, transaction.get(store_.tree(meta_tree), group_state_key));
    if (stored) state = *stored;
  }
  if (!state) return {};
  ByteReader reader(*state);
  const std::uint8_t version = reader.u8();
  const storage::Sequence checkpoint = reader.u64();
  const std::uint64_t purge_count = reader.u64();
  if (!reader.ok() || version != group_state_version || checkpoint > last_sequence) {
    spdlog::warn("the views in {} know changes that the database has lost: they are rebuilt", options_.folder.string());
    return store_.create_again();
  }
  checkpoint_.store(checkpoint, std::memory_order_release);
  // Otherwise the index may have been catching up when it was closed.
  if (checkpoint == last_sequence) complete_through_.store(checkpoint, std::memory_order_release);
  stored_checkpoint_ = checkpoint;
  purge_count_.store(purge_count, std::memory_order_release);
  return {};
}

std::size_t ViewGroup::close_idle(std::uint64_t last_used_before_ms) {
  if (!store_.is_open() || store_.last_used_ms() > last_used_before_ms) return 0;
  return store_.close_if_idle() ? 1 : 0;
}

void ViewGroup::remove_files() {
  store_.close_if_idle();
  std::error_code error;
  storage::remove_folder(options_.folder, error);
  if (error) spdlog::warn("cannot remove the views in {}: {}", options_.folder.string(), error.message());
}

// --- rows ---

Expected<std::vector<ViewGroup::Row>> ViewGroup::rows_of(const FeedDocument& document) const {
  if (!document.present) return {};
  if (storage::is_design_id(document.id) && (!definition_.options.include_design || definition_.partitioned)) return {};
  std::string_view json = document.json;
  OCTAVO_ASSERT(json.starts_with('{') && json.ends_with('}'));
  RowBuilder rows(definition_, document);
  if (definition_.of_indexes) {
    OCTAVO_TRY_VOID(add_index_rows(indexes_, document, rows));
    return std::move(rows).sorted_rows();
  }
  thread_local javascript::MapOutput output;  // NOLINT(misc-use-internal-linkage): local to the function
  std::string with_sequence;
  if (definition_.options.local_sequence) {
    with_sequence = json.substr(0, json.size() - 1);
    append_json_key(with_sequence, "_local_seq");
    append_json_number(with_sequence, document.sequence);
    with_sequence += '}';
    json = with_sequence;
  }
  OCTAVO_TRY_VOID(javascript::map(maps_, json, output));
  for (const auto& emitted : output.rows) {
    OCTAVO_ASSERT(emitted.function < reducers_.size());
    rows.add(emitted.function, output.key(emitted), output.value(emitted));
  }
  if (output.text.capacity() > output_bytes_kept) output = {};
  return std::move(rows).sorted_rows();
}

Expected<std::size_t> ViewGroup::apply(const FeedChanges& given) {
  const auto documents = given.documents;
  std::vector<Change> changes(documents.size());
  std::atomic<std::size_t> bytes{0};
  const auto map_one = [&](std::size_t i) -> Expected<void> {
    OCTAVO_TRY(changes[i].rows, rows_of(documents[i]));
    changes[i].id = documents[i].id;
    bytes.fetch_add(bytes_of(changes[i].rows), std::memory_order_relaxed);
    return {};
  };
  const auto until = std::chrono::steady_clock::now() + apply_time;
  const auto enough = [&] {
    return bytes.load(std::memory_order_relaxed) >= row_bytes_max || std::chrono::steady_clock::now() >= until;
  };
  OCTAVO_TRY(const std::size_t count, work_in_parallel(given.alone ? nullptr : options_.pool, documents.size(),
                                                       *options_.stopping, map_one, enough));
  OCTAVO_ASSERT(count <= documents.size());
  changes.resize(count);
  const auto checkpoint = std::max(given.checkpoint_after(count), checkpoint_.load(std::memory_order_acquire));
  OCTAVO_ASSERT(stored_checkpoint_ <= checkpoint);
  OCTAVO_TRY(const bool effective, has_effect(changes));
  const bool is_due = checkpoint - stored_checkpoint_ > unstored_changes || stored_checkpoint_ < given.dropped_through;
  if (effective || is_due) {
    OCTAVO_TRY_VOID(write(changes, checkpoint, purge_count_.load(std::memory_order_acquire)));
  }
  checkpoint_.store(checkpoint, std::memory_order_release);
  if (given.complete && count == documents.size()) complete_through_.store(checkpoint, std::memory_order_release);
  return count;
}

Expected<bool> ViewGroup::has_effect(const std::vector<Change>& changes) {
  OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
  for (const auto& change : changes) {
    if (!change.rows.empty()) return true;
    OCTAVO_TRY(const auto old, storage::long_key::get(transaction, by_document(), change.id));
    if (old) return true;
  }
  return false;
}

Expected<void> ViewGroup::write(std::vector<Change>& changes, storage::Sequence checkpoint, std::uint64_t purge_count) {
  // Write in the order of the tree, because neighbours share pages.
  std::ranges::sort(changes, {}, &Change::id);
  std::size_t bytes = 0;
  for (const auto& change : changes) bytes += bytes_of(change.rows);
  const auto body = [&](storage::WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY_VOID(put_changes(transaction, changes));
    return put_state(transaction, checkpoint, purge_count);
  };
  OCTAVO_TRY_VOID(store_.write(2 * bytes, body));
  stored_checkpoint_ = checkpoint;
  return {};
}

Expected<void> ViewGroup::put_changes(storage::WriteTransaction& transaction,
                                      const std::vector<Change>& changes) const {
  // The edits to rows: the new value, or null to erase the row.
  std::vector<std::pair<std::string, const std::string*>> edits;
  storage::LongKeyWriter keys_of_documents(transaction, by_document());
  for (const auto& change : changes) {
    OCTAVO_TRY(const auto stored, storage::long_key::get(transaction, by_document(), change.id));
    const auto old = stored ? split_keys(*stored) : std::vector<std::string_view>{};
    for (const auto& key : old) {
      if (!std::ranges::binary_search(change.rows, key, {},
                                      [](const Row& row) -> std::string_view { return row.key; })) {
        edits.emplace_back(key, nullptr);
      }
    }
    const bool same_keys = old.size() == change.rows.size() && std::ranges::equal(old, change.rows, {}, {}, &Row::key);
    for (const auto& row : change.rows) edits.emplace_back(row.key, &row.value);
    if (same_keys) continue;
    if (change.rows.empty()) {
      OCTAVO_TRY_VOID(keys_of_documents.erase(change.id));
      continue;
    }
    std::string keys;
    ByteWriter writer(keys);
    for (const auto& row : change.rows) writer.sized_bytes(row.key);
    OCTAVO_TRY_VOID(keys_of_documents.put(change.id, keys, stored ? std::optional(stored->size()) : std::nullopt));
  }
  std::ranges::sort(edits, {}, [](const auto& edit) -> std::string_view { return edit.first; });

  std::vector<std::string> touched;
  touched.reserve(edits.size());
  const SummaryTrees views = trees();
  for (auto& [key, value] : edits) {
    if (value == nullptr) {
      OCTAVO_TRY_VOID(storage::long_key::erase(transaction, views.rows, key));
    } else {
      OCTAVO_TRY(const auto old, storage::long_key::get(transaction, views.rows, key));
      if (old && *old == *value) continue;
      OCTAVO_TRY_VOID(storage::long_key::put_over(transaction, views.rows, key, *value, old ? old->size() : 0));
    }
    touched.push_back(std::move(key));
  }
  for (auto first = touched.begin(); first != touched.end();) {
    const std::string prefix = first->substr(0, view_prefix(0).size());
    const auto last = std::find_if(first, touched.end(), [&](const auto& key) { return !key.starts_with(prefix); });
    const std::size_t view =
        std::size_t{static_cast<unsigned char>(prefix[0])} << 8 | static_cast<unsigned char>(prefix[1]);
    if (view >= reducers_.size()) return fail(ErrorCode::corrupted, "A row belongs to no view.");
    OCTAVO_TRY_VOID(update_summaries(transaction, views, view, reducers_[view].get(), std::span(first, last)));
    first = last;
  }
  return {};
}

Expected<void> ViewGroup::put_state(storage::WriteTransaction& transaction, storage::Sequence checkpoint,
                                    std::uint64_t purge_count) const {
  std::string state;
  ByteWriter writer(state);
  writer.u8(group_state_version);
  writer.u64(checkpoint);
  writer.u64(purge_count);
  return transaction.put(store_.tree(meta_tree), group_state_key, state);
}

Expected<void> ViewGroup::remove(std::vector<std::string> gone, std::uint64_t purge_count) {
  std::vector<Change> changes;
  changes.reserve(gone.size());
  for (auto& id : gone) changes.push_back({std::move(id), {}});
  OCTAVO_TRY_VOID(write(changes, checkpoint_.load(std::memory_order_acquire), purge_count));
  purge_count_.store(purge_count, std::memory_order_release);
  return {};
}

Expected<bool> ViewGroup::remove_known(const KnownPurges& purges) {
  if (checkpoint() < purges.since) return false;
  OCTAVO_TRY_VOID(remove(purges.gone, purges.purge_count));
  purge_scan_.reset();
  return true;
}

Expected<bool> ViewGroup::remove_purged(const GoneDocuments& gone, std::size_t documents_max) {
  const auto remove_some = [&](std::vector<std::string> found, std::uint64_t count) {
    return remove(std::move(found), count);
  };
  return purge_scan_.run(store_, by_document(), purge_count(), gone, documents_max, remove_some);
}

FeedIndexKind view_kind() {
  FeedIndexKind kind;
  kind.name = "view";
  kind.task_type = "indexer";
  kind.read = [](std::string_view id, std::string_view revision, std::string_view body, bool partitioned) {
    std::vector<FeedIndexDefinition> definitions;
    const auto design = read_design_document(id, revision, body);
    if (!design) return definitions;
    const auto views = *design ? view_group_of(**design, partitioned) : view_group_of_indexes(id, body, partitioned);
    if (!views) return definitions;
    std::string content = views->content();
    std::string identity = feed_index_identity(content);
    // Few clients read a Mango index as a view, and its rows take as much space as the index.
    definitions.push_back({std::move(identity), std::string(id), {}, std::move(content), views->of_indexes});
    return definitions;
  };
  kind.make = &ViewGroup::make;
  return kind;
}

}  // namespace octavo::query::views
