#include "query/json/document_text.h"

#include <array>
#include <charconv>

#include "base/append_pieces.h"
#include "base/json_writer.h"

namespace octavo::query {

namespace {

/// A revision whose hash is a digest, as text.
class RevisionText {
 public:
  explicit RevisionText(const storage::Revision& revision) {
    char* end = std::to_chars(text_.data(), text_.data() + digits_max, revision.generation).ptr;
    *end++ = '-';
    size_ = static_cast<std::size_t>(revision.hash.write_text(end) - text_.data());
  }
  std::string_view view() const { return {text_.data(), size_}; }

 private:
  static constexpr std::size_t digits_max = 20;
  std::array<char, digits_max + 1 + storage::RevisionHash::text_bytes_max> text_;
  std::size_t size_;
};

}  // namespace

void append_revision(std::string& out, const storage::Revision& revision) {
  if (revision.hash.is_digest()) {
    append_pieces(out, "\"", RevisionText(revision).view(), "\"");
  } else {
    append_json_string(out, revision.to_string());
  }
}

void begin_document(std::string& out, std::string_view id, const storage::Revision& revision, std::string_view body) {
  const bool has_members = body.size() > 2;
  const auto members = has_members ? body.substr(1, body.size() - 2) : std::string_view();
  if (revision.hash.is_digest() && json_unescaped_prefix(id) == id.size()) {
    append_pieces(out, "{\"_id\":\"", id, "\",\"_rev\":\"", RevisionText(revision).view(),
                  std::string_view(has_members ? "\"," : "\""), members);
    return;
  }
  out += "{\"_id\":";
  append_json_string(out, id);
  out += ",\"_rev\":";
  append_revision(out, revision);
  if (has_members) append_pieces(out, ",", members);
}

}  // namespace octavo::query
