#include "query/project/projection_catalog.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/digest.h"
#include "query/follow/open_sources.h"
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
constexpr std::size_t projections_max = 20;  // of a source

std::string fact_name(std::string_view projection) {
  return std::string(projection_prefix) + std::string(projection);
}

std::string owner_fact_name(std::uint32_t owner) {
  return std::string(owner_prefix) + std::to_string(owner);
}

json::array tags_json(const std::vector<std::string>& tags) {
  json::array shown;
  for (const std::string& tag : tags) shown.push_back(json::value(tag));
  return shown;
}

std::string to_text(const ProjectionRecord& record) {
  json::object object{{"identity", record.identity},
                      {"generation", record.generation},
                      {"owner", record.owner},
                      {"target_tag", record.target_tag},
                      {"join_tags", tags_json(record.join_tags)},
                      {"paused", record.paused},
                      {"removing", record.removing},
                      {"former", record.former},
                      {"definition", record.definition.json}};
  if (!record.former_target.empty()) object["former_target"] = record.former_target;
  if (record.next) {
    json::object next{{"identity", record.next->identity},
                      {"generation", record.next->generation},
                      {"join_tags", tags_json(record.next->join_tags)},
                      {"definition", record.next->definition.json}};
    if (const auto& target = record.next->target) {
      next["target"] = json::object{{"name", target->name}, {"tag", target->tag}, {"owner", target->owner}};
    }
    object["next"] = std::move(next);
  }
  return json::serialize(object);
}

std::unexpected<Error> damaged_projection(std::string_view name) {
  return fail(ErrorCode::corrupted, fmt::format("What is stored of the projection {} is damaged.", name));
}

/// The members that a definition and a changed one have.
template <class Record>
Expected<void> read_version(std::string_view name, const json::object& object, Record& record) {
  const auto* const definition = object.if_contains("definition");
  const auto* const generation = object.if_contains("generation");
  const auto* const tags = object.if_contains("join_tags");
  if (!definition || !definition->is_object() || !generation || !generation->is_int64() || !tags || !tags->is_array()) {
    return damaged_projection(name);
  }
  record.identity = text_member(object, "identity");
  record.generation = static_cast<std::uint64_t>(generation->get_int64());
  OCTAVO_TRY(record.definition, ProjectionDefinition::parse(definition->get_object()));
  if (tags->get_array().size() != record.definition.joins.size()) return damaged_projection(name);
  for (const json::value& tag : tags->get_array()) {
    if (!tag.is_string()) return damaged_projection(name);
    record.join_tags.emplace_back(tag.get_string());
  }
  return {};
}

Expected<NextDefinition::Target> read_target(std::string_view name, const json::value& value) {
  const auto* const object = value.if_object();
  const auto* const owner = object != nullptr ? object->if_contains("owner") : nullptr;
  if (owner == nullptr || !owner->is_int64()) return damaged_projection(name);
  return NextDefinition::Target{text_member(*object, "name"), text_member(*object, "tag"),
                                static_cast<std::uint32_t>(owner->get_int64())};
}

Expected<NextDefinition> read_next(std::string_view name, const json::object& object) {
  NextDefinition next;
  OCTAVO_TRY_VOID(read_version(name, object, next));
  if (const auto* const target = object.if_contains("target")) {
    OCTAVO_TRY(next.target, read_target(name, *target));
  }
  return next;
}

Expected<ProjectionRecord> from_text(std::string_view name, std::string_view text) {
  const auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object()) return damaged_projection(name);
  const json::object& object = parsed->get_object();
  const auto* const owner = object.if_contains("owner");
  const auto* const paused = object.if_contains("paused");
  const auto* const removing = object.if_contains("removing");
  const auto* const next = object.if_contains("next");
  if (!owner || !owner->is_int64() || !paused || !paused->is_bool() || !removing || !removing->is_bool() ||
      (next && !next->is_object())) {
    return damaged_projection(name);
  }
  ProjectionRecord record;
  record.name = name;
  record.owner = static_cast<std::uint32_t>(owner->get_int64());
  record.target_tag = text_member(object, "target_tag");
  record.paused = paused->get_bool();
  record.removing = removing->get_bool();
  record.former = text_member(object, "former");
  record.former_target = text_member(object, "former_target");
  OCTAVO_TRY_VOID(read_version(name, object, record));
  if (next) {
    OCTAVO_TRY(record.next, read_next(name, next->get_object()));
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
                  ? fmt::format("The target belongs to the {} alone.", exclusive->name)
                  : fmt::format("The target has rows of the {}, so it cannot belong to another one alone.",
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
  edge.target = record.target_tag;
  const auto add = [&](const ProjectionDefinition& definition, const std::vector<std::string>& join_tags) {
    if (definition.include_derived) edge.inputs.emplace(source_tag);
    for (std::size_t join = 0; join < join_tags.size(); ++join) {
      if (definition.joins[join].include_derived) edge.inputs.insert(join_tags[join]);
    }
  };
  add(record.definition, record.join_tags);
  if (record.next) add(record.next->definition, record.next->join_tags);
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

Expected<void> check_loop(Catalog& catalog, std::string_view source_tag, const ProjectionRecord& record) {
  OCTAVO_TRY(const bool loops, would_loop(catalog, edge_of(source_tag, record)));
  if (!loops) return {};
  return fail(ErrorCode::conflict, "Rows of the projection would come back to it by `include_derived`.",
              "projection_loop");
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

Expected<void> check_number(std::size_t projections) {
  if (projections < projections_max) return {};
  return fail(ErrorCode::bad_request, fmt::format("A database has at most {} projections.", projections_max), "limit");
}

Expected<ProjectionRecord> add_projection(Catalog& catalog, const partitioning::Database& source,
                                          const partitioning::Database& target, std::span<const JoinedDatabase> joined,
                                          std::string name, ProjectionDefinition definition) {
  OCTAVO_TRY(const auto existing, projections_of(catalog, source.instance_tag()));
  OCTAVO_TRY_VOID(check_number(existing.size()));
  OCTAVO_TRY(const auto owners, owners_of(catalog, target.instance_tag()));
  OCTAVO_TRY_VOID(check_exclusive(owners, definition.exclusive));
  ProjectionRecord record;
  record.name = std::move(name);
  record.identity = new_identity();
  record.target_tag = target.instance_tag();
  record.definition = std::move(definition);
  for (const JoinedDatabase& one : joined) record.join_tags.push_back(one.database->instance_tag());
  OCTAVO_TRY(record.owner, next_owner(catalog, target.instance_tag()));
  // An owner whose projection is not stored, because of a crash here, counts for nothing.
  for (const auto& fact :
       {owner_fact(source.name(), source.instance_tag(), record), noted_source(source.instance_tag())}) {
    OCTAVO_TRY_VOID(catalog.set_fact(fact.area, fact.name, *fact.value));
  }
  const auto text = [&](std::optional<std::string_view> before) -> Expected<std::string> {
    if (before) return fail(ErrorCode::conflict, "There is a projection of this name.");
    // Here no other one is being added.
    OCTAVO_TRY_VOID(check_loop(catalog, source.instance_tag(), record));
    return to_text(record);
  };
  OCTAVO_TRY_VOID(catalog.change_fact(Catalog::area_of_database(source.instance_tag()), fact_name(record.name), text));
  return record;
}

storage::FactChange source_fact(std::string_view source_tag, const ProjectionRecord& record) {
  return {Catalog::area_of_database(source_tag), fact_name(record.name), to_text(record)};
}

storage::FactChange owner_fact(std::string_view source, std::string_view source_tag, const ProjectionRecord& record) {
  const json::object owner{
      {"source", source}, {"tag", source_tag}, {"projection", record.name}, {"exclusive", record.definition.exclusive}};
  return {Catalog::area_of_database(record.target_tag), owner_fact_name(record.owner), json::serialize(owner)};
}

storage::FactChange noted_source(std::string_view source_tag) {
  return {std::string(sources_area), std::string(source_tag), std::string(source_tag)};
}

std::string new_identity() {
  return crypto::hex_identity(crypto::random_bytes(identity_bytes));
}

Expected<void> replace_projection(Catalog& catalog, std::string_view source_tag, std::string_view identity,
                                  const ProjectionRecord& record) {
  return catalog.change_fact(Catalog::area_of_database(source_tag), fact_name(record.name),
                             [&](std::optional<std::string_view> before) -> Expected<std::string> {
                               if (!before) return fail(ErrorCode::not_found, "missing");
                               OCTAVO_TRY(const auto present, from_text(record.name, *before));
                               if (present.identity != identity) {
                                 return fail(ErrorCode::conflict,
                                             "The projection was changed over meanwhile: read its present `rev`.");
                               }
                               if (record.next) OCTAVO_TRY_VOID(check_loop(catalog, source_tag, record));
                               return to_text(record);
                             });
}

NextDefinition next_of(const ProjectionRecord& record, std::span<const JoinedDatabase> joined,
                       ProjectionDefinition definition) {
  NextDefinition next;
  next.identity = new_identity();
  next.generation = std::max(record.generation, record.next ? record.next->generation : 0) + 1;
  for (const JoinedDatabase& one : joined) next.join_tags.push_back(one.database->instance_tag());
  next.definition = std::move(definition);
  return next;
}

ProjectionRecord record_of_next(const ProjectionRecord& record) {
  ProjectionRecord version = record;
  version.identity = record.next->identity;
  version.generation = record.next->generation;
  version.join_tags = record.next->join_tags;
  version.definition = record.next->definition;
  if (record.next->target) {
    version.owner = record.next->target->owner;
    version.target_tag = record.next->target->tag;
  }
  version.former.clear();
  version.former_target.clear();
  version.next.reset();
  return version;
}

Expected<std::uint32_t> add_next_target(Catalog& catalog, const partitioning::Database& source,
                                        const partitioning::Database& target, const ProjectionRecord& record) {
  ProjectionRecord version = record_of_next(record);
  version.target_tag = target.instance_tag();
  OCTAVO_TRY(version.owner, next_owner(catalog, version.target_tag));
  const auto fact = owner_fact(source.name(), source.instance_tag(), version);
  OCTAVO_TRY_VOID(catalog.set_fact(fact.area, fact.name, *fact.value));
  return version.owner;
}

storage::FactChange replaced_fact(const partitioning::Database& target) {
  return {Catalog::area_of_database(target.instance_tag()), std::string(replaced_by_fact),
          json::serialize(json::object{{"name", target.name()}})};
}

Expected<void> erase_projection(Catalog& catalog, std::string_view source_tag, const ProjectionRecord& record) {
  OCTAVO_TRY_VOID(catalog.erase_fact(Catalog::area_of_database(source_tag), fact_name(record.name)));
  return catalog.erase_fact(Catalog::area_of_database(record.target_tag), owner_fact_name(record.owner));
}

namespace {

// The copy that the fact `copied_from` names, unless it has ended (query/copy/copy_catalog.h).
Expected<std::optional<storage::DocumentOwners::Owner>> copy_into(Catalog& catalog, std::string_view copied_from) {
  const auto from = parse_json(copied_from);
  if (!from || !from->is_object()) return std::nullopt;
  const json::object& object = from->get_object();
  OCTAVO_TRY(const auto stored, catalog.fact(Catalog::area_of_database(text_member(object, "tag")),
                                             std::string(copy_prefix) + text_member(object, "copy")));
  const auto record = stored ? parse_json(*stored) : Expected<json::value>(nullptr);
  if (!record || !record->is_object()) return std::nullopt;
  const auto* const ended = record->get_object().if_contains("ended");
  if (ended != nullptr && *ended == true) return std::nullopt;
  return storage::DocumentOwners::Owner{storage::copy_owner, "copy of " + text_member(object, "source"), true};
}

// Whether the projection, or its changed definition, has this number in a target.
bool writes_as(const ProjectionRecord& record, std::uint32_t owner, std::string_view target_tag) {
  if (record.owner == owner && record.target_tag == target_tag) return true;
  const auto* const next = record.next && record.next->target ? &*record.next->target : nullptr;
  return next != nullptr && next->owner == owner && next->tag == target_tag;
}

// It keeps the database as it was when its name was given away.
storage::DocumentOwners::Owner successor_of(std::string_view replaced_by) {
  const auto parsed = parse_json(replaced_by);
  const bool is_whole = parsed && parsed->is_object();
  const std::string name = is_whole ? text_member(parsed->get_object(), "name") : std::string();
  return {storage::copy_owner, "database " + name + ", which has taken the place of this one,", true};
}

}  // namespace

Expected<storage::DocumentOwners> owners_of(Catalog& catalog, std::string_view target_tag) {
  OCTAVO_TRY(const auto facts, catalog.facts(Catalog::area_of_database(target_tag)));
  storage::DocumentOwners owners;
  for (const auto& [name, text] : facts) {
    if (name == copied_from_fact) {
      OCTAVO_TRY(auto copy, copy_into(catalog, text));
      if (copy) owners.owners.insert(owners.owners.begin(), *std::move(copy));
    }
    if (name == replaced_by_fact) owners.owners.insert(owners.owners.begin(), successor_of(text));
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
    if (record && !writes_as(*record, owner.number, target_tag)) continue;
    owner.name = "projection " + projection + " of " + text_member(object, "source");
    const auto* const exclusive = object.if_contains("exclusive");
    owner.exclusive = exclusive != nullptr && exclusive->is_bool() && exclusive->get_bool();
    owners.owners.push_back(std::move(owner));
  }
  return owners;
}

Expected<std::vector<SourceProjection>> readers_of(Catalog& catalog, std::string_view tag) {
  std::vector<SourceProjection> readers;
  OCTAVO_TRY(const auto all_sources, catalog.facts(sources_area));
  for (const auto& [key, source_tag] : all_sources) {
    OCTAVO_TRY(auto projections, projections_of(catalog, source_tag));
    for (ProjectionRecord& record : projections) {
      const auto joins = [&](const std::vector<std::string>& tags) {
        return std::ranges::find(tags, tag) != tags.end();
      };
      const bool reads = source_tag == tag || joins(record.join_tags) || (record.next && joins(record.next->join_tags));
      if (reads) readers.push_back({source_tag, std::move(record)});
    }
  }
  return readers;
}

Expected<std::vector<std::string>> sources(Catalog& catalog) {
  return noted_sources(catalog, sources_area, [&](std::string_view tag) -> Expected<bool> {
    OCTAVO_TRY(const auto projections, projections_of(catalog, tag));
    return !projections.empty();
  });
}

}  // namespace octavo::query::project
