#include "query/sql/syntax/query_shape.h"

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "base/assert.h"

namespace octavo::query::sql {

namespace {

/// Copies the parts of a query that are no values.
class ShapeWriter {
 public:
  std::string write(std::span<const Token> tokens) {
    constexpr std::size_t bytes_by_token = 6;  // names and keywords, and blanks between them
    out_.reserve(tokens.size() * bytes_by_token);
    for (const Token& token : tokens) add(token);
    return std::move(out_);
  }

 private:
  enum class Last : std::uint8_t { nothing, keyword, name, value, open, close, dot, comma, symbol };

  void add(const Token& token) {
    switch (token.kind) {
      case TokenKind::end:
        return;
      case TokenKind::parameter:
      case TokenKind::number:
        return add_value();
      case TokenKind::string:
        // `c["name"]` is a name.
        return is_property_ ? add_name(token.raw, false) : add_value();
      case TokenKind::identifier:
        return add_name(token.raw, true);
      case TokenKind::keyword:
        if (last_ == Last::dot) return add_name(token.raw, true);
        if (token.keyword == Keyword::k_true || token.keyword == Keyword::k_false) return add_value();
        return add_keyword(token.raw);
      case TokenKind::symbol:
        return add_symbol(token.raw);
    }
  }

  void separate(bool wanted) {
    if (wanted && last_ != Last::nothing) out_ += ' ';
  }

  void add_value() {
    is_property_ = false;
    // `IN (1, 2)` is `IN (1)`.
    if (last_ == Last::comma && out_.ends_with("?,")) {
      out_.pop_back();
    } else {
      separate(last_ != Last::open && last_ != Last::dot);
      out_ += '?';
    }
    last_ = Last::value;
  }

  void add_name(std::string_view name, bool is_word) {
    is_property_ = false;
    separate(is_word && last_ != Last::open && last_ != Last::dot);
    out_ += name;
    last_ = Last::name;
  }

  void add_keyword(std::string_view word) {
    is_property_ = false;
    separate(last_ != Last::open);
    for (const char c : word) out_ += c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
    last_ = Last::keyword;
  }

  void add_symbol(std::string_view symbol) {
    const Last before = last_;
    is_property_ = symbol == "[" && (before == Last::name || before == Last::close);
    switch (symbol.front()) {
      case '(':
      case '[':
      case '{':
        separate(before != Last::open && before != Last::name && before != Last::close && before != Last::dot);
        last_ = Last::open;
        break;
      case ')':
      case ']':
      case '}':
        last_ = Last::close;
        break;
      case '.':
        last_ = Last::dot;
        break;
      case ',':
        last_ = Last::comma;
        break;
      default:
        separate(before != Last::open);
        last_ = Last::symbol;
    }
    out_ += symbol;
  }

  std::string out_;
  Last last_ = Last::nothing;
  bool is_property_ = false;  ///< a string now is the name of a property
};

}  // namespace

std::string shape_of(std::span<const Token> tokens) {
  return ShapeWriter().write(tokens);
}

NumberedParameters number_parameters(std::string_view text) {
  const auto tokens = tokenize(text);
  OCTAVO_ASSERT(tokens);
  NumberedParameters numbered;
  if (!tokens) return numbered;
  std::map<std::string_view, std::size_t> numbers;
  std::size_t copied = 0;
  for (const Token& token : *tokens) {
    if (token.kind != TokenKind::parameter) continue;
    const auto [known, is_new] = numbers.try_emplace(token.text, numbers.size());
    if (is_new) numbered.names.push_back(token.text);
    numbered.text.append(text.substr(copied, token.location.start - copied));
    numbered.text.append("@").append(std::to_string(known->second));
    copied = token.location.end;
  }
  numbered.text.append(text.substr(copied));
  return numbered;
}

}  // namespace octavo::query::sql
