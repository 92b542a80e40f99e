// GET …/docs: the items of a container or of a part of it, page by page; with `A-IM`, their changes.
#include <charconv>

#include <fmt/format.h>

#include "api/cosmos/call/feed_page.h"
#include "api/cosmos/feeds/change_start.h"
#include "api/cosmos/feeds/feed_scope.h"
#include "api/cosmos/feeds/former_keys.h"
#include "api/cosmos/feeds/version_feed.h"
#include "api/cosmos/items/item_handlers.h"
#include "api/models/container_definition.h"
#include "api/models/errors.h"
#include "api/models/item_shape.h"
#include "base/json_writer.h"
#include "partitioning/keys/range_parts.h"
#include "partitioning/scan.h"
#include "partitioning/throughput/request_charge.h"

namespace octavo::api::cosmos {

namespace {

using partitioning::ScanBudget;
using storage::Sequence;

constexpr std::size_t list_bytes_max = 4ULL << 20;  // Azure Cosmos DB service limits

/// A page of items while it is read, in slices. No snapshot is kept between slices.
class ItemPage {
 public:
  ItemPage(const OpenContainer& opened, FeedScope scope, std::size_t items_max)
      : opened_(opened), scope_(std::move(scope)), items_max_(items_max) {}
  virtual ~ItemPage() = default;
  /// Returns true when the page is complete.
  virtual Expected<bool> run(ScanBudget budget) = 0;

  std::size_t items() const { return items_; }
  std::string& body() { return body_; }
  double charge() const {
    return partitioning::charge_of_scan({.partitions = ranges_,
                                         .keys = keys_,
                                         .documents = items_,
                                         .document_bytes = document_bytes_,
                                         .result_bytes = body_.size()});
  }

 protected:
  bool is_full() const { return items_ >= items_max_ || body_.size() >= list_bytes_max; }
  /// Where the row of the document is to be appended.
  std::string& begin_row(const storage::DocumentView& document) {
    if (items_++ > 0) body_ += ',';
    document_bytes_ += document.body.size();
    return body_;
  }

  const OpenContainer& opened_;
  const FeedScope scope_;
  std::uint64_t keys_ = 0;
  std::size_t ranges_ = 1;  ///< physical partitions that the page has read from

 private:
  const std::size_t items_max_;
  std::string body_;
  std::size_t items_ = 0;
  std::uint64_t document_bytes_ = 0;
};

/// Items in the order of physical partition and id. Continuation: "<partition id> <document id>" of the last item. A
/// partition that was split since is read as its successors, merged by id; one that was merged since is read as the
/// part of the new one that it was. So its continuations stay valid.
class ListPage final : public ItemPage {
 public:
  ListPage(const OpenContainer& opened, FeedScope scope, std::size_t items_max, const std::optional<std::string>& after)
      : ItemPage(opened, std::move(scope), items_max), map_(opened.database->partition_map()) {
    start_ = !scope_.partition_key.empty() ? scope_.partition_key + ':' : scope_.key_prefix;
    const auto partition_ids = scope_.partition_ids(*opened.database, map_, *opened.definition);
    partition_id_ = partition_ids.front();
    last_ = std::min(map_.range_of(partition_ids.back())->last, scope_.last_position(*opened.definition));
    if (!after) return;
    const char* end = after->data() + after->size();
    const auto [text, error] = std::from_chars(after->data(), end, partition_id_);
    if (error == std::errc{} && text != end) last_id_ = std::string(text + 1, end);
  }

  std::optional<std::string> continuation() const {
    if (complete_) return std::nullopt;
    return to_continuation(std::to_string(partition_id_) + ' ' + last_id_.value_or(""));
  }

  Expected<bool> run(ScanBudget budget) override {
    for (std::size_t rows = 0;;) {
      const auto parts = partitioning::parts_of(map_, partition_id_);
      if (parts.partition_ids.empty())
        return fail(ErrorCode::bad_request, "It does not belong to this container.", word::continuation);
      if (read_ != partition_id_) ranges_ = (read_ ? ranges_ : 0) + 1;
      read_ = partition_id_;
      OCTAVO_TRY(const Walk walk, run_parts(budget, parts, rows));
      if (walk != Walk::ended) return walk == Walk::page_full;
      last_id_.reset();
      const auto next =
          parts.range.last < last_ ? partitioning::partition_beginning_at(map_, parts.range.last + 1) : std::nullopt;
      complete_ = !next;
      if (complete_) return true;
      partition_id_ = *next;
    }
  }

 private:
  struct Part {
    storage::Snapshot snapshot;
    std::optional<storage::Snapshot::DocumentCursor> cursor;
    std::optional<storage::DocumentView> document;
  };

  enum class Walk : std::uint8_t { ended, page_full, slice_over };
  Expected<Walk> run_parts(ScanBudget budget, const partitioning::RangeParts& range, std::size_t& rows) {
    std::vector<Part> parts;
    parts.reserve(range.partition_ids.size());
    for (const std::size_t partition_id : range.partition_ids) {
      OCTAVO_TRY(auto snapshot, opened_.database->snapshot(partition_id));
      parts.push_back({std::move(snapshot), std::nullopt, std::nullopt});
    }
    for (Part& part : parts) {
      part.cursor.emplace(part.snapshot.documents());
      part.document = part.cursor->seek(last_id_ ? *last_id_ : start_);
      if (part.document && last_id_ && part.document->id == *last_id_) part.document = part.cursor->next();
    }
    while (true) {
      Part* first = nullptr;
      for (Part& part : parts) {
        if (part.document && (first == nullptr || part.document->id < first->document->id)) first = &part;
      }
      if (first == nullptr) return Walk::ended;
      const storage::DocumentView& document = *first->document;
      if (!start_.empty() && !document.id.starts_with(start_)) return Walk::ended;
      // A full page reads one more item, to learn whether it is the last page.
      const bool shown = !document.deleted && opened_.definition->shape->is_row(document) &&
                         scope_.holds(document.id, *opened_.definition) &&
                         (!range.hold_more || is_in(range.range, document.id));
      if (shown && is_full()) return Walk::page_full;
      ++rows;
      ++keys_;
      last_id_ = document.id;
      if (shown) opened_.definition->shape->append_row(document, begin_row(document));
      if (rows >= budget.rows_max || budget.is_over_after(rows)) return Walk::slice_over;
      first->document = first->cursor->next();
    }
  }

  bool is_in(const partitioning::HashRange& range, std::string_view id) const {
    const auto& database = *opened_.database;
    const auto position = partitioning::hash_position(id, database.partitioned(), database.key_scheme());
    return position >= range.first && position <= range.last;
  }

  const partitioning::PartitionMap& map_;  // the same for the whole page
  std::size_t partition_id_ = 0;
  partitioning::HashPosition last_ = 0;  // of the scope
  std::optional<std::size_t> read_;      // id of the partition read last
  std::string start_;                    // ids before it are outside the scope
  std::optional<std::string> last_id_;
  bool complete_ = false;
};

/// Changes in the order of their sequences: the newest state of each item that was written after `since`.
class ChangePage final : public ItemPage {
 public:
  ChangePage(const OpenContainer& opened, FeedScope scope, std::size_t items_max, Sequence since,
             std::int64_t modified_since_s, bool separates_metadata)
      : ItemPage(opened, std::move(scope), items_max),
        position_(since),
        modified_since_s_(modified_since_s),
        separates_metadata_(separates_metadata) {}

  Sequence position() const { return position_; }

  Expected<bool> run(ScanBudget budget) override {
    const Sequence watermark = opened_.database->watermark();
    std::size_t rows = 0;
    const auto take = [&](const storage::FeedRow& row, const storage::Snapshot& snapshot) -> Expected<bool> {
      if (is_full()) return false;
      ++rows;
      ++keys_;
      if (!row.deleted && scope_.holds(row.id, *opened_.definition)) {
        OCTAVO_TRY(const auto document, snapshot.find(row.id));
        const bool shown = document && !document->deleted && opened_.definition->shape->is_row(*document) &&
                           document->modified_s >= modified_since_s_;
        if (shown) add(*document, row.sequence);
      }
      position_ = row.sequence;
      return rows < budget.rows_max && !budget.is_over_after(rows);
    };
    // Read after the watermark, in every slice: a partition may be split or merged between slices.
    OCTAVO_TRY(const auto partition_ids, scope_.current_partition_ids(*opened_.database, *opened_.definition));
    if (partition_ids.size() > 1) return run_merged(budget, take, watermark);
    OCTAVO_TRY(const auto snapshot, opened_.database->snapshot(partition_ids.front()));
    auto cursor = scope_.partition_key.empty() ? snapshot.feed() : snapshot.feed_of(scope_.partition_key);
    for (auto row = cursor.seek(position_ + 1); row && row->sequence <= watermark; row = cursor.next()) {
      OCTAVO_TRY(const bool more, take(*row, snapshot));
      if (!more) return is_full();
    }
    position_ = std::max(position_, watermark);
    return true;
  }

 private:
  void add(const storage::DocumentView& document, Sequence sequence) {
    const auto& shape = *opened_.definition->shape;
    std::string& body = begin_row(document);
    if (separates_metadata_) body += "{\"current\":";
    shape.append_row(document, body);
    if (separates_metadata_) {
      body += fmt::format(",\"metadata\":{{\"lsn\":{},\"crts\":{}}}}}", sequence, document.modified_s);
      return;
    }
    body.back() = ',';
    body += "\"_lsn\":";
    append_json_number(body, sequence);
    body += '}';
  }

  template <class Take>
  Expected<bool> run_merged(ScanBudget budget, Take& take, Sequence watermark) {
    partitioning::FeedRange range;
    range.since = position_;
    partitioning::FeedScan scan(*opened_.database, std::move(range));
    Expected<bool> more = true;
    OCTAVO_TRY(const auto state, scan.run(budget, [&](const auto& row, const auto& snapshot) {
      if (row.sequence > watermark) return partitioning::Visit::stop;
      more = take(row, snapshot);
      return more && *more ? partitioning::Visit::next : partitioning::Visit::stop;
    }));
    if (!more) return std::unexpected(more.error());
    if (!*more) return is_full();
    if (state == partitioning::ScanState::more) return false;
    position_ = std::max(position_, std::min(scan.position(), watermark));
    return true;
  }

  Sequence position_;
  std::int64_t modified_since_s_;
  bool separates_metadata_;
};

// Runs the first slice on this thread, the others on workers.
Task<Expected<void>> fill(Call& call, ItemPage& page) {
  auto complete = page.run(ScanBudget::inline_slice());
  while (complete && !*complete) {
    complete =
        co_await call.services.engine.workers().run_blocking([&] { return page.run(ScanBudget::worker_slice()); });
  }
  if (!complete) co_return std::unexpected(std::move(complete).error());
  call.account.request_charge = page.charge();
  co_return Expected<void>{};
}

Handled list_changes(Call& call, const OpenContainer& opened, FeedScope scope, std::size_t size) {
  auto& database = *opened.database;
  co_await settle_acknowledged(database);
  Sequence since = 0;
  if (const auto tag = call.request.header("If-None-Match"); tag && !tag->empty()) {
    OCTAVO_CO_TRY(since, *tag == "*" ? Expected<Sequence>(database.watermark()) : parse_change_tag(*tag));
    // The tag is from another container that had this name, so the client has seen nothing of this one.
    if (since > database.committed_sequence() || since < database.sequence_base()) since = 0;
  }
  std::int64_t modified_since_s = 0;
  if (const auto date = call.request.header("If-Modified-Since"); date && !date->empty()) {
    OCTAVO_CO_TRY(modified_since_s, parse_modified_since(*date));
  }
  // The change feed processors of the client for Java ask for this form.
  const bool separates_metadata = call.request.header("x-ms-cosmos-changefeed-wire-format-version") == "2021-09-15";
  ChangePage page(opened, std::move(scope), size, since, modified_since_s, separates_metadata);
  OCTAVO_CO_TRY_VOID(co_await fill(call, page));
  call.account.sequence = page.position();
  co_return changes_reply(opened.definition->shape->container_rid(), page.body(), page.items(), page.position());
}

}  // namespace

Handled serve_item_list(Call& call) {
  OCTAVO_CO_TRY(const auto opened, co_await open_container(call));
  OCTAVO_CO_TRY_VOID(co_await refuse_former_key(call, opened));
  OCTAVO_CO_TRY(auto scope, FeedScope::parse(call.request, *opened.database, *opened.definition));
  OCTAVO_CO_TRY(const auto size, page_size_of(call.request));
  const auto partition_ids = scope.partition_ids(*opened.database, *opened.definition);
  OCTAVO_CO_TRY_VOID(call.admit(opened.database, partition_ids, scope.partition_key));
  call.account.session_token = session_token(partition_ids.front(), opened.database->committed_sequence());

  if (const auto mode = call.request.header("A-IM"); mode && !mode->empty()) {
    if (*mode == "Incremental Feed" || *mode == "Incremental feed") {
      co_return co_await list_changes(call, opened, std::move(scope), size);
    }
    if (*mode == "Full-Fidelity Feed") co_return co_await list_versions(call, opened, std::move(scope), size);
    co_return fail(ErrorCode::bad_request, "A-IM must be \"Incremental Feed\" or \"Full-Fidelity Feed\".");
  }
  OCTAVO_CO_TRY(const auto after, continuation_of(call.request));
  ListPage page(opened, std::move(scope), size, after);
  OCTAVO_CO_TRY_VOID(co_await fill(call, page));
  Reply reply;
  begin_feed(reply.body, opened.definition->shape->container_rid(), "Documents");
  reply.body += page.body();
  end_feed(reply, page.items(), page.continuation());
  co_return reply;
}

}  // namespace octavo::api::cosmos
