#include "query/copy/copy_definition.h"

#include <utility>

#include <fmt/format.h>

namespace octavo::query::copy {

namespace {

namespace json = boost::json;

constexpr std::string_view syntax_word = "copy_syntax";
constexpr std::int64_t rate_limit = 10'000'000;

std::unexpected<Error> invalid(std::string_view member, std::string_view what) {
  return fail(ErrorCode::bad_request, fmt::format("`{}` must be {}.", member, what), syntax_word);
}

Expected<project::RowTemplate> read_template(std::string_view name, const json::value& value) {
  if (!value.is_string()) return invalid(name, "a text such as \"{userId}\"");
  return project::RowTemplate::parse(value.get_string());
}

Expected<void> read_member(CopyDefinition& definition, std::string_view name, const json::value& value) {
  if (name == "target") {
    if (!value.is_string() || value.get_string().empty()) return invalid(name, "the name of a database");
    definition.target = value.get_string();
  } else if (name == "key") {
    OCTAVO_TRY(definition.key, read_template(name, value));
  } else if (name == "id") {
    OCTAVO_TRY(definition.id, read_template(name, value));
  } else if (name == "on_missing_key") {
    const bool fails = value == "fail";
    if (!fails && value != "skip") return invalid(name, "`fail` or `skip`");
    definition.missing = fails ? CopyDefinition::Missing::fail : CopyDefinition::Missing::skip;
  } else if (name == "create") {
    if (!value.is_object()) return invalid(name, "an object such as {\"partitioned\":true}");
    definition.creation = value.get_object();
  } else if (name == "cut_over") {
    definition.cuts_over = value == "automatic";
    if (!definition.cuts_over && value != "manual") return invalid(name, "`automatic` or `manual`");
  } else if (name == "rate_max") {
    if (!value.is_int64() || value.get_int64() < 0 || value.get_int64() > rate_limit) {
      return invalid(name, fmt::format("a whole number of documents per second, at most {}; 0: no limit", rate_limit));
    }
    definition.rate_max = static_cast<std::uint64_t>(value.get_int64());
  } else {
    OCTAVO_TRY(const bool is_known, definition.change_over.read_member(name, value));
    if (is_known) return {};
    return fail(ErrorCode::bad_request,
                fmt::format("Unknown member `{}`; the known ones are target, create, key, id, on_missing_key, "
                            "cut_over, former_name, pause_max, grace and rate_max.",
                            name.substr(0, 64)),
                syntax_word);
  }
  return {};
}

}  // namespace

Expected<bool> ChangeOverRequest::read_member(std::string_view name, const json::value& value) {
  if (name == "former_name") {
    if (!value.is_string() || value.get_string().empty()) return invalid(name, "the name of a database");
    former_name = value.get_string();
  } else if (name == "pause_max") {
    if (!value.is_int64() || value.get_int64() < 1 || value.get_int64() > pause_limit.count()) {
      return invalid(name, fmt::format("a whole number of milliseconds from 1 to {}", pause_limit.count()));
    }
    pause_max = std::chrono::milliseconds(value.get_int64());
  } else if (name == "grace") {
    if (!value.is_int64() || value.get_int64() < 0 || value.get_int64() > grace_limit.count()) {
      return invalid(name, fmt::format("a whole number of seconds from 0 to {}", grace_limit.count()));
    }
    grace = std::chrono::seconds(value.get_int64());
  } else {
    return false;
  }
  return true;
}

Expected<CopyDefinition> CopyDefinition::parse(const json::object& object) {
  CopyDefinition definition;
  for (const auto& [name, value] : object) OCTAVO_TRY_VOID(read_member(definition, name, value));
  if (definition.target.empty()) return invalid("target", "the name of a database");
  if (definition.key.has_value() != definition.id.has_value()) {
    return fail(ErrorCode::bad_request,
                "`key` and `id` belong together: they make the part of an id before its colon, and the part after it.",
                syntax_word);
  }
  if (definition.cuts_over && !definition.creation) {
    return fail(ErrorCode::bad_request,
                "`cut_over` can be `automatic` only with `create`: the copy must have created the target, so that its "
                "sequences are above those of the source.",
                syntax_word);
  }
  if (!definition.cuts_over &&
      (object.contains("former_name") || object.contains("pause_max") || object.contains("grace"))) {
    return fail(ErrorCode::bad_request,
                "`former_name`, `pause_max` and `grace` belong to `\"cut_over\":\"automatic\"`, or to the body of "
                "_cut_over.",
                syntax_word);
  }
  definition.json = object;
  return definition;
}

}  // namespace octavo::query::copy
