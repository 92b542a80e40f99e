// Many edits in one request: _bulk_docs and the atomic _partition/{p}/_batch. Also lists all bulk routes.
#include <algorithm>
#include <unordered_set>

#include "api/couch/auth/users_database.h"
#include "api/couch/call/document_id.h"
#include "api/couch/call/errors.h"
#include "api/couch/call/partition_parameter.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/documents/bulk_edit.h"
#include "api/couch/documents/bulk_handlers.h"
#include "api/couch/documents/save.h"
#include "api/couch/documents/validation.h"
#include "api/couch/server/server.h"
#include "api/http/metrics.h"
#include "base/json_writer.h"
#include "partitioning/throughput/request_charge.h"

namespace octavo::api::couch {

namespace {

constexpr std::size_t result_bytes = 128;  // size of one `{"ok":true,…}`

bool is_error(const BulkResult& result) {
  return std::holds_alternative<Error>(result.outcome);
}

std::string render(const std::vector<BulkResult>& results, bool errors_only) {
  std::string body;
  body.reserve(errors_only ? 64 : results.size() * result_bytes + 8);
  body += '[';
  for (const auto& result : results) {
    if (errors_only && !is_error(result)) continue;
    if (body.size() > 1) body += ',';
    append_bulk_result(body, result);
  }
  body += "]\n";
  return body;
}

Task<Expected<Reply>> bulk_docs(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  call.services.metrics.activity().add(Activity::bulk_request);
  OCTAVO_CO_TRY(auto request, co_await parse_bulk_request(call));
  const bool new_edits = request.new_edits;
  OCTAVO_CO_TRY(auto results, co_await write_each(call, std::move(request)));

  Reply reply;
  reply.status = 201;
  auto write = [&] {
    reply.body = render(results, !new_edits);
    results = {};
  };
  if (results.size() > inline_documents_max) {
    co_await call.services.engine.workers().run_patiently(std::move(write));
  } else {
    write();
  }
  co_return reply;
}

// The edits of a batch. Each document must be in the partition and occur only once.
Expected<std::vector<storage::DocumentWrite>> batch_writes(const Call& call, BulkRequest request) {
  const auto& partition = call.path("partition");
  if (!request.refused.empty()) return std::unexpected(std::move(request.refused.begin()->second));
  if (!request.new_edits) {
    return fail(ErrorCode::bad_request, "`new_edits: false` is not possible in an atomic batch.");
  }
  std::vector<storage::DocumentWrite> writes;
  writes.reserve(request.documents.size());
  std::unordered_set<std::string> seen;
  for (auto& document : request.documents) {
    auto id = document.id ? *document.id : partition + ":" + new_uuid(call.services.settings);
    OCTAVO_TRY_VOID(check_id(id, *call.database));
    if (partitioning::partition_key_of(id, true) != partition || id.starts_with('_')) {
      return fail(ErrorCode::bad_request, "Document `" + id + "` is not in partition `" + partition + "`.",
                  "illegal_docid");
    }
    if (!seen.insert(id).second) {
      return fail(ErrorCode::bad_request, "Document `" + id + "` occurs twice in the batch.");
    }
    OCTAVO_TRY(auto write, make_write(std::move(id), std::move(document), true));
    writes.push_back(std::move(write));
  }
  return writes;
}

bool is_conflict(const Error& error) {
  return error.code == ErrorCode::conflict || error.code == ErrorCode::unique_key_violated;
}

// A 409 that lists every document whose precondition failed. Any other error of a document becomes the reply's error.
Expected<Reply> refused_batch(const std::vector<BulkResult>& results) {
  for (const auto& result : results) {
    const auto& error = std::get<Error>(result.outcome);
    if (!is_conflict(error) && error.code != ErrorCode::precondition_failed) {
      return std::unexpected(error);
    }
  }
  Reply reply;
  reply.status = 409;
  reply.body = "{\"error\":\"conflict\",\"reason\":\"Document update conflict: nothing was written.\",\"results\":[";
  bool first = true;
  for (const auto& result : results) {
    if (!is_conflict(std::get<Error>(result.outcome))) continue;
    if (!std::exchange(first, false)) reply.body += ',';
    append_bulk_result(reply.body, result);
  }
  reply.body += "]}\n";
  return reply;
}

// False if at least one edit is refused: `results` has the reasons, and nothing may be written.
Task<Expected<bool>> validate_all(Call& call, const std::vector<partitioning::DocumentTarget>& targets,
                                  const std::vector<storage::DocumentWrite>& writes, std::vector<BulkResult>& results) {
  OCTAVO_CO_TRY(auto validation, validation_of(call));
  if (validation == nullptr) co_return true;
  auto valid = co_await validate(call, std::move(validation), targets, writes);
  bool all = true;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    if (valid[i]) {
      results[i].outcome = Error{ErrorCode::precondition_failed, "", {}};
      continue;
    }
    all = false;
    results[i].outcome = std::move(valid[i]).error();
  }
  co_return all;
}

Task<Expected<Reply>> batch(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY_VOID(check_partition_parameter(call));
  OCTAVO_CO_TRY(auto request, co_await parse_bulk_request(call));
  OCTAVO_CO_TRY(auto writes, batch_writes(call, std::move(request)));

  // All documents are in one logical partition.
  const auto target = call.database->target_of_partition_key(call.path("partition"));
  const std::vector targets(writes.size(), target);
  std::vector<BulkResult> results(writes.size());
  for (std::size_t i = 0; i < writes.size(); ++i) results[i].id = writes[i].id;
  OCTAVO_CO_TRY(const auto valid, co_await validate_all(call, targets, writes, results));
  if (!valid) co_return refused_batch(results);
  std::vector<std::size_t> body_bytes;
  body_bytes.reserve(writes.size());
  for (const auto& write : writes) body_bytes.push_back(write.body.size());
  auto written = co_await call.database->write(targets, std::move(writes), storage::WriteOptions{.atomic = true});
  if (!written.empty() && !written.front() && written.front().error().code == ErrorCode::throttled) {
    co_return std::unexpected(std::move(written.front()).error());
  }
  bool all = true;
  for (std::size_t i = 0; i < written.size(); ++i) {
    call.charge(target, written[i] ? partitioning::charge_of_write({body_bytes[i], written[i]->index_rows})
                                   : partitioning::charge_of_miss());
    if (written[i]) {
      count_write(call, *written[i]);
      results[i].outcome = written[i]->revision;
    } else {
      results[i].outcome = std::move(written[i]).error();
      all = false;
    }
  }
  if (!all) co_return refused_batch(results);
  Reply reply;
  reply.status = 201;
  reply.body = render(results, false);
  co_return reply;
}

}  // namespace

void add_bulk_routes(RouteList& routes) {
  routes.push_back({Method::post, "/{db}/_bulk_docs", Access::database_writer, bulk_docs});
  routes.push_back({Method::post, "/{db}/_bulk_get", Access::database_member, bulk_get});
  routes.push_back({Method::post, "/{db}/_revs_diff", Access::database_member, revs_diff});
  routes.push_back({Method::post, "/{db}/_missing_revs", Access::database_member, missing_revs});
  routes.push_back({Method::post, "/{db}/_purge", Access::server_admin, purge});
  routes.push_back({Method::post, "/{db}/_partition/{partition}/_batch", Access::database_writer, batch});
}

}  // namespace octavo::api::couch
