#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/function_ref.h"

namespace octavo::api {

enum class Method : std::uint8_t { get, head, post, put, del, copy, options, patch, other };

/// Name of the method as in a request line.
std::string_view to_string(Method method);

/// The header fields of a request. Lookup ignores case; absent and empty differ.
class HeaderSource {
 public:
  virtual ~HeaderSource() = default;
  virtual std::optional<std::string_view> find(std::string_view name) const = 0;
  /// Visits all fields, unchanged and in the order sent.
  virtual void for_each(FunctionRef<void(std::string_view name, std::string_view value)> visit) const = 0;
};

/// The sender of a request.
class Client {
 public:
  virtual ~Client() = default;
  /// Whether the connection is lost or the peer has finished sending: a long reply is pointless. Costs a system call.
  virtual bool has_left() = 0;
};

/// One decoded `name=value` of the query string, in the order sent.
struct QueryParameter {
  std::string name;
  std::string value;
};

/// One complete HTTP request: the body is de-chunked and decompressed, within the configured limit.
/// Owned by the connection, which keeps it alive until the reply has been sent; not thread-safe.
struct Request {
  Method method = Method::get;        ///< HEAD stays `head` here; the router serves it by the GET handler
  std::string_view target;            ///< the request target as sent: `/db%2Fx/id?rev=1-a`
  std::string_view raw_path;          ///< target up to `?`, still percent-encoded
  std::vector<std::string> segments;  ///< path segments, percent-decoded one by one, so `%2F` stays inside its segment
  std::vector<QueryParameter> query;  ///< query string, percent-decoded, `+` as space
  const HeaderSource* headers = nullptr;
  std::string_view body;
  std::string request_id;    ///< from `X-Couch-Request-ID` or `X-Request-Id` if well formed, else generated
  std::string peer_address;  ///< without port
  bool tls = false;
  Client* client = nullptr;  ///< null: the client never leaves

  /// Bytes of memory in `segments` and `query`, capacity included.
  std::size_t target_bytes() const;
  /// Frees this memory.
  void release_target();

  bool client_has_left() const { return client && client->has_left(); }
  std::optional<std::string_view> header(std::string_view name) const {
    return headers ? headers->find(name) : std::nullopt;
  }
  /// The value of a query parameter; the last one if it is repeated.
  std::optional<std::string_view> parameter(std::string_view name) const;
};

/// Limit of path segments, and of parameters, above what any resource needs: a part of one byte takes up to 64 bytes.
inline constexpr std::size_t target_parts_max = 1'000;

/// "https://db.example.com:8443": the scheme, name and port under which the client knows this server. A proxy tells
/// them by `X-Forwarded-Proto`, `X-Forwarded-Ssl` and `X-Forwarded-Host`.
std::string base_url(const Request& request);

/// Whether the `Prefer` header contains `preference`, in any case.
bool prefers(const Request& request, std::string_view preference);

/// Splits and decodes a request target into `raw_path`, `segments` and `query` of `request`.
/// Returns false for malformed percent-encoding, a control character, a target that does not start with `/`, or more
/// than target_parts_max segments or parameters. Empty segments are left out: `//db/` is `/db`.
bool parse_target(std::string_view target, Request& request);

/// Decodes the path of a parsed request again, with each unencoded `+` as a space, as CouchDB does by default.
void read_plus_as_space(Request& request);

/// Percent-decodes; nullopt for malformed input. `plus_is_space` is for query strings only.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space);
/// Percent-encodes all but unreserved characters (RFC 3986 §2.3).
std::string percent_encode(std::string_view text);

/// `text` without the spaces and tabs around it, which may stand around the parts of a header (RFC 9110 §5.6.3).
std::string_view trim_blanks(std::string_view text);

}  // namespace octavo::api
