#include "bench/reply_parser.h"

#include <algorithm>
#include <charconv>

namespace octavo::bench {

namespace {

bool equals_ignoring_case(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, [](char a, char b) { return (a | 0x20) == (b | 0x20); });
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

void ReplyParser::reset() {
  state_ = State::head;
  buffer_.clear();
  remaining_ = 0;
  body_bytes_ = 0;
  status_ = 0;
}

bool ReplyParser::take_line(std::string_view bytes, std::size_t& used) {
  const auto end = bytes.find('\n', used);
  const auto stop = end == std::string_view::npos ? bytes.size() : end;
  buffer_.append(bytes.substr(used, stop - used));
  used = end == std::string_view::npos ? bytes.size() : end + 1;
  if (end == std::string_view::npos) return false;
  if (!buffer_.empty() && buffer_.back() == '\r') buffer_.pop_back();
  return true;
}

void ReplyParser::parse_head() {
  const std::string_view head = buffer_;
  state_ = State::malformed;
  if (head.size() < 12 || !head.starts_with("HTTP/1.")) return;
  std::from_chars(head.data() + 9, head.data() + 12, status_);

  bool chunked = false;
  std::uint64_t length = 0;
  for (auto line_start = head.find('\n'); line_start != std::string_view::npos && line_start + 1 < head.size();) {
    const auto line_end = std::min(head.find('\n', line_start + 1), head.size());
    const auto line = head.substr(line_start + 1, line_end - line_start - 1);
    if (const auto colon = line.find(':'); colon != std::string_view::npos) {
      const auto name = line.substr(0, colon);
      const auto value = trim(line.substr(colon + 1));
      if (equals_ignoring_case(name, "content-length")) {
        std::from_chars(value.data(), value.data() + value.size(), length);
      } else if (equals_ignoring_case(name, "transfer-encoding")) {
        chunked = equals_ignoring_case(value, "chunked");
      }
    }
    line_start = line_end == head.size() ? std::string_view::npos : line_end;
  }
  remaining_ = length;
  if (chunked) {
    state_ = State::chunk_size;
  } else {
    state_ = length == 0 ? State::done : State::body;
  }
  buffer_.clear();
}

std::size_t ReplyParser::feed(std::string_view bytes, const BodySink* sink) {
  std::size_t used = 0;
  while (used < bytes.size() && state_ != State::done && state_ != State::malformed) {
    switch (state_) {
      case State::head: {
        // The whole head mostly comes in one read: look for its end from a little before the new bytes.
        const auto searched_from = buffer_.size() < 3 ? 0 : buffer_.size() - 3;
        const auto old_size = buffer_.size();
        buffer_.append(bytes.substr(used));
        const auto end = buffer_.find("\r\n\r\n", searched_from);
        if (end == std::string::npos) return bytes.size();
        used += end + 4 - old_size;
        buffer_.resize(end);
        parse_head();
        break;
      }
      case State::body:
      case State::chunk_data: {
        const auto count = std::min<std::uint64_t>(remaining_, bytes.size() - used);
        if (sink) (*sink)(bytes.substr(used, count));
        used += count;
        remaining_ -= count;
        body_bytes_ += count;
        if (remaining_ == 0) state_ = state_ == State::body ? State::done : State::chunk_end;
        break;
      }
      case State::chunk_size:
        if (take_line(bytes, used)) {
          std::uint64_t size = 0;
          const auto [rest, error] = std::from_chars(buffer_.data(), buffer_.data() + buffer_.size(), size, 16);
          buffer_.clear();
          remaining_ = size;
          state_ = error != std::errc{} ? State::malformed : size == 0 ? State::trailer : State::chunk_data;
        }
        break;
      case State::chunk_end:
        if (take_line(bytes, used)) {
          state_ = buffer_.empty() ? State::chunk_size : State::malformed;
          buffer_.clear();
        }
        break;
      case State::trailer:
        if (take_line(bytes, used)) {
          if (buffer_.empty()) state_ = State::done;
          buffer_.clear();
        }
        break;
      case State::done:
      case State::malformed:
        break;
    }
  }
  return used;
}

}  // namespace octavo::bench
