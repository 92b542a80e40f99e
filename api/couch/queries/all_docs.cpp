// Lists of documents by id: _all_docs, _partition/{p}/_all_docs, _design_docs, _local_docs, and `queries` of each.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "api/couch/auth/users_database.h"
#include "api/couch/call/document_id.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/partition_parameter.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/call/sliced_reply.h"
#include "api/couch/documents/local_document_scan.h"
#include "api/couch/queries/all_docs_query.h"
#include "api/couch/queries/routes.h"
#include "api/models/document_renderer.h"
#include "base/append_pieces.h"
#include "base/json_writer.h"

namespace octavo::api::couch {

namespace {

using partitioning::Database;
using partitioning::DocumentScan;
using partitioning::ScanBudget;
using partitioning::ScanState;
using partitioning::Visit;
using DatabasePointer = std::shared_ptr<Database>;

enum class Subset : std::uint8_t { all, partition, design, local };

struct Listing {
  Subset subset = Subset::all;
  std::string partition;

  IdBounds bounds() const {
    switch (subset) {
      case Subset::partition:
        return bounds_of_partition(partition);
      case Subset::design:
        return bounds_of_prefix(design_prefix);
      case Subset::local:
        return bounds_of_prefix(local_prefix);
      case Subset::all:
        break;
    }
    return {};
  }
  bool holds(std::string_view id) const {
    const auto limits = bounds();
    return (limits.low.empty() || id >= limits.low) && (limits.high.empty() || id < limits.high);
  }
};

Expected<std::uint64_t> count_design_documents(Database& database) {
  partitioning::DocumentRange range;
  const auto bounds = bounds_of_prefix(design_prefix);
  range.start = bounds.low;
  range.end = bounds.high;
  range.end_inclusive = false;
  DocumentScan scan(database, std::move(range));
  std::uint64_t count = 0;
  auto visit = [&](const storage::DocumentRecord& document, const storage::Snapshot&) {
    count += document.deleted ? 0 : 1;
    return Visit::next;
  };
  while (true) {
    OCTAVO_TRY(const auto state, scan.run_records(ScanBudget::worker_slice(), visit));
    if (state == ScanState::done) return count;
  }
}

// `{"total_rows":…,"offset":…,"update_seq":…,"rows":[`. No tree stores the offsets of its rows, so the offset is known
// only if the listing begins at the first id.
Expected<void> append_heading(std::string& out, Database& database, const Listing& listing, const AllDocsQuery& query) {
  out += "{\"total_rows\":";
  std::optional<std::uint64_t> total;
  if (listing.subset == Subset::design) {
    OCTAVO_TRY(total, count_design_documents(database));
  } else if (listing.subset != Subset::local) {
    OCTAVO_TRY(const auto statistics, database.statistics());
    total = statistics.document_count;
  }
  if (total) {
    append_json_number(out, *total);
  } else {
    out += "null";
  }
  out += ",\"offset\":";
  if (total && !query.keys && !query.start) {
    append_json_number(out, std::min(*total, query.skip));
  } else {
    out += "null";
  }
  if (query.update_sequence) {
    out += ",\"update_seq\":";
    if (query.keys || listing.subset == Subset::local) {
      out += "null";
    } else {
      append_json_string(out, database.format_sequence(database.watermark()));
    }
  }
  out += ",\"rows\":[\r\n";
  return {};
}

// One list without its final newline; derived classes walk the rows.
class ListProducer : public SliceProducer {
 public:
  ListProducer(DatabasePointer database, Listing listing, AllDocsQuery query)
      : database_(std::move(database)), listing_(std::move(listing)), query_(std::move(query)), skip_(query_.skip) {}

  Expected<bool> produce(std::string& out, ScanBudget budget) final {
    if (!std::exchange(started_, true)) {
      OCTAVO_TRY_VOID(append_heading(out, *database_, listing_, query_));
    }
    if (emitted_ < query_.limit) {
      OCTAVO_TRY(const bool complete, walk(out, budget));
      if (!complete) return false;
    }
    out += "\r\n]}";
    return true;
  }

 protected:
  /// Appends rows; true when there are no more.
  virtual Expected<bool> walk(std::string& out, ScanBudget budget) = 0;

  bool skipped() {
    if (skip_ == 0) return false;
    --skip_;
    return true;
  }
  void separate(std::string& out) {
    if (emitted_++ > 0) out += ",\r\n";
  }
  Visit after_row(const std::string& out) const {
    if (emitted_ == query_.limit) return Visit::stop;
    return out.size() >= ScanBudget::output_bytes_max ? Visit::pause : Visit::next;
  }
  void append_row_start(std::string& out, std::string_view id) {
    separate(out);
    if (json_unescaped_prefix(id) == id.size()) {
      append_pieces(out, "{\"id\":\"", id, "\",\"key\":\"", id, "\",\"value\":{\"rev\":");
      return;
    }
    out += "{\"id\":";
    append_json_string(out, id);
    out += ",\"key\":";
    append_json_string(out, id);
    out += ",\"value\":{\"rev\":";
  }
  // `Document`: a DocumentRecord if the list does not include the documents, else a DocumentView.
  template <class Document>
  Expected<void> append_row(std::string& out, const Document& document, const storage::Snapshot& snapshot) {
    append_row_start(out, document.id);
    append_revision(out, document.revision);
    out += document.deleted ? ",\"deleted\":true}" : "}";
    if constexpr (std::is_same_v<Document, storage::DocumentView>) {
      out += ",\"doc\":";
      if (document.deleted) {
        out += "null";
      } else if (query_.conflicts && document.has_conflicts) {
        OCTAVO_TRY_VOID(append_document(out, document, snapshot, RenderOptions{.conflicts = true}));
      } else {
        append_document(out, document);
      }
    }
    out += '}';
    return {};
  }
  void append_local_row(std::string& out, const storage::LocalDocumentView& document) {
    append_row_start(out, document.id);
    out += "\"0-";
    append_json_number(out, document.edit);
    out += "\"}";
    if (query_.include_docs) {
      out += ",\"doc\":";
      append_local_document(out, document);
    }
    out += '}';
  }

  DatabasePointer database_;
  Listing listing_;
  AllDocsQuery query_;

 private:
  std::uint64_t skip_;
  std::uint64_t emitted_ = 0;
  bool started_ = false;
};

class RangeProducer final : public ListProducer {
 public:
  RangeProducer(DatabasePointer database, Listing listing, AllDocsQuery query)
      : ListProducer(std::move(database), std::move(listing), std::move(query)) {
    auto range = range_of(query_, listing_.bounds());
    if (!range) return;
    if (listing_.subset == Subset::partition) range->partition_key = listing_.partition;
    scan_.emplace(*database_, std::move(*range));
  }

 private:
  Expected<bool> walk(std::string& out, ScanBudget budget) override {
    if (!scan_) return true;
    Expected<void> rendered;
    auto visit = [&](const auto& document, const storage::Snapshot& snapshot) {
      if (document.deleted || skipped()) return Visit::next;
      rendered = append_row(out, document, snapshot);
      return rendered ? after_row(out) : Visit::stop;
    };
    OCTAVO_TRY(const auto state, query_.include_docs ? scan_->run(budget, visit) : scan_->run_records(budget, visit));
    if (!rendered) return std::unexpected(std::move(rendered).error());
    return state == ScanState::done;
  }

  std::optional<DocumentScan> scan_;  // absent if the range is empty
};

class LocalRangeProducer final : public ListProducer {
 public:
  LocalRangeProducer(DatabasePointer database, Listing listing, AllDocsQuery query)
      : ListProducer(std::move(database), std::move(listing), std::move(query)) {
    if (auto range = range_of(query_, listing_.bounds())) scan_.emplace(*database_, std::move(*range));
  }

 private:
  Expected<bool> walk(std::string& out, ScanBudget budget) override {
    if (!scan_) return true;
    auto visit = [&](const storage::LocalDocumentView& document) {
      if (skipped()) return Visit::next;
      append_local_row(out, document);
      return after_row(out);
    };
    OCTAVO_TRY(const auto state, scan_->run(budget, visit));
    return state == ScanState::done;
  }

  std::optional<LocalDocumentScan> scan_;
};

// `keys`: one row per key in the order given, also for documents that are deleted or never existed.
class KeysProducer final : public ListProducer {
 public:
  KeysProducer(DatabasePointer database, Listing listing, AllDocsQuery query)
      : ListProducer(std::move(database), std::move(listing), std::move(query)) {
    if (query_.descending) std::reverse(query_.keys->begin(), query_.keys->end());
  }

 private:
  Expected<bool> walk(std::string& out, ScanBudget budget) override {
    for (std::size_t rows = 0; next_ < query_.keys->size(); ++rows) {
      if (rows == budget.rows_max) return false;
      const auto& key = (*query_.keys)[next_++];
      if (skipped()) continue;
      OCTAVO_TRY_VOID(append_key(out, key));
      const auto visit = after_row(out);
      if (visit == Visit::stop) return true;
      if (visit == Visit::pause) return next_ == query_.keys->size();
    }
    return true;
  }

  Expected<void> append_key(std::string& out, const boost::json::value& key) {
    const auto id = key.is_string() ? std::string_view(key.get_string()) : std::string_view();
    if (id.empty() || !listing_.holds(id)) {
      append_missing(out, key);
      return {};
    }
    OCTAVO_TRY(const auto snapshot, database_->snapshot_for_document(id));
    if (is_local_id(id)) {
      OCTAVO_TRY(const auto local, snapshot.find_local(id));
      if (local) {
        append_local_row(out, *local);
      } else {
        append_missing(out, key);
      }
      return {};
    }
    OCTAVO_TRY(const auto record, snapshot.find_record(id));
    if (!record) {
      append_missing(out, key);
      return {};
    }
    if (!query_.include_docs) return append_row(out, *record, snapshot);
    OCTAVO_TRY(const auto document, snapshot.open(*record));
    return append_row(out, document, snapshot);
  }

  void append_missing(std::string& out, const boost::json::value& key) {
    separate(out);
    out += "{\"key\":";
    out += boost::json::serialize(key);
    out += ",\"error\":\"not_found\"}";
  }

  std::size_t next_ = 0;
};

std::unique_ptr<SliceProducer> make_list(const DatabasePointer& database, const Listing& listing, AllDocsQuery query) {
  if (query.keys) return std::make_unique<KeysProducer>(database, listing, std::move(query));
  if (listing.subset == Subset::local) {
    return std::make_unique<LocalRangeProducer>(database, listing, std::move(query));
  }
  return std::make_unique<RangeProducer>(database, listing, std::move(query));
}

// One list, with its newline.
class SingleReply final : public SliceProducer {
 public:
  explicit SingleReply(std::unique_ptr<SliceProducer> list) : list_(std::move(list)) {}
  Expected<bool> produce(std::string& out, ScanBudget budget) override {
    OCTAVO_TRY(const bool complete, list_->produce(out, budget));
    if (complete) out += '\n';
    return complete;
  }

 private:
  std::unique_ptr<SliceProducer> list_;
};

// `queries`: `{"results":[list, …]}`.
class QueriesReply final : public SliceProducer {
 public:
  QueriesReply(DatabasePointer database, Listing listing, std::vector<AllDocsQuery> queries)
      : database_(std::move(database)), listing_(std::move(listing)), queries_(std::move(queries)) {}

  Expected<bool> produce(std::string& out, ScanBudget budget) override {
    if (next_ == 0 && !current_) out += "{\"results\":[";
    while (true) {
      if (!current_) {
        if (next_ == queries_.size()) break;
        out += next_ == 0 ? "\r\n" : ",\r\n";
        current_ = make_list(database_, listing_, std::move(queries_[next_++]));
      }
      OCTAVO_TRY(const bool complete, current_->produce(out, budget));
      if (!complete) return false;
      current_.reset();
      if (next_ < queries_.size() && out.size() >= ScanBudget::output_bytes_max) return false;
    }
    out += "\r\n]}\n";
    return true;
  }

 private:
  DatabasePointer database_;
  Listing listing_;
  std::vector<AllDocsQuery> queries_;
  std::size_t next_ = 0;
  std::unique_ptr<SliceProducer> current_;
};

constexpr std::size_t queries_max = 1000;

Expected<void> check_listing(const Call& call, const Listing& listing) {
  if (listing.subset == Subset::partition) OCTAVO_TRY_VOID(check_partition_parameter(call));
  if (!is_system_database(*call.database)) return {};
  return check_system_listing(call, listing.subset == Subset::design  ? "_design_docs"
                                    : listing.subset == Subset::local ? "_local_docs"
                                                                      : "_all_docs");
}

Expected<std::unique_ptr<SliceProducer>> parse_list(const Call& call, const Listing& listing,
                                                    const boost::json::object& body) {
  // As in CouchDB, the query string overrides the body here, but not the single `queries`.
  OCTAVO_TRY(auto query, parse_all_docs_query(body, {}));
  OCTAVO_TRY(query, parse_all_docs_query(call.request, std::move(query)));
  return std::make_unique<SingleReply>(make_list(call.database, listing, std::move(query)));
}

Expected<std::unique_ptr<SliceProducer>> parse_queries(const Call& call, const Listing& listing,
                                                       const boost::json::object& body) {
  OCTAVO_TRY(const auto base, parse_all_docs_query(call.request));
  const auto* list = body.if_contains("queries");
  if (!list) return fail(ErrorCode::bad_request, "POST body must include `queries` parameter.");
  if (!list->is_array()) return fail(ErrorCode::bad_request, "`queries` parameter must be an array.");
  if (list->get_array().size() > queries_max) return fail(ErrorCode::too_large, "Too many `queries`.");
  std::vector<AllDocsQuery> queries;
  for (const auto& entry : list->get_array()) {
    if (!entry.is_object()) return fail(ErrorCode::bad_request, "`queries` must be JSON objects.");
    OCTAVO_TRY(auto query, parse_all_docs_query(entry.get_object(), base));
    queries.push_back(std::move(query));
  }
  return std::make_unique<QueriesReply>(call.database, listing, std::move(queries));
}

std::optional<partitioning::DocumentTarget> scope_of(const Call& call, const Listing& listing) {
  if (listing.subset != Subset::partition) return std::nullopt;
  return call.database->target_of_partition_key(listing.partition);
}

Listing listing_of(const Call& call, Subset subset) {
  return {subset, subset == Subset::partition ? call.path("partition") : std::string()};
}

// The body of a POST; an empty object for a GET.
Task<Expected<boost::json::object>> body_of(const Call& call) {
  if (call.request.method != Method::post) co_return boost::json::object{};
  co_return co_await read_json_object(call);
}

template <Subset subset>
Task<Expected<Reply>> list_documents(Call& call) {
  const auto listing = listing_of(call, subset);
  OCTAVO_CO_TRY_VOID(check_listing(call, listing));
  if (call.request.method == Method::post) OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await body_of(call));
  OCTAVO_CO_TRY(auto producer, parse_list(call, listing, body));
  co_return co_await sliced_reply(call, std::move(producer), scope_of(call, listing));
}

template <Subset subset>
Task<Expected<Reply>> run_queries(Call& call) {
  const auto listing = listing_of(call, subset);
  OCTAVO_CO_TRY_VOID(check_listing(call, listing));
  OCTAVO_CO_TRY(const auto body, co_await body_of(call));
  OCTAVO_CO_TRY(auto producer, parse_queries(call, listing, body));
  co_return co_await sliced_reply(call, std::move(producer), scope_of(call, listing));
}

}  // namespace

void add_all_docs_routes(RouteList& routes) {
  const auto add = [&](std::string_view list, std::string_view queries, CouchHandler list_handler,
                       CouchHandler queries_handler) {
    routes.push_back({Method::get, list, Access::database_member, list_handler});
    routes.push_back({Method::post, list, Access::database_member, list_handler});
    routes.push_back({Method::post, queries, Access::database_member, queries_handler});
  };
  add("/{db}/_all_docs", "/{db}/_all_docs/queries", list_documents<Subset::all>, run_queries<Subset::all>);
  add("/{db}/_design_docs", "/{db}/_design_docs/queries", list_documents<Subset::design>, run_queries<Subset::design>);
  add("/{db}/_local_docs", "/{db}/_local_docs/queries", list_documents<Subset::local>, run_queries<Subset::local>);
  add("/{db}/_partition/{partition}/_all_docs", "/{db}/_partition/{partition}/_all_docs/queries",
      list_documents<Subset::partition>, run_queries<Subset::partition>);
}

}  // namespace octavo::api::couch
