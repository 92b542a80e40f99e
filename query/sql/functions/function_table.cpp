#include "query/sql/functions/function_table.h"

#include <string>
#include <unordered_map>

#include "base/ascii_case.h"

namespace octavo::query::sql {

namespace {

using FunctionTable = std::unordered_map<std::string_view, const Function*>;

const FunctionTable& function_table() {
  static const FunctionTable table = [] {
    FunctionTable all;
    for (const auto functions : {array_functions(), date_functions(), math_functions(), spatial_functions(),
                                 string_functions(), type_functions()}) {
      for (const Function& function : functions) all.emplace(function.name, &function);
    }
    return all;
  }();
  return table;
}

}  // namespace

const Function* find_function(std::string_view name) {
  const auto found = function_table().find(upper_case(name));
  return found == function_table().end() ? nullptr : found->second;
}

}  // namespace octavo::query::sql
