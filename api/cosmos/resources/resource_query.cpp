#include "api/cosmos/resources/resource_query.h"

#include <algorithm>

#include "api/cosmos/call/feed_page.h"
#include "api/cosmos/call/query_body.h"
#include "api/http/worker_slices.h"
#include "query/sql/run/sql_execution.h"
#include "query/sql/run/sql_preparation.h"

namespace octavo::api::cosmos {

namespace {

namespace sql = query::sql;
using partitioning::ScanBudget;
using partitioning::ScanState;
using partitioning::Visit;

// Resources have no properties except those in their text.
class ResourceRows final : public sql::RowShape {
 public:
  bool is_row(const storage::DocumentView&) const override { return true; }
  bool is_system_property(std::string_view) const override { return false; }
  void append_system_property(const storage::DocumentView&, std::string_view, std::string&) const override {}
  void append_row(const storage::DocumentView& document, std::string& out) const override { out += document.body; }
  std::optional<query::FieldPath> field_path(std::span<const std::string>) const override { return std::nullopt; }
};

class ResourceSource final : public sql::DocumentSource {
 public:
  explicit ResourceSource(const ResourceList& resources) : resources_(resources) {}

  Expected<ScanState> scan(std::optional<std::string>& from, ScanBudget,
                           FunctionRef<Visit(const storage::DocumentView&)> visit) override {
    auto next = resources_.begin();
    if (from) next = std::ranges::lower_bound(resources_, *from, {}, &ResourceList::value_type::first);
    for (; next != resources_.end(); ++next) {
      const auto& [id, text] = *next;
      storage::DocumentView document;
      document.id = id;
      document.body = text;
      const Visit said = visit(document);
      if (said == Visit::stop) return ScanState::done;
      if (said == Visit::next) continue;
      from = id + '\0';
      return ScanState::more;
    }
    return ScanState::done;
  }
  const storage::DocumentView* changed(std::string_view) const override { return nullptr; }

 private:
  const ResourceList& resources_;
};

}  // namespace

Handled query_resources(Call& call, std::string rid, std::string_view feed, ResourceList resources) {
  static const ResourceRows rows;
  OCTAVO_CO_TRY(const auto size, page_size_of(call.request));
  OCTAVO_CO_TRY(auto continuation, continuation_of(call.request));
  using Prepared = std::shared_ptr<const sql::PreparedSql>;
  const auto prepare = [&]() -> Expected<Prepared> {
    OCTAVO_TRY(auto query, parse_query(call.request));
    return sql::prepare_sql_over(std::move(query), rows, std::move(continuation));
  };
  OCTAVO_CO_TRY(auto prepared, co_await call.services.engine.workers().run_blocking(prepare));
  ResourceSource source(resources);
  sql::SqlOptions options;
  options.page_items_max = size;
  options.source = &source;
  WorkerSlices slices(call.services.engine, call.request);
  if (prepared->query->may_take_long()) slices.let_others_go_first();
  sql::SqlExecution execution(nullptr, std::move(prepared), std::move(options));
  const auto run_slice = [&] { return execution.run(ScanBudget::worker_slice()); };
  Reply reply;
  begin_feed(reply.body, rid, feed);
  Expected<ScanState> state = ScanState::more;
  while (state && *state == ScanState::more) {
    state = co_await slices.run(run_slice);
    // A slice stops when much output is waiting.
    reply.body += execution.output();
    execution.output().clear();
  }
  OCTAVO_CO_TRY_VOID(std::move(state));
  std::optional<std::string> next;
  if (const auto position = execution.continuation()) next = to_continuation(*position);
  end_feed(reply, execution.statistics().results_returned, next);
  co_return reply;
}

}  // namespace octavo::api::cosmos
