#include "server/http/request_parser.h"

#include <functional>
#include <limits>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>

#include "base/ascii_case.h"
#include "config/value_text.h"

namespace octavo::server {
namespace {

namespace http = boost::beast::http;

api::Method to_method(http::verb verb) {
  switch (verb) {
    case http::verb::get:
      return api::Method::get;
    case http::verb::head:
      return api::Method::head;
    case http::verb::post:
      return api::Method::post;
    case http::verb::put:
      return api::Method::put;
    case http::verb::delete_:
      return api::Method::del;
    case http::verb::copy:
      return api::Method::copy;
    case http::verb::options:
      return api::Method::options;
    case http::verb::patch:
      return api::Method::patch;
    default:
      return api::Method::other;
  }
}

Refusal explain(const boost::beast::error_code& failure) {
  if (failure.category() != make_error_code(http::error::bad_version).category()) return {400, "Malformed request."};
  switch (static_cast<http::error>(failure.value())) {
    case http::error::bad_version:
      return {505, "Only HTTP/1.0 and HTTP/1.1 are supported."};
    case http::error::bad_method:
      return {400, "Malformed request method."};
    case http::error::bad_target:
      return {400, "Malformed request target."};
    case http::error::bad_field:
      return {400, "Malformed header field name."};
    case http::error::bad_value:
      return {400, "Malformed header field value."};
    case http::error::bad_content_length:
    case http::error::multiple_content_length:
      return {400, "Malformed, repeated or contradicting Content-Length."};
    case http::error::bad_transfer_encoding:
      return {400, "Transfer-Encoding is repeated or contradicts Content-Length."};
    case http::error::bad_chunk:
    case http::error::bad_chunk_extension:
      return {400, "Malformed chunk in the request body."};
    default:
      return {400, "Malformed request."};
  }
}

// Clients send absolute-form targets (`GET http://host/path`) to proxies; only the path matters here.
std::string_view strip_authority(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (target.size() < scheme.size() || !equals_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    const auto path = target.find('/', scheme.size());
    // `http://host` means the root: uses the last slash of `http://` as the path.
    return path == std::string_view::npos ? target.substr(scheme.size() - 1, 1) : target.substr(path);
  }
  return target;
}

}  // namespace

std::optional<Refusal> RequestParser::parse_head(std::string_view text) {
  fields_.clear();
  head_ = RequestHead{};
  text_ = text.data();
  text_end_ = text.data() + text.size();
  // The caller has limited the head already, and limits the body itself.
  header_limit(std::numeric_limits<std::uint32_t>::max());
  body_limit(boost::none);
  ErrorCode error;
  put(boost::asio::const_buffer(text.data(), text.size()), error);
  if (refusal_) return refusal_;
  if (error) return explain(error);
  if (!is_header_done()) return Refusal{400, "Malformed request."};
  if (auto refusal = check_head()) return refusal;
  head_.keep_alive = keep_alive();
  head_.chunked = chunked();
  if (const auto length = content_length()) head_.content_length = *length;
  fields_.set_base(text.data());
  return std::nullopt;
}

std::optional<Refusal> RequestParser::check_head() const {
  if (hosts_ > 1) return Refusal{400, "More than one Host header."};
  if (head_.http_1_1 && hosts_ == 0) return Refusal{400, "The Host header is missing."};
  if (transfer_encoding_ && !head_.http_1_1) return Refusal{400, "Transfer-Encoding needs HTTP/1.1."};
  return std::nullopt;
}

RequestParser::Progress RequestParser::decode_chunks(std::string_view raw, std::string& body,
                                                     std::size_t body_bytes_max, std::string_view limit_origin) {
  Progress progress;
  body_ = &body;
  body_bytes_max_ = body_bytes_max;
  limit_origin_ = limit_origin;
  ErrorCode error;
  while (!is_done() && progress.consumed < raw.size()) {
    const auto rest = raw.substr(progress.consumed);
    const auto used = put(boost::asio::const_buffer(rest.data(), rest.size()), error);
    progress.consumed += used;
    if (error == http::error::need_more) break;
    if (error) {
      progress.refusal = refusal_ ? *refusal_ : explain(error);
      return progress;
    }
  }
  progress.done = is_done();
  if (!progress.done && raw.size() - progress.consumed > chunk_head_bytes_max) {
    progress.refusal = Refusal{400, "A chunk header or trailer of the request body is too long."};
  }
  return progress;
}

void RequestParser::refuse(int status, std::string_view reason, ErrorCode& error) {
  refusal_ = Refusal{status, std::string(reason)};
  error = http::error::bad_value;
}

void RequestParser::on_request_impl(http::verb method, View, View target, int version, ErrorCode&) {
  const auto path = strip_authority({target.data(), target.size()});
  head_.method = to_method(method);
  head_.http_1_1 = version == 11;
  head_.target_offset = static_cast<std::uint32_t>(path.data() - text_);
  head_.target_size = static_cast<std::uint32_t>(path.size());
}

void RequestParser::on_field_impl(http::field field, View name, View value, ErrorCode& error) {
  if (in_trailer_) return;  // trailers are not used, and must not be added to the head
  const std::string_view field_name{name.data(), name.size()};
  const std::string_view text{value.data(), value.size()};
  // Beast joins folded lines in its own buffer, or skips an empty first line: then the value is in other memory, or a
  // line end is between name and value.
  const char* const after_colon = name.data() + name.size() + 1;
  const auto elsewhere = std::less<>{};
  const bool folded = elsewhere(value.data(), after_colon) || elsewhere(text_end_, value.data()) ||
                      std::string_view(after_colon, value.data()).find('\n') != std::string_view::npos;
  if (folded) return refuse(400, "Header lines must not be folded.", error);
  if (fields_.size() >= header_fields_max) return refuse(431, "Too many header fields.", error);
  fields_.add(text_, field_name, text);
  switch (field) {
    case http::field::host:
      ++hosts_;
      break;
    case http::field::transfer_encoding:
      transfer_encoding_ = true;
      if (!equals_ignoring_case(text, "chunked")) {
        refuse(501, "The only transfer coding understood is `chunked`.", error);
      }
      break;
    case http::field::expect:
      // Ignored in HTTP/1.0 requests (RFC 9110 §10.1.1).
      if (!head_.http_1_1) break;
      if (!equals_ignoring_case(text, "100-continue")) {
        return refuse(417, "The only expectation understood is `100-continue`.", error);
      }
      head_.expect_continue = true;
      break;
    default:
      break;
  }
}

void RequestParser::on_chunk_header_impl(std::uint64_t size, View, ErrorCode& error) {
  if (size > body_bytes_max_ - std::min(body_bytes_max_, body_->size())) {
    const auto reason = config::over_limit(std::nullopt, body_bytes_max_, limit_origin_);
    refuse(413, "The request body " + reason + ".", error);
  }
}

std::size_t RequestParser::on_chunk_body_impl(std::uint64_t, View body, ErrorCode&) {
  body_->append(body.data(), body.size());
  return body.size();
}

}  // namespace octavo::server
