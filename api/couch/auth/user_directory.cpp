#include "api/couch/auth/user_directory.h"

#include <boost/json.hpp>

#include "api/couch/auth/users_database.h"
#include "base/thread_ordinal.h"
#include "query/json/parsed_document.h"

namespace octavo::api::couch {

namespace {

// A purge changes a database without moving its watermark. This limits how long a purged user remains valid.
constexpr std::chrono::seconds recheck_after{1};
constexpr std::size_t name_bytes_max = 512;

std::optional<std::uint64_t> count_member(const boost::json::object& object, std::string_view name) {
  const auto* value = object.if_contains({name.data(), name.size()});
  if (value == nullptr || !value->is_number()) return std::nullopt;
  boost::system::error_code error;
  const auto count = value->to_number<std::uint64_t>(error);
  if (error) return std::nullopt;
  return count;
}

void read_password(const boost::json::object& document, UserRecord& record) {
  StoredPassword stored;
  const std::string scheme = query::text_member(document, "password_scheme");
  stored.salt = query::text_member(document, "salt");
  if (scheme.empty() || scheme == "simple") {
    stored.scheme = StoredPassword::Scheme::simple;
    stored.digest = crypto::Digest::sha1;
    stored.derived_key = query::text_member(document, "password_sha");
  } else if (scheme == "pbkdf2" || scheme == "simple+pbkdf2") {
    if (scheme != "pbkdf2") stored.scheme = StoredPassword::Scheme::simple_pbkdf2;
    // Documents written before this field existed use SHA-1.
    const std::string prf = query::text_member(document, "pbkdf2_prf");
    const auto digest = crypto::digest_from_name(prf.empty() ? "sha" : prf);
    const auto iterations = count_member(document, "iterations");
    if (!digest || !iterations || *iterations == 0) return;
    if (*iterations > StoredPassword::iterations_max) {
      record.too_many_iterations = true;
      return;
    }
    stored.digest = *digest;
    stored.iterations = static_cast<std::uint32_t>(*iterations);
    stored.derived_key = query::text_member(document, "derived_key");
  } else {
    return;
  }
  // A truncated key would make guessing easy; an empty one would match every password.
  if (stored.derived_key.size() != 2 * crypto::digest_bytes(stored.digest)) return;
  record.password = std::move(stored);
}

}  // namespace

std::optional<UserRecord> parse_user_document(std::string_view name, std::string_view body) {
  auto parsed = query::parse_json(body);
  if (!parsed || !parsed->is_object()) return std::nullopt;
  const auto& document = parsed->get_object();
  UserRecord record;
  record.name = name;
  if (query::text_member(document, "type") != "user" || query::text_member(document, "name") != name)
    return std::nullopt;
  if (const auto* roles = document.if_contains("roles"); roles != nullptr && roles->is_array()) {
    for (const auto& role : roles->get_array()) {
      if (!role.is_string()) continue;
      const std::string_view text = role.get_string();
      if (!text.starts_with('_') || text == "_metrics") record.roles.emplace_back(text);
    }
  }
  read_password(document, record);
  return record;
}

UserDirectory::UserDirectory(partitioning::Engine& engine, Admins admins)
    : engine_(engine), admins_(std::move(admins)), has_admins_(!admins_.empty()) {}

void UserDirectory::set_admins(Admins admins) {
  const std::lock_guard lock(admins_mutex_);
  admins_ = std::move(admins);
  has_admins_.store(!admins_.empty(), std::memory_order_release);
  admins_version_.fetch_add(1, std::memory_order_release);
}

UserDirectory::Admins UserDirectory::admins() const {
  const std::lock_guard lock(admins_mutex_);
  return admins_;
}

std::optional<StoredPassword> UserDirectory::admin_password(std::string_view name) const {
  const std::lock_guard lock(admins_mutex_);
  const auto admin = admins_.find(name);
  return admin == admins_.end() ? std::nullopt : std::optional(admin->second);
}

UserDirectory::Slot& UserDirectory::slot_of_this_thread() {
  return slots_[thread_ordinal() % slots_.size()];
}

Expected<std::optional<UserRecord>> UserDirectory::read_document(partitioning::Database& users,
                                                                 std::string_view name) const {
  const std::string id = std::string(user_id_prefix) + std::string(name);
  OCTAVO_TRY(const auto snapshot, users.snapshot_for_document(id));
  OCTAVO_TRY(const auto document, snapshot.find(id));
  if (!document || document->deleted) return std::nullopt;
  auto record = parse_user_document(name, document->body);
  if (record && document->has_conflicts) {
    OCTAVO_TRY(const auto tree, snapshot.revision_branches(*document));
    record->conflicted = tree.live_leaf_count() > 1;
  }
  return record;
}

Expected<std::shared_ptr<const UserRecord>> UserDirectory::find(std::string_view name) {
  if (name.empty() || name.size() > name_bytes_max) return nullptr;
  std::shared_ptr<partitioning::Database> users;
  if (auto opened = engine_.open_database(users_database)) {
    users = std::move(*opened);
  } else if (opened.error().code != ErrorCode::not_found) {
    return std::unexpected(std::move(opened).error());
  }
  const std::uint64_t admins_version = admins_version_.load(std::memory_order_acquire);
  // Read before the document, so that a change in between makes the entry look outdated, never current.
  const storage::Sequence watermark = users ? users->watermark() : 0;
  const std::string_view instance_tag = users ? std::string_view(users->instance_tag()) : std::string_view();
  const auto now = std::chrono::steady_clock::now();

  Slot& slot = slot_of_this_thread();
  {
    const std::lock_guard lock(slot.mutex);
    const Entry* entry = slot.entries.find(name);
    if (entry != nullptr && entry->watermark == watermark && entry->instance_tag == instance_tag &&
        entry->admins_version == admins_version && now - entry->read_at < recheck_after) {
      ++slot.lookups.hits;
      return entry->record;
    }
    ++slot.lookups.misses;
  }

  std::optional<UserRecord> record;
  if (users) {
    OCTAVO_TRY(record, read_document(*users, name));
  }
  if (auto password = admin_password(name)) {
    // An admin may also have a user document, for more roles; its password is not used.
    if (!record) record.emplace();
    record->name = name;
    record->roles.insert(record->roles.begin(), "_admin");
    record->password = std::move(password);
    record->conflicted = false;
    record->too_many_iterations = false;
  }
  std::shared_ptr<const UserRecord> shared;
  if (record) shared = std::make_shared<const UserRecord>(std::move(*record));

  const std::lock_guard lock(slot.mutex);
  slot.entries.insert(std::string(name), Entry{shared, std::string(instance_tag), watermark, admins_version, now});
  return shared;
}

UserLookups UserDirectory::lookups() const {
  UserLookups sum;
  for (const Slot& slot : slots_) {
    const std::lock_guard lock(slot.mutex);
    sum.hits += slot.lookups.hits;
    sum.misses += slot.lookups.misses;
  }
  return sum;
}

void UserDirectory::forget(std::string_view name) {
  for (Slot& slot : slots_) {
    const std::lock_guard lock(slot.mutex);
    slot.entries.erase(name);
  }
}

}  // namespace octavo::api::couch
