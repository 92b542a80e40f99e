#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/beast/http/basic_parser.hpp>

#include "api/http/request.h"
#include "server/http/header_fields.h"

namespace octavo::server {

/// Why a request is refused: an HTTP status and a reason for people.
struct Refusal {
  int status = 400;
  std::string reason = {};
};

/// The request line, and the facts in the head about the message. Offsets are from the first byte of the head.
struct RequestHead {
  api::Method method = api::Method::get;
  bool http_1_1 = true;
  bool keep_alive = true;
  bool chunked = false;
  bool expect_continue = false;
  std::uint64_t content_length = 0;
  std::uint32_t target_offset = 0;
  std::uint32_t target_size = 0;
};

/// Limit of fields in one request head. Real clients send about ten.
inline constexpr std::size_t header_fields_max = 256;
/// Chunk headers and trailers that do not end within this many bytes are refused.
inline constexpr std::size_t chunk_head_bytes_max = 16 * 1024;

/// Beast's parser, writing to HeaderFields and stricter: it refuses obsolete line folding, a repeated or missing Host
/// and transfer codings other than `chunked`, because a proxy in front may interpret them differently.
class RequestParser final : private boost::beast::http::basic_parser<true> {
 public:
  RequestParser(HeaderFields& fields, RequestHead& head) : fields_(fields), head_(head) {}

  /// Parses a complete head: `text` ends with its empty line. nullopt if it is well formed.
  std::optional<Refusal> parse_head(std::string_view text);

  struct Progress {
    std::size_t consumed = 0;
    bool done = false;
    std::optional<Refusal> refusal;
  };
  /// After parse_head of a chunked request: decodes as much of `raw` as possible and appends it to `body`, whose size
  /// is limited to `body_bytes_max`. `limit_origin` says in messages where the limit comes from, and must outlive this.
  Progress decode_chunks(std::string_view raw, std::string& body, std::size_t body_bytes_max,
                         std::string_view limit_origin);

 private:
  using ErrorCode = boost::beast::error_code;
  using View = boost::beast::string_view;

  void on_request_impl(boost::beast::http::verb method, View method_text, View target, int version,
                       ErrorCode& error) override;
  void on_response_impl(int, View, int, ErrorCode&) override {}
  void on_field_impl(boost::beast::http::field field, View name, View value, ErrorCode& error) override;
  void on_header_impl(ErrorCode&) override { in_trailer_ = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {}
  std::size_t on_body_impl(View body, ErrorCode&) override { return body.size(); }
  void on_chunk_header_impl(std::uint64_t size, View extensions, ErrorCode& error) override;
  std::size_t on_chunk_body_impl(std::uint64_t remain, View body, ErrorCode& error) override;
  void on_finish_impl(ErrorCode&) override {}

  void refuse(int status, std::string_view reason, ErrorCode& error);
  std::optional<Refusal> check_head() const;

  HeaderFields& fields_;
  RequestHead& head_;
  const char* text_ = nullptr;
  const char* text_end_ = nullptr;
  std::optional<Refusal> refusal_;
  std::string* body_ = nullptr;
  std::size_t body_bytes_max_ = 0;
  std::string_view limit_origin_;
  unsigned hosts_ = 0;
  bool transfer_encoding_ = false;
  bool in_trailer_ = false;
};

}  // namespace octavo::server
