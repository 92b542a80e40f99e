#include "query/project/projection_definition.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "query/json/parsed_document.h"

namespace octavo::query::project {

namespace {

namespace json = boost::json;

std::unexpected<Error> invalid(std::string_view member, std::string_view what) {
  return fail(ErrorCode::bad_request, fmt::format("`{}` must be {}.", member, what), "projection_syntax");
}

Expected<void> check_names(const json::object& object, std::string_view where,
                           std::initializer_list<std::string_view> known) {
  for (const auto& member : object) {
    if (std::ranges::find(known, std::string_view(member.key())) != known.end()) continue;
    return fail(ErrorCode::bad_request,
                fmt::format("Unknown member `{}` of {}; the known ones are {}.",
                            std::string_view(member.key()).substr(0, 64), where, fmt::join(known, ", ")),
                "unknown_member");
  }
  return {};
}

Expected<bool> flag(const json::object& object, std::string_view name) {
  const auto* const value = object.if_contains(name);
  if (!value) return false;
  if (!value->is_bool()) return invalid(name, "true or false");
  return value->get_bool();
}

Expected<std::optional<RowTemplate>> read_template(const json::object& object, std::string_view name) {
  const auto* const value = object.if_contains(name);
  if (!value) return std::nullopt;
  if (!value->is_string()) return invalid(name, "a string such as \"{userId}\"");
  OCTAVO_TRY(auto parsed, RowTemplate::parse(value->get_string()));
  return parsed;
}

// A list of names is short for fields with the values that they have in the document.
Expected<void> read_listed(const json::array& list, ProjectionDefinition& definition) {
  for (const json::value& entry : list) {
    if (!entry.is_string()) return invalid("fields", "an object, or a list of names");
    const std::string name(entry.get_string());
    if (name == "*") {
      definition.keeps_all = true;
      continue;
    }
    definition.fields.push_back({name, "c[" + json::serialize(entry) + "]"});
  }
  return {};
}

Expected<void> read_named(const json::object& object, ProjectionDefinition& definition) {
  for (const auto& member : object) {
    const std::string name(member.key());
    if (name == "*") {
      if (!member.value().is_bool() || !member.value().get_bool()) return invalid("fields.*", "true");
      definition.keeps_all = true;
    } else if (member.value().is_string()) {
      definition.fields.push_back({name, std::string(member.value().get_string())});
    } else if (member.value().is_bool() && member.value().get_bool()) {
      definition.fields.push_back({name, "c[" + json::serialize(json::value(name)) + "]"});
    } else {
      return invalid("fields." + name.substr(0, 64), "true, or a string with an SQL expression over c");
    }
  }
  return {};
}

Expected<void> read_fields(const json::object& object, ProjectionDefinition& definition) {
  const auto* const fields = object.if_contains("fields");
  if (!fields) {
    return fail(ErrorCode::bad_request,
                "`fields` is missing: it says what a row has. Or name a function by `transform`.", "projection_syntax");
  }
  if (const auto* list = fields->if_array()) {
    OCTAVO_TRY_VOID(read_listed(*list, definition));
  } else if (const auto* named = fields->if_object()) {
    OCTAVO_TRY_VOID(read_named(*named, definition));
  } else {
    return invalid("fields", "an object, or a list of names");
  }
  if (definition.fields.empty() && !definition.keeps_all) return invalid("fields", "some fields, or {\"*\": true}");
  if (definition.fields.size() > projected_fields_max) {
    return fail(ErrorCode::bad_request, fmt::format("`fields` has more than {} members.", projected_fields_max),
                "limit");
  }
  for (std::size_t i = 0; i < definition.fields.size(); ++i) {
    const auto& field = definition.fields[i];
    const auto others = std::span(definition.fields).first(i);
    if (std::ranges::find(others, field.name, &ProjectionDefinition::Field::name) != others.end()) {
      return fail(ErrorCode::bad_request, fmt::format("`fields` has '{}' twice.", field.name.substr(0, 64)),
                  "projection_syntax");
    }
    if (field.name.empty() || field.name.starts_with('_')) {
      return fail(ErrorCode::bad_request,
                  fmt::format("A row cannot have a field named '{}'.", field.name.substr(0, 64)), "projection_syntax");
    }
  }
  return {};
}

Expected<void> read_transform(const json::value& transform, ProjectionDefinition& definition) {
  if (!transform.is_string() || transform.get_string().empty()) {
    return invalid("transform", "a string with a JavaScript function of the document, such as \"(doc) => [{…}, {…}]\"");
  }
  if (transform.get_string().size() > transform_bytes_max) {
    return fail(ErrorCode::bad_request, fmt::format("`transform` has more than {} bytes.", transform_bytes_max),
                "limit");
  }
  definition.transform = transform.get_string();
  return {};
}

Expected<void> read_newest(const json::object& object, ProjectionDefinition& definition) {
  const auto* const value = object.if_contains("newest");
  if (!value) return {};
  if (!value->is_object()) return invalid("newest", "an object such as {\"by\":\"date\",\"n\":100}");
  const json::object& newest = value->get_object();
  OCTAVO_TRY_VOID(check_names(newest, "newest", {"by", "n"}));
  const std::string by = text_member(newest, "by");
  const auto* const count = newest.if_contains("n");
  if (by.empty()) return invalid("newest.by", "the path of a field of the row");
  if (!count || !count->is_int64()) return invalid("newest.n", "a whole number");
  if (count->get_int64() < 1 || count->get_int64() > newest_max) {
    return fail(ErrorCode::bad_request, fmt::format("`newest.n` must be between 1 and {}.", newest_max), "limit");
  }
  OCTAVO_TRY(auto path, FieldPath::parse(by));
  definition.newest = ProjectionDefinition::Newest{std::move(path), static_cast<std::uint32_t>(count->get_int64())};
  return {};
}

Expected<void> read_target(const json::object& object, ProjectionDefinition& definition) {
  const auto* const value = object.if_contains("target");
  if (!value || !value->is_object()) return invalid("target", "an object such as {\"db\":\"feed\"}");
  const json::object& target = value->get_object();
  OCTAVO_TRY_VOID(check_names(target, "target", {"db", "exclusive", "create"}));
  definition.target = text_member(target, "db");
  if (definition.target.empty()) return invalid("target.db", "the name of a database");
  OCTAVO_TRY(definition.exclusive, flag(target, "exclusive"));
  if (const auto* create = target.if_contains("create")) {
    if (!create->is_object()) return invalid("target.create", "an object such as {\"partitioned\":true}");
    definition.creation = create->get_object();
  }
  return {};
}

Expected<void> read_filter(const json::object& object, ProjectionDefinition& definition) {
  if (const auto* where = object.if_contains("where")) {
    if (!where->is_string()) return invalid("where", "a string with an SQL expression over c");
    definition.where = where->get_string();
  }
  if (const auto* selector = object.if_contains("selector")) {
    if (!definition.where.empty()) return invalid("selector", "absent if there is `where`");
    auto parsed = Selector::parse(*selector);
    if (!parsed) return fail(ErrorCode::bad_request, "`selector`: " + parsed.error().reason, "projection_syntax");
    definition.selector = *std::move(parsed);
  }
  return {};
}

Expected<std::string> text_of(const json::object& object, std::string_view name) {
  const auto* const value = object.if_contains(name);
  if (!value) return std::string();
  if (!value->is_string() || value->get_string().empty())
    return invalid(name, "a string with an SQL expression over c");
  return std::string(value->get_string());
}

Expected<void> read_lookup(const json::object& lookup, ProjectionDefinition::Join& join) {
  OCTAVO_TRY_VOID(check_names(lookup, "lookup", {"db", "key", "id", "include_derived"}));
  join.database = text_member(lookup, "db");
  OCTAVO_TRY(join.key, read_template(lookup, "key"));
  OCTAVO_TRY(join.id, read_template(lookup, "id"));
  if (!join.id) return invalid("lookup.id", "a string such as \"{userId}\"");
  OCTAVO_TRY(join.include_derived, flag(lookup, "include_derived"));
  return {};
}

Expected<void> read_count(const json::object& count, ProjectionDefinition::Join& join) {
  OCTAVO_TRY_VOID(check_names(count, "count", {"db", "where", "by", "equals", "include_derived"}));
  join.is_count = true;
  join.database = text_member(count, "db");
  OCTAVO_TRY(join.where, text_of(count, "where"));
  OCTAVO_TRY(join.by, read_template(count, "by"));
  OCTAVO_TRY(join.equals, read_template(count, "equals"));
  if (!join.by || !join.equals) return invalid("count", "an object with `by` and `equals`, such as \"{postId}\"");
  OCTAVO_TRY(join.include_derived, flag(count, "include_derived"));
  return {};
}

Expected<ProjectionDefinition::Join> read_join(std::string name, const json::value& value) {
  const std::string member = "joins." + name.substr(0, 64);
  if (!value.is_object()) return invalid(member, "an object with `lookup` or `count`");
  const json::object& object = value.get_object();
  OCTAVO_TRY_VOID(check_names(object, member, {"lookup", "count", "when", "required"}));
  ProjectionDefinition::Join join;
  join.name = std::move(name);
  const auto* const lookup = object.if_contains("lookup");
  const auto* const count = object.if_contains("count");
  const bool is_one = (lookup != nullptr) != (count != nullptr);
  if (!is_one || !(lookup ? lookup : count)->is_object()) return invalid(member, "an object with `lookup` or `count`");
  OCTAVO_TRY_VOID(lookup ? read_lookup(lookup->get_object(), join) : read_count(count->get_object(), join));
  if (join.database.empty()) return invalid(member + ".db", "the name of a database");
  OCTAVO_TRY(join.when, text_of(object, "when"));
  OCTAVO_TRY(join.required, flag(object, "required"));
  if (join.required && join.is_count) return invalid(member + ".required", "absent: a count is always there");
  return join;
}

Expected<void> read_joins(const json::object& object, ProjectionDefinition& definition) {
  if (const auto* const most = object.if_contains("fan_out_max")) {
    if (!most->is_int64() || most->get_int64() < 1 || static_cast<std::uint64_t>(most->get_int64()) > fan_out_limit) {
      return invalid("fan_out_max", fmt::format("a whole number between 1 and {}", fan_out_limit));
    }
    definition.fan_out_max = static_cast<std::uint64_t>(most->get_int64());
  }
  const auto* const value = object.if_contains("joins");
  if (!value) return {};
  if (!value->is_object()) return invalid("joins", "an object");
  if (value->get_object().size() > joins_max) {
    return fail(ErrorCode::bad_request, fmt::format("`joins` has more than {} members.", joins_max), "limit");
  }
  for (const auto& member : value->get_object()) {
    OCTAVO_TRY(auto join, read_join(std::string(member.key()), member.value()));
    definition.joins.push_back(std::move(join));
  }
  return {};
}

Expected<void> read_swap(std::string_view swap, ProjectionDefinition& definition) {
  if (swap != "rows" && swap != "database") return invalid("swap", "\"rows\" or \"database\"");
  definition.swaps_target = swap == "database";
  if (!definition.swaps_target || (definition.exclusive && definition.creation)) return {};
  return invalid("swap",
                 "\"rows\" unless `target` has `exclusive` and `create`: another database takes its place, which must "
                 "have no documents of clients, and is created so");
}

}  // namespace

Expected<ProjectionDefinition> ProjectionDefinition::parse(const json::object& object) {
  ProjectionDefinition definition;
  definition.json = object;
  OCTAVO_TRY_VOID(check_names(object, "the projection",
                              {"where", "selector", "include_derived", "target", "key", "id", "joins", "fan_out_max",
                               "fields", "transform", "newest", "on_error", "share", "swap"}));
  OCTAVO_TRY_VOID(read_filter(object, definition));
  OCTAVO_TRY(definition.include_derived, flag(object, "include_derived"));
  OCTAVO_TRY_VOID(read_target(object, definition));
  OCTAVO_TRY(definition.key, read_template(object, "key"));
  OCTAVO_TRY(definition.id, read_template(object, "id"));
  OCTAVO_TRY_VOID(read_joins(object, definition));
  if (const auto* const transform = object.if_contains("transform")) {
    if (object.contains("fields")) return invalid("transform", "absent if there are `fields`: either makes the rows");
    OCTAVO_TRY_VOID(read_transform(*transform, definition));
  } else {
    OCTAVO_TRY_VOID(read_fields(object, definition));
  }
  OCTAVO_TRY_VOID(read_newest(object, definition));
  if (const auto* const share = object.if_contains("share")) {
    if (!share->is_number() || share->to_number<double>() < share_min || share->to_number<double>() > 1) {
      return invalid("share", fmt::format("a number from {} to 1", share_min));
    }
    definition.share = share->to_number<double>();
  }
  if (object.contains("swap")) OCTAVO_TRY_VOID(read_swap(text_member(object, "swap"), definition));
  if (object.contains("on_error")) {
    const std::string on_error = text_member(object, "on_error");
    if (on_error != "skip" && on_error != "stop") return invalid("on_error", "\"skip\" or \"stop\"");
    definition.stops_on_error = on_error == "stop";
  }
  return definition;
}

Expected<void> ProjectionDefinition::check_new() const {
  if (where.empty() && json.contains("where")) return invalid("where", "a string with an SQL expression over c");
  if (!newest || keeps_all || !transform.empty()) return {};
  const std::string& name = newest->by.parts().front().name;
  if (std::ranges::find(fields, name, &Field::name) != fields.end()) return {};
  return fail(ErrorCode::bad_request, fmt::format("`newest.by` needs {}, which is not among the fields.", name),
              "key_not_projected");
}

Expected<void> check_projection_name(std::string_view name) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const auto is_allowed = [&](char c) { return is_word(c) || c == '_' || c == '-'; };
  if (!name.empty() && name.size() <= projection_name_bytes_max && is_word(name.front()) &&
      std::ranges::all_of(name, is_allowed)) {
    return {};
  }
  return fail(ErrorCode::bad_request,
              fmt::format("The name of a projection has letters, digits, '_' and '-', begins with a letter or a digit, "
                          "and has at most {} characters.",
                          projection_name_bytes_max),
              "projection_syntax");
}

}  // namespace octavo::query::project
