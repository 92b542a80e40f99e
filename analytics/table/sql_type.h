#pragma once

#include <string>

#include "analytics/table/value_type.h"

namespace octavo::analytics {

/// The type of a column in DuckDB: `BIGINT`, `JSON`, `STRUCT("w" BIGINT)[]`. What has no type yet is JSON, and so is an
/// object without members, which no STRUCT can be.
std::string sql_name(const ValueType& type);

/// An SQL expression that makes a value of the type `to` out of `expression`, whose type is `from`. Precondition: `to`
/// has grown out of `from` (TypeInference).
std::string conversion(const ValueType& from, const ValueType& to, const std::string& expression);

}  // namespace octavo::analytics
