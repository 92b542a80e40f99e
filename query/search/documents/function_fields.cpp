#include "query/search/documents/function_fields.h"

#include <utility>

namespace octavo::query::search {

FunctionFields::FunctionFields(const std::string& database_tag, std::string name, std::string source)
    : program_(std::make_shared<const javascript::Program>(
          database_tag, std::vector<javascript::Program::Function>{{std::move(name), std::move(source)}},
          std::string())) {}

Expected<void> FunctionFields::read(const FeedDocument& document, std::vector<IndexedField>& fields) {
  fields.clear();
  if (document.id.starts_with("_design/")) return {};
  return javascript::index(program_, 0, document.json, fields);
}

}  // namespace octavo::query::search
