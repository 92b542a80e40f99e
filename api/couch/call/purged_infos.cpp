#include "api/couch/call/purged_infos.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "query/json/split.h"

namespace octavo::api::couch {

namespace {

constexpr std::uint64_t purged_infos_limit_default = 1000;
constexpr std::size_t purged_infos_bytes_max = 1024 * 1024;
// Format (purge infos in the catalog):
//   area "purged_infos_limit", name instance tag           → decimal digits
//   area "of:" instance tag,   name "purged_infos"         → JSON [{"id":…,"revs":[…]}, …], oldest first
constexpr std::string_view purged_infos_limit_area = "purged_infos_limit";
constexpr std::string_view purged_infos_name = "purged_infos";

std::string area_of(const partitioning::Database& database) {
  return storage::Catalog::area_of_database(database.instance_tag());
}

// The newest of `infos` within the limits, as a JSON array.
std::string newest_infos(const std::vector<std::string_view>& infos, std::uint64_t limit) {
  std::size_t bytes = 0;
  std::size_t kept = 0;
  while (kept < infos.size() && kept < limit) {
    bytes += infos[infos.size() - 1 - kept].size() + 1;
    if (bytes > purged_infos_bytes_max) break;
    ++kept;
  }
  std::string out = "[";
  for (std::size_t i = infos.size() - kept; i < infos.size(); ++i) {
    if (out.size() > 1) out += ',';
    out += infos[i];
  }
  out += ']';
  return out;
}

}  // namespace

Expected<std::uint64_t> purged_infos_limit(storage::Catalog& catalog, const partitioning::Database& database) {
  OCTAVO_TRY(const auto fact, catalog.fact(purged_infos_limit_area, database.instance_tag()));
  std::uint64_t limit = purged_infos_limit_default;
  if (fact) std::from_chars(fact->data(), fact->data() + fact->size(), limit);
  return limit;
}

Expected<void> set_purged_infos_limit(storage::Catalog& catalog, const partitioning::Database& database,
                                      std::uint64_t limit) {
  return catalog.set_fact(purged_infos_limit_area, database.instance_tag(), std::to_string(limit));
}

Expected<std::string> purged_infos(storage::Catalog& catalog, const partitioning::Database& database) {
  OCTAVO_TRY(auto fact, catalog.fact(area_of(database), purged_infos_name));
  return fact ? *std::move(fact) : std::string("[]");
}

Expected<void> add_purged_infos(storage::Catalog& catalog, const partitioning::Database& database,
                                const std::vector<std::string>& infos) {
  OCTAVO_TRY(const auto limit, purged_infos_limit(catalog, database));
  const auto change = [&](std::optional<std::string_view> before) -> Expected<std::string> {
    std::vector<std::string_view> all;
    if (before) {
      OCTAVO_TRY(all, query::split_array(*before));
    }
    all.insert(all.end(), infos.begin(), infos.end());
    return newest_infos(all, limit);
  };
  return catalog.change_fact(area_of(database), purged_infos_name, change);
}

}  // namespace octavo::api::couch
