#include "query/copy/copy_catalog.h"

#include <algorithm>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "query/follow/open_sources.h"
#include "query/json/parsed_document.h"
#include "query/project/projection_catalog.h"

namespace octavo::query::copy {

namespace {

namespace json = boost::json;
using storage::Catalog;

using project::copy_prefix;
constexpr std::string_view sources_area = "copies";

std::string fact_name(std::string_view id) {
  return std::string(copy_prefix) + std::string(id);
}

std::string to_text(const CopyRecord& record) {
  json::object object{{"target_tag", record.target_tag},
                      {"paused", record.paused},
                      {"ended", record.has_ended},
                      {"created", record.created_s},
                      {"definition", record.definition.json}};
  if (record.removes_target) object["removes_target"] = true;
  return json::serialize(object);
}

Expected<CopyRecord> from_text(std::string_view id, std::string_view text) {
  const auto damaged = [&] {
    return fail(ErrorCode::corrupted, fmt::format("What is stored of copy {} is damaged.", id));
  };
  const auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object()) return damaged();
  const json::object& object = parsed->get_object();
  const auto* const paused = object.if_contains("paused");
  const auto* const ended = object.if_contains("ended");
  const auto* const created = object.if_contains("created");
  const auto* const definition = object.if_contains("definition");
  if (!paused || !paused->is_bool() || !ended || !ended->is_bool() || !created || !created->is_int64() || !definition ||
      !definition->is_object()) {
    return damaged();
  }
  CopyRecord record;
  record.id = id;
  record.target_tag = text_member(object, "target_tag");
  record.paused = paused->get_bool();
  record.has_ended = ended->get_bool();
  record.created_s = created->get_int64();
  const auto* const removes_target = object.if_contains("removes_target");
  record.removes_target = removes_target != nullptr && removes_target->is_bool() && removes_target->get_bool();
  OCTAVO_TRY(record.definition, CopyDefinition::parse(definition->get_object()));
  return record;
}

}  // namespace

Expected<std::vector<CopyRecord>> copies_of(Catalog& catalog, std::string_view source_tag) {
  OCTAVO_TRY(const auto facts, catalog.facts(Catalog::area_of_database(source_tag)));
  std::vector<CopyRecord> records;
  for (const auto& [name, text] : facts) {
    if (!name.starts_with(copy_prefix)) continue;
    OCTAVO_TRY(auto record, from_text(std::string_view(name).substr(copy_prefix.size()), text));
    records.push_back(std::move(record));
  }
  std::ranges::sort(records, {}, [](const CopyRecord& one) { return std::pair(one.created_s, one.id); });
  return records;
}

Expected<void> add_copy(Catalog& catalog, const partitioning::Database& source, const partitioning::Database& target,
                        const CopyRecord& record) {
  OCTAVO_TRY(const auto owners, project::owners_of(catalog, target.instance_tag()));
  if (!owners.owners.empty()) {
    return fail(ErrorCode::conflict,
                fmt::format("{} belongs to the {} already.", target.name(), owners.owners.front().name), "copy_target");
  }
  // The target's fact counts only if the source has the copy, so it comes first.
  const json::object from{{"tag", source.instance_tag()}, {"source", source.name()}, {"copy", record.id}};
  OCTAVO_TRY_VOID(catalog.set_fact(Catalog::area_of_database(target.instance_tag()), project::copied_from_fact,
                                   json::serialize(from)));
  OCTAVO_TRY_VOID(catalog.set_fact(sources_area, source.instance_tag(), ""));
  return store_copy(catalog, source.instance_tag(), record);
}

Expected<void> store_copy(Catalog& catalog, std::string_view source_tag, const CopyRecord& record) {
  return catalog.set_fact(Catalog::area_of_database(source_tag), fact_name(record.id), to_text(record));
}

namespace {

// A database may have been part of a later copy since.
Expected<void> erase_note(Catalog& catalog, std::string_view tag, std::string_view name, std::string_view copy) {
  const std::string area = Catalog::area_of_database(tag);
  OCTAVO_TRY(const auto note, catalog.fact(area, name));
  const auto parsed = note ? parse_json(*note) : Expected<json::value>(nullptr);
  if (!parsed || !parsed->is_object() || text_member(parsed->get_object(), "copy") != copy) return {};
  return catalog.erase_fact(area, name);
}

}  // namespace

Expected<void> erase_copy(Catalog& catalog, std::string_view source_tag, const CopyRecord& record) {
  OCTAVO_TRY_VOID(catalog.erase_fact(Catalog::area_of_database(source_tag), fact_name(record.id)));
  OCTAVO_TRY_VOID(erase_note(catalog, source_tag, project::replaced_by_fact, record.id));
  return erase_note(catalog, record.target_tag, project::copied_from_fact, record.id);
}

std::vector<storage::FactChange> facts_of_change_over(const partitioning::Database& source, const CopyRecord& ended) {
  const std::string area = Catalog::area_of_database(source.instance_tag());
  const json::object replaced_by{{"name", source.name()}, {"copy", ended.id}};
  return {{area, fact_name(ended.id), to_text(ended)},
          {area, std::string(project::replaced_by_fact), json::serialize(replaced_by)},
          {Catalog::area_of_database(ended.target_tag), std::string(project::copied_from_fact), std::nullopt}};
}

Expected<std::vector<std::string>> sources_of_copies(Catalog& catalog) {
  return noted_sources(catalog, sources_area, [&](std::string_view tag) -> Expected<bool> {
    OCTAVO_TRY(const auto copies, copies_of(catalog, tag));
    return std::ranges::any_of(copies, [](const auto& one) { return !one.has_ended || one.removes_target; });
  });
}

Expected<std::vector<std::string>> forget_running_copies(Catalog& catalog) {
  std::vector<std::string> targets;
  OCTAVO_TRY(const auto names, sources_of_copies(catalog));
  for (const std::string& name : names) {
    OCTAVO_TRY(const auto source, catalog.find(name));
    if (!source) continue;
    OCTAVO_TRY(const auto copies, copies_of(catalog, source->instance_tag));
    for (const CopyRecord& record : copies) {
      if (record.has_ended && !record.removes_target) continue;
      targets.push_back(record.target_tag);
      OCTAVO_TRY_VOID(erase_copy(catalog, source->instance_tag, record));
    }
  }
  return targets;
}

}  // namespace octavo::query::copy
