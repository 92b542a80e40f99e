#include "query/mango/text_find.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "query/index/raw_field.h"
#include "query/json/document_text.h"
#include "query/json/parsed_document.h"
#include "query/mango/projection.h"
#include "query/search/search_kind.h"
#include "query/selector/match_budget.h"

namespace octavo::query::search {

namespace {

namespace json = boost::json;

// A selector may reject most hits. Each search starts at the first hit again, so pages grow in size: all searches
// together cost about as much as the last one.
constexpr std::size_t first_page_hits = 200;
constexpr std::size_t page_hits_max = 10'000;

// The content of a text index begins with a letter and the member `text`.
bool is_text(const FeedIndexView& view) {
  return view.kind == search_kind_name && std::string_view(view.definition.content).substr(1).starts_with("{\"text\":");
}

TextIndexDefinitionPtr text_definition_of(const FeedIndexView& view) {
  if (!is_text(view)) return nullptr;
  const auto content = parse_json(std::string_view(view.definition.content).substr(1), LargeIntegers::exact);
  if (!content) return nullptr;
  auto definition = std::make_shared<TextIndexDefinition>();
  definition->design_document = view.definition.design_document;
  definition->name = view.definition.name;
  definition->partitioned = is_of_partitions(view.definition);
  definition->def = content->at("text").as_object();
  definition->analyzer = content->at("analyzer");
  return definition;
}

bool is_named(const TextIndexDefinition& index, const std::vector<std::string>& names) {
  std::string_view design = names[0];
  if (design.starts_with("_design/")) design.remove_prefix(8);
  return index.design_document.substr(8) == design && (names.size() == 1 || names[1] == index.name);
}

bool holds_all(const TextIndexDefinition& index, const TextQuery& query) {
  const auto columns = index.columns();
  return std::ranges::all_of(query.columns, [&](const std::string& column) {
    if (column == "$default") return index.has_default_field();
    return !columns || std::ranges::find(*columns, column) != columns->end();
  });
}

bool filter_allows(const TextIndexDefinition& index, const FindRequest& request) {
  const auto* filter = index.def.if_contains("partial_filter_selector");
  if (filter == nullptr || !filter->is_object() || filter->get_object().empty()) return true;
  // A request that names a partial index accepts its content.
  if (!request.use_index.empty()) return true;
  const auto selector = Selector::parse(*filter);
  return selector && request.selector.implies(*selector);
}

Expected<std::vector<SortKey>> sort_of(const FindRequest& request, const TextQuery& query) {
  std::vector<SortKey> keys;
  for (const OrderedField& field : request.sort) {
    std::string_view name = field.path.text();
    SortKey key;
    key.descending = field.descending;
    if (name.ends_with(":number")) {
      key.kind = SortKey::Kind::number;
    } else if (name.ends_with(":string")) {
      key.kind = SortKey::Kind::string;
    } else {
      const bool number = std::ranges::find(query.columns, std::string(name) + ":number") != query.columns.end();
      const bool text = std::ranges::find(query.columns, std::string(name) + ":string") != query.columns.end();
      if (number == text) {
        return fail(ErrorCode::bad_request,
                    fmt::format("Text index sort on field {} needs its type: append :string or :number.", name),
                    "text_sort_error");
      }
      key.kind = number ? SortKey::Kind::number : SortKey::Kind::string;
      key.field = std::string(name) + (number ? ":number" : ":string");
    }
    if (key.field.empty()) key.field = name;
    keys.push_back(std::move(key));
  }
  return keys;
}

class TextFindRun {
 public:
  TextFindRun(const partitioning::Database& database, const TextFind& find) : database_(database), find_(find) {}

  Expected<TextFindPage> run(SearchRequest search, std::string& out) {
    const FindRequest& request = find_.request;
    std::uint64_t left = std::min(request.limit, find_text_limit_max);
    std::uint64_t skip = request.skip;
    SearchBookmark& bookmark = page_.bookmark;
    bookmark = search.bookmark.value_or(SearchBookmark{.sort = sort_checksum(find_.sort), .ordinal = 0, .order = {}});
    for (std::size_t hits = first_page_hits; left > 0; hits = std::min(2 * hits, page_hits_max)) {
      search.limit = hits;
      search.bookmark = bookmark;
      OCTAVO_TRY(const auto result, find_.index->search(search));
      if (result.hits.empty()) break;
      std::size_t taken = 0;
      for (const SearchHit& hit : result.hits) {
        if (left == 0) break;
        ++taken;
        OCTAVO_TRY(const bool matches, read(hit.id));
        if (!matches) continue;
        if (skip > 0) {
          --skip;
          continue;
        }
        --left;
        append(out);
      }
      // The next page begins after the last hit that was checked.
      const SearchHit& last = result.hits[taken - 1];
      bookmark.ordinal = last.ordinal;
      bookmark.order.assign(last.order.begin(), last.order.end() - 1);
    }
    return page_;
  }

 private:
  // Reads the document into text_. Returns whether it exists and matches the selector.
  Expected<bool> read(std::string_view id) {
    OCTAVO_TRY(const auto snapshot, database_.snapshot_for_document(id));
    OCTAVO_TRY(const auto document, snapshot.find(id));
    if (!document || document->deleted) return false;
    ++page_.statistics.documents_examined;
    page_.statistics.document_bytes += document->body.size();
    OCTAVO_TRY(const auto body, parser_.parse(document->body));
    const std::string revision = document->revision.to_string();
    MatchBudget budget(match_steps_per_document_max);
    OCTAVO_TRY(const bool is_match,
               matches_within(find_.request.selector,
                              {.body = body, .id = id, .rev = revision, .deleted = false, .attachments = {}}, budget));
    if (!is_match) return false;
    OCTAVO_TRY_VOID(projection_.check_cost(id, document->body.size()));
    text_.clear();
    begin_document(text_, document->id, document->revision, document->body);
    text_ += '}';
    return true;
  }

  void append(std::string& out) {
    if (page_.statistics.results_returned++ > 0) out += ",\n";
    if (projection_.whole()) {
      out += text_;
    } else {
      projection_.append(out, [&](std::size_t, const FieldPath& path) { return find_raw_field(text_, path); });
    }
  }

  const partitioning::Database& database_;
  const TextFind& find_;
  Projection projection_{find_.request.fields};
  DocumentParser parser_;
  std::string text_;
  TextFindPage page_;
};

}  // namespace

std::vector<TextIndexDefinitionPtr> text_indexes_in(const FeedIndexCatalog& catalog) {
  std::vector<TextIndexDefinitionPtr> definitions;
  for (const FeedIndexView& view : catalog.indexes) {
    if (auto definition = text_definition_of(view)) definitions.push_back(std::move(definition));
  }
  std::ranges::sort(definitions, {}, [](const TextIndexDefinitionPtr& definition) {
    return std::pair<std::string_view, std::string_view>(definition->design_document, definition->name);
  });
  return definitions;
}

bool has_text_index(const FeedIndexCatalog& catalog) {
  return std::ranges::any_of(catalog.indexes, is_text);
}

bool names_text_index(const FeedIndexCatalog& catalog, const std::vector<std::string>& names) {
  if (names.empty()) return false;
  return std::ranges::any_of(text_indexes_in(catalog), [&](const auto& index) { return is_named(*index, names); });
}

Expected<std::optional<TextFind>> plan_text_find(const FeedIndexCatalog& catalog, FindRequest request) {
  const bool required = request.text_selector.has_value();
  const auto unusable = [&]() -> Expected<std::optional<TextFind>> {
    if (!required) return std::nullopt;
    return fail(ErrorCode::no_usable_index, "There is no text index available for this selector.", "no_usable_index");
  };
  if (request.aggregation) {
    if (!required) return std::nullopt;
    return fail(ErrorCode::bad_request,
                "`$text` cannot be aggregated. Ask a search index for `counts` and `ranges` instead.",
                "invalid_selector");
  }
  OCTAVO_TRY(auto query, text_query_of(required ? *request.text_selector : request.selector.to_json()));
  if (!query) return unusable();
  for (const TextIndexDefinitionPtr& definition : text_indexes_in(catalog)) {
    if (!request.use_index.empty() && !is_named(*definition, request.use_index)) continue;
    if (definition->partitioned == request.partition.empty()) continue;
    if (!holds_all(*definition, *query) || !filter_allows(*definition, request)) continue;
    const auto* view = catalog.find(search_kind_name, definition->design_document, definition->name);
    auto index = view ? std::dynamic_pointer_cast<SearchIndex>(view->index) : nullptr;
    if (!index) continue;
    TextFind find;
    OCTAVO_TRY(find.sort, sort_of(request, *query));
    if (request.bookmark) {
      find.bookmark = SearchBookmark::decode(*request.bookmark);
      if (!find.bookmark || find.bookmark->sort != sort_checksum(find.sort)) {
        return fail(ErrorCode::bad_request,
                    "Invalid bookmark value: " + json::serialize(json::value(*request.bookmark)), "invalid_bookmark");
      }
    }
    find.request = std::move(request);
    find.definition = definition;
    find.index = std::move(index);
    find.query = *std::move(query);
    return find;
  }
  return unusable();
}

Expected<TextFindPage> run_text_find(const partitioning::Database& database, const TextFind& find,
                                     storage::Sequence at_least, std::chrono::steady_clock::time_point deadline,
                                     std::string& out) {
  SearchRequest search;
  search.query = find.query.query;
  if (!find.request.partition.empty()) search.partition = find.request.partition;
  search.sort = find.sort;
  search.bookmark = find.bookmark;
  search.include_fields.emplace();
  search.at_least = at_least;
  search.deadline = deadline;
  return TextFindRun(database, find).run(std::move(search), out);
}

}  // namespace octavo::query::search
