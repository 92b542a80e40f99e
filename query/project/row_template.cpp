#include "query/project/row_template.h"

#include <utility>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "query/index/raw_field.h"
#include "query/json/split.h"

namespace octavo::query::project {

namespace {

constexpr std::string_view source_id_name = "_id";
constexpr std::size_t template_bytes_max = 1024;

std::unexpected<Error> wrong(std::string_view text, std::size_t at, std::string_view what) {
  return fail(ErrorCode::bad_request, fmt::format("The template '{}' is not valid at position {}: {}.", text, at, what),
              "projection_syntax");
}

void append_encoded(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (c == '%') {
      out += "%25";
    } else if (c == ':') {
      out += "%3A";
    } else {
      out += c;
    }
  }
}

void append_string(std::string& out, std::string_view text) {
  if (text.starts_with('!')) {
    out += "%21";
    text.remove_prefix(1);
  }
  append_encoded(out, text);
}

// False: the value is not valid text.
bool append_value(std::string& out, std::string_view raw) {
  if (raw.front() != '"') {
    out += '!';
    append_encoded(out, raw);
    return true;
  }
  const auto text = decode_json_string(raw);
  if (text) append_string(out, *text);
  return text.has_value();
}

}  // namespace

Expected<RowTemplate> RowTemplate::parse(std::string_view text) {
  if (text.size() > template_bytes_max) return wrong(text.substr(0, 32), 0, "it may have at most 1024 bytes");
  RowTemplate result;
  result.text_ = text;
  Piece piece;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool is_doubled = at + 1 < text.size() && text[at + 1] == c;
    if ((c == '{' || c == '}') && is_doubled) {
      piece.before += c;
      ++at;
    } else if (c == '}') {
      return wrong(text, at, "'}' without '{'; write '}}' for the character itself");
    } else if (c == '{') {
      const std::size_t end = text.find('}', at);
      if (end == std::string_view::npos) return wrong(text, at, "'{' without '}'");
      const std::string_view path = text.substr(at + 1, end - at - 1);
      if (path.empty()) return wrong(text, at, "the braces are empty");
      auto parsed = FieldPath::parse(path);
      if (!parsed) return wrong(text, at + 1, parsed.error().reason);
      piece.path = *std::move(parsed);
      result.pieces_.push_back(std::exchange(piece, {}));
      at = end;
    } else {
      piece.before += c;
    }
  }
  if (result.pieces_.empty() && piece.before.empty()) return wrong(text, 0, "it is empty");
  result.pieces_.push_back(std::move(piece));
  return result;
}

std::optional<std::string> RowTemplate::fill_plain(std::string_view row, std::string_view source_id) const {
  std::string out;
  for (const Piece& piece : pieces_) {
    out += piece.before;
    if (!piece.path) continue;
    if (piece.path->text() == source_id_name) {
      out += source_id;
      continue;
    }
    const std::string_view raw = find_raw_field(row, *piece.path);
    if (raw.empty()) return std::nullopt;
    if (raw.front() != '"') {
      out += raw;
    } else if (const auto text = decode_json_string(raw)) {
      out += *text;
    } else {
      return std::nullopt;
    }
  }
  return out.empty() ? std::nullopt : std::optional(std::move(out));
}

std::optional<std::string> RowTemplate::fill_json(std::string_view row, std::string_view source_id) const {
  const bool is_one_path = pieces_.size() == 2 && pieces_[0].before.empty() && pieces_[1].before.empty();
  if (is_one_path && pieces_[0].path->text() != source_id_name) {
    const std::string_view raw = find_raw_field(row, *pieces_[0].path);
    return raw.empty() ? std::nullopt : std::optional<std::string>(raw);
  }
  const auto text = fill_plain(row, source_id);
  if (!text) return std::nullopt;
  std::string json;
  append_json_string(json, *text);
  return json;
}

template <class AppendText>
std::optional<std::string> RowTemplate::fill_by(std::string_view row, std::string_view source_id,
                                                AppendText append_text) const {
  std::string out;
  for (const Piece& piece : pieces_) {
    append_text(out, piece.before);
    if (!piece.path) continue;
    if (piece.path->text() == source_id_name) {
      append_string(out, source_id);
      continue;
    }
    const std::string_view raw = find_raw_field(row, *piece.path);
    if (raw.empty() || !append_value(out, raw)) return std::nullopt;
  }
  if (out.empty()) return std::nullopt;
  if (out.front() == '_') out.replace(0, 1, "%5F");
  return out;
}

std::optional<std::string> RowTemplate::fill(std::string_view row, std::string_view source_id) const {
  return fill_by(row, source_id, [](std::string& out, std::string_view text) { out += text; });
}

std::optional<std::string> RowTemplate::fill_key(std::string_view row, std::string_view source_id) const {
  return fill_by(row, source_id, [](std::string& out, std::string_view text) {
    for (const char c : text) {
      if (c == ':') {
        out += "%3A";
      } else {
        out += c;
      }
    }
  });
}

bool RowTemplate::is_unique() const {
  return pieces_.size() == 2 && pieces_[0].path->text() == source_id_name;
}

std::vector<std::string> RowTemplate::fields() const {
  std::vector<std::string> names;
  for (const Piece& piece : pieces_) {
    if (piece.path && piece.path->text() != source_id_name) names.push_back(piece.path->parts().front().name);
  }
  return names;
}

}  // namespace octavo::query::project
