#include "query/json/split.h"

#include <algorithm>
#include <bitset>
#include <unordered_map>

#include <fmt/format.h>

#include "query/json/internal/scan.h"
#include "query/json/normalize.h"

namespace octavo::query {

namespace {

/// Up to this many members are searched linearly for duplicate names, more through a hash table.
constexpr std::size_t members_searched_linearly_max = 16;

class Splitter {
 public:
  explicit Splitter(std::string_view text) : begin_(text.data()), end_(begin_ + text.size()), p_(begin_) {}

  /// Calls `part()` at each part of the container, whose brackets are `open` and `close`.
  template <class Part>
  Expected<void> run(char open, char close, std::string_view type, std::size_t parts_max, Part part) {
    skip_space();
    if (p_ == end_) return error(begin_ == end_ ? "the text is empty" : "the text ends before a value");
    if (*p_ != open) {
      OCTAVO_TRY_VOID(value());
      return fail(ErrorCode::bad_request, fmt::format("Request body must be a JSON {}", type));
    }
    ++p_;
    skip_space();
    if (p_ != end_ && *p_ == close) {
      ++p_;
      return finish();
    }
    for (std::size_t parts = 0;; ++parts) {
      if (parts == parts_max) return fail(ErrorCode::too_large, fmt::format("JSON {} of over {} parts", type, parts));
      OCTAVO_TRY_VOID(part());
      skip_space();
      if (p_ == end_) return error(open == '{' ? "unterminated object" : "unterminated array");
      if (*p_ == close) {
        ++p_;
        return finish();
      }
      if (*p_ != ',') return error(open == '{' ? "',' or '}' was expected" : "',' or ']' was expected");
      ++p_;
      skip_space();
    }
  }

  Expected<JsonMember> member() {
    if (p_ == end_ || *p_ != '"') return error("a member name was expected");
    const char* name_begin = p_ + 1;
    const scan::String name = scan::string(p_, end_);
    if (name.end == nullptr) return error(name.error, name.error_at);
    JsonMember result;
    append_decoded_string({name_begin, static_cast<std::size_t>(name.end - 1 - name_begin)}, result.name);
    p_ = name.end;
    skip_space();
    if (p_ == end_ || *p_ != ':') return error("':' was expected");
    ++p_;
    skip_space();
    const char* value_begin = p_;
    OCTAVO_TRY_VOID(value());
    result.raw = {value_begin, static_cast<std::size_t>(p_ - value_begin)};
    return result;
  }

  Expected<std::string_view> element() {
    const char* value_begin = p_;
    OCTAVO_TRY_VOID(value());
    return std::string_view(value_begin, static_cast<std::size_t>(p_ - value_begin));
  }

 private:
  std::unexpected<Error> error(const char* what, const char* at = nullptr) const {
    return scan::invalid(static_cast<std::size_t>((at != nullptr ? at : p_) - begin_), what);
  }

  void skip_space() { p_ = scan::skip_space(p_, end_); }

  Expected<void> finish() {
    skip_space();
    if (p_ != end_) return error("text after the value");
    return {};
  }

  Expected<void> value() {
    if (p_ == end_) return error("the text ends before a value");
    if (*p_ == '{' || *p_ == '[') return container();
    if (*p_ == '"') {
      const scan::String string = scan::string(p_, end_);
      if (string.end == nullptr) return error(string.error, string.error_at);
      p_ = string.end;
      return {};
    }
    const char* after = *p_ == 't' || *p_ == 'f' || *p_ == 'n' ? scan::literal(p_, end_) : scan::number(p_, end_);
    if (after == nullptr) return error("a value was expected");
    p_ = after;
    return {};
  }

  /// The next bracket or quote from p_ on.
  const char* structural(const char* p) const {
#if defined(__SSE2__)
    while (end_ - p >= 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
      const __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));  // '[' → '{' and ']' → '}'
      const __m128i brackets =
          _mm_or_si128(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')), _mm_cmpeq_epi8(folded, _mm_set1_epi8('}')));
      const __m128i quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
      const auto mask = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(brackets, quotes)));
      if (mask != 0) return p + std::countr_zero(mask);
      p += 16;
    }
#endif
    while (p != end_ && *p != '"' && (*p | 0x20) != '{' && (*p | 0x20) != '}') ++p;
    return p;
  }

  Expected<void> container() {
    std::bitset<json_depth_max + 1> is_array;
    std::size_t depth = 0;
    for (;;) {
      p_ = structural(p_);
      if (p_ == end_) return error("unterminated array or object");
      if (*p_ == '"') {
        const scan::String string = scan::string(p_, end_);
        if (string.end == nullptr) return error(string.error, string.error_at);
        p_ = string.end;
        continue;
      }
      if (*p_ == '{' || *p_ == '[') {
        // The container is inside the one being split, so it may be one level less deep.
        if (depth + 1 == static_cast<std::size_t>(json_depth_max)) return error("nested too deeply");
        is_array[depth++] = *p_ == '[';
      } else {
        if (is_array[depth - 1] != (*p_ == ']')) return error("brackets do not match");
        --depth;
      }
      ++p_;
      if (depth == 0) return {};
    }
  }

  const char* begin_;
  const char* end_;
  const char* p_;
};

void keep_last_of_each_name(std::vector<JsonMember>& members) {
  const std::size_t count = members.size();
  std::vector<bool> replaced(count);
  bool any = false;
  if (count <= members_searched_linearly_max) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = i + 1; k < count && !replaced[i]; ++k) replaced[i] = members[i].name == members[k].name;
      any = any || replaced[i];
    }
  } else {
    std::unordered_map<std::string_view, std::size_t> last;
    last.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto [entry, is_new] = last.try_emplace(members[i].name, i);
      if (is_new) continue;
      replaced[std::exchange(entry->second, i)] = true;
      any = true;
    }
  }
  if (!any) return;
  std::size_t to = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (replaced[i]) continue;
    if (to != i) members[to] = std::move(members[i]);
    ++to;
  }
  members.resize(to);
}

}  // namespace

Expected<std::vector<JsonMember>> split_object(std::string_view text, std::size_t parts_max) {
  OCTAVO_TRY_VOID(scan::check_utf8(text));
  std::vector<JsonMember> members;
  Splitter splitter(text);
  OCTAVO_TRY_VOID(splitter.run('{', '}', "object", parts_max, [&]() -> Expected<void> {
    OCTAVO_TRY(auto member, splitter.member());
    members.push_back(std::move(member));
    return {};
  }));
  keep_last_of_each_name(members);
  return members;
}

Expected<std::vector<std::string_view>> split_array(std::string_view text, std::size_t parts_max) {
  OCTAVO_TRY_VOID(scan::check_utf8(text));
  std::vector<std::string_view> elements;
  Splitter splitter(text);
  OCTAVO_TRY_VOID(splitter.run('[', ']', "array", parts_max, [&]() -> Expected<void> {
    OCTAVO_TRY(const auto element, splitter.element());
    elements.push_back(element);
    return {};
  }));
  return elements;
}

std::string_view member_value(const std::vector<JsonMember>& members, std::string_view name) {
  const auto found = std::ranges::find(members, name, &JsonMember::name);
  return found == members.end() ? std::string_view{} : found->raw;
}

Expected<std::string> decode_json_string(std::string_view raw) {
  OCTAVO_TRY_VOID(scan::check_utf8(raw));
  if (!raw.starts_with('"')) return fail(ErrorCode::bad_request, "a JSON string was expected");
  const char* end = raw.data() + raw.size();
  const scan::String string = scan::string(raw.data(), end);
  if (string.end != end) return fail(ErrorCode::bad_request, "a JSON string was expected");
  std::string decoded;
  append_decoded_string(raw.substr(1, raw.size() - 2), decoded);
  return decoded;
}

}  // namespace octavo::query
