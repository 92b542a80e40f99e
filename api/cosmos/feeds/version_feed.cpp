// GET …/docs with `A-IM: Full-Fidelity Feed`: every version of every item, and deletions, within the retention of the
// container's changeFeedPolicy.
#include "api/cosmos/feeds/version_feed.h"

#include <fmt/format.h>

#include "api/cosmos/call/call.h"
#include "api/cosmos/call/feed_page.h"
#include "api/cosmos/feeds/change_start.h"
#include "api/cosmos/resources/registry.h"
#include "api/models/container_definition.h"
#include "api/models/errors.h"
#include "api/models/item_shape.h"
#include "api/models/partition_key_json.h"
#include "base/json_writer.h"
#include "base/unix_time.h"
#include "partitioning/scan.h"
#include "partitioning/throughput/request_charge.h"

namespace octavo::api::cosmos {

namespace {

using partitioning::ScanBudget;
using partitioning::ScanState;
using partitioning::Visit;
using storage::Sequence;
using storage::VersionOperation;
using storage::VersionRow;

constexpr std::size_t page_bytes_max = 4ULL << 20;  // Azure Cosmos DB service limits

std::string_view name_of(VersionOperation operation) {
  switch (operation) {
    case VersionOperation::created:
      return "create";
    case VersionOperation::replaced:
      return "replace";
    case VersionOperation::removed:
    case VersionOperation::expired:
      break;
  }
  return "delete";
}

/// A page of changes while it is read.
class VersionPage {
 public:
  VersionPage(const OpenContainer& opened, FeedScope scope, Sequence since, std::size_t items_max)
      : database_(*opened.database),
        container_(*opened.definition),
        scope_(std::move(scope)),
        scan_(database_,
              {.since = since, .partition_key = std::nullopt, .partition_ids = [this] { return partition_ids(); }}),
        items_max_(items_max) {}
  VersionPage(const VersionPage&) = delete;
  VersionPage& operator=(const VersionPage&) = delete;

  Expected<bool> run(ScanBudget budget) {
    OCTAVO_TRY(const ScanState state, scan_.run(budget, [&](const VersionRow& row) {
      ++keys_;
      if (is_shown(row)) append(row);
      return items_ >= items_max_ || body_.size() >= page_bytes_max ? Visit::stop : Visit::next;
    }));
    return state == ScanState::done;
  }

  Sequence position() const { return scan_.position(); }
  std::size_t items() const { return items_; }
  const std::string& body() const { return body_; }
  double charge() const {
    return partitioning::charge_of_scan({.partitions = partitions_,
                                         .keys = keys_,
                                         .documents = items_,
                                         .document_bytes = document_bytes_,
                                         .result_bytes = body_.size()});
  }

 private:
  Expected<std::vector<std::size_t>> partition_ids() {
    OCTAVO_TRY(auto ids, scope_.current_partition_ids(database_, container_));
    partitions_ = ids.size();
    return ids;
  }

  bool is_shown(const VersionRow& row) const {
    storage::DocumentView document;
    document.id = row.id;
    document.body = row.body;
    document.revision = row.body_revision;
    return container_.shape->is_row(document) && scope_.holds(row.id, container_);
  }

  void append(const VersionRow& row) {
    if (items_++ > 0) body_ += ',';
    document_bytes_ += row.body.size();
    body_ += row.removes() ? "{\"current\":{},\"previous\":" : "{\"current\":";
    container_.shape->append_item(body_, row.id, row.body_revision, row.body_time_s, row.body);
    body_ += fmt::format(",\"metadata\":{{\"operationType\":\"{}\",\"lsn\":{},\"crts\":{}", name_of(row.operation),
                         row.sequence, row.time_s);
    if (row.previous_sequence != 0) body_ += fmt::format(",\"previousImageLSN\":{}", row.previous_sequence);
    if (row.removes()) {
      body_ += ",\"timeToLiveExpired\":";
      body_ += row.operation == VersionOperation::expired ? "true" : "false";
      append_identity(row.id);
    }
    body_ += "}}";
  }

  // Names the deleted item, for readers that do not use its previous version.
  void append_identity(std::string_view document_id) {
    const auto key_text = partitioning::partition_key_of(document_id, true);
    body_ += ",\"id\":";
    append_json_string(body_, document_id.substr(std::min(document_id.size(), key_text.size() + 1)));
    boost::json::object key;
    const auto values = partition_key_json(key_text, container_.hierarchical());
    for (std::size_t i = 0; values.is_array() && i < values.get_array().size(); ++i) {
      key[std::string_view(container_.key_path_texts[i]).substr(1)] = values.get_array()[i];
    }
    body_ += ",\"partitionKey\":";
    body_ += boost::json::serialize(key);
  }

  partitioning::Database& database_;
  const ContainerDefinition& container_;
  const FeedScope scope_;
  std::size_t partitions_ = 0;
  partitioning::VersionScan scan_;
  const std::size_t items_max_;
  std::string body_;
  std::size_t items_ = 0;
  std::uint64_t keys_ = 0;
  std::uint64_t document_bytes_ = 0;
};

// The position to start from: now, a time, or the end of an earlier page.
Expected<Sequence> start_of(const Call& call, const OpenContainer& opened, std::span<const std::size_t> partition_ids) {
  const auto tag = call.request.header("If-None-Match");
  if (tag && !tag->empty()) {
    if (*tag == "*") return opened.database->watermark();
    OCTAVO_TRY(const Sequence since, parse_change_tag(*tag));
    if (since > opened.database->committed_sequence() || since < opened.database->sequence_base()) {
      return fail(ErrorCode::bad_request, "The continuation is from an earlier container of this name.");
    }
    return since;
  }
  const auto date = call.request.header("If-Modified-Since");
  if (!date || date->empty()) {
    return fail(
        ErrorCode::bad_request,
        "The change feed mode \"all versions and deletes\" cannot be read from the beginning. You must read the "
        "change feed from within the retention period. Begin from now, from a time in it, or from a "
        "continuation.");
  }
  OCTAVO_TRY(const std::int64_t time_s, parse_modified_since(*date));
  if (time_s < unix_now_s() - opened.definition->version_retention_s()) {
    return fail(
        ErrorCode::bad_request,
        "The start time lies before the retention of the container's changeFeedPolicy. You must read the change "
        "feed from within the retention period.");
  }
  return partitioning::VersionScan::position_at(*opened.database, partition_ids, time_s);
}

}  // namespace

Handled list_versions(Call& call, const OpenContainer& opened, FeedScope scope, std::size_t size) {
  const auto& container = *opened.definition;
  if (container.version_retention_s() == 0) {
    co_return fail(
        ErrorCode::bad_request,
        "The change feed mode \"all versions and deletes\" needs a changeFeedPolicy with a retentionDuration "
        "in the container.");
  }
  co_await settle_acknowledged(*opened.database);
  OCTAVO_CO_TRY(const auto since, start_of(call, opened, scope.partition_ids(*opened.database, container)));
  VersionPage page(opened, std::move(scope), since, size);
  auto complete = page.run(ScanBudget::inline_slice());
  while (complete && !*complete) {
    complete =
        co_await call.services.engine.workers().run_blocking([&] { return page.run(ScanBudget::worker_slice()); });
  }
  if (!complete) co_return std::unexpected(std::move(complete).error());
  call.account.request_charge = page.charge();
  call.account.sequence = page.position();
  co_return changes_reply(container.shape->container_rid(), page.body(), page.items(), page.position());
}

}  // namespace octavo::api::cosmos
