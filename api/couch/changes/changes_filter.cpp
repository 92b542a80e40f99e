#include "api/couch/changes/changes_filter.h"

#include <optional>
#include <span>

#include <boost/json.hpp>

#include "api/couch/call/document_id.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/documents/function_request.h"
#include "api/models/document_renderer.h"
#include "query/database/database_services.h"
#include "query/index/raw_field.h"
#include "query/javascript/functions.h"
#include "query/mango/find_request.h"
#include "query/selector/match_budget.h"

namespace octavo::api::couch {

namespace {

Expected<std::unordered_set<std::string>> parse_ids(const boost::json::value* list, std::size_t count_max) {
  constexpr std::string_view reason = "`doc_ids` filter parameter is not a list of doc ids.";
  if (!list || !list->is_array()) return fail(ErrorCode::bad_request, std::string(reason));
  if (list->get_array().size() > count_max) return fail(ErrorCode::too_large, "Too many `doc_ids`.");
  std::unordered_set<std::string> ids;
  for (const auto& id : list->get_array()) {
    if (!id.is_string()) return fail(ErrorCode::bad_request, std::string(reason));
    ids.emplace(id.get_string());
  }
  return ids;
}

Expected<boost::json::object> filter_body(const Request& request) {
  OCTAVO_TRY_VOID(require_json_content_type(request));
  return json_object_body(request);
}

Expected<std::unordered_set<std::string>> ids_of(const Call& call) {
  const auto count_max = call.services.settings.documents_per_bulk_max;
  if (call.request.method == Method::post) {
    OCTAVO_TRY(const auto body, filter_body(call.request));
    return parse_ids(body.if_contains("doc_ids"), count_max);
  }
  OCTAVO_TRY(const auto list, query::parse_json(call.request.parameter("doc_ids").value_or("null")));
  return parse_ids(&list, count_max);
}

// The member `fields`: names of fields. An empty list, as its absence, means whole documents.
Expected<query::Projection> projection_of(const boost::json::object& body) {
  const auto* names = body.if_contains("fields");
  if (!names || names->is_null()) return query::Projection();
  const auto invalid = [&] {
    return fail(ErrorCode::bad_request, "Fields must be an array of strings, not: " + boost::json::serialize(*names));
  };
  if (!names->is_array()) return invalid();
  if (names->get_array().size() > query::find_fields_max) return fail(ErrorCode::too_large, "Too many `fields`.");
  std::vector<query::FieldPath> fields;
  for (const auto& name : names->get_array()) {
    if (!name.is_string()) return invalid();
    OCTAVO_TRY(auto path, query::FieldPath::parse(name.get_string()));
    if (path.empty()) return invalid();
    fields.push_back(std::move(path));
  }
  return query::Projection(fields);
}

Expected<query::Selector> selector_of(const Call& call, query::Projection& projection) {
  if (call.request.method != Method::post)
    return fail(ErrorCode::bad_request, "Selector must be specified in POST payload");
  OCTAVO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_TRY(const auto value, query::parse_json(call.request.body, query::LargeIntegers::exact));
  if (!value.is_object()) return fail(ErrorCode::bad_request, "Request body must be a JSON object");
  const auto& body = value.get_object();
  const auto* selector = body.if_contains("selector");
  if (!selector || !selector->is_object())
    return fail(ErrorCode::bad_request, "Selector error: expected a JSON object");
  OCTAVO_TRY(projection, projection_of(body));
  auto parsed = query::Selector::parse(*selector);
  if (!parsed && parsed.error().code == ErrorCode::bad_request) parsed.error().word = {};  // as in CouchDB
  return parsed;
}

struct FunctionName {
  std::string_view design;
  std::string_view function;
};

Expected<FunctionName> split_name(std::string_view name, std::string_view malformed) {
  const auto slash = name.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == name.size() ||
      name.find('/', slash + 1) != std::string_view::npos) {
    return fail(ErrorCode::bad_request, std::string(malformed));
  }
  return FunctionName{name.substr(0, slash), name.substr(slash + 1)};
}

// Error unless the design document has a member of that name. CouchDB checks this before it runs anything.
Expected<void> check_member(const Call& call, const FunctionName& name, std::string_view member) {
  const auto ddoc = std::string(design_prefix) + std::string(name.design);
  OCTAVO_TRY(const auto snapshot, call.database->snapshot_for_document(ddoc));
  OCTAVO_TRY(const auto document, snapshot.find(ddoc));
  if (!document) return fail(ErrorCode::not_found, "");
  if (document->deleted) return fail(ErrorCode::deleted, "");
  OCTAVO_TRY(const auto body, query::parse_json(document->body));
  const auto* functions = body.get_object().if_contains(member);
  if (!functions || !functions->is_object()) {
    return fail(ErrorCode::not_found, "missing json key: " + std::string(member));
  }
  if (!functions->get_object().contains(name.function)) {
    return fail(ErrorCode::not_found, "missing json key: " + std::string(name.function));
  }
  return {};
}

template <class Functions>
Expected<std::size_t> index_of_function(const Functions& functions, std::string_view name) {
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (functions[i].name == name) return i;
  }
  return fail(ErrorCode::not_found, "missing json key: " + std::string(name));
}

}  // namespace

Expected<std::unique_ptr<ChangesFilter::Function>> ChangesFilter::find_function(const Call& call, std::string_view name,
                                                                                bool is_view) {
  OCTAVO_TRY(const auto parts, split_name(name, is_view ? "`view` must be of the form `designname/viewname`"
                                                        : "`filter` must be of the form `designname/filtername`"));
  OCTAVO_TRY_VOID(check_member(call, parts, is_view ? "views" : "filters"));
  OCTAVO_TRY(auto* const services, query::required(call.database_services()));
  OCTAVO_TRY(const auto programs, services->design_functions().find(parts.design));
  auto function = std::make_unique<Function>();
  function->is_view = is_view;
  const auto& design = *programs->document;
  if (is_view) {
    function->program = programs->views;
    OCTAVO_TRY(function->index, index_of_function(design.views, parts.function));
  } else {
    function->program = programs->filters;
    OCTAVO_TRY(function->index, index_of_function(design.filters, parts.function));
    OCTAVO_TRY(function->request, request_json(call, std::nullopt));
  }
  return function;
}

Expected<ChangesFilter> ChangesFilter::create(const Call& call, const ChangesQuery& query) {
  ChangesFilter filter;
  const std::string_view name = query.filter;
  if (name.empty()) return filter;
  if (name == "_doc_ids") {
    OCTAVO_TRY(auto ids, ids_of(call));
    filter.ids_ = std::make_shared<const std::unordered_set<std::string>>(std::move(ids));
  } else if (name == "_selector") {
    OCTAVO_TRY(auto selector, selector_of(call, filter.projection_));
    filter.selector_ = std::make_unique<query::Selector>(std::move(selector));
    filter.is_costly_ = query::cost_grows_with_document(*filter.selector_) || filter.projection_.is_costly();
    filter.parser_ = std::make_unique<query::DocumentParser>();
  } else if (name == "_design") {
    filter.design_only_ = true;
  } else if (name == "_view") {
    const auto view = call.request.parameter("view").value_or("");
    if (view.empty()) return fail(ErrorCode::bad_request, "`view` filter parameter is not provided.");
    OCTAVO_TRY(filter.function_, find_function(call, view, true));
  } else if (name.starts_with('_')) {
    return fail(ErrorCode::bad_request, "unknown builtin filter name");
  } else {
    OCTAVO_TRY(filter.function_, find_function(call, name, false));
  }
  return filter;
}

Expected<void> ChangesFilter::cut(std::string& out, std::size_t begin, std::string_view id) const {
  if (projection_.whole()) return {};
  const std::string document = out.substr(begin);
  OCTAVO_TRY_VOID(projection_.check_cost(id, document.size()));
  out.resize(begin);
  projection_.append(out,
                     [&](std::size_t, const query::FieldPath& path) { return query::find_raw_field(document, path); });
  return {};
}

bool ChangesFilter::may_pass(std::string_view id) const {
  if (design_only_) return is_design_id(id);
  if (ids_) return ids_->contains(std::string(id));
  return true;
}

Expected<bool> ChangesFilter::passes(std::string_view id, const storage::Revision& revision, bool deleted,
                                     std::string_view body) {
  if (function_) {
    auto& document = function_->document;
    document.clear();
    append_document(document, id, revision, deleted, body);
    const std::string_view view = document;
    const std::span documents(&view, 1);
    OCTAVO_TRY(const auto passed,
               function_->is_view
                   ? query::javascript::emits(function_->program, function_->index, documents)
                   : query::javascript::filter(function_->program, function_->index, documents, function_->request));
    return passed.front();
  }
  OCTAVO_TRY(const auto parsed, parser_->parse(body));
  revision_text_.clear();
  revision.append_to(revision_text_);
  query::SelectorSubject subject;
  subject.body = parsed;
  subject.id = id;
  subject.rev = revision_text_;
  subject.deleted = deleted;
  query::MatchBudget budget(query::match_steps_per_document_max);
  auto is_match = query::matches_within(*selector_, subject, budget);
  match_steps_ += budget.steps_taken();
  return is_match;
}

}  // namespace octavo::api::couch
