#include "query/view/view_definition.h"

#include <algorithm>

#include <boost/json.hpp>

#include "query/collation/collation.h"
#include "query/index/index_definition.h"
#include "query/json/parsed_document.h"

namespace octavo::query::views {

namespace {

namespace json = boost::json;

// Version of the formats of rows, summaries and reductions. A new version rebuilds all views.
constexpr int format_version = 1;

std::optional<std::string> string_member(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  if (!value || !value->is_string()) return std::nullopt;
  return std::string(value->get_string());
}

bool flag(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  return value && value->is_bool() && value->get_bool();
}

}  // namespace

std::optional<std::size_t> ViewGroupDefinition::find(std::string_view name) const {
  const auto found = std::ranges::find(views, name, &ViewSource::name);
  if (found == views.end()) return std::nullopt;
  return static_cast<std::size_t>(found - views.begin());
}

std::string ViewGroupDefinition::content() const {
  json::array sources;
  for (const auto& source : views) {
    json::object one{{"name", source.name}, {"map", source.map}};
    if (source.reduce) one["reduce"] = *source.reduce;
    sources.push_back(std::move(one));
  }
  json::object content{{"format", format_version},
                       {"collation", options.raw_collation ? "raw" : collation_version()},
                       {"raw", options.raw_collation},
                       {"include_design", options.include_design},
                       {"local_seq", options.local_sequence},
                       {"partitioned", partitioned},
                       {"modules", modules},
                       {"views", std::move(sources)}};
  if (of_indexes) content["language"] = "query";
  return json::serialize(content);
}

Expected<ViewGroupDefinition> ViewGroupDefinition::from_content(std::string_view content) {
  const auto damaged = [] { return fail(ErrorCode::bad_request, "The stored definition of a view is damaged."); };
  OCTAVO_TRY(const auto value, parse_json(content));
  const auto* object = value.if_object();
  const auto* views = object ? object->if_contains("views") : nullptr;
  if (!views || !views->is_array()) return damaged();
  ViewGroupDefinition definition;
  for (const auto& entry : views->get_array()) {
    const auto* source = entry.if_object();
    if (!source) return damaged();
    const auto name = string_member(*source, "name");
    const auto map = string_member(*source, "map");
    if (!name || !map) return damaged();
    definition.views.push_back({*name, *map, string_member(*source, "reduce")});
  }
  definition.modules = string_member(*object, "modules").value_or("");
  definition.options.raw_collation = flag(*object, "raw");
  definition.options.include_design = flag(*object, "include_design");
  definition.options.local_sequence = flag(*object, "local_seq");
  definition.partitioned = flag(*object, "partitioned");
  definition.of_indexes = string_member(*object, "language") == "query";
  return definition;
}

std::optional<ViewGroupDefinition> view_group_of(const DesignDocument& design, bool database_is_partitioned) {
  if (design.views.empty()) return std::nullopt;
  ViewGroupDefinition definition;
  definition.views = design.views;
  std::ranges::sort(definition.views, {}, &ViewSource::name);
  definition.modules = design.view_modules;
  definition.options = design.options;
  definition.options.partitioned.reset();
  definition.partitioned = design.partitioned(database_is_partitioned);
  return definition;
}

std::optional<ViewGroupDefinition> view_group_of_indexes(std::string_view id, std::string_view body,
                                                         bool database_is_partitioned) {
  const auto indexes = definitions_from_design_document(id, body, database_is_partitioned);
  if (!indexes || indexes->empty() || indexes->size() > design_views_max) return std::nullopt;
  ViewGroupDefinition definition;
  definition.of_indexes = true;
  definition.partitioned = indexes->front()->partitioned;
  for (const auto& index : *indexes) {
    definition.views.push_back({index->name, serialize_json(index->def_to_json()), "_count"});
  }
  return definition;
}

}  // namespace octavo::query::views
