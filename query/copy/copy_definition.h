#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <boost/json.hpp>

#include "base/error.h"
#include "query/project/row_template.h"

namespace octavo::query::copy {

inline constexpr std::chrono::milliseconds pause_default{60};
inline constexpr std::chrono::milliseconds pause_limit{5'000};

/// What `POST /{db}/_copy` asks for: the documents of one database in another one, under other ids if the target has
/// another partition key. Immutable.
struct CopyDefinition {
  enum class Missing : std::uint8_t { fail, skip };

  std::string target;
  /// They make the id of each document, of the CouchDB API only; both or neither.
  std::optional<project::RowTemplate> key;
  std::optional<project::RowTemplate> id;
  std::optional<boost::json::object> creation;  ///< how the target is created, to take the place of the source later
  Missing missing = Missing::fail;              ///< what is done with a document that can have no id in the target
  std::uint64_t rate_max = 0;                   ///< documents per second; 0: as fast as possible
  /// It takes the place of the source by itself when it has everything.
  bool cuts_over = false;
  std::string former_name;                             ///< of the source then; empty: its name and a part of its tag
  std::chrono::milliseconds pause_max{pause_default};  ///< so long writes may wait for that
  boost::json::object json;                            ///< as it was given

  /// Errors: bad_request with the word copy_syntax.
  static Expected<CopyDefinition> parse(const boost::json::object& json);
};

}  // namespace octavo::query::copy
