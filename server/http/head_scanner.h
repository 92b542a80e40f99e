#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/http/read_buffer.h"
#include "server/http/request_parser.h"

namespace octavo::server {

/// Finds the end of the next request's head, which arrives in pieces. Examines each byte once, however slowly they
/// arrive.
class HeadScanner {
 public:
  enum class Result : std::uint8_t { incomplete, complete, refused };

  /// Looks at what has arrived since the last call, and drops empty lines before the head. A head may have up to
  /// `head_bytes_max` bytes. `refused`: refusal() tells why the input cannot become a request.
  Result scan(ReadBuffer& in, std::size_t head_bytes_max);
  /// The size of the complete head at the start of the buffer; 0: it is not complete.
  std::size_t head_bytes() const { return head_bytes_; }
  const Refusal& refusal() const { return refusal_; }
  /// The request has been removed from the buffer.
  void restart();

 private:
  Result refuse(int status, std::string_view reason);

  std::size_t head_bytes_ = 0;
  std::size_t scanned_ = 0;  ///< bytes of the buffer that do not contain the end of the head
  Refusal refusal_;
};

}  // namespace octavo::server
