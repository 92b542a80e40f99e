#include "api/couch/documents/bulk_edit.h"

#include "api/couch/auth/users_database.h"
#include "api/couch/call/document_id.h"
#include "api/couch/call/errors.h"
#include "api/couch/documents/save.h"
#include "api/couch/documents/saved_reply.h"
#include "api/couch/documents/validation.h"
#include "api/couch/server/server.h"
#include "api/http/metrics.h"
#include "api/http/worker_bodies.h"
#include "api/models/document_renderer.h"
#include "base/json_writer.h"
#include "partitioning/throughput/request_charge.h"
#include "query/json/parsed_document.h"
#include "query/json/split.h"

namespace octavo::api::couch {

namespace {

// The id of a document that cannot be parsed. Error if it is no JSON object or its id is no string: without an id, its
// row would say nothing to the client.
Expected<ParsedDocument> only_id_of(std::string_view json) {
  OCTAVO_TRY(const auto value, query::parse_json(json));
  if (!value.is_object()) return fail(ErrorCode::bad_request, "Document must be a JSON object");
  ParsedDocument document;
  if (const auto* id = value.get_object().if_contains("_id")) {
    if (!id->is_string()) return fail(ErrorCode::bad_request, "Document id must be a string", "illegal_docid");
    document.id.emplace(id->get_string());
  }
  return document;
}

Expected<BulkRequest> parse(std::string_view body, const config::Settings& settings) {
  OCTAVO_TRY(const auto members, query::split_object(body));
  const auto docs = query::member_value(members, "docs");
  if (docs.empty()) return fail(ErrorCode::bad_request, "POST body must include `docs` parameter.");
  if (!docs.starts_with('[')) return fail(ErrorCode::bad_request, "`docs` parameter must be an array.");
  if (query::member_value(members, "all_or_nothing") == "true") {
    return fail(ErrorCode::unsupported,
                "`all_or_nothing` is not supported: POST to /{db}/_partition/{partition}/_batch to write atomically.");
  }
  BulkRequest request;
  if (const auto new_edits = query::member_value(members, "new_edits"); !new_edits.empty()) {
    if (new_edits != "true" && new_edits != "false") {
      return fail(ErrorCode::bad_request, "`new_edits` parameter must be a boolean.");
    }
    request.new_edits = new_edits == "true";
  }
  OCTAVO_TRY(const auto parts, query::split_array(docs));
  if (parts.size() > settings.documents_per_bulk_max) {
    return fail(ErrorCode::too_large, std::to_string(settings.documents_per_bulk_max), "max_bulk_docs_count_exceeded");
  }
  request.documents.reserve(parts.size());
  std::size_t revisions = 0;
  for (const auto part : parts) {
    auto document = parse_document(part, settings.document_bytes_max);
    if (!document) {
      auto only_id = only_id_of(part);
      if (!only_id) return std::unexpected(std::move(document).error());
      Error error = std::move(document).error();
      if (!request.new_edits) error = refusal_of_replica(std::move(error));
      request.refused.emplace(request.documents.size(), std::move(error));
      document = std::move(only_id);
    }
    revisions += document->history.size();
    if (revisions > revisions_per_request_max) {
      return fail(ErrorCode::too_large, "The documents have more than " + std::to_string(revisions_per_request_max) +
                                            " revisions in `_revisions`; send fewer at a time.");
    }
    request.documents.push_back(*std::move(document));
  }
  return request;
}

}  // namespace

Task<Expected<BulkRequest>> parse_bulk_request(const Call& call) {
  const std::string_view body = call.request.body;
  const auto& settings = call.services.settings;
  if (body.size() < worker_body_bytes) co_return parse(body, settings);
  auto work = [body, &settings] { return parse(body, settings); };
  co_return co_await call.services.engine.workers().run_patiently(std::move(work));
}

namespace {

/// A bulk request in progress: the writes, and their positions in the request.
struct BulkWork {
  std::vector<BulkResult> results;
  std::vector<storage::DocumentWrite> writes;
  std::vector<partitioning::DocumentTarget> targets;  // of the writes; they refer to the ids in `results`
  std::vector<std::size_t> positions;                 // writes[i] is the document at positions[i] of the request
  std::vector<std::size_t> locals;

  // Makes the write at `from` the one at `to`, which is not above it.
  void move_write(std::size_t from, std::size_t to) {
    if (from == to) return;
    writes[to] = std::move(writes[from]);
    targets[to] = targets[from];
    positions[to] = positions[from];
  }
  // Removes the writes from `count` on.
  void shorten(std::size_t count) {
    writes.resize(count);
    targets.erase(targets.begin() + static_cast<std::ptrdiff_t>(count), targets.end());
    positions.resize(count);
  }
};

// Sorts the documents into ordinary and local writes, and those that are refused.
BulkWork sort_out(const partitioning::Database& database, const config::Settings& settings, BulkRequest& request) {
  const auto count = request.documents.size();
  BulkWork work;
  work.results.resize(count);
  work.writes.reserve(count);
  work.targets.reserve(count);
  work.positions.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto& document = request.documents[i];
    auto& result = work.results[i];
    result.id = document.id ? *document.id : new_uuid(settings);
    if (const auto refused = request.refused.find(i); refused != request.refused.end()) {
      result.outcome = std::move(refused->second);
      continue;
    }
    if (auto checked = check_id(result.id, database); !checked) {
      result.outcome = std::move(checked).error();
      continue;
    }
    if (is_local_id(result.id)) {
      work.locals.push_back(i);
      continue;
    }
    auto write = make_write(result.id, std::move(document), request.new_edits);
    if (!write) {
      result.outcome = std::move(write).error();
      continue;
    }
    if (write->replicated) result.sent = write->history.front();
    work.writes.push_back(*std::move(write));
    work.targets.push_back(database.target_of(result.id));
    work.positions.push_back(i);
  }
  return work;
}

void note_outcomes(BulkWork& work, storage::PhysicalPartition::DocumentResults written) {
  for (std::size_t i = 0; i < written.size(); ++i) {
    auto& result = work.results[work.positions[i]];
    if (!written[i]) {
      result.outcome = in_couch_words(std::move(written[i]).error(), result.id);
    } else {
      result.outcome = result.sent ? *result.sent : written[i]->revision;
    }
  }
}

// Removes the writes that the database's validation functions refuse or that would conflict.
Task<Expected<void>> drop_invalid(Call& call, BulkWork& work) {
  OCTAVO_CO_TRY(auto validation, validation_of(call));
  if (validation == nullptr) co_return Expected<void>{};
  auto valid = co_await validate(call, std::move(validation), work.targets, work.writes);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    if (!valid[i]) {
      work.results[work.positions[i]].outcome = std::move(valid[i]).error();
      continue;
    }
    work.move_write(i, kept++);
  }
  work.shorten(kept);
  co_return Expected<void>{};
}

}  // namespace

Task<Expected<std::vector<BulkResult>>> write_each(Call& call, BulkRequest request) {
  const bool users = is_users_database(*call.database);
  const bool many = request.documents.size() > inline_documents_max;
  auto& engine = call.services.engine;
  auto sort = [&] { return sort_out(*call.database, call.services.settings, request); };
  BulkWork work;
  if (many) {
    work = co_await engine.workers().run_patiently(std::move(sort));
  } else {
    work = sort();
  }

  std::size_t kept = 0;
  std::optional<query::IndexAllowance> allowance;
  for (std::size_t i = 0; i < work.writes.size(); ++i) {
    if (needs_preparation(call, work.writes[i].id)) {
      auto prepared = co_await prepare_write(call, work.writes[i], allowance);
      if (!prepared) {
        work.results[work.positions[i]].outcome = std::move(prepared).error();
        continue;
      }
    }
    work.move_write(i, kept++);
  }
  work.shorten(kept);
  OCTAVO_CO_TRY_VOID(co_await drop_invalid(call, work));

  std::vector<std::size_t> body_bytes;
  body_bytes.reserve(work.writes.size());
  for (const auto& write : work.writes) body_bytes.push_back(write.body.size());
  auto written = co_await call.database->write(work.targets, std::move(work.writes));
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i]) count_write(call, *written[i]);
    if (!written[i] && written[i].error().code == ErrorCode::throttled) continue;
    call.charge(work.targets[i], written[i] ? partitioning::charge_of_write({body_bytes[i], written[i]->index_rows})
                                            : partitioning::charge_of_miss());
  }
  if (users) {
    for (std::size_t i = 0; i < written.size(); ++i) {
      if (written[i]) forget_user(call, work.results[work.positions[i]].id);
    }
  }
  auto note = [&work, &written] { note_outcomes(work, std::move(written)); };
  if (many) {
    co_await engine.workers().run_patiently(std::move(note));
  } else {
    note();
  }
  auto& results = work.results;
  for (const auto i : work.locals) {
    storage::LocalDocumentWrite write;
    write.id = results[i].id;
    write.deleted = request.documents[i].deleted;
    write.base_edit = request.documents[i].local_edit.value_or(0);
    write.body = std::move(request.documents[i].body);
    auto edit = co_await call.database->write_local(std::move(write));
    if (edit) {
      call.services.metrics.activity().add(Activity::local_document_write);
      results[i].outcome = request.documents[i].deleted ? std::uint64_t{0} : *edit;
    } else {
      results[i].outcome = std::move(edit).error();
    }
  }
  co_return std::move(results);
}

void append_bulk_result(std::string& out, const BulkResult& result) {
  if (const auto* revision = std::get_if<storage::Revision>(&result.outcome)) {
    append_saved(out, result.id, *revision);
  } else if (const auto* edit = std::get_if<std::uint64_t>(&result.outcome)) {
    append_saved_local(out, result.id, *edit);
  } else {
    out += "{\"id\":";
    append_json_string(out, result.id);
    if (result.sent) {
      out += ",\"rev\":";
      append_revision(out, *result.sent);
    }
    out += ',';
    append_error_members(out, std::get<Error>(result.outcome));
    out += '}';
  }
}

}  // namespace octavo::api::couch
