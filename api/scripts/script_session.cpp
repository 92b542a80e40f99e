#include "api/scripts/script_session.h"

#include <utility>
#include <vector>

#include "api/http/entity_tag.h"
#include "partitioning/keys/partition_key.h"
#include "partitioning/scan.h"
#include "query/database/database_services.h"
#include "query/sql/run/continuation.h"
#include "query/sql/run/query_charge.h"
#include "query/sql/run/sql_execution.h"
#include "query/sql/run/sql_preparation.h"

namespace octavo::api::scripts {

namespace {

namespace sql = query::sql;
using partitioning::OptimisticTransaction;
using partitioning::ScanBudget;
using partitioning::ScanState;
using query::javascript::ScriptHost;
using Answer = ScriptHost::Answer;
using Operation = ScriptHost::Operation;

// A function that ignores refused calls is aborted after this many.
constexpr std::size_t refused_writes_max = 1'000;
// Bound of the cache; documents beyond it are searched each time.
constexpr std::size_t self_names_max = 100'000;

Answer answer_error(int status, std::string message) {
  Answer answer;
  answer.error = status;
  answer.message = std::move(message);
  return answer;
}

Answer not_found() {
  return answer_error(404, "Resource Not Found.");
}

Answer not_accepted() {
  Answer answer;
  answer.accepted = false;
  return answer;
}

std::unexpected<Error> stale() {
  return fail(ErrorCode::conflict, "What the function has read has changed.");
}

// Errors that a function can handle become an answer; all others abort it.
Expected<Answer> answer_of(Error error, bool creates) {
  switch (error.code) {
    case ErrorCode::bad_request:
      return answer_error(400, std::move(error.reason));
    case ErrorCode::not_found:
    case ErrorCode::deleted:
      return not_found();
    case ErrorCode::unique_key_violated:
      return answer_error(409, std::move(error.reason));
    case ErrorCode::conflict:
      if (creates) return answer_error(409, "Resource with specified id or name already exists.");
      return answer_error(412, "One of the specified pre-condition is not met.");
    case ErrorCode::too_large:
      return answer_error(413, std::move(error.reason));
    case ErrorCode::forbidden:
    case ErrorCode::unauthorized:
      return answer_error(403, std::move(error.reason));
    default:
      return std::unexpected(std::move(error));
  }
}

std::string_view trim_slashes(std::string_view link) {
  while (link.starts_with('/')) link.remove_prefix(1);
  while (link.ends_with('/')) link.remove_suffix(1);
  return link;
}

// The part of `link` after `collection` and `/docs/`.
std::optional<std::string_view> below(std::string_view link, std::string_view collection) {
  constexpr std::string_view documents_segment = "/docs/";
  collection = trim_slashes(collection);
  if (!link.starts_with(collection)) return std::nullopt;
  link.remove_prefix(collection.size());
  if (!link.starts_with(documents_segment) || link.size() == documents_segment.size()) return std::nullopt;
  return link.substr(documents_segment.size());
}

// An ETag as in headers. A malformed one matches no revision: a missing document is 404 before it can be 412.
storage::Revision revision_of_etag(std::string_view etag) {
  return storage::Revision::parse(unquoted_tag(etag)).value_or(storage::Revision());
}

// The documents of the transaction, with its writes, for queries.
class TransactionSource final : public sql::DocumentSource {
 public:
  explicit TransactionSource(OptimisticTransaction& transaction) : transaction_(transaction) {}
  Expected<ScanState> scan(std::optional<std::string>& from, ScanBudget budget,
                           FunctionRef<partitioning::Visit(const storage::DocumentView&)> visit) override {
    return transaction_.scan(from, budget, visit);
  }
  const storage::DocumentView* changed(std::string_view id) const override { return transaction_.changed(id); }

 private:
  OptimisticTransaction& transaction_;
};

// Whether the continuation is a position in an index: then the index must be used again.
bool goes_on_by_index(const std::optional<std::string>& continuation) {
  if (!continuation) return false;
  const auto decoded = sql::Continuation::decode(*continuation);
  if (!decoded) return false;
  switch (decoded->kind) {
    case sql::Continuation::Kind::index:
    case sql::Continuation::Kind::automatic:
    case sql::Continuation::Kind::combined:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool ScriptSession::is_late(int quarters) const {
  return (std::chrono::steady_clock::now() - started_) * 4 >= options_.call_time * quarters;
}

Expected<Answer> ScriptSession::run(const Request& request) {
  if (transaction_.is_stale()) return stale();
  if (is_late(3)) {
    if (++refused_ > refused_writes_max)
      return fail(ErrorCode::timeout, "The function took too long.", "resource_limit");
    return not_accepted();
  }
  auto answer = request.operation == Operation::read    ? read(request)
                : request.operation == Operation::query ? query(request)
                                                        : write(request);
  if (answer && transaction_.is_stale()) return stale();
  return answer;
}

Expected<std::optional<std::string>> ScriptSession::id_of_link(std::string_view link) {
  link = trim_slashes(link);
  if (const auto id = below(link, model_.alt_link())) return model_.document_id(*id);
  const auto name = below(link, model_.self_link());
  if (!name) return std::nullopt;
  OCTAVO_TRY(auto id, find_by_self_name(*name));
  return id;
}

// Reads outside the transaction, because the id that belongs to a name never changes.
Expected<std::string> ScriptSession::find_by_self_name(std::string_view name) {
  const std::string key(name);
  if (const auto known = by_self_name_.find(key); known != by_self_name_.end()) return known->second;
  if (knows_self_names_) return std::string();
  std::string found;
  bool knows_all = true;
  partitioning::DocumentRange range;
  range.partition_key = transaction_.partition_key();
  partitioning::DocumentScan scan(*transaction_.database(), std::move(range));
  const auto visit = [&](const storage::DocumentRecord& document, const storage::Snapshot&) {
    if (document.deleted) return partitioning::Visit::next;
    std::string own = model_.self_name(document.id);
    if (own == key) found = document.id;
    if (by_self_name_.size() < self_names_max) {
      by_self_name_.emplace(std::move(own), document.id);
      return partitioning::Visit::next;
    }
    knows_all = false;
    return found.empty() ? partitioning::Visit::next : partitioning::Visit::stop;
  };
  for (auto state = ScanState::more; state == ScanState::more;) {
    OCTAVO_TRY(state, scan.run_records(ScanBudget::worker_slice(), visit));
    if (is_late(4)) return fail(ErrorCode::timeout, "The function took too long.", "resource_limit");
  }
  knows_self_names_ = knows_all;
  return found;
}

Expected<Answer> ScriptSession::show(std::string_view id) {
  OCTAVO_TRY(const auto document, transaction_.find(id));
  if (!document || document->deleted) {
    charge_ += partitioning::charge_of_miss();
    return not_found();
  }
  Answer answer;
  model_.append(answer.body, *document);
  if (by_self_name_.size() < self_names_max) {
    by_self_name_.insert_or_assign(model_.self_name(document->id), std::string(document->id));
  }
  return answer;
}

Expected<Answer> ScriptSession::read(const Request& request) {
  OCTAVO_TRY(const auto id, id_of_link(request.link));
  if (!id) return answer_error(400, "The document link is not one of the function's own collection: " + request.link);
  if (id->empty()) return not_found();
  OCTAVO_TRY(auto answer, show(*id));
  if (answer.error == 0) charge_ += partitioning::charge_of_read(answer.body.size());
  return answer;
}

Expected<Answer> ScriptSession::query(const Request& request) {
  std::vector<sql::SqlParameter> parameters;
  if (!request.parameters.empty()) {
    auto read = sql::parse_sql_parameters(request.parameters);
    if (!read) return answer_error(400, std::move(read).error().reason);
    parameters = *std::move(read);
  }
  auto parsed = sql::SqlQuery::parse(request.body, parameters, model_.computed_properties());
  if (!parsed) return answer_error(400, parsed.error().to_json());

  // Indexes do not contain the transaction's writes: after the first write, the query reads the transaction.
  OCTAVO_TRY_VOID(transaction_.reads_all());
  TransactionSource source(transaction_);
  const bool over_source = transaction_.has_writes() && !goes_on_by_index(request.continuation);
  sql::SqlScope scope;
  scope.partition_key = transaction_.partition_key();
  const auto prepare = [&]() -> Expected<std::shared_ptr<const sql::PreparedSql>> {
    if (over_source) return sql::prepare_sql_over(*std::move(parsed), model_.shape(), request.continuation);
    OCTAVO_TRY(auto* const services, query::required(options_.services));
    return sql::prepare_sql_now(services->indexes(), *std::move(parsed), std::move(scope), model_.shape(),
                                request.continuation);
  };
  auto prepared = prepare();
  if (!prepared) return answer_of(std::move(prepared).error(), false);
  sql::SqlOptions options;
  if (request.page_size) options.page_items_max = *request.page_size;
  options.user_functions = options_.user_functions;
  if (transaction_.has_writes()) options.source = &source;
  const auto plan = *std::move(prepared);
  if (options_.services != nullptr) options_.services->recorder().note_indexes(plan->plans);
  sql::SqlExecution execution(transaction_.database(), plan, std::move(options));
  Answer answer;
  answer.body += '[';
  for (auto state = ScanState::more; state == ScanState::more;) {
    auto slice = execution.run(ScanBudget::worker_slice());
    if (!slice) return answer_of(std::move(slice).error(), false);
    state = *slice;
    // Taken after each slice: a slice does nothing while much output is waiting.
    answer.body += execution.output();
    execution.output().clear();
    if (is_late(4)) return fail(ErrorCode::timeout, "The function took too long.", "resource_limit");
  }
  const auto& statistics = execution.statistics();
  charge_ += partitioning::charge_of_scan(sql::scan_work_of(*transaction_.database(), *plan, statistics));
  answer.body += ']';
  answer.continuation = execution.continuation();
  return answer;
}

Expected<Answer> ScriptSession::write(const Request& request) {
  if (transaction_.is_full()) {
    if (++refused_ > refused_writes_max) {
      return fail(ErrorCode::too_large, "The function writes too many documents.", "resource_limit");
    }
    return not_accepted();
  }
  storage::DocumentWrite write;
  std::string other_id;
  const bool has_body = request.operation != Operation::remove;
  const bool has_link = request.operation == Operation::replace || !has_body;
  if (has_link) {
    OCTAVO_TRY(auto id, id_of_link(request.link));
    if (!id) return answer_error(400, "The document link is not one of the function's own collection: " + request.link);
    if (id->empty()) return not_found();
    write.id = *std::move(id);
    write.base = storage::WriteBase::live_winner;
  }
  if (has_body) {
    auto parsed = model_.parse(request.body, request.makes_id && !has_link);
    if (!parsed) return answer_of(std::move(parsed).error(), false);
    write.body = std::move(parsed->body);
    if (request.operation != Operation::create) write.parent = parsed->revision;
    if (!has_link) {
      write.id = std::move(parsed->id);
    } else if (parsed->id != write.id) {
      if (!model_.gives_other_ids()) {
        return answer_error(400, "The id of the document cannot be changed by replacing it.");
      }
      other_id = std::move(parsed->id);
    }
    if (request.operation == Operation::upsert) write.base = storage::WriteBase::any_winner;
  } else {
    write.body = "{}";
    write.deleted = true;
  }
  if (request.etag && *request.etag != "*") write.parent = revision_of_etag(*request.etag);
  return other_id.empty() ? apply(write, request.operation) : give_other_id(std::move(write), std::move(other_id));
}

Expected<Answer> ScriptSession::apply(const storage::DocumentWrite& write, Operation operation) {
  ValidatedTransaction validated(transaction_, options_.rules);
  OCTAVO_TRY(auto written, validated.apply(write));
  if (!written) {
    charge_ += partitioning::charge_of_miss();
    return answer_of(std::move(written).error(), operation == Operation::create);
  }
  if (write.deleted) return Answer{};
  return show(write.id);
}

// The document is deleted under its id, and created under `id`.
Expected<Answer> ScriptSession::give_other_id(storage::DocumentWrite replacement, std::string id) {
  storage::DocumentWrite creation;
  creation.id = std::move(id);
  creation.body = std::exchange(replacement.body, "{}");
  replacement.deleted = true;
  ValidatedTransaction validated(transaction_, options_.rules);
  OCTAVO_TRY(auto written, validated.move(replacement, creation));
  if (!written) {
    charge_ += partitioning::charge_of_miss();
    // A conflict of the deletion is about the ETag, one of the creation about the id.
    OCTAVO_TRY(const auto of_deletion, transaction_.check(replacement));
    return answer_of(std::move(written).error(), !of_deletion);
  }
  return show(creation.id);
}

}  // namespace octavo::api::scripts
