// Format (Authorization of the Azure Cosmos DB API):
//   authorization := percent-encoded "type=master&ver=1.0&sig=" base64(HMAC-SHA-256(key, text_to_sign))
//                  | percent-encoded "type=resource&ver=1.0&sig=" base64(MAC) ";" base64(grant) ";"
//   MAC           := HMAC-SHA-256(secret of this run of the server, grant)
//   grant         := JSON {"rid","mode","link","key","container","until"}
#include "api/cosmos/call/authorization.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>

#include <boost/json.hpp>

#include "api/cosmos/call/call.h"
#include "api/http/trusted_host.h"
#include "api/models/container_definition.h"
#include "api/models/errors.h"
#include "api/models/item_key.h"
#include "api/models/resource_id.h"
#include "base/ascii_case.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "base/unix_time.h"
#include "config/validate.h"
#include "query/json/parsed_document.h"

namespace octavo::api::cosmos {

namespace {

constexpr std::chrono::minutes clock_skew_max{15};
constexpr std::size_t token_bytes_max = 8 * 1024;

void append_lower(std::string& out, std::string_view text) {
  const std::size_t start = out.size();
  out += text;
  for (std::size_t i = start; i < out.size(); ++i) out[i] = to_lower(out[i]);
}

// RFC 1123: "Sun, 06 Nov 1994 08:49:37 GMT".
std::optional<std::int64_t> parse_http_date(std::string_view text) {
  // Requests within one second carry the same date.
  thread_local std::string last_text;
  thread_local std::int64_t last_time = 0;
  if (!text.empty() && text == last_text) return last_time;
  std::tm time{};
  const std::string copy(text);
  const char* end = ::strptime(copy.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &time);
  if (end == nullptr || *end != '\0') return std::nullopt;
  last_time = static_cast<std::int64_t>(::timegm(&time));
  last_text = copy;
  return last_time;
}

std::unexpected<Error> unauthorized(std::string reason) {
  return fail(ErrorCode::unauthorized, std::move(reason));
}

/// The value of `name=` in `type=…&ver=…&sig=…`.
std::string_view field(std::string_view token, std::string_view name) {
  while (!token.empty()) {
    const bool last_field = token.starts_with("sig=");  // base64 may hold `=`, and a token ends with it
    const std::size_t end = last_field ? std::string_view::npos : token.find('&');
    const std::string_view part = token.substr(0, end);
    if (part.starts_with(name) && part.size() > name.size() && part[name.size()] == '=') {
      return part.substr(name.size() + 1);
    }
    if (end == std::string_view::npos) break;
    token.remove_prefix(end + 1);
  }
  return {};
}

}  // namespace

std::string text_to_sign(std::string_view verb, std::string_view type, std::string_view link, std::string_view ms_date,
                         std::string_view date) {
  std::string text;
  text.reserve(verb.size() + type.size() + link.size() + ms_date.size() + date.size() + 5);
  append_lower(text, verb);
  text += '\n';
  append_lower(text, type);
  text += '\n';
  text += link;
  text += '\n';
  append_lower(text, ms_date);
  text += '\n';
  if (ms_date.empty()) append_lower(text, date);
  text += '\n';
  return text;
}

struct Authorization::Key {
  crypto::KeyedHash hash;
  bool reads_only;
  explicit Key(std::string_view base64, bool read_only = false)
      : hash(crypto::base64_decode(base64).value_or("")), reads_only(read_only) {}
};

Authorization::Authorization(const config::Settings& settings, partitioning::Engine& engine,
                             std::function<bool()> has_admins)
    : settings_(settings), engine_(engine), has_admins_(std::move(has_admins)) {
  if (!settings.cosmos_key.empty()) {
    keys_.emplace_back(settings.cosmos_key == config::emulator_key_name ? well_known_key : settings.cosmos_key);
  }
  if (!settings.cosmos_secondary_key.empty()) keys_.emplace_back(settings.cosmos_secondary_key);
  if (!settings.cosmos_read_only_key.empty()) keys_.emplace_back(settings.cosmos_read_only_key, true);
  well_known_ = std::make_unique<Key>(well_known_key);
  // Tokens are valid for hours at most, so they need not survive a restart.
  token_secret_ = crypto::random_bytes(32);
  const std::string& bind = settings_.cosmos_bind.empty() ? settings_.bind : settings_.cosmos_bind;
  well_known_may_count_ = keys_.empty() && config::is_loopback(bind);
}

Authorization::~Authorization() = default;

bool Authorization::well_known_key_counts(const Request& request) const {
  const auto& peer = request.peer_address;
  return well_known_may_count_ && (peer == "127.0.0.1" || peer == "::1" || config::is_loopback(peer)) &&
         is_trusted_host(request.header("Host").value_or(""), engine_.settings().allowed_hosts) && !has_admins_();
}

Expected<Credential> Authorization::check(const Request& request, const ResourcePath& path, bool reads) const {
  const auto header = request.header("Authorization");
  if (!header || header->empty()) {
    return unauthorized("Required Header authorization is missing. Ensure a valid Authorization token is passed.");
  }
  const auto token = percent_decode(*header, false);
  if (!token || token->size() > token_bytes_max) {
    return unauthorized("The authorization token is malformed: it must be percent-encoded.");
  }
  const std::string_view type = field(*token, "type");
  const std::string_view signature = field(*token, "sig");
  if (field(*token, "ver") != "1.0" || signature.empty()) {
    return unauthorized(
        "The authorization token is malformed: expected type=master&ver=1.0&sig=… or "
        "type=resource&ver=1.0&sig=…");
  }
  if (type == "master") {
    OCTAVO_TRY_VOID(check_signature(request, path, signature, reads));
    return Credential::account_key;
  }
  if (type == "resource") {
    OCTAVO_TRY_VOID(check_token(request, path, signature, reads));
    return Credential::resource_token;
  }
  return unauthorized("The authorization token has an unknown type; only master and resource tokens are accepted.");
}

Expected<void> Authorization::check_signature(const Request& request, const ResourcePath& path,
                                              std::string_view signature, bool reads) const {
  const auto ms_date = request.header("x-ms-date").value_or("");
  const auto date = request.header("Date").value_or("");
  const std::string text = text_to_sign(to_string(request.method), path.signed_type, path.signed_link, ms_date, date);
  std::vector<std::string> other_texts;
  for (const std::string* other : {&path.signed_rid, &path.sent_link}) {
    if (other->empty()) continue;
    other_texts.push_back(text_to_sign(to_string(request.method), path.signed_type, *other, ms_date, date));
  }
  // percent_decode kept a `+` that the client sent unencoded: in base64 it is a digit.
  const auto given = crypto::base64_decode(signature);
  if (!given) return unauthorized("The signature of the authorization token is not base64.");
  const auto signs = [&](const Key& key) {
    const auto is_signature_of = [&](const std::string& covered) {
      const auto value = key.hash.of_message(covered);
      return crypto::constant_time_equal({value.data(), value.size()}, *given);
    };
    return is_signature_of(text) || std::ranges::any_of(other_texts, is_signature_of);
  };
  const Key* signer = nullptr;
  for (const Key& key : keys_) {
    if (signs(key)) signer = &key;
  }
  if (signer == nullptr && signs(*well_known_)) {
    if (!well_known_key_counts(request)) {
      return unauthorized(
          "The emulator's well-known key is accepted from this machine only, on a loopback address, under a local name "
          "or one of server.allowed_hosts, and only while the server has neither a key nor admins of its own. Set "
          "cosmos.key (OCTAVO_COSMOS_KEY) and use that key, or set it to \"emulator\" to accept this one anywhere.");
    }
    signer = well_known_.get();
  }
  if (signer == nullptr) {
    std::string shown = text;
    for (std::size_t at = 0; (at = shown.find('\n', at)) != std::string::npos; at += 2) shown.replace(at, 1, "\\n");
    return unauthorized(
        "The input authorization token can't serve the request. Please check that the expected payload "
        "is built as per the protocol, and check the key being used. Server used the following payload "
        "to sign: '" +
        shown + "'");
  }
  const auto time = parse_http_date(ms_date.empty() ? date : ms_date);
  if (!time) return unauthorized("The header x-ms-date is missing or invalid, expected: Sun, 06 Nov 1994 08:49:37 GMT");
  const auto skew = std::chrono::seconds(std::abs(unix_now_s() - *time));
  if (skew > clock_skew_max) {
    return fail(ErrorCode::forbidden,
                "The authorization token is not valid at the current time: x-ms-date differs by " +
                    std::to_string(skew.count()) + " s from the server's clock; at most 15 minutes are allowed.");
  }
  // Reading a permission returns its token, and the token may allow writes.
  if (signer->reads_only && (!reads || path.resource == Resource::permission)) {
    return fail(ErrorCode::forbidden, "The read-only key does not allow this request.");
  }
  return {};
}

std::string Authorization::with_present_database(std::string link) const {
  constexpr std::string_view start = "dbs/";
  const std::size_t end = link.find('/', start.size());
  if (!link.starts_with(start) || end == std::string::npos) return link;
  const std::string prefix = engine_.databases().resolve_prefix(link.substr(start.size(), end + 1 - start.size()));
  return link.replace(start.size(), end + 1 - start.size(), prefix);
}

// A container created later under the same name has another instance tag.
std::string Authorization::container_of_link(std::string_view link) const {
  constexpr std::string_view database_segment = "dbs/";
  constexpr std::string_view container_segment = "/colls/";
  const std::size_t containers = link.find(container_segment);
  if (!link.starts_with(database_segment) || containers == std::string_view::npos) return {};
  std::string name(link.substr(database_segment.size(), containers - database_segment.size()));
  const std::string_view rest = link.substr(containers + container_segment.size());
  name.append("/").append(rest.substr(0, rest.find('/')));
  const auto record = engine_.catalog().find(engine_.databases().resolve(name));
  return record && *record ? (*record)->instance_tag : std::string();
}

std::string Authorization::resource_token(std::string_view permission_rid, std::string_view mode, std::string_view link,
                                          std::string_view key, std::int64_t valid_until_s) const {
  boost::json::object grant;
  grant["rid"] = permission_rid;
  grant["mode"] = mode;
  grant["link"] = link;
  grant["key"] = key;
  grant["container"] = container_of_link(link);
  grant["until"] = valid_until_s;
  const std::string text = boost::json::serialize(grant);
  return "type=resource&ver=1.0&sig=" +
         crypto::base64_encode(crypto::hmac(crypto::Digest::sha256, token_secret_, text)) + ";" +
         crypto::base64_encode(text) + ";";
}

Expected<void> Authorization::check_token(const Request& request, const ResourcePath& path, std::string_view token,
                                          bool reads) const {
  const std::size_t first = token.find(';');
  const std::size_t second = first == std::string_view::npos ? first : token.find(';', first + 1);
  if (second == std::string_view::npos) return unauthorized("The resource token is malformed.");
  const auto mac = crypto::base64_decode(token.substr(0, first));
  const auto text = crypto::base64_decode(token.substr(first + 1, second - first - 1));
  if (!mac || !text || !crypto::constant_time_equal(*mac, crypto::hmac(crypto::Digest::sha256, token_secret_, *text))) {
    return unauthorized(
        "The resource token was not issued by this server, or the server has restarted since: read the "
        "permission again.");
  }
  OCTAVO_TRY(const auto parsed, query::parse_json(*text));
  const auto& grant = parsed.get_object();
  if (grant.at("until").to_number<std::int64_t>() < unix_now_s()) {
    return fail(ErrorCode::forbidden,
                "The authorization token is not valid at the current time: the resource token "
                "has expired.");
  }
  OCTAVO_TRY(const auto permission, engine_.catalog().fact(permission_rid_area, query::text_member(grant, "rid")));
  if (!permission) return fail(ErrorCode::forbidden, "The permission of this resource token was deleted.");
  if (query::text_member(grant, "container") != container_of_link(query::text_member(grant, "link"))) {
    return fail(ErrorCode::forbidden, "The container of this resource token was deleted: read the permission again.");
  }
  const std::string mode = query::text_member(grant, "mode");
  if (mode != "All" && mode != "all" && !reads) {
    return fail(ErrorCode::forbidden, "The permission of this resource token allows reading only.");
  }
  // The database may have got another name since; `path` has the present one.
  std::string link = with_present_database(query::text_member(grant, "link"));
  if (is_same_item(request, path, link)) link = path.signed_link;
  return check_reach(request, path, link, query::text_member(grant, "key"), reads);
}

bool Authorization::is_same_item(const Request& request, const ResourcePath& path, std::string_view link) const {
  if (path.resource != Resource::item || path.feed) return false;
  const std::string items = path.container_link() + "/docs/";
  if (!link.starts_with(items) || !is_resource_id(link.substr(items.size()), inner_rid_bytes)) return false;
  const auto record = engine_.catalog().find(engine_.databases().resolve(path.database_name()));
  if (!record || !*record) return false;
  const auto container = ContainerDefinition::from_stored((*record)->definition, (*record)->name);
  if (!container) return false;
  const auto key = required_key(request, *container);
  return key && show_rid(item_rid(container->rid, document_id(*key, path.id))) == link.substr(items.size());
}

Expected<void> Authorization::check_reach(const Request& request, const ResourcePath& path, const std::string& link,
                                          const std::string& key, bool reads) {
  const std::string& wanted = path.signed_link;
  const bool account = reads && path.resource == Resource::account;  // clients read the endpoints from it
  if (account) return {};
  // A container's permission covers what is in it. Reading the container itself, for its key and ranges, is part of
  // that; changing it is not.
  const bool of_container = path.resource == Resource::container || path.resource == Resource::range;
  const bool covers = (wanted == link || wanted.starts_with(link + "/")) && (!of_container || reads);
  const bool owner = reads && of_container && link.starts_with(wanted + "/") &&
                     std::string_view(wanted).find("/colls/") != std::string_view::npos;
  if (!covers && !owner) return fail(ErrorCode::forbidden, "The resource token does not cover this resource.");
  if (key.empty() || of_container) return {};
  const bool plans = path.resource == Resource::item && path.feed && request.method == Method::post &&
                     has_flag(request, "x-ms-cosmos-is-query-plan-request");
  if (plans) return {};  // a query plan reads no items

  // All other requests must name the granted partition key, and may touch no other key.
  const auto sent = request.header("x-ms-documentdb-partitionkey");
  OCTAVO_TRY(const auto granted_key, query::parse_json(key));
  if (!sent) return fail(ErrorCode::forbidden, "The resource token covers one partition key; say which is meant.");
  OCTAVO_TRY(const auto sent_key, query::parse_json(*sent));
  if (sent_key != granted_key) {
    return fail(ErrorCode::forbidden, "The resource token covers another partition key.");
  }
  const bool of_functions = path.resource == Resource::stored_procedure || path.resource == Resource::trigger ||
                            path.resource == Resource::user_function;
  const bool executes = path.resource == Resource::stored_procedure && !path.feed && request.method == Method::post;
  if (of_functions && !reads && !executes) {
    return fail(ErrorCode::forbidden, "The resource token covers one partition key: functions are of all keys.");
  }
  if (has_flag(request, "x-ms-cosmos-is-batch-request") && !has_flag(request, "x-ms-cosmos-batch-atomic")) {
    return fail(ErrorCode::forbidden, "The resource token covers one partition key: only an atomic batch is of one.");
  }
  return {};
}

}  // namespace octavo::api::cosmos
