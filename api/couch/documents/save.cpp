#include "api/couch/documents/save.h"

#include <span>
#include <utility>
#include <vector>

#include "api/couch/auth/authenticator.h"
#include "api/couch/auth/security.h"
#include "api/couch/auth/users_database.h"
#include "api/couch/call/document_id.h"
#include "api/couch/documents/validation.h"
#include "api/http/metrics.h"
#include "partitioning/throughput/request_charge.h"

namespace octavo::api::couch {

Expected<std::optional<storage::Revision>> base_revision(const Request& request,
                                                         const std::optional<storage::Revision>& from_body) {
  auto revision = from_body;
  if (const auto parameter = request.parameter("rev")) {
    OCTAVO_TRY(const auto from_query, storage::Revision::parse(*parameter));
    if (revision && *revision != from_query) {
      return fail(ErrorCode::bad_request, "Document rev from request body and query string have different values");
    }
    revision = from_query;
  }
  if (auto header = request.header("If-Match")) {
    while (header->starts_with('"')) header->remove_prefix(1);
    while (header->ends_with('"')) header->remove_suffix(1);
    OCTAVO_TRY(const auto from_header, storage::Revision::parse(*header));
    if (revision && *revision != from_header) {
      return fail(ErrorCode::bad_request, "Document rev and etag have different values");
    }
    revision = from_header;
  }
  return revision;
}

Expected<storage::DocumentWrite> make_write(std::string id, ParsedDocument document, bool new_edits) {
  storage::DocumentWrite write;
  write.id = std::move(id);
  write.deleted = document.deleted;
  write.body = std::move(document.body);
  if (new_edits) {
    write.parent = document.revision;
    return write;
  }
  if (!document.revision) {
    return fail(ErrorCode::bad_request, "When `new_edits: false`, the document needs `_rev` or `_revisions` specified");
  }
  write.replicated = true;
  write.history = std::move(document.history);
  if (write.history.empty()) write.history.push_back(*document.revision);
  return write;
}

bool needs_preparation(const Call& call, std::string_view id) {
  return is_design_id(id) || is_system_database(*call.database);
}

Task<Expected<void>> prepare_write(Call& call, storage::DocumentWrite& write,
                                   std::optional<query::IndexAllowance>& allowance) {
  if (is_design_id(write.id) &&
      !may_write_designs(call.user, *call.database, call.services.authenticator.has_admins())) {
    if (call.user.name.empty()) co_return fail(ErrorCode::unauthorized, "You are not a db or server admin.");
    co_return fail(ErrorCode::forbidden, "You are not a db or server admin.");
  }
  if (is_design_id(write.id)) OCTAVO_CO_TRY_VOID(co_await check_design_document(call, write, allowance));
  if (is_replicator_database(*call.database) && !is_design_id(write.id) && !write.deleted) {
    co_return fail(ErrorCode::unsupported, std::string(no_replicator));
  }
  if (is_users_database(*call.database)) {
    OCTAVO_CO_TRY(write.body, co_await prepare_user_document(call, write.id, write.deleted, std::move(write.body)));
  }
  co_return Expected<void>{};
}

Error in_couch_words(Error error, std::string_view id) {
  if (error.code == ErrorCode::partition_full) {
    error.reason = "Partition limit exceeded due to update on '" + std::string(id) + "'";
  }
  return error;
}

void count_write(const Call& call, const storage::WrittenDocument& written) {
  auto& activity = call.services.metrics.activity();
  activity.add(Activity::document_write);
  if (written.created) activity.add(Activity::document_insert);
}

void forget_user(Call& call, std::string_view id) {
  if (id.starts_with(user_id_prefix)) call.services.authenticator.forget(id.substr(user_id_prefix.size()));
}

Task<Expected<storage::Revision>> save(Call& call, partitioning::DocumentTarget target, storage::DocumentWrite write) {
  if (needs_preparation(call, write.id)) {
    std::optional<query::IndexAllowance> allowance;
    OCTAVO_CO_TRY_VOID(co_await prepare_write(call, write, allowance));
  }
  if (!is_design_id(write.id)) {
    OCTAVO_CO_TRY(const auto validation, validation_of(call));
    if (validation) {
      OCTAVO_CO_TRY_VOID(call.database->meter().admit(target));
      OCTAVO_CO_TRY_VOID(co_await validate_one(call, target, write));
    }
  }
  const std::size_t body_bytes = write.body.size();
  const auto replicated = write.replicated ? std::optional(write.history.front()) : std::nullopt;
  std::vector<storage::DocumentWrite> writes;
  writes.push_back(std::move(write));
  auto results = co_await call.database->write(std::span(&target, 1), std::move(writes));
  auto& result = results.front();
  if (!result) {
    if (result.error().code != ErrorCode::throttled) call.charge(target, partitioning::charge_of_miss());
    co_return std::unexpected(in_couch_words(std::move(result).error(), target.id()));
  }
  call.charge(target, partitioning::charge_of_write({body_bytes, result->index_rows}));
  count_write(call, *result);
  if (is_users_database(*call.database)) forget_user(call, target.id());
  co_return replicated ? *replicated : result->revision;
}

}  // namespace octavo::api::couch
