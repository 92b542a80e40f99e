#include "query/project/projection_catalog.h"

#include <charconv>
#include <set>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/digest.h"
#include "query/json/parsed_document.h"

namespace octavo::query::project {

namespace {

namespace json = boost::json;
using storage::Catalog;

constexpr std::string_view projection_prefix = "projection/";
constexpr std::string_view owner_prefix = "projection_owner/";
constexpr std::string_view last_owner_name = "projection_owners";
constexpr std::string_view sources_area = "projections";
constexpr std::size_t identity_bytes = 16;
constexpr std::string_view loop_reason = "Rows of the projection would come back to it by `include_derived`.";
constexpr std::size_t projections_max = 20;  // of a source

std::string fact_name(std::string_view projection) {
  return std::string(projection_prefix) + std::string(projection);
}

std::string owner_fact_name(std::uint32_t owner) {
  return std::string(owner_prefix) + std::to_string(owner);
}

std::string to_text(const ProjectionRecord& record) {
  json::array join_tags;
  for (const std::string& tag : record.join_tags) join_tags.push_back(json::value(tag));
  return json::serialize(json::object{{"identity", record.identity},
                                      {"generation", record.generation},
                                      {"owner", record.owner},
                                      {"target_tag", record.target_tag},
                                      {"join_tags", std::move(join_tags)},
                                      {"paused", record.paused},
                                      {"removing", record.removing},
                                      {"definition", record.definition.json}});
}

Expected<ProjectionRecord> from_text(std::string_view name, std::string_view text) {
  const auto damaged = [&] {
    return fail(ErrorCode::corrupted, fmt::format("What is stored of the projection {} is damaged.", name));
  };
  const auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object()) return damaged();
  const json::object& object = parsed->get_object();
  const auto* const definition = object.if_contains("definition");
  const auto* const generation = object.if_contains("generation");
  const auto* const owner = object.if_contains("owner");
  const auto* const paused = object.if_contains("paused");
  const auto* const removing = object.if_contains("removing");
  if (!definition || !definition->is_object() || !generation || !generation->is_int64() || !owner ||
      !owner->is_int64() || !paused || !paused->is_bool() || !removing || !removing->is_bool()) {
    return damaged();
  }
  ProjectionRecord record;
  record.name = name;
  record.identity = text_member(object, "identity");
  record.generation = static_cast<std::uint64_t>(generation->get_int64());
  record.owner = static_cast<std::uint32_t>(owner->get_int64());
  record.target_tag = text_member(object, "target_tag");
  record.paused = paused->get_bool();
  record.removing = removing->get_bool();
  OCTAVO_TRY(record.definition, ProjectionDefinition::parse(definition->get_object()));
  const auto* const tags = object.if_contains("join_tags");
  if (!tags || !tags->is_array() || tags->get_array().size() != record.definition.joins.size()) return damaged();
  for (const json::value& tag : tags->get_array()) {
    if (!tag.is_string()) return damaged();
    record.join_tags.emplace_back(tag.get_string());
  }
  return record;
}

Expected<std::uint32_t> next_owner(Catalog& catalog, std::string_view target_tag) {
  std::uint32_t number = 0;
  OCTAVO_TRY_VOID(catalog.change_fact(Catalog::area_of_database(target_tag), last_owner_name,
                                      [&](std::optional<std::string_view> last) -> Expected<std::string> {
                                        number = 0;
                                        if (last) std::from_chars(last->data(), last->data() + last->size(), number);
                                        return std::to_string(++number);
                                      }));
  return number;
}

Expected<void> check_exclusive(const storage::DocumentOwners& owners, bool wants_all) {
  const auto* const exclusive = owners.exclusive();
  if (exclusive == nullptr && (!wants_all || owners.owners.empty())) return {};
  return fail(ErrorCode::conflict,
              exclusive != nullptr
                  ? fmt::format("The target belongs to the projection {} alone.", exclusive->name)
                  : fmt::format("The target has rows of the projection {}, so it cannot belong to another one alone.",
                                owners.owners.front().name),
              "not_exclusive");
}

/// What a projection reads so that rows of others have an effect, and where it writes.
struct Edge {
  std::set<std::string> inputs;  ///< tags
  std::string target;
};

Edge edge_of(std::string_view source_tag, const ProjectionRecord& record) {
  Edge edge;
  if (record.definition.include_derived) edge.inputs.emplace(source_tag);
  for (std::size_t join = 0; join < record.join_tags.size(); ++join) {
    if (record.definition.joins[join].include_derived) edge.inputs.insert(record.join_tags[join]);
  }
  edge.target = record.target_tag;
  return edge;
}

// Whether rows of `added` would come back to it.
Expected<bool> would_loop(Catalog& catalog, const Edge& added) {
  std::vector<Edge> edges;
  OCTAVO_TRY(const auto all_sources, catalog.facts(sources_area));
  for (const auto& [name, tag] : all_sources) {
    OCTAVO_TRY(const auto projections, projections_of(catalog, tag));
    for (const ProjectionRecord& record : projections) edges.push_back(edge_of(tag, record));
  }
  std::set<std::string> reached;
  std::vector<std::string> next{added.target};
  while (!next.empty()) {
    const std::string tag = std::move(next.back());
    next.pop_back();
    if (added.inputs.contains(tag)) return true;
    if (!reached.insert(tag).second) continue;
    for (const Edge& edge : edges) {
      if (edge.inputs.contains(tag)) next.push_back(edge.target);
    }
  }
  return false;
}

}  // namespace

Expected<std::vector<ProjectionRecord>> projections_of(Catalog& catalog, std::string_view source_tag) {
  OCTAVO_TRY(const auto facts, catalog.facts(Catalog::area_of_database(source_tag)));
  std::vector<ProjectionRecord> records;
  for (const auto& [name, text] : facts) {
    if (!name.starts_with(projection_prefix)) continue;
    OCTAVO_TRY(auto record, from_text(std::string_view(name).substr(projection_prefix.size()), text));
    records.push_back(std::move(record));
  }
  return records;
}

Expected<ProjectionRecord> add_projection(Catalog& catalog, const partitioning::Database& source,
                                          const partitioning::Database& target, std::span<const JoinedDatabase> joined,
                                          std::string name, ProjectionDefinition definition) {
  OCTAVO_TRY(const auto existing, projections_of(catalog, source.instance_tag()));
  if (existing.size() >= projections_max) {
    return fail(ErrorCode::bad_request, fmt::format("A database has at most {} projections.", projections_max),
                "limit");
  }
  OCTAVO_TRY(const auto owners, owners_of(catalog, target.instance_tag()));
  OCTAVO_TRY_VOID(check_exclusive(owners, definition.exclusive));
  ProjectionRecord record;
  record.name = std::move(name);
  record.identity = crypto::hex_identity(crypto::random_bytes(identity_bytes));
  record.target_tag = target.instance_tag();
  record.definition = std::move(definition);
  for (const JoinedDatabase& one : joined) record.join_tags.push_back(one.database->instance_tag());
  OCTAVO_TRY(record.owner, next_owner(catalog, target.instance_tag()));
  // An owner whose projection is not stored, because of a crash here, counts for nothing.
  const std::string owner = json::serialize(json::object{{"source", source.name()},
                                                         {"tag", source.instance_tag()},
                                                         {"projection", record.name},
                                                         {"exclusive", record.definition.exclusive}});
  OCTAVO_TRY_VOID(
      catalog.set_fact(Catalog::area_of_database(target.instance_tag()), owner_fact_name(record.owner), owner));
  OCTAVO_TRY_VOID(catalog.set_fact(sources_area, source.name(), source.instance_tag()));
  OCTAVO_TRY_VOID(catalog.change_fact(Catalog::area_of_database(source.instance_tag()), fact_name(record.name),
                                      [&](std::optional<std::string_view> before) -> Expected<std::string> {
                                        if (before) {
                                          return fail(ErrorCode::conflict, "There is a projection of this name.");
                                        }
                                        // Here no other one is being added.
                                        OCTAVO_TRY(const bool loops,
                                                   would_loop(catalog, edge_of(source.instance_tag(), record)));
                                        if (loops)
                                          return fail(ErrorCode::conflict, std::string(loop_reason), "projection_loop");
                                        return to_text(record);
                                      }));
  return record;
}

Expected<void> replace_projection(Catalog& catalog, std::string_view source_tag, const ProjectionRecord& record) {
  return catalog.change_fact(Catalog::area_of_database(source_tag), fact_name(record.name),
                             [&](std::optional<std::string_view> before) -> Expected<std::string> {
                               if (!before) return fail(ErrorCode::not_found, "missing");
                               return to_text(record);
                             });
}

Expected<void> erase_projection(Catalog& catalog, std::string_view source_tag, const ProjectionRecord& record) {
  OCTAVO_TRY_VOID(catalog.erase_fact(Catalog::area_of_database(source_tag), fact_name(record.name)));
  return catalog.erase_fact(Catalog::area_of_database(record.target_tag), owner_fact_name(record.owner));
}

Expected<storage::DocumentOwners> owners_of(Catalog& catalog, std::string_view target_tag) {
  OCTAVO_TRY(const auto facts, catalog.facts(Catalog::area_of_database(target_tag)));
  storage::DocumentOwners owners;
  for (const auto& [name, text] : facts) {
    if (!name.starts_with(owner_prefix)) continue;
    storage::DocumentOwners::Owner owner;
    const std::string_view digits = std::string_view(name).substr(owner_prefix.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), owner.number);
    const auto parsed = parse_json(text);
    if (!parsed || !parsed->is_object()) continue;
    const json::object& object = parsed->get_object();
    const std::string projection = text_member(object, "projection");
    OCTAVO_TRY(const auto stored,
               catalog.fact(Catalog::area_of_database(text_member(object, "tag")), fact_name(projection)));
    if (!stored) continue;
    const auto record = from_text(projection, *stored);
    if (record && (record->owner != owner.number || record->target_tag != target_tag)) continue;
    owner.name = projection + " of " + text_member(object, "source");
    const auto* const exclusive = object.if_contains("exclusive");
    owner.exclusive = exclusive != nullptr && exclusive->is_bool() && exclusive->get_bool();
    owners.owners.push_back(std::move(owner));
  }
  return owners;
}

Expected<std::vector<std::string>> sources(Catalog& catalog) {
  OCTAVO_TRY(const auto facts, catalog.facts(sources_area));
  std::vector<std::string> names;
  for (const auto& [name, tag] : facts) {
    OCTAVO_TRY(const auto record, catalog.find(name));
    OCTAVO_TRY(const auto projections, projections_of(catalog, tag));
    if (record && record->instance_tag == tag && !projections.empty()) {
      names.push_back(name);
    } else {
      OCTAVO_TRY_VOID(catalog.erase_fact(sources_area, name));
    }
  }
  return names;
}

}  // namespace octavo::query::project
