#include "api/couch/changes/version_feed.h"

#include <utility>

#include "api/models/document_renderer.h"
#include "base/json_writer.h"
#include "partitioning/scan.h"

namespace octavo::api::couch {

namespace {

using partitioning::ScanBudget;
using partitioning::ScanState;
using partitioning::VersionRange;
using partitioning::VersionScan;
using partitioning::Visit;
using std::chrono::steady_clock;
using storage::Sequence;
using storage::VersionOperation;
using storage::VersionRow;

std::string_view name_of(VersionOperation operation) {
  switch (operation) {
    case VersionOperation::created:
      return "create";
    case VersionOperation::replaced:
      return "replace";
    case VersionOperation::removed:
      return "delete";
    case VersionOperation::expired:
      break;
  }
  return "expire";
}

class VersionFeed final : public FollowedFeed {
 public:
  VersionFeed(std::shared_ptr<partitioning::Database> database, ChangesQuery query, VersionRange range)
      : database_(std::move(database)),
        query_(std::move(query)),
        scan_(*database_, std::move(range)),
        acknowledged_(database_->committed_sequence()),
        replaced_before_(database_->times_replaced()) {}

  Task<Expected<Step>> advance(std::string& out, bool on_worker) override {
    if (!on_worker) co_return advance(out, ScanBudget::inline_slice());
    auto work = [this, &out] { return advance(out, ScanBudget::worker_slice()); };
    co_return co_await database_->engine().workers().run_patiently(std::move(work));
  }
  Task<bool> wait(steady_clock::time_point deadline) override {
    return database_->wait_for_change(scan_.position(), deadline);
  }
  bool gone() const override { return database_->deleted() || database_->times_replaced() != replaced_before_; }
  void heartbeat(std::string& out) const override {
    out += query_.mode == FeedMode::eventsource ? "event: heartbeat\ndata: \n\n" : "\n";
  }
  Expected<void> finish(std::string& out) override {
    begin(out);
    if (query_.mode == FeedMode::eventsource) return {};
    out += is_line_mode() ? "{\"last_seq\":" : "\n],\n\"last_seq\":";
    append_sequence(out, scan_.position());
    out += "}\n";
    return {};
  }

 private:
  bool is_line_mode() const { return query_.mode == FeedMode::continuous || query_.mode == FeedMode::eventsource; }
  bool limit_reached() const { return emitted_ >= query_.limit; }

  void begin(std::string& out) {
    if (!std::exchange(begun_, true) && !is_line_mode()) out += "{\"results\":[\n";
  }

  Expected<Step> advance(std::string& out, ScanBudget budget) {
    // Acknowledged writes must be in the feed, even while another physical partition is still committing.
    if (!begun_ && database_->watermark() < acknowledged_ && scan_.position() < acknowledged_) return Step::wait;
    bool caught_up = limit_reached();
    if (!caught_up) {
      std::string rows;
      OCTAVO_TRY(const ScanState state, scan_.run(budget, [&](const VersionRow& row) {
        append_row(rows, row);
        if (limit_reached()) return Visit::stop;
        return rows.size() >= ScanBudget::output_bytes_max ? Visit::pause : Visit::next;
      }));
      // Append the head only with the first rows, so that an earlier error gets an ordinary reply.
      begin(out);
      out += rows;
      caught_up = state == ScanState::done;
    }
    if (!caught_up) return Step::more;
    const bool follows = is_line_mode() || (query_.mode == FeedMode::longpoll && emitted_ == 0);
    if (follows && !limit_reached()) return Step::wait;
    OCTAVO_TRY_VOID(finish(out));
    return Step::end;
  }

  void append_sequence(std::string& out, Sequence sequence) const {
    append_json_string(out, database_->format_sequence(sequence));
  }

  void append_row(std::string& out, const VersionRow& row) {
    if (query_.mode == FeedMode::eventsource) {
      out += "data: ";
    } else if (!is_line_mode() && emitted_ > 0) {
      out += ",\r\n";
    }
    out += "{\"seq\":";
    append_sequence(out, row.sequence);
    out += ",\"id\":";
    append_json_string(out, row.id);
    out += ",\"changes\":[{\"rev\":";
    append_revision(out, row.revision);
    out += "}],\"operation\":\"";
    out += name_of(row.operation);
    out += "\",\"time\":";
    append_json_number(out, static_cast<std::uint64_t>(row.time_s));
    if (row.previous_sequence != 0) {
      out += ",\"previous_seq\":";
      append_sequence(out, row.previous_sequence);
    }
    out += row.removes() ? ",\"deleted\":true,\"previous\":" : ",\"doc\":";
    append_document(out, row.id, row.body_revision, false, row.body);
    out += '}';
    if (query_.mode == FeedMode::eventsource) {
      out += "\nid: " + database_->format_sequence(row.sequence) + "\n\n";
    } else if (is_line_mode()) {
      out += '\n';
    }
    ++emitted_;
  }

  std::shared_ptr<partitioning::Database> database_;
  ChangesQuery query_;
  VersionScan scan_;
  Sequence acknowledged_;
  const std::uint32_t replaced_before_;
  std::uint64_t emitted_ = 0;
  bool begun_ = false;
};

}  // namespace

Expected<std::unique_ptr<FollowedFeed>> version_feed(const Call& call, ChangesQuery query,
                                                     std::optional<std::string> partition_key) {
  const auto& database = call.database;
  if (!database->physical_partition(database->partition_ids().front()).keeps_versions()) {
    return fail(ErrorCode::bad_request,
                "This database does not keep versions: PUT /{db}/_properties with `all_versions`, in seconds, first.");
  }
  if (query.descending) return fail(ErrorCode::bad_request, "Versions are not available in descending order.");
  if (!query.filter.empty()) return fail(ErrorCode::bad_request, "Versions are not available with a filter.");
  VersionRange range;
  OCTAVO_TRY(const auto position, database->parse_sequence(query.since));
  range.since = position.sequence;
  range.partition_key = std::move(partition_key);
  return std::make_unique<VersionFeed>(database, std::move(query), std::move(range));
}

}  // namespace octavo::api::couch
