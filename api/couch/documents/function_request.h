#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/couch/call/call.h"

/// The JSON texts that describe a request to design functions.
namespace octavo::api::couch {

/// `{"db":…,"name":…,"roles":[…]}`; the name of an anonymous user is null.
std::string user_context_json(const Call& call);

/// The database's security object, as `GET /{db}/_security` shows it.
std::string security_json(const Call& call);

/// The request object of filters and update functions, with CouchDB's members. Credentials are omitted: the header
/// Authorization and the cookie AuthSession. Invalid UTF-8 in headers or body is shown as `?`.
/// `document_id`: the document that the URL names.
Expected<std::string> request_json(const Call& call, std::optional<std::string_view> document_id);

}  // namespace octavo::api::couch
