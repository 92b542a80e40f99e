#include "query/search/search_kind.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "query/design/design_document.h"
#include "query/json/parsed_document.h"
#include "query/search/documents/function_fields.h"
#include "query/search/search_index.h"
#include "query/search/text_index.h"

namespace octavo::query::search {

namespace {

namespace json = boost::json;

// Part of every identity. Change it whenever the stored format or the analysis changes.
constexpr std::string_view search_format = "octavo-search-2\n";

std::string identity_of(std::string_view definition) {
  return feed_index_identity(std::string(search_format).append(definition));
}

FeedIndexDefinition make_definition(std::string_view design, std::string_view name, bool partitioned,
                                    const json::object& content) {
  const std::string text = serialize_json(content);
  return {.identity = identity_of(text),
          .design_document = std::string(design),
          .name = std::string(name),
          .content = (partitioned ? 'p' : 'g') + text};
}

json::value analyzer_of(const SearchSource& source) {
  if (source.analyzer.empty()) return "standard";
  auto parsed = parse_json(source.analyzer);
  return parsed ? *std::move(parsed) : json::value("standard");
}

std::vector<FeedIndexDefinition> read_definitions(std::string_view id, std::string_view revision, std::string_view body,
                                                  bool database_is_partitioned) {
  std::vector<FeedIndexDefinition> definitions;
  for (const TextIndexDefinitionPtr& text : text_indexes_of(id, body, database_is_partitioned)) {
    definitions.push_back(make_definition(id, text->name, text->partitioned, text->content()));
  }
  const auto design = read_design_document(id, revision, body);
  if (!design || !*design) return definitions;
  const bool partitioned = (*design)->partitioned(database_is_partitioned);
  for (const SearchSource& source : (*design)->indexes) {
    json::value analyzer = analyzer_of(source);
    // An unknown analyzer makes no index; searches report the error.
    if (!make_analyzers(analyzer)) continue;
    definitions.push_back(make_definition(id, source.name, partitioned,
                                          json::object{{"index", source.index}, {"analyzer", std::move(analyzer)}}));
  }
  return definitions;
}

Expected<std::unique_ptr<FeedIndex>> make_index(const FeedIndexDefinition& definition, FeedIndexOptions options) {
  const auto nonsense = [] { return fail(ErrorCode::bad_request, "A search index without a definition."); };
  if (definition.content.empty()) return nonsense();
  const std::string_view text = std::string_view(definition.content).substr(1);
  const auto parsed = parse_json(text, LargeIntegers::exact);
  if (!parsed || !parsed->is_object()) return nonsense();
  const json::object& content = parsed->get_object();
  const auto* analyzer = content.if_contains("analyzer");
  if (analyzer == nullptr) return nonsense();
  OCTAVO_TRY(auto analyzers, make_analyzers(*analyzer));
  std::unique_ptr<FieldSource> source;
  if (const auto* function = content.if_contains("index"); function != nullptr && function->is_string()) {
    source = std::make_unique<FunctionFields>(options.database_tag,
                                              fmt::format("{} index {}", definition.design_document, definition.name),
                                              std::string(function->get_string()));
  } else if (const auto* fields = content.if_contains("text")) {
    OCTAVO_TRY(source, make_text_fields(*fields));
  } else {
    return nonsense();
  }
  return std::make_unique<SearchIndex>(identity_of(text), std::move(analyzers), std::move(source), std::move(options));
}

}  // namespace

FeedIndexKind search_index_kind() {
  return {.name = search_kind_name, .task_type = "search_indexer", .read = read_definitions, .make = make_index};
}

}  // namespace octavo::query::search
