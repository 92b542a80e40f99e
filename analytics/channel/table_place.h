#pragma once

#include <filesystem>
#include <string>

#include <boost/json.hpp>

#include "query/json/parsed_document.h"

namespace octavo::analytics {

/// Where the table of a database is.
struct TablePlace {
  std::filesystem::path file;
  /// Its name in the DuckDB of its group, whose files are in one folder; empty: the database has a DuckDB of its own.
  std::string as;

  bool operator==(const TablePlace&) const = default;
};

/// {file, as}, as the process reads it.
inline boost::json::object to_json(const TablePlace& place) {
  return {{"file", place.file.string()}, {"as", place.as}};
}
inline TablePlace place_of_json(const boost::json::object& object) {
  return {query::text_member(object, "file"), query::text_member(object, "as")};
}

}  // namespace octavo::analytics
