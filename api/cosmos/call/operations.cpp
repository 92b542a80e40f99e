// POST …/operations/partitionkeydelete: removes all items of a logical partition.
#include "api/cosmos/call/operations.h"

#include "api/models/container_definition.h"
#include "api/models/errors.h"
#include "api/models/item.h"
#include "partitioning/scan.h"
#include "partitioning/throughput/request_charge.h"

namespace octavo::api::cosmos {

namespace {

constexpr std::size_t deletions_per_group = 500;

}  // namespace

Handled serve_operations(Call& call) {
  if (call.path.id != "partitionkeydelete") {
    co_return fail(ErrorCode::not_found, "There is no such operation; known is partitionkeydelete.");
  }
  if (call.request.method != Method::post) co_return method_not_allowed();
  OCTAVO_CO_TRY(const auto opened, co_await open_container(call));
  const auto header = call.request.header("x-ms-documentdb-partitionkey");
  if (!header || header->empty()) {
    co_return fail(ErrorCode::bad_request, "PartitionKey value must be supplied for this operation.");
  }
  OCTAVO_CO_TRY(const auto key, parse_key(*header, *opened.definition));
  if (!is_complete(key, *opened.definition)) co_return incomplete_key();

  partitioning::DocumentRange range;
  range.partition_key = key.encode();
  const auto target = opened.database->target_of_partition_key(*range.partition_key);
  OCTAVO_CO_TRY_VOID(call.admit(opened.database, target));
  partitioning::DocumentScan scan(*opened.database, range);
  call.account.request_charge = 0;
  for (bool more = true; more;) {
    std::vector<storage::DocumentWrite> deletions;
    const auto collect = [&]() -> Expected<partitioning::ScanState> {
      return scan.run_records(partitioning::ScanBudget::worker_slice(), [&](const auto& document, const auto&) {
        if (document.deleted) return partitioning::Visit::next;
        deletions.push_back(deleting_write(std::string(document.id), {}));
        return deletions.size() < deletions_per_group ? partitioning::Visit::next : partitioning::Visit::pause;
      });
    };
    OCTAVO_CO_TRY(const auto state, co_await call.services.engine.workers().run_blocking(collect));
    more = state == partitioning::ScanState::more;
    if (deletions.empty()) continue;
    const std::vector targets(deletions.size(), target);
    const auto results = co_await opened.database->write(targets, std::move(deletions));
    for (const auto& result : results) {
      call.account.request_charge +=
          result ? partitioning::charge_of_write({.index_rows = result->index_rows}) : partitioning::charge_of_miss();
      // A concurrent request may have deleted the item already.
      if (!result && result.error().code != ErrorCode::not_found) co_return std::unexpected(result.error());
    }
  }
  Reply reply;
  reply.content_type = {};
  co_return reply;
}

}  // namespace octavo::api::cosmos
