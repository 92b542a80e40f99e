#include "query/mango/prepared_find.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "query/mango/internal/find_preparation.h"
#include "query/walk/gone_index.h"
#include "query/walk/plan_indexes.h"
#include "query/walk/storage_statistics.h"

namespace octavo::query {

namespace {

// How long a query waits for an index that is being built: briefly if it is only the best choice, long if the request
// names it.
constexpr std::chrono::seconds build_patience{2};
constexpr std::chrono::minutes named_build_patience{5};

// What the request says by itself; the plans are missing.
Expected<std::shared_ptr<PreparedFind>> begin_find(const partitioning::Database& database, FindRequest parsed) {
  auto prepared = std::make_shared<PreparedFind>();
  prepared->request = std::move(parsed);
  const FindRequest& request = prepared->request;
  if (request.text_selector) {
    return fail(ErrorCode::no_usable_index, "There is no text index available for this selector.", "no_usable_index");
  }
  if (!request.partition.empty() && !database.partitioned()) {
    return fail(ErrorCode::bad_request, "database is not partitioned");
  }
  if (request.bookmark) {
    prepared->bookmark = Bookmark::decode(*request.bookmark, database.token_origin());
    if (!prepared->bookmark) {
      return fail(ErrorCode::bad_request,
                  "Invalid bookmark value: " + boost::json::serialize(boost::json::value(*request.bookmark)),
                  "invalid_bookmark");
    }
  }
  prepared->projection = Projection(request.fields);
  return prepared;
}

void choose_pin(const PreparedFind& prepared, PlannerScope& scope) {
  if (!prepared.bookmark) return;
  switch (prepared.bookmark->kind) {
    case Bookmark::Kind::primary:
      scope.pinned = std::string();
      break;
    case Bookmark::Kind::index:
      scope.pinned = prepared.bookmark->identity;
      break;
    case Bookmark::Kind::combined:
      scope.pinned = prepared.bookmark->identity;
      scope.pinned_side = prepared.bookmark->branch;
      break;
    case Bookmark::Kind::sorted:
      break;
  }
}

// Gives up a bookmark whose index no longer exists, or may not be used: the query is planned again, and skips what that
// index has returned. The bookmark of a union names one side; any of them may have lost its index. False: the index
// still exists, or it is unknown what it has returned.
bool leave_gone_index(PreparedFind& prepared, const IndexCatalog& catalog, PlannerScope& scope,
                      std::vector<Bookmark::Left>& left) {
  // Leaves room for plans that take turns.
  constexpr std::size_t left_before_max = Bookmark::left_max / 2;
  if (!scope.pinned || left.size() > left_before_max) return false;
  const Bookmark& bookmark = *prepared.bookmark;
  const bool is_union = scope.pinned_side.has_value();
  const IndexView* view = is_union ? nullptr : catalog.find(bookmark.identity);
  if (view && (view->is_local() || !scope.ignore_global)) return false;
  auto gone = GoneIndex::from_text(bookmark.index);
  if (!gone || !gone->down) return false;
  if (is_union) gone->side = bookmark.branch;
  Bookmark::Left one{bookmark.identity, *gone->down, bookmark.key, gone->to_text()};
  // Walking up, the entries after a key begin at the key followed by the lowest byte.
  if (!one.down) one.key += '\0';
  left.insert(left.begin(), std::move(one));
  prepared.bookmark.reset();
  scope.pinned.reset();
  scope.pinned_side.reset();
  return true;
}

PreparedFind::Covering covering_of(const Plan& plan, const FindRequest& request) {
  PreparedFind::Covering covering;
  if (!plan.covering) return covering;
  const auto& columns = plan.branches[0].index->definition->fields;
  for (const FieldPath& field : request.fields) {
    const auto found = std::ranges::find(columns, field, &OrderedField::path);
    covering.columns.push_back(found == columns.end() ? -1 : found - columns.begin());
  }
  std::vector<FieldPath> paths;
  for (const auto& column : columns) paths.push_back(column.path);
  covering.document = Projection(paths);
  return covering;
}

// `left`: the plans that earlier pages have left.
Expected<void> finish(PreparedFind& prepared, PlannerResult planned, std::span<const Bookmark::Left> left) {
  prepared.plans = std::move(planned.plans);
  prepared.sure = planned.sure;
  if (const auto& bookmark = prepared.bookmark) {
    const bool was_sorted = bookmark->kind == Bookmark::Kind::sorted;
    // A result that was sorted in memory is sorted again for its next page, whatever the best plan is now.
    if (was_sorted && !prepared.request.sort.empty()) {
      Plan plan = std::move(prepared.plans[prepared.sure]);
      plan.sort_in_memory = true;
      plan.covering = false;
      prepared.plans = {std::move(plan)};
      prepared.sure = 0;
    }
    // A sort key is not a position in an index, and vice versa.
    if (was_sorted != prepared.plans[0].sort_in_memory) {
      return fail(ErrorCode::bad_request, "The bookmark does not belong to this sort.", "invalid_bookmark");
    }
  }
  OCTAVO_TRY(prepared.walked, walked_parts(left, planned.candidates, prepared.request.selector));
  for (const Plan& plan : prepared.plans) {
    prepared.coverings.push_back(covering_of(plan, prepared.request));
    for (const Branch& branch : plan.branches) {
      prepared.reads_revision =
          prepared.reads_revision ||
          std::ranges::any_of(branch.selector.fields_used(), [](const FieldPath& path) { return path.is("_rev"); });
      prepared.tests_conflicts =
          prepared.tests_conflicts ||
          (prepared.request.conflicts && std::ranges::any_of(branch.selector.fields_used(), is_of_conflicts));
    }
  }
  return {};
}

}  // namespace

FindPreparation::FindPreparation(MangoIndexes& indexes, std::string_view body, std::string partition_key, bool explain,
                                 bool ignore_global)
    : database_(indexes.database().shared_from_this()),
      indexes_(indexes),
      body_(body),
      partition_key_(std::move(partition_key)),
      explain_(explain),
      ignore_global_(ignore_global),
      catalog_(indexes_.catalog()) {
  if (explain || ignore_global || body.size() >= QueryCache::text_bytes_max) return;
  // Equal requests for different logical partitions share a plan if these are in one physical partition: an index may
  // be built in one only.
  cache_key_.reserve(body.size() + 8);
  cache_key_ = partition_key_.empty() ? "all" : std::to_string(database_->locate_partition_key(partition_key_));
  // The same request is another one under other settings.
  const auto& settings = database_->engine().settings();
  cache_key_ += settings.find_strict ? '!' : '/';
  cache_key_ += std::to_string(settings.find_limit_default);
  cache_key_ += body;
}

std::shared_ptr<const PreparedFind> FindPreparation::earlier() const {
  if (cache_key_.empty() || !catalog_) return nullptr;
  auto cached = indexes_.cache().find(cache_key_, (*catalog_)->generation);
  if (!cached) return nullptr;
  auto known = std::static_pointer_cast<const PreparedFind>(std::move(cached));
  StorageStatistics statistics(*database_, partition_key_.empty() ? known->request.partition : partition_key_);
  return statistics.are_as_planned(known->planned_documents) ? known : nullptr;
}

Task<Expected<FindRequest>> FindPreparation::parse() const {
  const auto parse_body = [this]() -> Expected<FindRequest> {
    const auto& settings = database_->engine().settings();
    OCTAVO_TRY(auto request, parse_find_request(body_, partition_key_, settings.find_limit_default));
    if (settings.find_strict) return with_strict_rules(std::move(request));
    return request;
  };
  return work_on_find(*database_, body_.size(), parse_body);
}

Task<Expected<std::shared_ptr<const PreparedFind>>> FindPreparation::plan(FindRequest parsed) const {
  using Result = Expected<std::shared_ptr<const PreparedFind>>;
  if (!catalog_) co_return Result(std::unexpected(catalog_.error()));
  auto catalog = *catalog_;
  auto prepared = begin_find(*database_, std::move(parsed));
  if (!prepared) co_return Result(std::unexpected(prepared.error()));
  const FindRequest& request = (*prepared)->request;
  const PlanRequest plan_request = request.plan_request();
  PlannerScope scope;
  scope.partition_query = !request.partition.empty();
  // An index of the whole database is ready in all physical partitions or in none. The one with id 0 may have been
  // split.
  scope.partition_id =
      scope.partition_query ? database_->locate_partition_key(request.partition) : database_->partition_ids().front();
  scope.explain = explain_;
  scope.ignore_global = ignore_global_;
  choose_pin(**prepared, scope);
  std::vector<Bookmark::Left> left;
  if ((*prepared)->bookmark) left = (*prepared)->bookmark->left;
  std::optional<StorageStatistics> statistics;
  BuildPatience patience{.time = build_patience};
  if (!request.use_index.empty()) patience = {.time = named_build_patience, .needs_index = true};
  if (!request.update) patience = {.time = {}};
  PlannerResult planned;
  while (true) {
    statistics.emplace(*database_, request.partition);
    const auto plan_now = [&] {
      auto plans = plan_query(plan_request, *catalog, scope, *statistics);
      const bool is_gone = !plans && plans.error().code == ErrorCode::index_gone;
      if (!is_gone || !leave_gone_index(**prepared, *catalog, scope, left)) return plans;
      return plan_query(plan_request, *catalog, scope, *statistics);
    };
    OCTAVO_CO_TRY(planned, co_await work_on_find(*database_, body_.size(), plan_now));
    const IndexView* waiting = find_unbuilt(planned.plans[planned.sure], scope);
    if (!waiting) break;
    OCTAVO_CO_TRY_VOID(co_await wait_until_built(indexes_, *waiting, patience, catalog, scope));
  }
  if (explain_) (*prepared)->candidates = planned.candidates;
  OCTAVO_CO_TRY_VOID(finish(**prepared, std::move(planned), left));
  if (const auto documents = statistics->documents()) (*prepared)->planned_documents = documents->count;
  const bool may_lapse = std::ranges::any_of((*prepared)->plans, &Plan::order_may_lapse);
  std::shared_ptr<const PreparedFind> result = std::move(*prepared);
  // A partition named in the body is part of the text; one in the URL is not, and is passed again with each run.
  if (!cache_key_.empty() && !request.bookmark && !scope.ignore_unbuilt && !may_lapse) {
    indexes_.cache().store(cache_key_, catalog->generation, result);
  }
  co_return Result(std::move(result));
}

Task<Expected<std::shared_ptr<const PreparedFind>>> prepare_find(MangoIndexes& indexes, std::string_view body,
                                                                 std::string partition_key, bool explain,
                                                                 bool ignore_global) {
  using Result = Expected<std::shared_ptr<const PreparedFind>>;
  const FindPreparation preparation(indexes, body, std::move(partition_key), explain, ignore_global);
  if (auto earlier = preparation.earlier()) co_return Result(std::move(earlier));
  auto request = co_await preparation.parse();
  if (!request) co_return Result(std::unexpected(std::move(request).error()));
  co_return co_await preparation.plan(*std::move(request));
}

}  // namespace octavo::query
