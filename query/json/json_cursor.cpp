#include "query/json/json_cursor.h"

#include "base/assert.h"
#include "query/json/internal/scan.h"
#include "query/json/normalize.h"

namespace octavo::query {

namespace {

// A text that is not as it should be ends early, and nothing behind it is read.
const char* end_of_string(const char* p, const char* end) {
  const char* const after = scan::string(p, end).end;
  OCTAVO_ASSERT(after != nullptr);
  return after != nullptr ? after : end;
}

// Brackets outside of strings are balanced, so counting them finds the end.
const char* end_of_container(const char* p, const char* end) {
  std::size_t depth = 0;
  while (p != end) {
    if (*p == '"') {
      p = end_of_string(p, end);
      continue;
    }
    const char folded = static_cast<char>(*p | 0x20);  // '[' → '{' and ']' → '}'
    ++p;
    if (folded == '{') ++depth;
    if (folded == '}' && --depth == 0) break;
  }
  return p;
}

}  // namespace

std::string_view JsonCursor::skip() {
  const char* const begin = p_;
  const char first = front();
  if (first == '{' || first == '[') {
    p_ = end_of_container(p_, end_);
  } else if (first == '"') {
    p_ = end_of_string(p_, end_);
  } else {
    while (p_ != end_ && *p_ != ',' && *p_ != '}' && *p_ != ']') ++p_;
  }
  return {begin, static_cast<std::size_t>(p_ - begin)};
}

bool JsonCursor::enter() {
  OCTAVO_ASSERT(front() == '{' || front() == '[');
  if (p_ != end_) ++p_;
  if (front() != '}' && front() != ']') return p_ != end_;
  ++p_;
  return false;
}

bool JsonCursor::next() {
  return p_ != end_ && *p_++ == ',';
}

std::string_view JsonCursor::name() {
  if (p_ == end_) return {};
  const scan::String name = scan::string(p_, end_);
  OCTAVO_ASSERT(name.end != nullptr);
  if (name.end == nullptr || name.end == end_) {
    p_ = end_;
    return {};
  }
  const std::string_view raw(p_ + 1, static_cast<std::size_t>(name.end - p_ - 2));
  p_ = name.end + 1;  // behind the colon
  if (!name.escaped) return raw;
  decoded_.clear();
  append_decoded_string(raw, decoded_);
  return decoded_;
}

}  // namespace octavo::query
