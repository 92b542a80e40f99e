#pragma once

#include <string>
#include <string_view>

#include "api/http/reply.h"
#include "base/error.h"

namespace octavo::api::couch {

/// CouchDB's status and `error` word for an engine error. words_for() is the only such table of this API.
struct ErrorWords {
  int status;
  std::string_view error;
};
ErrorWords words_for(ErrorCode code);

/// The `error` word and the `reason` of an error; CouchDB's standard texts if the error has none.
std::string_view error_word(const Error& error);
std::string_view error_reason(const Error& error);
/// Appends `"error":…,"reason":…` without braces: for errors of single rows.
void append_error_members(std::string& out, const Error& error);

/// `{"error":…,"reason":…}`. Empty reasons are replaced: "missing" for not_found, "deleted" for deleted, "Document
/// update conflict." for conflict.
Reply error_reply(const Error& error);
/// For replies whose `error` word is not in the table: illegal_docid, illegal_database_name, file_exists, …
Reply error_reply(int status, std::string_view error, std::string_view reason);

}  // namespace octavo::api::couch
