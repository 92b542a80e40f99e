#include "query/search/text_index.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <simdjson.h>

#include "query/json/parsed_document.h"
#include "query/search/analysis/analyzer.h"
#include "query/search/syntax/text_names.h"
#include "query/selector/selector.h"

namespace octavo::query::search {

namespace {

namespace json = boost::json;

std::unexpected<Error> bad(std::string_view word, std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason), word);
}

// Reads `default_field`: true, false, or {"enabled":…,"analyzer":…}.
std::pair<bool, json::value> default_field_of(const json::object& def) {
  const auto* field = def.if_contains("default_field");
  if (field == nullptr) return {true, "standard"};
  if (field->is_bool()) return {field->get_bool(), "standard"};
  if (!field->is_object()) return {true, "standard"};
  const auto* enabled = field->get_object().if_contains("enabled");
  const auto* analyzer = field->get_object().if_contains("analyzer");
  return {enabled == nullptr || !enabled->is_bool() || enabled->get_bool(),
          analyzer != nullptr ? *analyzer : json::value("standard")};
}

json::value analyzer_of(const json::object& def) {
  const auto [enabled, analyzer] = default_field_of(def);
  if (!enabled) return "keyword";
  return json::object{{"name", "perfield"}, {"default", "keyword"}, {"fields", {{"$default", analyzer}}}};
}

// Reads `"fields"` as pairs of name and type; nullopt: all fields.
Expected<std::optional<std::vector<std::pair<std::string, std::string>>>> fields_of(const json::object& def) {
  const auto* fields = def.if_contains("fields");
  if (fields == nullptr || *fields == "all_fields") return std::nullopt;
  const auto invalid = [&] {
    return bad("invalid_index_fields_definition",
               "Text Index field definitions must be of the form {\"name\": \"non-empty fieldname\", \"type\": "
               "\"boolean,number, or string\"}. Def: " +
                   serialize_json(*fields));
  };
  if (!fields->is_array()) return invalid();
  if (fields->get_array().empty()) return std::nullopt;
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& field : fields->get_array()) {
    if (!field.is_object()) return invalid();
    const auto& members = field.get_object();
    std::string_view name;
    std::string_view type;
    if (const auto* named = members.if_contains("name"); named != nullptr && members.size() == 2) {
      const auto* typed = members.if_contains("type");
      if (!query::is_text(*named) || typed == nullptr || !query::is_text(*typed)) return invalid();
      name = named->get_string();
      type = typed->get_string();
    } else {
      return invalid();
    }
    if (name.empty() || (type != "string" && type != "number" && type != "boolean")) return invalid();
    pairs.emplace_back(name, type);
  }
  return pairs;
}

json::object partial_filter_of(const json::object& def) {
  for (const auto* name : {"partial_filter_selector", "selector"}) {
    const auto* filter = def.if_contains(name);
    if (filter != nullptr && filter->is_object() && !filter->get_object().empty()) return filter->get_object();
  }
  return {};
}

bool indexes_array_lengths(const json::object& def) {
  const auto* lengths = def.if_contains("index_array_lengths");
  return lengths == nullptr || !lengths->is_bool() || lengths->get_bool();
}

// The field's name in the index: `a\.b` in a definition is one part.
std::string column(std::string_view field, std::string_view type) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field[i] == '\\' && i + 1 < field.size() && field[i + 1] == '.') {
      parts.back() += '.';
      ++i;
    } else if (field[i] == '.') {
      parts.emplace_back();
    } else {
      parts.back() += field[i];
    }
  }
  std::string name;
  for (const auto& part : parts) append_text_part(name, part);
  return name + ':' + std::string(type);
}

class TextFields final : public FieldSource {
 public:
  TextFields(std::optional<std::set<std::string, std::less<>>> columns, bool with_default, bool with_lengths,
             std::optional<Selector> filter)
      : columns_(std::move(columns)),
        with_default_(with_default),
        with_lengths_(with_lengths),
        filter_(std::move(filter)) {}

  bool scores_length(std::string_view field) const override { return field == text_default_field; }

  Expected<void> read(const FeedDocument& document, std::vector<IndexedField>& fields) override {
    fields.clear();
    if (document.id.starts_with("_design/")) return {};
    OCTAVO_TRY(const auto root, parser_.parse(document.json));
    if (filter_ && !filter_->matches(root, document.id, document.revision.to_string())) return {};
    names_.clear();
    path_.clear();
    add_value(root, fields, 0);
    for (const std::string& name : names_) add(fields, std::string(text_names_field), name);
    return {};
  }

 private:
  static constexpr int depth_max = 1000;  // documents are never deeper

  void add_value(simdjson::dom::element value, std::vector<IndexedField>& fields, int depth) {
    if (depth > depth_max) return;
    const std::size_t size = path_.size();
    switch (value.type()) {
      case simdjson::dom::element_type::OBJECT: {
        const simdjson::dom::object members = value.get_object().value_unsafe();
        for (const auto member : members) {
          append_text_part(path_, member.key);
          add_value(member.value, fields, depth + 1);
          path_.resize(size);
        }
        return;
      }
      case simdjson::dom::element_type::ARRAY: {
        const simdjson::dom::array elements = value.get_array().value_unsafe();
        append_text_part(path_, "[]");
        // The length belongs to none of the requested fields, so it is always indexed.
        if (with_lengths_) add_number(fields, path_ + ":length", static_cast<double>(elements.size()), true);
        for (const auto element : elements) add_value(element, fields, depth + 1);
        path_.resize(size);
        return;
      }
      case simdjson::dom::element_type::STRING: {
        const std::string_view text = value.get_string().value_unsafe();
        std::string name = path_ + ":string";
        if (!is_wanted(name)) return;
        if (with_default_) add(fields, std::string(text_default_field), text);
        names_.insert(name);
        add(fields, std::move(name), text_term(text));
        return;
      }
      case simdjson::dom::element_type::BOOL: {
        std::string name = path_ + ":boolean";
        if (!is_wanted(name)) return;
        names_.insert(name);
        add(fields, std::move(name), value.get_bool().value_unsafe() ? "true" : "false");
        return;
      }
      case simdjson::dom::element_type::NULL_VALUE: {
        std::string name = path_ + ":null";
        if (!is_wanted(name)) return;
        names_.insert(name);
        add(fields, std::move(name), "true");
        return;
      }
      default: {
        double number = 0;
        if (value.get_double().get(number) == simdjson::SUCCESS) add_number(fields, path_ + ":number", number, false);
      }
    }
  }

  bool is_wanted(std::string_view name) const { return !columns_ || columns_->contains(name); }

  void add_number(std::vector<IndexedField>& fields, std::string name, double number, bool always) {
    if (!always && !is_wanted(name)) return;
    names_.insert(name);
    fields.emplace_back();
    fields.back().name = std::move(name);
    fields.back().value = number;
  }

  static void add(std::vector<IndexedField>& fields, std::string name, std::string_view text) {
    fields.emplace_back();
    fields.back().name = std::move(name);
    fields.back().value = std::string(text);
  }

  std::optional<std::set<std::string, std::less<>>> columns_;
  bool with_default_;
  bool with_lengths_;
  std::optional<Selector> filter_;
  DocumentParser parser_;
  std::string path_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace

json::object TextIndexDefinition::to_json() const {
  json::object shown;
  for (const auto& member : def) {
    if (member.key() == "fields") {
      json::array fields;
      const auto pairs = fields_of(def);
      if (pairs && *pairs) {
        for (const auto& [field, type] : **pairs) fields.push_back(json::object{{field, type}});
      }
      shown["fields"] = std::move(fields);
    } else if (member.key() != "partial_filter_selector" || member.value() != json::object{}) {
      shown[member.key()] = member.value();
    }
  }
  return json::object{{"ddoc", design_document},
                      {"name", name},
                      {"type", "text"},
                      {"partitioned", partitioned},
                      {"def", std::move(shown)}};
}

json::object TextIndexDefinition::content() const {
  return json::object{{"text", def}, {"analyzer", analyzer}};
}

std::optional<std::vector<std::string>> TextIndexDefinition::columns() const {
  const auto pairs = fields_of(def);
  if (!pairs || !*pairs) return std::nullopt;
  std::vector<std::string> columns;
  for (const auto& [field, type] : **pairs) columns.push_back(column(field, type));
  return columns;
}

bool TextIndexDefinition::has_default_field() const {
  return default_field_of(def).first;
}

std::vector<TextIndexDefinitionPtr> text_indexes_of(std::string_view design_id, std::string_view body,
                                                    bool database_is_partitioned) {
  std::vector<TextIndexDefinitionPtr> definitions;
  // Most design documents have no indexes and need not be parsed.
  if (body.find("\"indexes\"") == std::string_view::npos) return definitions;
  const auto parsed = parse_json(body, LargeIntegers::exact);
  if (!parsed || !parsed->is_object()) return definitions;
  const json::object& design = parsed->get_object();
  const auto* language = design.if_contains("language");
  const auto* indexes = design.if_contains("indexes");
  if (language == nullptr || *language != "query" || indexes == nullptr || !indexes->is_object()) return definitions;
  bool partitioned = database_is_partitioned;
  if (const auto* options = design.if_contains("options"); options != nullptr && options->is_object()) {
    const auto* given = options->get_object().if_contains("partitioned");
    if (given != nullptr && given->is_bool()) partitioned = partitioned && given->get_bool();
  }
  for (const auto& index : indexes->get_object()) {
    const auto* def = index.value().is_object() ? index.value().get_object().if_contains("index") : nullptr;
    if (def == nullptr || !def->is_object()) continue;
    auto checked = check_text_index(def->get_object());
    if (!checked) continue;
    TextIndexDefinition definition;
    definition.design_document = design_id;
    definition.name = index.key();
    definition.partitioned = partitioned;
    definition.analyzer = analyzer_of(*checked);
    definition.def = *std::move(checked);
    definitions.push_back(std::make_shared<const TextIndexDefinition>(std::move(definition)));
  }
  return definitions;
}

Expected<json::object> check_text_index(const json::object& index) {
  constexpr std::array<std::string_view, 7> known{"default_analyzer", "default_field", "partial_filter_selector",
                                                  "selector",         "fields",        "index_array_lengths",
                                                  "analyzer"};
  for (const auto& member : index) {
    if (std::ranges::find(known, std::string_view(member.key())) == known.end()) {
      return bad("invalid_key", fmt::format("Invalid key {} for this request.", std::string_view(member.key())));
    }
  }
  OCTAVO_TRY(const auto fields, fields_of(index));
  for (const auto* name : {"partial_filter_selector", "selector"}) {
    const auto* filter = index.if_contains(name);
    if (filter == nullptr) continue;
    if (!filter->is_object()) {
      return bad("invalid_selector_json", "Selector must be a JSON object, not: " + serialize_json(*filter));
    }
    OCTAVO_TRY(const auto unused, Selector::parse(*filter));
  }
  if (const auto* lengths = index.if_contains("index_array_lengths"); lengths != nullptr && !lengths->is_bool()) {
    return bad("invalid_boolean", serialize_json(*lengths) + " is not a boolean");
  }
  const auto [enabled, analyzer] = default_field_of(index);
  if (enabled) {
    OCTAVO_TRY(const auto unused, make_analyzers(analyzer));
  }
  json::object def;
  def["default_analyzer"] = "keyword";
  const auto* given_default = index.if_contains("default_field");
  def["default_field"] = given_default != nullptr ? *given_default : json::value(json::object{});
  def["partial_filter_selector"] = partial_filter_of(index);
  if (fields) {
    def["fields"] = index.at("fields");
  } else {
    def["fields"] = "all_fields";
  }
  def["index_array_lengths"] = indexes_array_lengths(index);
  return def;
}

json::value stored_text_index(const json::object& def) {
  return json::object{{"index", def}, {"analyzer", analyzer_of(def)}};
}

Expected<std::unique_ptr<FieldSource>> make_text_fields(const json::value& value) {
  if (!value.is_object()) return bad("invalid_index", "A text index without a definition.");
  const json::object& def = value.get_object();
  OCTAVO_TRY(const auto pairs, fields_of(def));
  std::optional<std::set<std::string, std::less<>>> columns;
  if (pairs) {
    columns.emplace();
    for (const auto& [field, type] : *pairs) columns->insert(column(field, type));
  }
  std::optional<Selector> filter;
  if (json::object partial = partial_filter_of(def); !partial.empty()) {
    OCTAVO_TRY(filter, Selector::parse(partial));
  }
  return std::make_unique<TextFields>(std::move(columns), default_field_of(def).first, indexes_array_lengths(def),
                                      std::move(filter));
}

}  // namespace octavo::query::search
