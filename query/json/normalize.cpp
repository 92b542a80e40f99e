#include "query/json/normalize.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include <boost/container/small_vector.hpp>
#include <fmt/format.h>

#include "query/json/internal/scan.h"

namespace octavo::query {

namespace {

constexpr std::size_t special_fields_max = 64;
/// In objects with more members, duplicates are found by sorting at the end instead of comparing every member with the
/// earlier ones.
constexpr std::size_t members_looked_back_max = 32;

/// A member of an object that is being written. Offsets count from the start of the output.
struct Member {
  std::uint64_t hash;        // of the decoded name
  std::uint32_t name_begin;  // after the opening quote; the member itself begins one before
  std::uint32_t name_size;
  bool name_escaped;
  bool dropped;
};

/// Bytes of the output that a later member with the same name has replaced.
struct DroppedRange {
  std::uint32_t begin, end;
};

std::uint64_t load(const char* p, std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, p, size);
  return value;
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a ^ 0x9E3779B97F4A7C15ULL) * (b ^ 0xD6E8FEB86659FD93ULL);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Equal hashes are always followed by a comparison, so hostile collisions only cost time linear in their names.
std::uint64_t hash_name(const char* p, std::size_t size) {
  std::uint64_t hash = size;
  while (size > 16) {
    hash = mix(hash ^ load(p, 8), load(p + 8, 8));
    p += 16;
    size -= 16;
  }
  if (size >= 8) return mix(hash ^ load(p, 8), load(p + size - 8, 8));
  if (size >= 4) return mix(hash ^ load(p, 4), load(p + size - 4, 4));
  if (size == 0) return mix(hash, 0);
  return mix(hash ^ load(p, 1), load(p + size / 2, 1) << 8 | load(p + size - 1, 1));
}

class Normalizer {
 public:
  /// `out` has room for as many bytes as `text` has: what is written never overtakes what is read.
  Normalizer(std::string_view text, char* out, std::vector<SpecialField>* special)
      : begin_(text.data()), end_(begin_ + text.size()), p_(begin_), out_(out), w_(out), special_(special) {}

  bool run() {
    skip_space();
    if (special_ != nullptr && p_ != end_ && *p_ != '{') is_object_ = false;
    if (!value(0)) return false;
    skip_space();
    if (p_ != end_) return fail_at(p_, "text after the value");
    if (!dropped_.empty()) compact();
    return true;
  }

  std::size_t written() const { return static_cast<std::size_t>(w_ - out_); }
  std::size_t error_offset() const { return static_cast<std::size_t>(error_at_ - begin_); }
  const char* error() const { return error_; }
  bool is_object() const { return is_object_; }

 private:
  bool fail_at(const char* at, const char* what) {
    error_at_ = at;
    error_ = what;
    return false;
  }

  void skip_space() {
    if (p_ != end_ && static_cast<unsigned char>(*p_) <= ' ') p_ = scan::skip_space(p_, end_);
  }

  std::uint32_t offset() const { return static_cast<std::uint32_t>(w_ - out_); }

  bool value(int depth) {
    if (p_ == end_) return fail_at(p_, begin_ == end_ ? "the text is empty" : "the text ends before a value");
    switch (*p_) {
      case '{':
        return object(depth + 1);
      case '[':
        return array(depth + 1);
      case '"': {
        bool escaped = false;
        return string(escaped);
      }
      case 't':
      case 'f':
      case 'n': {
        const char* after = scan::literal(p_, end_);
        if (after == nullptr) return fail_at(p_, "a value was expected");
        copy_to(after);
        return true;
      }
      default: {
        const char* after = scan::number(p_, end_);
        if (after == nullptr) return fail_at(p_, "a value was expected");
        copy_to(after);
        return true;
      }
    }
  }

  /// Copies a short token.
  void copy_to(const char* after) {
    const auto size = static_cast<std::size_t>(after - p_);
    if (size <= 16 && end_ - p_ >= 16) {
      std::memcpy(w_, p_, 16);  // a fixed size is one instruction; the surplus is overwritten by what follows
    } else {
      std::memcpy(w_, p_, size);
    }
    p_ = after;
    w_ += size;
  }

  /// Copies the string at p_, quotes included.
  bool string(bool& escaped) {
    *w_++ = *p_++;
    for (;;) {
#if defined(__SSE2__)
      while (end_ - p_ >= 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p_));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(w_), bytes);
        const unsigned mask = scan::string_special_mask(bytes);
        const int run = mask == 0 ? 16 : std::countr_zero(mask);
        p_ += run;
        w_ += run;
        if (mask != 0) break;
      }
#endif
      while (p_ != end_ && !scan::is_string_special(*p_)) *w_++ = *p_++;
      if (p_ == end_) return fail_at(p_, "unterminated string");
      if (*p_ == '"') {
        *w_++ = *p_++;
        return true;
      }
      if (*p_ != '\\') return fail_at(p_, "control character in a string");
      escaped = true;
      const char* after = scan::escape(p_, end_);
      if (after == nullptr) return fail_at(p_, "bad escape in a string");
      std::memcpy(w_, p_, static_cast<std::size_t>(after - p_));
      w_ += after - p_;
      p_ = after;
    }
  }

  bool array(int depth) {
    if (depth > json_depth_max) return fail_at(p_, "nested too deeply");
    *w_++ = *p_++;
    skip_space();
    if (p_ != end_ && *p_ == ']') {
      *w_++ = *p_++;
      return true;
    }
    for (;;) {
      if (!value(depth)) return false;
      skip_space();
      if (p_ == end_) return fail_at(p_, "unterminated array");
      if (*p_ == ']') {
        *w_++ = *p_++;
        return true;
      }
      if (*p_ != ',') return fail_at(p_, "',' or ']' was expected");
      *w_++ = *p_++;
      skip_space();
    }
  }

  bool object(int depth) {
    if (depth > json_depth_max) return fail_at(p_, "nested too deeply");
    *w_++ = *p_++;
    skip_space();
    if (p_ != end_ && *p_ == '}') {
      *w_++ = *p_++;
      return true;
    }
    const std::size_t first = members_.size();
    std::uint64_t seen = 0;  // one bit for each hash so far: most members need no comparison
    for (;;) {
      if (p_ == end_) return fail_at(p_, "unterminated object");
      if (*p_ != '"') return fail_at(p_, "a member name was expected");
      char* member_begin = w_;
      const std::size_t dropped_before = dropped_.size();
      bool escaped = false;
      if (!string(escaped)) return false;
      const char* name_begin = member_begin + 1;
      const auto name_size = static_cast<std::size_t>(w_ - name_begin - 1);
      skip_space();
      if (p_ == end_ || *p_ != ':') return fail_at(p_, "':' was expected");
      *w_++ = *p_++;
      skip_space();

      if (depth == 1 && special_ != nullptr && is_special(name_begin, name_size, escaped)) {
        std::string name = decoded_name(name_begin, name_size, escaped);
        const char* value_begin = p_;
        if (!value(depth)) return false;
        if (!add_special(std::move(name), {value_begin, static_cast<std::size_t>(p_ - value_begin)})) return false;
        w_ = member_begin;
        dropped_.resize(dropped_before);
      } else {
        remember(first, seen, {name_begin, name_size}, escaped);
        if (!value(depth)) return false;
      }

      skip_space();
      if (p_ == end_) return fail_at(p_, "unterminated object");
      if (*p_ == '}') break;
      if (*p_ != ',') return fail_at(p_, "',' or '}' was expected");
      ++p_;
      if (w_ != member_begin) *w_++ = ',';
      skip_space();
    }
    if (w_[-1] == ',') --w_;  // the last member was special
    if (members_.size() - first > members_looked_back_max) drop_duplicates_by_sorting(first);
    members_.resize(first);
    *w_++ = *p_++;
    return true;
  }

  static bool is_special(const char* name, std::size_t size, bool escaped) {
    return size != 0 && (name[0] == '_' || (escaped && std::string_view(name, size).starts_with("\\u005f")) ||
                         (escaped && std::string_view(name, size).starts_with("\\u005F")));
  }

  static std::string decoded_name(const char* name, std::size_t size, bool escaped) {
    if (!escaped) return std::string(name, size);
    std::string decoded;
    append_decoded_string({name, size}, decoded);
    return decoded;
  }

  bool add_special(std::string name, std::string_view raw) {
    for (SpecialField& field : *special_) {
      if (field.name == name) {
        field.raw = raw;
        return true;
      }
    }
    if (special_->size() == special_fields_max) return fail_at(raw.data(), "too many fields that begin with '_'");
    special_->push_back({std::move(name), raw});
    return true;
  }

  /// Records the member whose name has just been written; drops an earlier one with the same name.
  void remember(std::size_t first, std::uint64_t& seen, std::string_view name, bool escaped) {
    Member member{0, static_cast<std::uint32_t>(name.data() - out_), static_cast<std::uint32_t>(name.size()), escaped,
                  false};
    if (escaped) {
      const std::string decoded = decoded_name(name.data(), name.size(), true);
      member.hash = hash_name(decoded.data(), decoded.size());
    } else {
      member.hash = hash_name(name.data(), name.size());
    }
    const std::uint64_t bit = 1ULL << (member.hash >> 58);
    if ((seen & bit) != 0 && members_.size() - first <= members_looked_back_max) {
      for (std::size_t i = first; i < members_.size(); ++i) {
        if (members_[i].hash == member.hash && !members_[i].dropped && same_name(members_[i], member)) {
          drop(i, i + 1 < members_.size() ? members_[i + 1].name_begin - 1 : member.name_begin - 1);
          break;
        }
      }
    }
    seen |= bit;
    members_.push_back(member);
  }

  void drop(std::size_t i, std::uint32_t end) {
    members_[i].dropped = true;
    dropped_.push_back({members_[i].name_begin - 1, end});
  }

  std::string name_of(const Member& member) const {
    return decoded_name(out_ + member.name_begin, member.name_size, member.name_escaped);
  }

  bool same_name(const Member& a, const Member& b) const {
    if (a.name_escaped || b.name_escaped) return name_of(a) == name_of(b);
    return a.name_size == b.name_size && std::memcmp(out_ + a.name_begin, out_ + b.name_begin, a.name_size) == 0;
  }

  int compare_names(const Member& a, const Member& b) const {
    if (a.name_escaped || b.name_escaped) return name_of(a).compare(name_of(b));
    return std::string_view(out_ + a.name_begin, a.name_size)
        .compare(std::string_view(out_ + b.name_begin, b.name_size));
  }

  void drop_duplicates_by_sorting(std::size_t first) {
    struct HashedName {
      std::uint64_t hash;
      std::size_t index;
      auto operator<=>(const HashedName&) const = default;
    };
    std::vector<HashedName> entries;
    entries.reserve(members_.size() - first);
    for (std::size_t i = first; i < members_.size(); ++i) {
      if (!members_[i].dropped) entries.push_back({members_[i].hash, i});
    }
    std::ranges::sort(entries);
    for (auto run = entries.begin(); run != entries.end();) {
      const auto run_end = std::find_if(run, entries.end(), [&](const HashedName& e) { return e.hash != run->hash; });
      if (run_end - run > 1) {
        std::sort(run, run_end, [&](const HashedName& a, const HashedName& b) {
          const int names = compare_names(members_[a.index], members_[b.index]);
          return names != 0 ? names < 0 : a.index < b.index;
        });
        for (; run + 1 != run_end; ++run) {
          // There is a next member: the later one of this name.
          if (same_name(members_[run->index], members_[(run + 1)->index])) {
            drop(run->index, members_[run->index + 1].name_begin - 1);
          }
        }
      }
      run = run_end;
    }
  }

  /// Removes the dropped ranges (a range of an inner object may lie inside one of an outer object).
  void compact() {
    std::ranges::sort(dropped_, {}, &DroppedRange::begin);
    char* to = out_;
    std::uint32_t from = 0;
    for (const DroppedRange& range : dropped_) {
      if (range.begin > from) {
        std::memmove(to, out_ + from, range.begin - from);
        to += range.begin - from;
      }
      from = std::max(from, range.end);
    }
    std::memmove(to, out_ + from, offset() - from);
    w_ = to + (offset() - from);
  }

  const char* begin_;
  const char* end_;
  const char* p_;
  char* out_;
  char* w_;
  std::vector<SpecialField>* special_;
  bool is_object_ = true;
  boost::container::small_vector<Member, 64> members_;  // of all open objects, innermost last
  std::vector<DroppedRange> dropped_;
  const char* error_at_ = nullptr;
  const char* error_ = nullptr;
};

Expected<void> normalize(std::string_view text, std::string& out, std::vector<SpecialField>* special) {
  if (text.size() > UINT32_MAX / 2) return fail(ErrorCode::too_large, "JSON text over 2 GiB");
  if (auto utf8 = scan::check_utf8(text); !utf8) return utf8;
  const std::size_t before = out.size();
  Expected<void> result;
  out.resize_and_overwrite(before + text.size(), [&](char* data, std::size_t) {
    Normalizer normalizer(text, data + before, special);
    if (!normalizer.run()) {
      result = scan::invalid(normalizer.error_offset(), normalizer.error());
      return before;
    }
    if (!normalizer.is_object()) {
      result = fail(ErrorCode::bad_request, "Document must be a JSON object");
      return before;
    }
    return before + normalizer.written();
  });
  if (!result && special != nullptr) special->clear();
  return result;
}

void append_utf8(std::uint32_t point, std::string& out) {
  if (point < 0x80) {
    out.push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    out.push_back(static_cast<char>(0xC0 | point >> 6));
    out.push_back(static_cast<char>(0x80 | (point & 0x3F)));
  } else if (point < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | point >> 12));
    out.push_back(static_cast<char>(0x80 | (point >> 6 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (point & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xF0 | point >> 18));
    out.push_back(static_cast<char>(0x80 | (point >> 12 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (point >> 6 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (point & 0x3F)));
  }
}

}  // namespace

Expected<void> normalize_document(std::string_view text, std::string& out, std::vector<SpecialField>& special) {
  special.clear();
  return normalize(text, out, &special);
}

Expected<void> normalize_value(std::string_view text, std::string& out) {
  return normalize(text, out, nullptr);
}

void append_decoded_string(std::string_view raw, std::string& out) {
  const char* p = raw.data();
  const char* const end = p + raw.size();
  while (p != end) {
    const auto* backslash = static_cast<const char*>(std::memchr(p, '\\', static_cast<std::size_t>(end - p)));
    if (backslash == nullptr || end - backslash < 2) break;
    out.append(p, backslash);
    p = backslash + 2;
    switch (backslash[1]) {
      case 'b':
        out.push_back('\b');
        break;
      case 'f':
        out.push_back('\f');
        break;
      case 'n':
        out.push_back('\n');
        break;
      case 'r':
        out.push_back('\r');
        break;
      case 't':
        out.push_back('\t');
        break;
      case 'u': {
        int unit = scan::hex4(p, end);
        if (unit < 0) return;
        p += 4;
        auto point = static_cast<std::uint32_t>(unit);
        if (point >= 0xD800 && point < 0xDC00 && end - p >= 6) {
          unit = scan::hex4(p + 2, end);
          if (unit < 0) return;
          p += 6;
          point = 0x10000 + ((point - 0xD800) << 10) + (static_cast<std::uint32_t>(unit) - 0xDC00);
        }
        append_utf8(point, out);
        break;
      }
      default:
        out.push_back(backslash[1]);
    }
  }
  out.append(p, end);
}

}  // namespace octavo::query
