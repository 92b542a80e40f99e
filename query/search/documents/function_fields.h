#pragma once

#include <string>

#include "query/javascript/program.h"
#include "query/search/documents/field_source.h"

namespace octavo::query::search {

/// Fields from an index function. Design documents are not indexed.
class FunctionFields final : public FieldSource {
 public:
  FunctionFields(const std::string& database_tag, std::string name, std::string source);
  Expected<void> read(const FeedDocument& document, std::vector<IndexedField>& fields) override;
  bool scores_length(std::string_view) const override { return true; }

 private:
  javascript::ProgramPtr program_;
};

}  // namespace octavo::query::search
