#include "api/cosmos/resource_query.h"

#include <algorithm>

#include "api/cosmos/feed_page.h"
#include "query/sql/sql_execution.h"
#include "query/sql/sql_preparation.h"

namespace octavo::api::cosmos {

namespace {

namespace sql = query::sql;
using partitioning::ScanBudget;
using partitioning::ScanState;
using partitioning::Visit;

// Resources have no other properties than those in their text.
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
  explicit ResourceSource(const std::vector<std::pair<std::string, std::string>>& resources) : resources_(resources) {}

  Expected<ScanState> scan(std::optional<std::string>& from, ScanBudget,
                           FunctionRef<Visit(const storage::DocumentView&)> visit) override {
    for (const auto& [id, text] : resources_) {
      if (from && id < *from) continue;
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
  const std::vector<std::pair<std::string, std::string>>& resources_;
};

}  // namespace

Expected<Reply> query_resources(Call& call, partitioning::Database& database, std::string_view rid,
                                std::string_view feed,
                                const std::vector<std::pair<std::string, std::string>>& resources) {
  static const ResourceRows rows;
  OCTAVO_TRY(auto query, parse_query(call.request));
  OCTAVO_TRY(const auto size, page_size_of(call.request));
  OCTAVO_TRY(auto continuation, continuation_of(call.request));
  OCTAVO_TRY(auto prepared, sql::prepare_sql_over(database, std::move(query), {}, rows, std::move(continuation)));
  ResourceSource source(resources);
  sql::SqlOptions options;
  options.page_items_max = size;
  options.source = &source;
  sql::SqlExecution execution(database.shared_from_this(), std::move(prepared), std::move(options));
  for (auto state = ScanState::more; state == ScanState::more;) {
    OCTAVO_TRY(state, execution.run(ScanBudget::worker_slice()));
  }
  Reply reply;
  begin_feed(reply.body, rid, feed);
  reply.body += execution.output();
  std::optional<std::string> next;
  if (const auto position = execution.continuation()) next = to_continuation(*position);
  end_feed(reply, execution.statistics().results_returned, next);
  return reply;
}

}  // namespace octavo::api::cosmos
