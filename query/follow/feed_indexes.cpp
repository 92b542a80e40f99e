#include "query/follow/feed_indexes.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <new>
#include <utility>

#include <boost/json.hpp>
#include <spdlog/spdlog.h>

#include "base/folder.h"
#include "base/jobs/run_guarded.h"
#include "base/memory_retry.h"
#include "query/design/design_scan.h"
#include "query/follow/feed_index_follower.h"

namespace octavo::query {

namespace {

namespace json = boost::json;

constexpr std::string_view definition_file = "definition.json";
constexpr std::chrono::milliseconds retired_look{100};
constexpr std::chrono::milliseconds reopen_delay{2000};

bool is_same_index(const FeedIndexView& view, const FeedIndexKind& kind, const FeedIndexDefinition& definition) {
  return view.kind == kind.name && view.definition.design_document == definition.design_document &&
         view.definition.name == definition.name;
}

struct StoredDefinition {
  std::string content;
  std::vector<std::pair<std::string, std::string>> owners;
};

std::optional<StoredDefinition> read_stored_definition(const std::filesystem::path& folder) {
  std::ifstream file(folder / definition_file, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  json::error_code error;
  const auto value = json::parse(text, error);
  if (error || !value.is_object()) return std::nullopt;
  const auto* content = value.get_object().if_contains("content");
  const auto* owners = value.get_object().if_contains("owners");
  if (!content || !content->is_string() || !owners || !owners->is_array()) return std::nullopt;
  StoredDefinition stored;
  stored.content = std::string(content->get_string());
  for (const auto& owner : owners->get_array()) {
    const auto* pair = owner.if_array();
    if (!pair || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_string()) return std::nullopt;
    stored.owners.emplace_back((*pair)[0].get_string(), (*pair)[1].get_string());
  }
  return stored;
}

// Only helps queries that do not wait, after a restart: losing it in a crash or on a full disk is harmless.
bool store_definition(const std::filesystem::path& folder, const std::string& text) {
  const auto draft = folder / (std::string(definition_file) + ".new");
  {
    std::ofstream file(draft, std::ios::binary | std::ios::trunc);
    file << text;
    if (!file.flush()) return false;
  }
  std::error_code error;
  std::filesystem::rename(draft, folder / definition_file, error);
  return !error;
}

}  // namespace

const FeedIndexView* FeedIndexCatalog::find(std::string_view kind, std::string_view design_document,
                                            std::string_view name) const {
  const auto found = std::ranges::find_if(indexes, [&](const FeedIndexView& view) {
    return view.kind == kind && view.definition.design_document == design_document && view.definition.name == name;
  });
  return found == indexes.end() ? nullptr : &*found;
}

FeedIndexes::FeedIndexes(partitioning::Database& database, ActiveTasks* tasks, const std::vector<FeedIndexKind>& kinds)
    : database_(database),
      kinds_(kinds),
      opened_at_(database.watermark()),
      context_{database, tasks, jobs_, progress_, &database.engine().slow_indexing()},
      jobs_(database.engine().indexers()) {}

FeedIndexes::~FeedIndexes() {
  shut_down();
}

void FeedIndexes::design_documents_changed() {
  if (kinds_.empty()) return;
  changes_.fetch_add(1, std::memory_order_acq_rel);
  if (load_planned_.exchange(true)) return;
  jobs_.post([this] { load_in_background(); });
}

void FeedIndexes::load_in_background() {
  load_planned_.store(false);
  const auto loaded = run_guarded("reading the definitions of views", [this] { return catalog(); });
  if (loaded || database_.deleted()) return;
  spdlog::warn("database {}: cannot read the definitions of views: {}", database_.name(), reason_of(loaded.error()));
  if (may_pass(loaded.error()) && !load_planned_.exchange(true)) {
    jobs_.post_after(reopen_delay, [this] { load_in_background(); });
  }
}

void FeedIndexes::shut_down() {
  {
    const std::lock_guard lock(mutex_);
    context_.shut_down = true;
    for (const auto& follower : followers_) follower->set_stopping(true);
    for (const auto& follower : retired_) follower->set_stopping(true);
  }
  jobs_.stop();
  const std::lock_guard loading(load_mutex_);
  for (const auto& follower : followers_) follower->end_task();
  until_memory_suffices([this] { remove_retired(); });
  progress_.notify_all();
}

std::size_t FeedIndexes::open_store_count() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& follower : followers_) count += follower->index->open_store_count();
  for (const auto& follower : retired_) count += follower->index->open_store_count();
  return count;
}

std::uint64_t FeedIndexes::last_used_ms() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t newest = 0;
  for (const auto& follower : followers_) newest = std::max(newest, follower->index->last_used_ms());
  return newest;
}

std::size_t FeedIndexes::close_idle(std::uint64_t last_used_before_ms) {
  const std::lock_guard lock(mutex_);
  std::size_t closed = 0;
  for (const auto& follower : followers_) closed += follower->index->close_idle(last_used_before_ms);
  return closed;
}

bool FeedIndexes::is_loaded() const {
  // An index that could not be opened may work again: callers should see that.
  return !unopened_.load(std::memory_order_acquire) &&
         changes_loaded_.load(std::memory_order_acquire) == changes_.load(std::memory_order_acquire);
}

Expected<std::shared_ptr<const FeedIndexCatalog>> FeedIndexes::catalog() {
  if (!is_loaded()) OCTAVO_TRY_VOID(load());
  return catalog_.load();
}

Expected<void> FeedIndexes::demand(std::string_view design_document) {
  {
    const std::lock_guard lock(mutex_);
    if (demanded_.emplace(design_document).second) changes_.fetch_add(1, std::memory_order_acq_rel);
  }
  return load();
}

// --- what is defined ---

std::filesystem::path FeedIndexes::folder_of(const FeedIndexKind& kind, std::string_view identity) const {
  return database_.folder() / (std::string(kind.name) + "-" + std::string(identity));
}

// Before a restart a query may have asked for it: then it has files.
bool FeedIndexes::is_asked_for(const FeedIndexKind& kind, const FeedIndexDefinition& definition) const {
  if (!definition.on_demand) return true;
  {
    const std::lock_guard lock(mutex_);
    if (demanded_.contains(definition.design_document)) return true;
  }
  std::error_code ignored;
  return std::filesystem::exists(folder_of(kind, definition.identity), ignored);
}

Expected<std::vector<FeedIndexes::Wanted>> FeedIndexes::read_definitions() {
  std::vector<Wanted> wanted;
  std::set<std::string, std::less<>> gone;
  {
    const std::lock_guard lock(mutex_);
    gone = demanded_;
  }
  OCTAVO_TRY_VOID(for_each_design_document(database_, [&](const storage::DocumentView& document) {
    if (const auto known = gone.find(document.id); known != gone.end()) gone.erase(known);
    const std::string revision = document.revision.to_string();
    for (const auto& kind : kinds_) {
      for (auto& definition : kind.read(document.id, revision, document.body, database_.partitioned())) {
        if (is_asked_for(kind, definition)) wanted.push_back({&kind, std::move(definition)});
      }
    }
  }));
  {
    const std::lock_guard lock(mutex_);
    for (const auto& id : gone) demanded_.erase(id);
  }
  // The limit for design documents does not count indexes on demand, so these must not displace others.
  std::ranges::stable_partition(wanted, [](const Wanted& one) { return !one.definition.on_demand; });
  over_limit_ = wanted.size() > feed_indexes_per_database_max;
  if (over_limit_) {  // by replication, or by two concurrent writes
    spdlog::warn(
        "database {}: of {} views and search indexes only the first {}, by the ids of their design documents, "
        "are made",
        database_.name(), wanted.size(), feed_indexes_per_database_max);
    wanted.erase(wanted.begin() + feed_indexes_per_database_max, wanted.end());
  }
  return wanted;
}

Expected<void> FeedIndexes::load() {
  const std::lock_guard loading(load_mutex_);
  const std::uint64_t changes = changes_.load(std::memory_order_acquire);
  if (changes_loaded_.load(std::memory_order_acquire) == changes && !unopened_) return {};
  std::optional<Error> failure;
  const auto attempt = [&]() -> Expected<void> {
    OCTAVO_TRY(const auto wanted, read_definitions());
    OCTAVO_TRY(failure, open_wanted(wanted));
    if (!loaded_) {
      adopt_folders();
      remove_strays();
      loaded_ = true;
    }
    retire_unwanted();
    write_definitions();
    publish();
    return {};
  };
  auto result = attempt();
  // Set only now: concurrent callers must wait for this load instead of getting the former catalog.
  if (result) changes_loaded_.store(changes, std::memory_order_release);
  unopened_.store(failure.has_value(), std::memory_order_release);
  if (failure && !reopening_planned_.exchange(true)) {
    spdlog::warn("database {}: a view or search index cannot be opened, will try again: {}", database_.name(),
                 reason_of(*failure));
    jobs_.post_after(reopen_delay, [this] {
      reopening_planned_.store(false);
      design_documents_changed();
    });
  }
  remove_retired();
  wake_all(false);
  progress_.notify_all();
  return result;
}

Expected<FeedIndexes::FollowerPtr> FeedIndexes::open(const FeedIndexKind& kind, const FeedIndexDefinition& definition) {
  auto stopping = std::make_shared<std::atomic<bool>>(false);
  FeedIndexOptions options;
  options.folder = folder_of(kind, definition.identity);
  options.durability = database_.engine().settings().durability;
  options.faults = database_.engine().faults();
  options.database_tag = database_.instance_tag();
  options.pool = &database_.engine().indexers();
  options.stopping = stopping;
  OCTAVO_TRY(std::shared_ptr<FeedIndex> index, kind.make(definition, std::move(options)));
  OCTAVO_TRY_VOID(index->open(opened_at_));
  auto follower = std::make_shared<Follower>(*this, kind, definition, std::move(index), std::move(stopping));
  if (follower->index->complete_through() >= database_.watermark()) follower->built.store(true);
  return follower;
}

// Opens the wanted indexes. An index that cannot be opened has its error in the catalog; returns the first error that
// may be temporary.
Expected<std::optional<Error>> FeedIndexes::open_wanted(const std::vector<Wanted>& wanted) {
  std::optional<Error> failure;
  std::vector<FollowerPtr> known;
  std::vector<FeedIndexView> old_views;
  {
    const std::lock_guard lock(mutex_);
    if (context_.shut_down) return fail(ErrorCode::not_found, "Database does not exist.");
    known = followers_;
    // An index that is wanted again before its last reader left continues where it was.
    known.insert(known.end(), retired_.begin(), retired_.end());
    old_views = views_;
  }
  std::vector<FeedIndexView> views;
  std::vector<FollowerPtr> going_on;
  for (const auto& [kind, definition] : wanted) {
    FeedIndexView view{kind->name, definition, nullptr, {}, nullptr};
    auto follower = std::ranges::find_if(known, [&, wanted_kind = kind, &wanted_one = definition](const auto& one) {
      return &one->kind == wanted_kind && one->definition.identity == wanted_one.identity;
    });
    if (follower == known.end()) {
      auto opened = open(*kind, definition);
      if (opened) {
        follower = known.insert(known.end(), *std::move(opened));
      } else {
        view.failure = std::move(opened).error();
        // An invalid definition stays invalid: queries get its error, and it is not retried.
        if (!failure && view.failure->code != ErrorCode::bad_request) failure = view.failure;
      }
    }
    if (follower != known.end()) {
      going_on.push_back(*follower);
      view.index = (*follower)->index;
    }
    if (follower == known.end() || !(*follower)->built.load()) {
      const auto old = std::ranges::find_if(
          old_views, [&](const FeedIndexView& one) { return is_same_index(one, *kind, view.definition); });
      if (old != old_views.end()) {
        const bool replaced = old->index && old->index != view.index;
        const auto built = [&](const FollowerPtr& one) {
          return one->index == old->index && (one->built.load() || one->seen_whole.load());
        };
        view.previous = replaced && std::ranges::any_of(known, built) ? old->index : old->previous;
      }
    }
    views.push_back(std::move(view));
  }
  const std::lock_guard lock(mutex_);
  // All of them have been told to stop meanwhile, and must not continue.
  if (context_.shut_down) return fail(ErrorCode::not_found, "Database does not exist.");
  for (const auto& follower : going_on) follower->set_stopping(false);
  views_ = std::move(views);
  followers_ = std::move(known);
  retired_.clear();
  has_followers_.store(!followers_.empty(), std::memory_order_release);
  return failure;
}

// After a restart: finds the former definitions of indexes that are still being built.
void FeedIndexes::adopt_folders() {
  std::error_code error;
  for (const std::string& name : storage::folder_entries(database_.folder(), error)) {
    for (const auto& kind : kinds_) {
      const std::string prefix = std::string(kind.name) + "-";
      if (!name.starts_with(prefix)) continue;
      const std::string identity = name.substr(prefix.size());
      const auto is_it = [&](const FollowerPtr& one) {
        return &one->kind == &kind && one->definition.identity == identity;
      };
      if (std::ranges::any_of(followers_, is_it)) continue;
      const auto stored = read_stored_definition(database_.folder() / name);
      if (!stored) continue;
      std::vector<FeedIndexView*> owners;
      for (const auto& [design_document, index_name] : stored->owners) {
        for (auto& view : views_) {
          if (!is_same_index(view, kind, {{}, design_document, index_name, {}}) || view.previous) continue;
          const auto unbuilt = [&](const FollowerPtr& one) { return one->index == view.index && !one->built.load(); };
          if (std::ranges::any_of(followers_, unbuilt)) owners.push_back(&view);
        }
      }
      if (owners.empty()) continue;
      auto opened =
          open(kind, {identity, stored->owners.front().first, stored->owners.front().second, stored->content});
      if (!opened || (*opened)->index->identity() != identity) continue;
      (*opened)->built.store(true);
      (*opened)->set_stopping(true);
      const std::lock_guard lock(mutex_);
      for (auto* view : owners) view->previous = (*opened)->index;
      followers_.push_back(*std::move(opened));
    }
  }
}

void FeedIndexes::remove_strays() {
  std::error_code error;
  for (const std::string& name : storage::folder_entries(database_.folder(), error)) {
    const auto is_of_kind = [&](const FeedIndexKind& kind) { return name.starts_with(std::string(kind.name) + "-"); };
    if (std::ranges::none_of(kinds_, is_of_kind)) continue;
    const std::lock_guard lock(mutex_);
    const auto is_it = [&](const FollowerPtr& one) {
      return name == folder_of(one->kind, one->definition.identity).filename();
    };
    if (std::ranges::any_of(followers_, is_it) || std::ranges::any_of(retired_, is_it)) continue;
    // An index that could not be opened, for lack of descriptors or by a disk failure, exists nevertheless.
    const auto is_wanted = [&](const FeedIndexView& view) {
      return name == std::string(view.kind) + "-" + view.definition.identity;
    };
    if (std::ranges::any_of(views_, is_wanted)) continue;
    std::error_code ignored;
    storage::remove_folder(database_.folder() / name, ignored);
  }
}

void FeedIndexes::write_definitions() {
  for (const auto& follower : followers_) {
    json::array owners;
    for (const auto& view : views_) {
      if (view.index != follower->index && view.previous != follower->index) continue;
      owners.push_back(json::array{view.definition.design_document, view.definition.name});
    }
    std::string text =
        json::serialize(json::object{{"content", follower->definition.content}, {"owners", std::move(owners)}});
    if (text == follower->stored_definition) continue;
    if (store_definition(folder_of(follower->kind, follower->definition.identity), text)) {
      follower->stored_definition = std::move(text);
    }
  }
}

// Called with load_mutex_ held.
void FeedIndexes::retire_unwanted() {
  const std::lock_guard lock(mutex_);
  std::vector<FollowerPtr> followers;
  std::vector<FollowerPtr> retired = retired_;
  for (const auto& follower : followers_) {
    const bool wanted =
        std::ranges::any_of(views_, [&](const FeedIndexView& view) { return view.index == follower->index; });
    const bool previous =
        std::ranges::any_of(views_, [&](const FeedIndexView& view) { return view.previous == follower->index; });
    if (!wanted) follower->set_stopping(true);
    (wanted || previous ? followers : retired).push_back(follower);
  }
  followers_ = std::move(followers);
  retired_ = std::move(retired);
  has_followers_.store(!followers_.empty(), std::memory_order_release);
}

void FeedIndexes::publish() {
  const std::lock_guard lock(mutex_);
  auto next = std::make_shared<FeedIndexCatalog>();
  next->indexes = views_;
  next->over_limit = over_limit_;
  catalog_.store(std::move(next));
}

// Repeats while queries still read one. Called with load_mutex_ held, so that none is opened again meanwhile.
void FeedIndexes::remove_retired() {
  std::vector<FollowerPtr> unused;
  bool look_again = false;
  {
    const std::lock_guard lock(mutex_);
    unused.reserve(retired_.size());
    std::erase_if(retired_, [&](auto& follower) {
      // No new reader is possible, as only this list has it. A running job holds the follower.
      if (follower.use_count() > 1 || follower->index.use_count() > 1) return false;
      unused.push_back(std::move(follower));
      return true;
    });
    look_again = !retired_.empty() && !context_.shut_down;
  }
  for (const auto& follower : unused) follower->index->remove_files();
  if (!look_again || removal_planned_.exchange(true)) return;
  jobs_.post_after(retired_look, [this] {
    removal_planned_.store(false);
    const std::lock_guard loading(load_mutex_);
    until_memory_suffices([this] { remove_retired(); });
  });
}

Expected<void> FeedIndexes::clean_up() {
  OCTAVO_TRY_VOID(catalog());
  const std::lock_guard loading(load_mutex_);
  remove_retired();
  remove_strays();
  return {};
}

}  // namespace octavo::query
