#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "base/error.h"
#include "query/project/row_template.h"

namespace octavo::query::copy {

inline constexpr std::chrono::milliseconds pause_default{60};
inline constexpr std::chrono::milliseconds pause_limit{5'000};

inline constexpr std::chrono::seconds grace_default{3'600};
inline constexpr std::chrono::seconds grace_limit{7 * 86'400};

/// How the target of a copy takes the place of its source. A value type.
struct ChangeOverRequest {
  std::string former_name;                             ///< of the source then; empty: its name and a part of its tag
  std::chrono::milliseconds pause_max{pause_default};  ///< so long writes may wait
  /// So long a container answers requests with its former key. nullopt: `grace_default`, if it is a container.
  std::optional<std::chrono::seconds> grace;

  /// Reads a member of a request's body. False: it has no such member. Errors: bad_request with the word copy_syntax.
  Expected<bool> read_member(std::string_view name, const boost::json::value& value);
};

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
  ChangeOverRequest change_over;
  boost::json::object json;  ///< as it was given

  /// Errors: bad_request with the word copy_syntax.
  static Expected<CopyDefinition> parse(const boost::json::object& json);
};

}  // namespace octavo::query::copy
