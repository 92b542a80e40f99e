#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/couch/call.h"

/// What design functions are told of a request, as JSON texts.
namespace octavo::api::couch {

/// `{"db":…,"name":…,"roles":[…]}`; the name is null for the anonymous.
std::string user_context_json(const Call& call);

/// The database's security object, as `GET /{db}/_security` shows it.
std::string security_json(const Call& call);

/// The request object of filters and update functions, with CouchDB's members. Passwords and sessions are left out: the
/// header Authorization, the cookie AuthSession. What is no UTF-8 in headers or body is shown as `?`.
/// `document_id`: the document that the URL names.
Expected<std::string> request_json(const Call& call, std::optional<std::string_view> document_id);

}  // namespace octavo::api::couch
